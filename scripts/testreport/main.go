// Command testreport reads the output of go test -v and prints what a person
// wants of it: whatever failed with its output, whatever was skipped with its
// reason, the packages by the time they took, the ten slowest tests, what failed
// once more in few lines, and the totals.
package main

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

func main() {
	noSkips := flag.Bool("no-skips", false, "a skipped test is a failure")
	flag.Parse()
	r := read(os.Stdin, os.Stdout)
	r.slowest(os.Stdout)
	for _, line := range r.failures {
		fmt.Println(line)
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped)
	switch {
	case r.passed == 0, r.failed > 0, r.broken:
		os.Exit(1)
	case *noSkips && r.skipped > 0:
		fmt.Println("nothing may be skipped here")
		os.Exit(1)
	}
}

type report struct {
	passed, failed, skipped int
	broken                  bool // a package did not build, panicked or timed out
	packages, tests         []timed
	failures                []string // what failed and where it says so, in few lines
}

// timed is what took how many seconds.
type timed struct {
	what    string
	seconds float64
}

// slowest prints what took longest.
func (r *report) slowest(out io.Writer) {
	for _, list := range [][]timed{r.packages, r.tests} {
		slices.SortStableFunc(list, func(a, b timed) int { return cmp.Compare(b.seconds, a.seconds) })
	}
	for _, p := range r.packages {
		fmt.Fprintf(out, "%7.1f s  %s\n", p.seconds, p.what)
	}
	fmt.Fprintln(out, "The slowest tests:")
	for _, t := range r.tests[:min(len(r.tests), 10)] {
		fmt.Fprintf(out, "%7.1f s  %s\n", t.seconds, t.what)
	}
}

func read(in io.Reader, out io.Writer) report {
	var r report
	var since []string  // output since the last test ended: what a failure has to say
	var failed []string // the output of the package's failed tests
	named := 0          // how many tests are of packages that are over
	waited := 0.0       // seconds of the package's time in which it was not running
	s := bufio.NewScanner(in)
	s.Buffer(nil, 16<<20)
	for s.Scan() {
		line := s.Text()
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "--- PASS"):
			r.passed++
			if len(words) == 4 {
				seconds, _ := strconv.ParseFloat(strings.Trim(words[3], "(s)"), 64)
				r.tests = append(r.tests, timed{words[2], seconds})
			}
			since = nil
		case strings.HasPrefix(line, "waited ") && strings.HasSuffix(line, " s for a turn"):
			waited, _ = strconv.ParseFloat(words[1], 64)
		case strings.HasPrefix(strings.TrimSpace(line), "--- FAIL"):
			// Its parts follow a test, whose own output comes before all of them.
			if !strings.HasPrefix(line, " ") {
				r.failed++
				failed = append(failed, tail(since, 100)...)
				r.failures = append(r.failures, slices.DeleteFunc(slices.Clone(since), func(l string) bool { return !isReport(l) })...)
				since = nil
			}
			failed = append(failed, line)
			r.failures = append(r.failures, line)
		case strings.HasPrefix(strings.TrimSpace(line), "--- SKIP"):
			r.skipped++
			fmt.Fprintln(out, strings.TrimSpace(line), strings.Join(tail(since, 2), " "))
			since = nil
		case strings.HasPrefix(line, "ok "), strings.HasPrefix(line, "? "), strings.Contains(line, "[no test files]"):
			if len(words) > 2 && words[0] == "ok" {
				seconds, _ := strconv.ParseFloat(strings.TrimSuffix(words[2], "s"), 64)
				r.packages = append(r.packages, timed{words[1], max(seconds-waited, 0)})
				for ; named < len(r.tests); named++ {
					r.tests[named].what = path.Base(words[1]) + " " + r.tests[named].what
				}
			}
			since, waited = nil, 0
		case len(words) > 1 && words[0] == "FAIL":
			r.broken = true
			for ; named < len(r.tests); named++ {
				r.tests[named].what = path.Base(words[1]) + " " + r.tests[named].what
			}
			fmt.Fprintln(out, strings.Join(append(tail(failed, 400), tail(since, 200)...), "\n"))
			fmt.Fprintln(out, line)
			since, failed, waited = nil, nil, 0
		default:
			since = append(since, line)
		}
	}
	return r
}

// isReport reports whether a line is what a test says of itself: a file, a line, a text.
func isReport(line string) bool {
	file, rest, ok := strings.Cut(strings.TrimSpace(line), ".go:")
	if !ok || strings.ContainsAny(file, " /") {
		return false
	}
	n, _, ok := strings.Cut(rest, ":")
	_, err := strconv.Atoi(n)
	return ok && err == nil
}

func tail(lines []string, n int) []string {
	return lines[max(0, len(lines)-n):]
}
