package packed

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// packs makes a file of two scripts, of which the second is long.
func packs(t *testing.T, dir, large string) string {
	t.Helper()
	small, big, out := filepath.Join(dir, "s"), filepath.Join(dir, "l"), filepath.Join(dir, "both")
	for path, text := range map[string]string{small: "#!/bin/sh\necho small; exit\n", big: large} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Pack(out, small, big); err != nil {
		t.Fatal(err)
	}
	return out
}

func says(t *testing.T, path string) string {
	t.Helper()
	out, err := exec.Command(path).Output()
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return strings.TrimSpace(string(out))
}

const long = "#!/bin/sh\necho large; exit\n"

func TestAFileIsBothPrograms(t *testing.T) {
	dir := t.TempDir()
	file := packs(t, dir, long+strings.Repeat("# filled\n", 1<<16))
	if got := says(t, file); got != "small" {
		t.Errorf("the file says %q", got)
	}
	path, err := Unpack(file, dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := says(t, path); got != "large" {
		t.Errorf("what was unpacked says %q", got)
	}
	if got := says(t, Small(path)); got != "small" {
		t.Errorf("beside it is one that says %q", got)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Unpack(file, dir)
	if err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(again)
	if err != nil {
		t.Fatal(err)
	}
	if again != path || !os.SameFile(before, after) {
		t.Error("it was unpacked a second time")
	}
	if err := os.Truncate(path, 10); err != nil { // whoever did that
		t.Fatal(err)
	}
	if _, err := Unpack(file, dir); err != nil {
		t.Fatal(err)
	}
	if got := says(t, path); got != "large" {
		t.Errorf("what was cut off and unpacked again says %q", got)
	}
}

func TestWhatWasNotUnpackedIsItsOwnSmall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bin", "muster")
	if got := Small(path); got != path {
		t.Errorf("got %s", got)
	}
}

func TestADamagedFileIsNotUnpacked(t *testing.T) {
	dir := t.TempDir()
	file := packs(t, dir, long)
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	front := bytes.Index(good, []byte("exit\n")) + len("exit\n")
	for name, harm := range map[string]func([]byte) []byte{
		"a byte of the program":  func(b []byte) []byte { b[front+12] ^= 0xff; return b },
		"a byte of its checksum": func(b []byte) []byte { b[len(b)-len(mark)-1] ^= 0xff; return b },
		"its size":               func(b []byte) []byte { b[len(b)-len(mark)-41] = 0x7f; return b },
		"its beginning":          func(b []byte) []byte { return b[front+4:] },
	} {
		if err := os.WriteFile(file, harm(bytes.Clone(good)), 0o600); err != nil {
			t.Fatal(err)
		}
		to := t.TempDir()
		if path, err := Unpack(file, to); err == nil {
			t.Errorf("%s: unpacked to %s", name, path)
		}
		left, _ := filepath.Glob(filepath.Join(to, folder, "*", "*"))
		for _, path := range left {
			if filepath.Base(path) != first {
				t.Errorf("%s: %s is left", name, path)
			}
		}
	}
	if err := os.WriteFile(file, good[:len(good)-5], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Unpack(file, dir); !errors.Is(err, ErrNone) {
		t.Errorf("without its end: %v", err)
	}
	if _, err := Unpack(filepath.Join(dir, "l"), dir); !errors.Is(err, ErrNone) {
		t.Errorf("a file that holds none: %v", err)
	}
}

func TestOtherVersionsAreSweptUp(t *testing.T) {
	dir := t.TempDir()
	old, err := Unpack(packs(t, dir, long), dir)
	if err != nil {
		t.Fatal(err)
	}
	now, err := Unpack(packs(t, dir, long+"# newer\n"), dir)
	if err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(filepath.Dir(now), part+"1") // of one that was killed
	if err := os.WriteFile(half, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if old == now {
		t.Fatal("two versions have one place")
	}
	if err := Sweep(dir, now); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{old, half} {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
	if says(t, now) != "large" || says(t, Small(now)) != "small" {
		t.Error("the one that runs was harmed")
	}
	if err := Sweep(t.TempDir(), now); err != nil {
		t.Errorf("where nothing was unpacked: %v", err)
	}
}
