package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// first is the version before there is a tag: what is built is on its way to it.
const first = "0.1.0"

var (
	semver    = regexp.MustCompile(`^v?(\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?)$`)
	described = regexp.MustCompile(`^v(\d+)\.(\d+)\.(\d+)(-[0-9A-Za-z.-]+)?-(\d+)-g([0-9a-f]+)$`)
)

func (r *release) git(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = r.root
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); ok {
		err = fmt.Errorf("git %s: %s", args[0], strings.TrimSpace(string(exit.Stderr)))
	}
	return strings.TrimSpace(string(out)), err
}

// describe says which version this is, of which commit and of what day.
func (r *release) describe(tag string) (err error) {
	if r.commit, err = r.git("rev-parse", "HEAD"); err != nil {
		return err
	}
	seconds, err := r.git("log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return err
	}
	r.date = time.Unix(n, 0).UTC()
	if tag != "" {
		m := semver.FindStringSubmatch(tag)
		if m == nil {
			return fmt.Errorf("--version: %q is not a version such as v1.2.3 or v1.2.3-rc.1", tag)
		}
		r.version = m[1]
		return nil
	}
	words, err := r.git("describe", "--tags", "--long", "--match", "v[0-9]*")
	if err != nil { // there is no tag
		count, err := r.git("rev-list", "--count", "HEAD")
		if err != nil {
			return err
		}
		words = "v" + first + "-dev-" + count + "-g" + r.commit[:12]
	}
	if r.version, err = versionOf(words); err != nil {
		return err
	}
	changed, err := r.git("status", "--porcelain")
	if changed != "" {
		r.version += map[bool]string{true: ".dirty", false: "-dirty"}[strings.Contains(r.version, "-")]
	}
	return err
}

// versionOf makes a version of what git describe says. A commit after a tag is on its way to
// the next version: it comes after the tag's and before that.
func versionOf(words string) (string, error) {
	m := described.FindStringSubmatch(words)
	if m == nil {
		return "", fmt.Errorf("git describe says %q, which is not a tag such as v1.2.3", words)
	}
	before := m[4]
	switch after := m[5]; {
	case after == "0":
		return m[1] + "." + m[2] + "." + m[3] + before, nil
	case before == "":
		patch, err := strconv.Atoi(m[3])
		if err != nil {
			return "", err
		}
		m[3], before = strconv.Itoa(patch+1), "-dev"
	}
	return m[1] + "." + m[2] + "." + m[3] + before + "." + m[5] + ".g" + m[6], nil
}
