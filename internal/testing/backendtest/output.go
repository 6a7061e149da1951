package backendtest

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
)

// read returns what the options choose of a task's output.
func read(t *testing.T, p backend.Backend, id core.TaskID, opts backend.LogOptions) string {
	t.Helper()
	r, err := p.Logs(t.Context(), id, opts)
	if err != nil {
		t.Fatalf("Logs of %s: %v", id, err)
	}
	defer func() { _ = r.Close() }()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("read logs of %s: %v", id, err)
	}
	return string(data)
}

// followed is the output of a task from its beginning on, until the test ends or
// has waited for long.
func (s suite) followed(t *testing.T, p backend.Backend, id core.TaskID) io.ReadCloser {
	t.Helper()
	var r io.ReadCloser
	until(t, "the task has a log", func() (ok bool) {
		var err error
		if r, err = p.Logs(t.Context(), id, backend.LogOptions{Follow: true, Tail: -1}); err != nil && !errors.Is(err, backend.ErrNoLogs) {
			t.Fatalf("Logs: %v", err)
		}
		return err == nil
	})
	timer := time.AfterFunc(Within, func() { _ = r.Close() })
	t.Cleanup(func() {
		timer.Stop()
		_ = r.Close()
	})
	return r
}

// sawLine waits until a task has written line, following its output.
func (s suite) sawLine(t *testing.T, p backend.Backend, id core.TaskID, line string) {
	t.Helper()
	r := s.followed(t, p, id)
	defer func() { _ = r.Close() }()
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		if sc.Text() == line {
			return
		}
	}
	t.Fatalf("%s: the log ended before the line %q came", id, line)
}

func (s suite) logs(t *testing.T) {
	p := s.open(t)
	lines := []string{"first", "", "  spaces  ", "umlaut ä, quote '", strings.Repeat("long ", 2000), "last"}
	ids := s.start(t, p, "logs", Script{Output: lines}, Script{Output: []string{"still here"}, Run: Forever})
	ended(t, p, ids[0])
	want := strings.Join(lines, "\n") + "\n"
	if got := read(t, p, ids[0], backend.LogOptions{Tail: -1}); got != want {
		t.Errorf("logs: %.200q, want %.200q", got, want)
	}
	s.sawLine(t, p, ids[1], "still here")
	if got := read(t, p, ids[1], backend.LogOptions{Tail: -1}); got != "still here\n" {
		t.Errorf("logs of a running task: %q, want %q", got, "still here\n")
	}
	s.stopNow(t, p, ids[1])
}

func (s suite) logParts(t *testing.T) {
	p := s.open(t)
	lines := make([]string, 3000)
	for i := range lines {
		lines[i] = strings.Repeat("x", i%60) + "."
	}
	ids := s.start(t, p, "parts", Script{Output: lines}, Script{Output: []string{"only"}})
	ended(t, p, ids[0])
	ended(t, p, ids[1])
	whole := strings.Join(lines, "\n") + "\n"
	for _, n := range []int{0, 1, 2, 10, 2999, 3000, 5000} {
		want := ""
		if n > 0 {
			want = strings.Join(lines[max(len(lines)-n, 0):], "\n") + "\n"
		}
		if got := read(t, p, ids[0], backend.LogOptions{Tail: n}); got != want {
			t.Errorf("the last %d lines: got %d bytes %.60q…, want %d bytes %.60q…", n, len(got), got, len(want), want)
		}
	}
	for _, at := range []int{0, 1, 77, len(whole) - 1, len(whole), len(whole) + 5} {
		want := whole[min(at, len(whole)):]
		if got := read(t, p, ids[0], backend.LogOptions{Tail: -1, Offset: int64(at)}); got != want {
			t.Errorf("from byte %d: got %d bytes, want %d", at, len(got), len(want))
		}
	}
	if got := read(t, p, ids[1], backend.LogOptions{Tail: 5}); got != "only\n" {
		t.Errorf("the last 5 of 1 line: %q", got)
	}
}

func (s suite) follow(t *testing.T) {
	p := s.open(t)
	ids := s.start(t, p, "follow", Script{Output: []string{"a", "b"}, Run: 300 * time.Millisecond})
	until(t, "the task has a log", func() bool {
		r, err := p.Logs(t.Context(), ids[0], backend.LogOptions{Tail: -1})
		if err == nil {
			_ = r.Close()
		}
		return err == nil
	})
	if got := read(t, p, ids[0], backend.LogOptions{Tail: -1, Follow: true}); got != "a\nb\n" {
		t.Errorf("followed %q, want %q", got, "a\nb\n")
	}
	ended(t, p, ids[0])
	// To follow what has ended is to read it.
	if got := read(t, p, ids[0], backend.LogOptions{Tail: 1, Follow: true}); got != "b\n" {
		t.Errorf("followed %q after the end, want %q", got, "b\n")
	}
	if err := p.Forget(t.Context(), ids); err != nil {
		t.Fatalf("Forget: %v", err)
	}
	if got := read(t, p, ids[0], backend.LogOptions{Tail: -1, Follow: true}); got != "a\nb\n" {
		t.Errorf("followed %q after Forget, want %q", got, "a\nb\n")
	}
}

func (s suite) followClosed(t *testing.T) {
	p := s.open(t)
	ids := s.start(t, p, "closed", Script{Output: []string{"up"}, Run: Forever})
	s.sawLine(t, p, ids[0], "up")
	r, err := p.Logs(t.Context(), ids[0], backend.LogOptions{Tail: 0, Follow: true})
	if err != nil {
		t.Fatalf("Logs: %v", err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := r.Read(make([]byte, 10))
		done <- err
	}()
	_ = r.Close()
	select {
	case err := <-done:
		if err == nil {
			t.Error("a read of a closed reader succeeded")
		}
	case <-time.After(Within):
		t.Error("Close does not end a waiting Read")
	}
	s.stopNow(t, p, ids...)
}

func (s suite) noLogs(t *testing.T) {
	p := s.open(t)
	for _, follow := range []bool{false, true} {
		if _, err := p.Logs(t.Context(), id("nobody", 0), backend.LogOptions{Tail: -1, Follow: follow}); !errors.Is(err, backend.ErrNoLogs) {
			t.Errorf("Logs of an unknown task (follow %v): %v, want ErrNoLogs", follow, err)
		}
	}
}

func (s suite) deleteLogs(t *testing.T) {
	p := s.open(t)
	ids := s.start(t, p, "deleted", Script{Output: []string{"a"}}, Script{Output: []string{"b"}})
	other := s.start(t, p, "kept", Script{Output: []string{"c"}})
	for _, id := range append(ids, other...) {
		ended(t, p, id)
	}
	if err := p.DeleteLogs(t.Context(), "deleted"); err != nil {
		t.Fatalf("DeleteLogs: %v", err)
	}
	for _, id := range ids {
		if _, err := p.Logs(t.Context(), id, backend.LogOptions{Tail: -1}); !errors.Is(err, backend.ErrNoLogs) {
			t.Errorf("Logs of %s after DeleteLogs: %v, want ErrNoLogs", id, err)
		}
	}
	if got := read(t, p, other[0], backend.LogOptions{Tail: -1}); got != "c\n" {
		t.Errorf("the logs of another workload: %q, want %q", got, "c\n")
	}
	if err := p.DeleteLogs(t.Context(), "nobody"); err != nil {
		t.Errorf("DeleteLogs of nothing: %v", err)
	}
}
