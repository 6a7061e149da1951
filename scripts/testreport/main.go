// Command testreport reads the output of go test -v and prints what a person
// wants of it: each package's line, whatever failed with its output, whatever
// was skipped with its reason, and the totals.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	noSkips := flag.Bool("no-skips", false, "a skipped test is a failure")
	flag.Parse()
	r := read(os.Stdin, os.Stdout)
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
}

func read(in io.Reader, out io.Writer) report {
	var r report
	var since []string  // output since the last test ended: what a failure has to say
	var failed []string // the output of the package's failed tests
	s := bufio.NewScanner(in)
	s.Buffer(nil, 16<<20)
	for s.Scan() {
		line := s.Text()
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "--- PASS"):
			r.passed++
			since = nil
		case strings.HasPrefix(line, "--- FAIL"):
			r.failed++
			failed = append(append(failed, tail(since, 100)...), line)
			since = nil
		case strings.HasPrefix(strings.TrimSpace(line), "--- SKIP"):
			r.skipped++
			fmt.Fprintln(out, strings.TrimSpace(line), strings.Join(tail(since, 2), " "))
			since = nil
		case strings.HasPrefix(line, "ok "), strings.HasPrefix(line, "? "), strings.Contains(line, "[no test files]"):
			if strings.HasPrefix(line, "ok ") {
				fmt.Fprintln(out, line)
			}
			since = nil
		case len(words) > 1 && words[0] == "FAIL":
			r.broken = true
			fmt.Fprintln(out, strings.Join(append(tail(failed, 400), tail(since, 200)...), "\n"))
			fmt.Fprintln(out, line)
			since, failed = nil, nil
		default:
			since = append(since, line)
		}
	}
	return r
}

func tail(lines []string, n int) []string {
	return lines[max(0, len(lines)-n):]
}
