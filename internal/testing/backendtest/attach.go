package backendtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/backend"
)

func (s suite) attachTerminal(t *testing.T) {
	a := s.shell(id("tty", 0), `test -t 0 && test -t 1 && echo terminal; while read line; do echo "got $line"; [ "$line" = end ] && exit 8; [ "$line" = size ] && stty size; done`)
	a.TTY = true
	p, e := s.enterer(t, a)
	s.sawLine(t, p, a.ID, "terminal") // the line ends with a carriage return, which Scanner drops
	type end struct {
		typing *io.PipeWriter
		out    lines
		done   chan error
	}
	attach := func(resize chan backend.Size) *end {
		in, typing := io.Pipe()
		x := &end{typing: typing, done: make(chan error, 1)}
		go func() {
			x.done <- e.Attach(t.Context(), a.ID, backend.Streams{Stdin: in, Stdout: &x.out, Resize: resize})
		}()
		return x
	}
	// Unbuffered: when a second size is taken, the first is in force, and who
	// takes sizes is attached.
	sizes, others := make(chan backend.Size), make(chan backend.Size)
	one, two := attach(sizes), attach(others)
	for range 2 {
		sizes <- backend.Size{Columns: 99, Rows: 33}
		others <- backend.Size{Columns: 99, Rows: 33}
	}
	_, _ = fmt.Fprintln(one.typing, "size")
	for begun := time.Now(); s.opts.Lossy && !(one.out.has("33 99\r\n") && two.out.has("33 99\r\n")) && time.Since(begun) < Within; time.Sleep(time.Second) {
		_, _ = fmt.Fprintln(one.typing, "size")
	}
	one.out.await(t, "33 99\r\n")
	two.out.await(t, "33 99\r\n")
	_, _ = fmt.Fprintln(two.typing, "second")
	one.out.await(t, "got second\r\n")
	_, _ = fmt.Fprintln(one.typing, "end")
	wantExit(t, ended(t, p, a.ID), 8, "Error")
	for _, x := range []*end{one, two} {
		select {
		case err := <-x.done:
			if err != nil {
				t.Errorf("Attach: %v", err)
			}
		case <-time.After(Within):
			t.Fatal("Attach does not return after the task has ended")
		}
		if !strings.Contains(x.out.String(), "got end\r\n") {
			t.Errorf("the end is missing: %q", x.out.String())
		}
		_ = x.typing.Close()
	}
	if log := read(t, p, a.ID, backend.LogOptions{Tail: -1}); !strings.Contains(strings.ReplaceAll(log, "\r\n", "\n"), "got second\n") {
		t.Errorf("the log %q lacks what was on the terminal", log)
	}
}

func (s suite) attachInput(t *testing.T) {
	a := s.shell(id("input", 0), "cat; "+s.pause()+"; echo end; exit 2")
	a.Stdin = true
	p, e := s.enterer(t, a)
	in := strings.Repeat("line of input\n", 10_000)
	if err := e.Attach(t.Context(), a.ID, backend.Streams{Stdin: strings.NewReader(in)}); err != nil {
		t.Errorf("Attach: %v", err)
	}
	wantExit(t, ended(t, p, a.ID), 2, "Error")
	if got := read(t, p, a.ID, backend.LogOptions{Tail: -1}); got != in+"end\n" {
		t.Errorf("%d bytes came out, want %d", len(got), len(in)+4)
	}
	// Without Stdin it is empty from the beginning.
	o, out := run(t, p, s.shell(id("input", 1), "cat; echo end"))
	if wantExit(t, o, 0, ""); out != "end\n" {
		t.Errorf("output %q", out)
	}
}

func (s suite) attachOutput(t *testing.T) {
	a := s.shell(id("watcher", 0), "printf 'prompt> '; while sleep 0.02; do echo x; done")
	p, e := s.enterer(t, a)
	until(t, "it has written", func() bool { return len(read(t, p, a.ID, backend.LogOptions{Tail: -1})) > 0 })
	var out lines
	done := make(chan error, 1)
	go func() { done <- e.Attach(t.Context(), a.ID, backend.Streams{Stdout: &out}) }()
	out.await(t, "x\n")
	ctx, cancel := context.WithCancel(t.Context())
	short := make(chan error, 1)
	go func() { short <- e.Attach(ctx, a.ID, backend.Streams{Stdout: io.Discard}) }()
	cancel()
	for _, c := range []chan error{short, done} {
		select {
		case err := <-c:
			if c == done && err != nil || c == short && !errors.Is(err, context.Canceled) {
				t.Errorf("Attach: %v", err)
			}
		case <-time.After(Within):
			t.Fatal("Attach does not return")
		}
		s.stopNow(t, p, a.ID)
	}
}

// dialApart reaches a port in the network of the task.
func (s suite) dialApart(t *testing.T) {
	_, e := s.enterer(t, s.shell(id("dial", 0), "while :; do echo hello | nc -l -p 4711; done"))
	// It may not listen yet, which some backends tell only when one reads.
	until(t, "the port answers", func() bool {
		conn, err := e.Dial(t.Context(), id("dial", 0), 4711)
		if err != nil {
			return false
		}
		defer func() { _ = conn.Close() }()
		got, err := io.ReadAll(conn)
		return string(got) == "hello\n" && err == nil
	})
	if _, err := e.Dial(t.Context(), id("dial", 0), 70000); err == nil || !strings.Contains(err.Error(), "70000") {
		t.Errorf("Dial of port 70000: %v", err)
	}
}

func (s suite) dial(t *testing.T) {
	if s.opts.Apart {
		s.dialApart(t)
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, text, _ := net.SplitHostPort(l.Addr().String())
	port, _ := strconv.Atoi(text)
	a := s.shell(id("dial", 0), waits)
	_, e := s.enterer(t, a)
	go func() {
		if conn, err := l.Accept(); err == nil {
			_, _ = conn.Write([]byte("hello"))
			_ = conn.Close()
		}
	}()
	conn, err := e.Dial(t.Context(), a.ID, port)
	if err != nil {
		t.Fatalf("Dial: %v", err)
	}
	defer func() { _ = conn.Close() }()
	if got, err := io.ReadAll(conn); string(got) != "hello" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
	if _, err := e.Dial(t.Context(), a.ID, 70000); err == nil || !strings.Contains(err.Error(), "70000") {
		t.Errorf("Dial of port 70000: %v", err)
	}
}
