package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheSocketOfTasksStaysWhereItIs: tasks that outlive a server look for the
// next one where they found it.
func TestTheSocketOfTasksStaysWhereItIs(t *testing.T) {
	tmp, err := os.MkdirTemp("", "s") // t.TempDir is too long a path for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(tmp) })
	t.Setenv("TMPDIR", tmp)
	data := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
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

// TestBrowsersAreSentWhereTheServerListens: another loopback address than the
// usual one is not that one.
func TestBrowsersAreSentWhereTheServerListens(t *testing.T) {
	for at, want := range map[string]string{"127.0.0.2:8080": "http://127.0.0.2:8080/", "[::1]:8080": "http://[::1]:8080/", "[::]:8080": "http://127.0.0.1:8080/", "192.0.2.1:8080": ""} {
		a, err := net.ResolveTCPAddr("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		if got := newBrowsers(t.TempDir(), []net.Listener{listening{addr: a}}, nil).url; got != want {
			t.Errorf("of %s it is %q, want %q", at, got, want)
		}
	}
}

type listening struct {
	net.Listener
	addr net.Addr
}

func (l listening) Addr() net.Addr { return l.addr }
