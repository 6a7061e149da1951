package backendtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
)

// runEnter is the part of the contract for backends whose tasks can be entered.
func (s suite) runEnter(t *testing.T) {
	for _, c := range []struct {
		name string
		test func(suite, *testing.T)
	}{
		{"exec has the task's environment and directory", suite.execBeside},
		{"exec tells streams and exit codes apart", suite.execStreams},
		{"exec on a terminal", suite.execTerminal},
		{"exec ends with its context", suite.execCancelled},
		{"exec ends with the task", suite.execOutlived},
		{"what does not run cannot be entered", suite.notRunning},
		{"attach to a terminal", suite.attachTerminal},
		{"attach brings standard input", suite.attachInput},
		{"attach to output alone ends with the task", suite.attachOutput},
		{"dial reaches a port", suite.dial},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(s, t) })
	}
}

func (s suite) prelude(t *testing.T) {
	p := s.open(t)
	a := s.shell(id("prelude", 0), `echo "$GREETING $1"; pwd`)
	a.Argv = append(a.Argv, "zero", "two words")
	a.Prelude = []byte("export GREETING=\"hello $NAME\"\ncd /tmp\n")
	a.Env = []string{"NAME=you"}
	o, out := run(t, p, a)
	wantExit(t, o, 0, "")
	if want := "hello you two words\n/tmp\n"; out != want {
		t.Errorf("output %q, want %q", out, want)
	}
	// The command's own failure is not the prelude's.
	a = s.shell(id("prelude", 1), "exit 5")
	a.Prelude = []byte("true\n")
	o, _ = run(t, p, a)
	wantExit(t, o, 5, "Error")
	if strings.Contains(o.Message, "before the command") {
		t.Errorf("message %q blames the prelude", o.Message)
	}
}

func (s suite) preludeFails(t *testing.T) {
	p := s.open(t)
	for i, script := range []string{"echo not; exit 9", "set -e\nfalse_or_not() { return 9; }\nfalse_or_not\necho on", "(exit 9)"} {
		a := s.shell(id("prefail", i), "echo the command")
		a.Prelude = []byte(script)
		o, out := run(t, p, a)
		wantExit(t, o, 9, "Error")
		if o.Message != "what runs before the command failed with code 9" {
			t.Errorf("%q: message %q", script, o.Message)
		}
		if strings.Contains(out, "the command") {
			t.Errorf("%q: the command ran after a failed prelude", script)
		}
	}
}

// lines collects output and lets a test wait for a part of it.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *lines) has(text string) bool { return strings.Contains(l.String(), text) }

func (l *lines) await(t *testing.T, text string) {
	t.Helper()
	for begun := time.Now(); !l.has(text); time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > Within {
			t.Fatalf("after %s: %q is not in %q", Within, text, l.String())
		}
	}
}

// enterer starts a task that waits, and returns its backend.
func (s suite) enterer(t *testing.T, a backend.Assignment) (backend.Backend, backend.Enterer) {
	t.Helper()
	p := s.open(t)
	e, ok := p.(backend.Enterer)
	if !ok {
		t.Skip("entering tasks is optional for backends, and this one does not offer it")
	}
	if err := p.Start(t.Context(), []backend.Assignment{a}); err != nil {
		t.Fatalf("Start: %v", err)
	}
	running(t, p, a.ID)
	return p, e
}

const waits = "echo up; exec sleep 100000"

func execOutput(t *testing.T, e backend.Enterer, id core.TaskID, o backend.ExecOptions) (int, string, string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	o.Stdout, o.Stderr = &stdout, &stderr
	code, err := e.Exec(t.Context(), id, o)
	if err != nil {
		t.Fatalf("Exec %q: %v", o.Argv, err)
	}
	return code, stdout.String(), stderr.String()
}

