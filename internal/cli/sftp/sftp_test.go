package sftp_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/cli/sftp"
)

// local runs commands on this machine, in dir.
func local(dir string) sftp.Runner {
	return func(ctx context.Context, argv []string, in io.Reader, out, complaint io.Writer) (int, error) {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, complaint
		if in != nil { // not cmd.Stdin: Wait would wait for the next read
			w, err := cmd.StdinPipe()
			if err != nil {
				return 0, err
			}
			go func() { _, _ = io.Copy(w, in); _ = w.Close() }()
		}
		err := cmd.Run()
		var ee *exec.ExitError
		if errors.As(err, &ee) {
			return ee.ExitCode(), nil
		}
		return 0, err
	}
}

// shells are the shells that tasks may have.
func shells(t *testing.T, test func(t *testing.T, dir string, f *sftp.Shell)) {
	for _, sh := range []string{"sh", "busybox"} {
		t.Run(sh, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			run := local(dir)
			if sh == "busybox" {
				box, err := exec.LookPath("busybox")
				if err != nil {
					t.Skip("this takes busybox: apt-get install busybox-static")
				}
				bin := t.TempDir()
				if out, err := exec.Command(box, "--install", "-s", bin).CombinedOutput(); err != nil {
					t.Fatalf("%s: %v", out, err)
				}
				inner := run
				run = func(ctx context.Context, argv []string, in io.Reader, out, complaint io.Writer) (int, error) {
					return inner(ctx, append([]string{"env", "PATH=" + bin}, argv...), in, out, complaint)
				}
			}
			f := sftp.NewShell(run)
			t.Cleanup(f.Close)
			test(t, dir, f)
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

var odd = []string{"plain", "with blank", "with\nline", "-dash", "quote'\"$(x)`", ".hidden", "..two", "*", "ünï"}

func TestFilesThroughAShell(t *testing.T) {
	shells(t, func(t *testing.T, dir string, f *sftp.Shell) {
		ctx := t.Context()
		for _, name := range odd {
			write(t, filepath.Join(dir, name), name)
		}
		list, err := f.List(ctx, ".")
		var names []string
		for _, e := range list {
			names = append(names, e.Name)
			if e.Size != int64(len(e.Name)) {
				t.Errorf("%q has %d bytes", e.Name, e.Size)
			}
		}
		want := slices.Sorted(slices.Values(odd))
		if slices.Sort(names); err != nil || !slices.Equal(names, want) {
			t.Errorf("listed %q, %v", names, err)
		}
		if err := f.Mkdir(ctx, "d", 0o750); err != nil {
			t.Error(err)
		}
		if list, err := f.List(ctx, "d"); err != nil || len(list) != 0 {
			t.Errorf("an empty directory has %v, %v", list, err)
		}
		if a, err := f.Stat(ctx, "d", true); err != nil || !a.Dir() || a.Mode&0o777 != 0o750 {
			t.Errorf("d is %+v, %v", a, err)
		}
		for _, name := range odd {
			at, mode := time.Unix(981173106, 0), uint32(0o640)
			if err := f.Change(ctx, name, sftp.Change{Mode: &mode, Times: &[2]time.Time{at, at}}); err != nil {
				t.Errorf("%q: %v", name, err)
			}
			if a, err := f.Stat(ctx, name, false); err != nil || a.Mode&0o777 != 0o640 || !a.Mtime.Equal(at) {
				t.Errorf("%q is %+v, %v", name, a, err)
			}
			if err := f.Rename(ctx, name, "d/"+name, false); err != nil {
				t.Errorf("%q: %v", name, err)
			}
			if err := f.Symlink(ctx, "d/"+name, "l"); err != nil {
				t.Errorf("%q: %v", name, err)
			}
			if to, err := f.Readlink(ctx, "l"); err != nil || to != "d/"+name {
				t.Errorf("the link leads to %q, %v", to, err)
			}
			if err := f.Remove(ctx, "l"); err != nil {
				t.Error(err)
			}
			if err := f.Remove(ctx, "d/"+name); err != nil {
				t.Errorf("%q: %v", name, err)
			}
		}
		if err := f.Rmdir(ctx, "d"); err != nil {
			t.Error(err)
		}
		real, _ := filepath.EvalSymlinks(dir)
		for _, path := range []string{".", "", "new", real + "/new"} {
			if got, err := f.Realpath(ctx, path); err != nil || !strings.HasPrefix(got, real) {
				t.Errorf("%q really is %q, %v", path, got, err)
			}
		}
	})
}

func TestRefusalsHaveTheirKind(t *testing.T) {
	shells(t, func(t *testing.T, dir string, f *sftp.Shell) {
		ctx := t.Context()
		write(t, filepath.Join(dir, "a"), "a")
		write(t, filepath.Join(dir, "b"), "b")
		for name, err := range map[string]error{
			"stat":    second(f.Stat(ctx, "x", true)),
			"list":    second(f.List(ctx, "x")),
			"open":    second(f.Open(ctx, "x", sftp.Flags{Read: true}, 0)),
			"write":   second(f.Open(ctx, "x", sftp.Flags{Write: true}, 0)),
			"below":   second(f.Open(ctx, "x/y", sftp.Flags{Write: true, Create: true}, 0o644)),
			"remove":  f.Remove(ctx, "x"),
			"rmdir":   f.Rmdir(ctx, "x"),
			"rename":  f.Rename(ctx, "x", "y", false),
			"change":  f.Change(ctx, "x", sftp.Change{}),
			"mkdir":   f.Mkdir(ctx, "x/y", 0o755),
			"replace": nil,
		} {
			if name != "replace" && !errors.Is(err, sftp.ErrNotFound) {
				t.Errorf("%s: %v, want %v", name, err, sftp.ErrNotFound)
			}
		}
		if err := f.Rename(ctx, "a", "b", false); err == nil {
			t.Error("a file was replaced by a rename that must not")
		}
		if err := f.Rename(ctx, "a", "b", true); err != nil {
			t.Error(err)
		}
		if _, err := f.Open(ctx, ".", sftp.Flags{Read: true}, 0); err == nil {
			t.Error("a directory was opened as a file")
		}
		if _, err := f.Open(ctx, "b", sftp.Flags{Write: true, Create: true, Exclusive: true}, 0o644); err == nil {
			t.Error("a file that is there was made anew")
		}
		if err := f.Remove(ctx, "."); err == nil {
			t.Error("a directory was removed as a file")
		}
	})
}

func second[T any](_ T, err error) error { return err }

func TestContentsGoBothWays(t *testing.T) {
	shells(t, func(t *testing.T, dir string, f *sftp.Shell) {
		ctx := t.Context()
		body := make([]byte, 3<<20)
		rand.Read(body)
		file, err := f.Open(ctx, "new", sftp.Flags{Write: true, Create: true, Truncate: true}, 0o640)
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; at < len(body); at += 100_000 {
			if _, err := file.WriteAt(body[at:min(at+100_000, len(body))], int64(at)); err != nil {
				t.Fatal(err)
			}
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "new")); err != nil || !bytes.Equal(got, body) {
			t.Fatalf("what came is another: %d bytes, %v", len(got), err)
		}
		back, err := f.Open(ctx, "new", sftp.Flags{Read: true}, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer back.Close()
		buf := make([]byte, 70_000)
		for _, at := range []int{0, 70_000, 140_000, 2_000_000, 5, len(body) - 3} {
			n, err := back.ReadAt(buf, int64(at))
			if want := body[at:min(at+len(buf), len(body))]; !bytes.Equal(buf[:n], want) || err != nil && (err != io.EOF || n == len(buf)) {
				t.Errorf("at %d: %d bytes, %v", at, n, err)
			}
		}
		if _, err := back.WriteAt([]byte("x"), 0); !errors.Is(err, sftp.ErrDenied) {
			t.Errorf("a file that is open for reading was written: %v", err)
		}
		// On from the end, over the beginning, and nowhere else.
		file, err = f.Open(ctx, "new", sftp.Flags{Write: true}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteAt([]byte("tail"), int64(len(body))); err != nil {
			t.Error(err)
		}
		if _, err := file.WriteAt([]byte("head"), 0); err != nil {
			t.Error(err)
		}
		if _, err := file.WriteAt([]byte("?"), 77); !errors.Is(err, sftp.ErrUnsupported) {
			t.Errorf("a write in the middle: %v", err)
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
		copy(body, "head")
		if got, _ := os.ReadFile(filepath.Join(dir, "new")); !bytes.Equal(got, append(body, "tail"...)) {
			t.Errorf("what was written over is another: %d bytes", len(got))
		}
	})
}

// Whatever comes over the wire ends in an answer or the end, and no panic.
func FuzzPackets(f *testing.F) {
	frame := func(b ...byte) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...) }
	f.Add(frame(1, 0, 0, 0, 3))
	f.Add(append(frame(1, 0, 0, 0, 3), frame(3, 0, 0, 0, 1, 0, 0, 0, 1, 'x', 0, 0, 0, 1, 0, 0, 0, 0)...))
	f.Add(frame(17, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff))
	f.Add(frame(9, 0, 0, 0, 1, 0, 0, 0, 1, 'x', 0x80, 0, 0, 0, 0xff, 0xff, 0xff, 0xff))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		nothing := func(context.Context, []string, io.Reader, io.Writer, io.Writer) (int, error) { return 1, nil }
		s := sftp.NewShell(nothing)
		defer s.Close()
		_ = sftp.Serve(t.Context(), bytes.NewReader(data), io.Discard, s)
	})
}
