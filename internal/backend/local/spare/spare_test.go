//go:build linux

package spare

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func inode(t *testing.T, path string) uint64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st.Ino
}

func TestWhatIsKeptIsTakenAsNew(t *testing.T) {
	at := t.TempDir()
	p, err := Open(filepath.Join(at, "spare"))
	if err != nil {
		t.Fatal(err)
	}
	for name, kind := range map[string]Kind{"file": File, "fifo": FIFO, "dir": Dir} {
		t.Run(name, func(t *testing.T) {
			old, next := filepath.Join(at, "old-"+name), filepath.Join(at, "next-"+name)
			if p.Take(kind, next) {
				t.Fatal("something was kept before anything was")
			}
			make := map[Kind]func() error{
				File: func() error { return os.WriteFile(old, []byte("a secret"), 0o600) },
				FIFO: func() error { return unix.Mkfifo(old, 0o600) },
				Dir:  func() error { return os.Mkdir(old, 0o700) },
			}
			if err := make[kind](); err != nil {
				t.Fatal(err)
			}
			was := inode(t, old)
			if err := p.Keep(kind, old); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Lstat(old); !os.IsNotExist(err) {
				t.Errorf("what is kept is still where it was: %v", err)
			}
			if !p.Take(kind, next) || inode(t, next) != was {
				t.Fatal("what was kept was not given")
			}
			if kind == File {
				if data, err := os.ReadFile(next); err != nil || len(data) > 0 {
					t.Errorf("a file that is taken holds %q, %v", data, err)
				}
			}
			if p.Take(kind, next+"2") {
				t.Error("what was kept was given twice")
			}
			if err := make[kind](); err != nil {
				t.Fatal(err)
			}
			if err := p.Keep(kind, old); err != nil {
				t.Fatal(err)
			}
			if p.Take(kind, next) || inode(t, next) != was {
				t.Error("what was kept took the place of something")
			}
		})
	}
}

// TestWhatOthersMayHaveIsNotKept: a second name, other rights or content would be
// the next task's.
func TestWhatOthersMayHaveIsNotKept(t *testing.T) {
	at := t.TempDir()
	p, err := Open(filepath.Join(at, "spare"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(at, "it")
	for name, c := range map[string]struct {
		kind Kind
		make func() error
	}{
		"a file with two names": {File, func() error {
			_ = os.Remove(path + "-too")
			return firstOf(os.WriteFile(path, nil, 0o600), os.Link(path, path+"-too"))
		}},
		"a FIFO with two names": {FIFO, func() error {
			_ = os.Remove(path + "-too")
			return firstOf(unix.Mkfifo(path, 0o600), os.Link(path, path+"-too"))
		}},
		"a file that others read":      {File, func() error { return firstOf(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o644)) }},
		"a directory that is full":     {Dir, func() error { return firstOf(os.Mkdir(path, 0o700), os.WriteFile(path+"/x", nil, 0o600)) }},
		"a link in place of a file":    {File, func() error { return os.Symlink("/etc/hostname", path) }},
		"a directory of all the world": {Dir, func() error { return firstOf(os.Mkdir(path, 0o700), os.Chmod(path, 0o777)) }},
	} {
		if err := c.make(); err != nil {
			t.Fatal(name, err)
		}
		if err := p.Keep(c.kind, path); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", name, err)
		}
		if p.Take(c.kind, path) {
			t.Errorf("%s was kept", name)
		}
	}
	if data, err := os.ReadFile("/etc/hostname"); err != nil || len(data) == 0 {
		t.Errorf("what a link led to is gone: %v", err)
	}
}

func TestAPoolKeepsNoMoreThanItMay(t *testing.T) {
	at := t.TempDir()
	p, err := Open(filepath.Join(at, "spare"))
	if err != nil {
		t.Fatal(err)
	}
	for range most + 10 {
		path := filepath.Join(at, "d")
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := p.Keep(Dir, path); err != nil {
			t.Fatal(err)
		}
	}
	names, err := os.ReadDir(filepath.Join(at, "spare"))
	if err != nil || len(names) != most {
		t.Errorf("%d are kept, want %d: %v", len(names), most, err)
	}
	p, err = Open(filepath.Join(at, "spare"))
	if err != nil {
		t.Fatal(err)
	}
	if names, err := os.ReadDir(filepath.Join(at, "spare")); err != nil || len(names) > 0 || p.Take(Dir, filepath.Join(at, "d")) {
		t.Errorf("what a former pool kept stays: %v, %v", names, err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if names, err := os.ReadDir(at); err != nil || len(names) > 0 {
		t.Errorf("a pool that is closed leaves %v, %v", names, err)
	}
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
