package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// judge is the compiled tests of one package.
type judge struct {
	pkg, dir, binary string
	units            []*unit
}

// unit is a test, or one part of a test that takes long.
type unit struct {
	Test    string // of the whole
	Part    string // "" for the whole
	Seconds float64
	Reached []byte // by number of the point, 1 where it came by
}

// splitFrom is from how many seconds on the parts of a test are judges of their own.
const splitFrom = 0.3

// prepare compiles the tests of the packages and finds out what each of them reaches.
// What it found is kept beside the binary: the same binary is not asked twice.
func (p *program) prepare(dir string, patterns []string) ([]*judge, error) {
	out, err := goTool(append([]string{"list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	var judges []*judge
	for line := range strings.Lines(out) {
		pkg, where, found := strings.Cut(strings.TrimSpace(line), " ")
		if !found {
			continue
		}
		j := &judge{pkg: pkg, dir: where, binary: filepath.Join(dir, strings.ReplaceAll(strings.TrimPrefix(pkg, p.module+"/"), "/", "+")+".test")}
		if _, err := goTool("test", "-c", "-p=1", "-vet=off", "-overlay="+p.overlay, "-o", j.binary, pkg); err != nil {
			return nil, err
		}
		began := time.Now()
		if err := j.measure(dir, len(p.points)); err != nil {
			return nil, fmt.Errorf("%s: %w", pkg, err)
		}
		progress("%s: %d tests or parts of tests, looked at in %.0f s", pkg, len(j.units), time.Since(began).Seconds())
		judges = append(judges, j)
	}
	return judges, nil
}

func goTool(args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", args[0], err)
	}
	return string(out), nil
}

var verdict = regexp.MustCompile(`(?m)^(    )?--- (PASS|FAIL|SKIP): (\S+) \(([0-9.]+)s\)`)

func (j *judge) measure(dir string, points int) error {
	data, err := os.ReadFile(j.binary)
	if err != nil {
		return err
	}
	kept := filepath.Join(dir, fmt.Sprintf("reached-%x", sha256.Sum256(data)))
	if f, err := os.Open(kept); err == nil {
		defer f.Close()
		return gob.NewDecoder(f).Decode(&j.units)
	}
	out, err := j.run(context.Background(), []string{"-test.v"})
	if err != nil {
		return fmt.Errorf("without any change: %w\n%s", err, tail(out))
	}
	parts := map[string][]string{}
	var whole []string
	slow := map[string]bool{}
	for _, m := range verdict.FindAllStringSubmatch(out, -1) {
		seconds, _ := strconv.ParseFloat(m[4], 64)
		test, part, _ := strings.Cut(m[3], "/")
		switch {
		case m[2] == "SKIP":
		case m[1] != "":
			parts[test] = append(parts[test], part)
		default:
			whole = append(whole, test)
			slow[test] = seconds >= splitFrom
		}
	}
	reached := filepath.Join(dir, "reached")
	for _, test := range whole {
		units := []*unit{{Test: test}}
		if slow[test] && len(parts[test]) > 1 {
			units = nil
			for _, part := range parts[test] {
				units = append(units, &unit{Test: test, Part: part})
			}
		}
		if j.look(units, reached, points) != nil {
			// Some tests need all their parts.
			units = []*unit{{Test: test}}
			if err := j.look(units, reached, points); err != nil {
				progress("%s: %s fails alone, so it is no judge", j.pkg, test)
				continue
			}
		}
		j.units = append(j.units, units...)
	}
	f, err := os.Create(kept)
	if err != nil {
		return err
	}
	return errors.Join(gob.NewEncoder(f).Encode(j.units), f.Close())
}

// look runs each unit by itself.
func (j *judge) look(units []*unit, file string, points int) error {
	for _, u := range units {
		if err := os.WriteFile(file, make([]byte, points+1), 0o666); err != nil {
			return err
		}
		began := time.Now()
		if _, err := j.run(context.Background(), only([]*unit{u}), "MUTANT_REACHED="+file); err != nil {
			return err
		}
		u.Seconds = time.Since(began).Seconds()
		var err error
		if u.Reached, err = os.ReadFile(file); err != nil {
			return err
		}
	}
	return nil
}

// only are the arguments that run these units, which are all of one test where one
// of them is a part.
func only(units []*unit) []string {
	var names []string
	depth := 0
	for _, u := range units {
		if u.Part != "" {
			depth = max(depth, strings.Count(u.Part, "/")+1)
		}
	}
	if depth == 0 {
		for _, u := range units {
			names = append(names, u.Test)
		}
		return []string{"-test.run=^(" + strings.Join(names, "|") + ")$"}
	}
	run := "^" + units[0].Test + "$"
	for level := range depth {
		var names []string
		for _, u := range units {
			if steps := strings.Split(u.Part, "/"); level < len(steps) {
				names = append(names, regexp.QuoteMeta(steps[level]))
			}
		}
		slices.Sort(names)
		run += "/^(" + strings.Join(slices.Compact(names), "|") + ")$"
	}
	return []string{"-test.run=" + run}
}

// run runs the tests, ends all that they started, and gives back what they printed.
func (j *judge) run(ctx context.Context, args []string, env ...string) (string, error) {
	scratch, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(scratch)
	cmd := exec.CommandContext(ctx, j.binary, append([]string{"-test.short", "-test.failfast", "-test.timeout=10m"}, args...)...)
	cmd.Dir = j.dir
	cmd.Env = append(append(os.Environ(), "TMPDIR="+scratch), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// chunk is what runs in one process.
type chunk struct {
	judge   *judge
	units   []*unit
	seconds float64
}

// chunks are the tests that come by a point, the quickest first.
func chunks(judges []*judge, p *point, longest float64) []chunk {
	var all []chunk
	for _, j := range judges {
		lists := map[string][]*unit{}
		for _, u := range j.units {
			if u.Reached[p.number] == 0 || u.Seconds > longest {
				continue
			}
			name := ""
			if u.Part != "" {
				name = u.Test
			}
			lists[name] = append(lists[name], u)
		}
		for _, list := range lists {
			slices.SortFunc(list, func(a, b *unit) int { return cmp.Compare(a.Seconds, b.Seconds) })
			most := 0.3
			for len(list) > 0 {
				c := chunk{judge: j}
				for len(list) > 0 && (c.units == nil || c.seconds+list[0].Seconds <= most) {
					c.units, c.seconds, list = append(c.units, list[0]), c.seconds+list[0].Seconds, list[1:]
				}
				all = append(all, c)
				most *= 3
			}
		}
	}
	slices.SortFunc(all, func(a, b chunk) int {
		return cmp.Or(cmp.Compare(a.seconds, b.seconds), cmp.Compare(a.judge.pkg, b.judge.pkg), cmp.Compare(a.units[0].Test, b.units[0].Test))
	})
	return all
}

// killed says whether any test fails, and which, with the point on. A test that does
// not come to its end in many times its time counts as failing.
func killed(judges []*judge, p *point, longest float64) (reached bool, by string) {
	for _, c := range chunks(judges, p, longest) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration((5+8*c.seconds)*float64(time.Second)))
		out, err := c.judge.run(ctx, only(c.units), "MUTANT="+strconv.Itoa(p.number))
		late := ctx.Err() != nil
		cancel()
		switch {
		case late:
			return true, "time: " + c.judge.pkg + " " + c.units[0].Test
		case err != nil:
			for _, m := range verdict.FindAllStringSubmatch(out, -1) {
				if m[2] == "FAIL" {
					return true, m[3]
				}
			}
			return true, c.judge.pkg
		}
		reached = true
	}
	return reached, ""
}

func tail(out string) string {
	lines := strings.Split(out, "\n")
	return strings.Join(lines[max(0, len(lines)-30):], "\n")
}