func (s suite) execBeside(t *testing.T) {
	a := s.shell(id("exec", 0), waits)
	a.Env, a.Prelude = []string{"OWN=task", "BOTH=task"}, []byte("cd /tmp; export LATE=prelude\n")
	a.Devices = s.opts.Devices
	p, e := s.enterer(t, a)
	s.sawLine(t, p, a.ID, "up")
	code, out, _ := execOutput(t, e, a.ID, backend.ExecOptions{
		Argv: []string{"/bin/sh", "-c", `echo "$OWN $BOTH $LATE $MUSTER_TASK_ID $CUDA_VISIBLE_DEVICES"; pwd; exit 7`}, Env: []string{"BOTH=exec"},
	})
	if want := "task exec prelude exec/0/0 " + s.opts.Visible + "\n/tmp\n"; code != 7 || out != want {
		t.Errorf("code %d, output %q; want 7, %q", code, out, want)
	}
	if code, out, _ := execOutput(t, e, a.ID, backend.ExecOptions{Argv: []string{"pwd"}}); code != 0 || out != "/tmp\n" {
		t.Errorf("a command from PATH: code %d, output %q", code, out)
	}
	if _, err := e.Exec(t.Context(), a.ID, backend.ExecOptions{Argv: []string{"no-such-program-at-all"}}); !errors.Is(err, backend.ErrCannotRun) || !strings.Contains(err.Error(), "no-such-program-at-all") {
		t.Errorf("a program that does not exist: %v", err)
	}
	if got := read(t, p, a.ID, backend.LogOptions{Tail: -1}); got != "up\n" {
		t.Errorf("the task's own log has %q", got)
	}
}

func (s suite) execStreams(t *testing.T) {
	a := s.shell(id("streams", 0), waits)
	_, e := s.enterer(t, a)
	in := strings.Repeat("some input\n", 20_000) // more than a pipe holds
	code, out, errs := execOutput(t, e, a.ID, backend.ExecOptions{
		Argv: []string{"/bin/sh", "-c", "cat; echo wrong >&2; exit 3"}, Streams: backend.Streams{Stdin: strings.NewReader(in)},
	})
	if code != 3 || out != in || errs != "wrong\n" {
		t.Errorf("code %d, %d bytes of output, stderr %q; want 3, %d, %q", code, len(out), errs, len(in), "wrong\n")
	}
	if code, _, _ := execOutput(t, e, a.ID, backend.ExecOptions{Argv: []string{"/bin/sh", "-c", "kill -9 $$; sleep 1000"}}); code != 137 {
		t.Errorf("ended by signal 9: code %d, want 137", code)
	}
	if code, out, _ := execOutput(t, e, a.ID, backend.ExecOptions{Argv: []string{"cat"}}); code != 0 || out != "" {
		t.Errorf("without input: code %d, output %q", code, out)
	}
	if code, _, _ := execOutput(t, e, a.ID, backend.ExecOptions{Argv: []string{"/bin/sh", "-c", "sleep 100000 & exit 4"}}); code != 4 {
		t.Errorf("with a child left behind: code %d, want 4", code)
	}
	var slow slowReader
	code, err := e.Exec(t.Context(), a.ID, backend.ExecOptions{Argv: []string{"head", "-c", "1000000", "/dev/zero"}, Streams: backend.Streams{Stdout: &slow}})
	if code != 0 || err != nil || slow.got != 1_000_000 {
		t.Errorf("one who reads slowly got %d bytes of 1000000; code %d, %v", slow.got, code, err)
	}
}

// slowReader is busy with something else while a command ends, for longer than
// connections that are asked whether they are alive stay silent.
type slowReader struct{ got int }

// Write implements io.Writer.
func (r *slowReader) Write(b []byte) (int, error) {
	if r.got == 0 {
		time.Sleep(12 * time.Second)
	}
	r.got += len(b)
	return len(b), nil
}

