package main

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core/address"
	"github.com/musterhq/muster/internal/outward"
)

// TestTheSocketOfTasksStaysWhereItIs: tasks that outlive a server look for the
// next one where they found it.
func TestTheSocketOfTasksStaysWhereItIs(t *testing.T) {
	tmp, err := os.MkdirTemp("", "s") // t.TempDir is too long a path for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(tmp) })
	passable(t, tmp)
	t.Setenv("TMPDIR", tmp)
	data := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	passable(t, data)
	var paths []string
	for range 2 {
		l, path, err := forTasks(data)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("%v, %v", info, err)
		}
		paths = append(paths, path)
		_ = l.Close()
	}
	passable(t, data+"2")
	_, other, err := forTasks(data + "2")
	if paths[0] != paths[1] || other == paths[0] || err != nil {
		t.Errorf("%q, of another directory %s; %v", paths, other, err)
	}
	// Somebody else may have been there before.
	dir := filepath.Dir(paths[0])
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), dir); err != nil {
		t.Fatal(err)
	}
	if _, path, err := forTasks(data); err == nil {
		t.Errorf("a link leads it to %s", path)
	}
}

// passable makes a directory that every user may pass through, from the top.
func passable(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for ; len(dir) > 1 && dir != filepath.Clean(os.TempDir()) && dir != "/tmp"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTasksOfOthersReachTheServer: a server of root has tasks that run as other
// users, and keeps them out of its data directory.
func TestTasksOfOthersReachTheServer(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this takes root: only root has tasks of other users")
	}
	data, err := os.MkdirTemp("", "closed")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(data) })
	task := filepath.Join(data, "local", "tasks", "one")
	if err := os.MkdirAll(task, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, left := range []bool{true, false} {
		l, path, err := forTasks(data)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(filepath.Dir(path)) })
		if !forAll(filepath.Dir(path)) {
			t.Errorf("nobody else comes to %s", path)
		}
		if !left {
			_ = os.Remove(task)
		}
		closeTasks(data, l, path)
		if _, err := os.Stat(filepath.Dir(path)); (err == nil) != left {
			t.Errorf("tasks are left: %t; their directory: %v", left, err)
		}
	}
}

// TestBrowsersAreSentWhereTheServerListens: another loopback address than the
// usual one is not that one.
func TestBrowsersAreSentWhereTheServerListens(t *testing.T) {
	for at, want := range map[string]string{"127.0.0.2:8080": "http://127.0.0.2:8080/", "[::1]:8080": "http://[::1]:8080/", "[::]:8080": "http://127.0.0.1:8080/", "192.0.2.1:8080": ""} {
		a, err := net.ResolveTCPAddr("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		if got := newBrowsers(t.TempDir(), []net.Listener{listening{addr: a}}, nil, nil).url; got != want {
			t.Errorf("of %s it is %q, want %q", at, got, want)
		}
	}
}

// TestBrowsersWaitForTheServer: who asks before browsers are served is answered
// once they are.
func TestBrowsersWaitForTheServer(t *testing.T) {
	b := newBrowsers(t.TempDir(), nil, outward.New(address.Rules{}), slog.New(slog.DiscardHandler))
	given, stop := context.WithCancel(t.Context())
	stop()
	if url, err := b.open(given); err == nil {
		t.Fatalf("before it is up it is at %q", url)
	}
	asked := make(chan string)
	go func() {
		url, err := b.open(t.Context())
		if err != nil {
			url = err.Error()
		}
		asked <- url
	}()
	ctx, end := context.WithCancel(t.Context())
	served := make(chan struct{})
	go func() {
		b.run(&http.Server{ReadHeaderTimeout: time.Second}, func(l net.Listener) net.Listener { return l })(ctx)
		close(served)
	}()
	if url := <-asked; !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Errorf("it is at %q", url)
	}
	end()
	<-served
}

type listening struct {
	net.Listener
	addr net.Addr
}

func (l listening) Addr() net.Addr { return l.addr }
