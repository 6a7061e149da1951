package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestLockOfAServerThatIsGone: a child of a server that was killed may have its
// lock for a moment; the next server waits for that, and for nobody who lives.
func TestLockOfAServerThatIsGone(t *testing.T) {
	dir := t.TempDir()
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	held, err := os.OpenFile(filepath.Join(dir, "server.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	owned := func(pid int) {
		t.Helper()
		if err := held.Truncate(0); err != nil {
			t.Fatal(err)
		}
		if _, err := held.WriteAt([]byte(strconv.Itoa(pid)+"\n"), 0); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Flock(int(held.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			t.Fatal(err)
		}
	}

	owned(os.Getpid())
	if f, err := lockDir(dir); err == nil || !strings.Contains(err.Error(), "another server (pid "+strconv.Itoa(os.Getpid())+")") {
		t.Errorf("beside a server that lives: %v, %v", f, err)
	}

	owned(gone.Process.Pid)
	time.AfterFunc(100*time.Millisecond, func() { held.Close() })
	f, err := lockDir(dir)
	if err != nil {
		t.Fatalf("after a server that is gone: %v", err)
	}
	f.Close()
}