func (s suite) execTerminal(t *testing.T) {
	a := s.shell(id("terminal", 0), waits)
	_, e := s.enterer(t, a)
	in, typing := io.Pipe()
	defer func() { _ = typing.Close() }()
	var out lines
	sizes := make(chan backend.Size, 2)
	sizes <- backend.Size{Columns: 101, Rows: 37}
	type result struct {
		code int
		err  error
	}
	done := make(chan result, 1)
	go func() {
		code, err := e.Exec(t.Context(), a.ID, backend.ExecOptions{
			Argv: []string{"/bin/sh", "-c", `test -t 0 && test -t 1 && test -t 2 && echo terminal; read line; stty size; echo "got $line"; read line; stty size; exit 6`},
			TTY:  true, Streams: backend.Streams{Stdin: in, Stdout: &out, Resize: sizes},
		})
		done <- result{code, err}
	}()
	out.await(t, "terminal")
	_, _ = fmt.Fprintln(typing, "one")
	out.await(t, "37 101\r\n")
	out.await(t, "got one\r\n")
	sizes <- backend.Size{Columns: 80, Rows: 24}
	sizes <- backend.Size{Columns: 80, Rows: 24} // taken only after the first was put in force
	sizes <- backend.Size{Columns: 80, Rows: 24}
	sizes <- backend.Size{Columns: 80, Rows: 24}
	_, _ = fmt.Fprintln(typing, "two")
	out.await(t, "24 80\r\n")
	if r := <-done; r.err != nil || r.code != 6 {
		t.Errorf("code %d, %v; want 6", r.code, r.err)
	}
}

func (s suite) execCancelled(t *testing.T) {
	a := s.shell(id("cancel", 0), waits)
	_, e := s.enterer(t, a)
	ctx, cancel := context.WithCancel(t.Context())
	var out lines
	done := make(chan error, 1)
	go func() {
		_, err := e.Exec(ctx, a.ID, backend.ExecOptions{
			Argv:    []string{"/bin/sh", "-c", "trap '' TERM HUP; sleep 98765 & echo begun; wait"},
			Streams: backend.Streams{Stdout: &out},
		})
		done <- err
	}()
	out.await(t, "begun")
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Exec after its context ended: %v", err)
		}
	case <-time.After(Within):
		t.Fatal("Exec does not return after its context is done")
	}
	until(t, "the command and its child are gone", func() bool {
		code, left, _ := execOutput(t, e, a.ID, backend.ExecOptions{Argv: []string{"/bin/sh", "-c", "for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $f; echo; done 2>/dev/null | grep -c '^sleep 98765'; true"}})
		return code == 0 && left == "0\n"
	})
}

func (s suite) execOutlived(t *testing.T) {
	a := s.shell(id("outlived", 0), waits)
	p, e := s.enterer(t, a)
	var out lines
	done := make(chan int, 1)
	go func() {
		code, err := e.Exec(t.Context(), a.ID, backend.ExecOptions{Argv: []string{"/bin/sh", "-c", "echo begun; exec sleep 100000"}, Streams: backend.Streams{Stdout: &out}})
		if err != nil {
			t.Errorf("Exec: %v", err)
		}
		done <- code
	}()
	out.await(t, "begun")
	s.stopNow(t, p, a.ID)
	select {
	case code := <-done:
		if code != 137 {
			t.Errorf("code %d, want 137", code)
		}
	case <-time.After(Within):
		t.Fatal("Exec does not return after the task has ended")
	}
}

func (s suite) notRunning(t *testing.T) {
	a := s.shell(id("over", 0), "exit 0")
	p := s.open(t)
	e, ok := p.(backend.Enterer)
	if !ok {
		t.Skip("entering tasks is optional for backends, and this one does not offer it")
	}
	check := func(what string, err error) {
		if !errors.Is(err, backend.ErrNotRunning) {
			t.Errorf("%s: %v, want ErrNotRunning", what, err)
		}
	}
	for _, when := range []string{"never started", "ended"} {
		_, err := e.Exec(t.Context(), a.ID, backend.ExecOptions{Argv: []string{"true"}})
		check("Exec, "+when, err)
		check("Attach, "+when, e.Attach(t.Context(), a.ID, backend.Streams{}))
		_, err = e.Dial(t.Context(), a.ID, 80)
		check("Dial, "+when, err)
		run(t, p, a)
	}
}
