package main

import (
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// page runs what a page of the documents shows: of each block that is marked as
// console the lines after "$ ", in a shell, and compares what they print. Times,
// lengths of time and the room between columns are not compared; … in the page
// stands for anything in a line, alone in a line for any lines.
func page(t *testing.T, ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: page FILE")
	}
	home := ts.Getenv("HOME")
	ts.Defer(func() { // also when a page ends before it has stopped its servers
		for _, pattern := range []string{"*/muster.db", ".local/share/*/muster.db"} {
			found, _ := filepath.Glob(filepath.Join(home, pattern))
			for _, db := range found {
				tidy(t, filepath.Dir(db))
			}
		}
	})
	text, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	steps := shown(string(text))
	if len(steps) == 0 {
		ts.Fatalf("%s shows no command", args[0])
	}
	for _, s := range steps {
		err := ts.Exec("sh", "-c", "exec 2>&1\n"+s.command)
		got := ts.ReadFile("stdout")
		if _, failed := err.(interface{ ExitCode() int }); err != nil && !failed {
			ts.Check(err)
		}
		if !alike(s.prints, known(ts, got)) {
			ts.Fatalf("%s:%d: %s\nthe page says\n%s\nand it prints\n%s", args[0], s.line, s.command, s.prints, got)
		}
	}
}

// step is a command that a page shows, and what it is to print.
type step struct {
	line            int
	command, prints string
}

// shown are the commands of a page.
func shown(page string) []step {
	var steps []step
	inside, until := false, ""
	for i, line := range strings.Split(page, "\n") {
		command, is := strings.CutPrefix(line, "$ ")
		last := len(steps) - 1
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```console"
		case !inside:
		case until != "":
			steps[last].command += "\n" + line
			if line == until {
				until = ""
			}
		case is:
			steps = append(steps, step{line: i + 1, command: command})
			if _, end, here := strings.Cut(command, "<<'"); here {
				until, _, _ = strings.Cut(end, "'")
			}
		default:
			steps[last].prints += line + "\n"
		}
	}
	return steps
}

// known is an output with the names that the pages use for what is of this machine.
func known(ts *testscript.TestScript, got string) string {
	got = strings.ReplaceAll(got, ts.Getenv("HOME"), "/home/ann")
	if u, err := user.Current(); err == nil {
		got = regexp.MustCompile(`\b`+regexp.QuoteMeta(u.Username)+`\b`).ReplaceAllString(got, "ann")
	}
	return got
}

var (
	timeOfDay = regexp.MustCompile(`\b\d\d:\d\d(:\d\d)?\b`)
	lasting   = regexp.MustCompile(`\b\d+(\.\d+)?(ms|s|m|h|d)(\d+[smh])*\b`)
	room      = regexp.MustCompile(`[ \t]+`)
)

// alike reports whether an output is what a page says.
func alike(says, prints string) bool {
	plain := func(text string) string {
		text = timeOfDay.ReplaceAllString(text, "12:00")
		text = lasting.ReplaceAllString(text, "1s")
		lines := strings.Split(strings.TrimSpace(text), "\n")
		for i, line := range lines {
			lines[i] = strings.TrimSpace(room.ReplaceAllString(line, " "))
		}
		return strings.Join(lines, "\n")
	}
	pattern := "\n" + regexp.QuoteMeta(plain(says)) + "\n"
	for strings.Contains(pattern, "\n…\n") {
		pattern = strings.ReplaceAll(pattern, "\n…\n", "\n(?:.*\n)*")
	}
	pattern = strings.ReplaceAll(pattern, "…", ".*")
	return regexp.MustCompile(`\A` + pattern + `\z`).MatchString("\n" + plain(prints) + "\n")
}

// TestWhatAPageShows shows the check what it is to find.
func TestWhatAPageShows(t *testing.T) {
	t.Parallel()
	got := shown("a\n$ no\n```console\n$ one\n1\n2\n$ cat >f <<'EOF'\n$ x\nEOF\n$ two\n```\n```\n$ no\n```\n")
	want := []step{{4, "one", "1\n2\n"}, {7, "cat >f <<'EOF'\n$ x\nEOF", ""}, {10, "two", ""}}
	if len(got) != len(want) {
		t.Fatalf("got %+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %+v, want %+v", got[i], want[i])
		}
	}
	for _, c := range []struct {
		says, prints string
		want         bool
	}{
		{"A  B\n", "A\tB\n", true},
		{"ran 0.5s at 12:30", "ran 1h2m at 09:10:11", true},
		{"exit code 1", "exit code 2", false},
		{"a … z", "a b z", true},
		{"a\n…\nz", "a\nb\nc\nz", true},
		{"a\n…\nz", "a\nz", true},
		{"…\nz", "a\nb\nz", true},
		{"…\nz", "a\nb\n", false},
		{"", "a", false},
	} {
		if got := alike(c.says, c.prints); got != c.want {
			t.Errorf("%q and %q: %v, want %v", c.says, c.prints, got, c.want)
		}
	}
}

// TestTheFrontPageShowsWhatHappens: what README shows is on a page that is run.
func TestTheFrontPageShowsWhatHappens(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(pages(t), name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	run := shown(read("getting-started.md"))
	front := shown(read("../README.md"))
	if len(front) == 0 {
		t.Error("README shows no command with what it prints")
	}
	for _, s := range front {
		if !slices.ContainsFunc(run, func(r step) bool { return r.command == s.command && alike(r.prints, s.prints) }) {
			t.Errorf("README.md:%d: %s prints something else in docs/getting-started.md:\n%s", s.line, s.command, s.prints)
		}
	}
}

// pages is where the pages are.
func pages(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../docs")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
