package oci

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// ignoreFiles are looked for in a directory; the first that is there counts.
var ignoreFiles = []string{".musterignore", ".dockerignore"}

// ignore is a list of patterns as in a .dockerignore file: relative to the
// directory, ** for any number of parts, ! for exceptions, the last match
// counts, and a directory that is left out takes along what is in it.
type ignore struct {
	rules      []ignoreRule
	exceptions bool
}

type ignoreRule struct {
	parts []string
	keep  bool
}

// readIgnore joins the patterns of the directory's own file and extra ones.
func readIgnore(root *os.Root, extra []string) (*ignore, error) {
	var lines []string
	for _, file := range ignoreFiles {
		f, err := root.Open(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		defer f.Close()
		s := bufio.NewScanner(f)
		for s.Scan() {
			if line := strings.TrimSpace(s.Text()); !strings.HasPrefix(line, "#") {
				lines = append(lines, line)
			}
		}
		if err := s.Err(); err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		break
	}
	return parseIgnore(append(lines, extra...))
}

func parseIgnore(lines []string) (*ignore, error) {
	out := &ignore{}
	for _, line := range lines {
		pattern, keep := strings.CutPrefix(strings.TrimSpace(line), "!")
		pattern = strings.TrimPrefix(path.Clean("/"+strings.TrimSpace(pattern)), "/")
		if pattern == "" {
			continue
		}
		parts := strings.Split(pattern, "/")
		for _, p := range parts {
			if _, err := path.Match(p, ""); err != nil {
				return nil, failf(Internal, err, "the ignore pattern %q is not one: a '[' is not closed or a '\\' ends it", line)
			}
		}
		out.rules = append(out.rules, ignoreRule{parts, keep})
		out.exceptions = out.exceptions || keep
	}
	return out, nil
}

// match says whether a path is left out; skip, that nothing below it can be in.
func (g *ignore) match(p string) (out, skip bool) {
	parts := strings.Split(p, "/")
	for _, r := range g.rules {
		if out == !r.keep { // it would change nothing
			continue
		}
		for n := 1; n <= len(parts); n++ {
			if matchParts(r.parts, parts[:n]) {
				out = !r.keep
				break
			}
		}
	}
	return out, out && !g.exceptions
}

func matchParts(pattern, parts []string) bool {
	for len(pattern) > 0 {
		if pattern[0] == "**" {
			for n := 0; n <= len(parts); n++ {
				if matchParts(pattern[1:], parts[n:]) {
					return true
				}
			}
			return false
		}
		if len(parts) == 0 {
			return false
		}
		if ok, _ := path.Match(pattern[0], parts[0]); !ok {
			return false
		}
		pattern, parts = pattern[1:], parts[1:]
	}
	return len(parts) == 0
}
