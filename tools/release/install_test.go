package main

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// pretended is a folder with a release whose program is a shell script.
func pretended(t *testing.T, version string, more ...file) string {
	t.Helper()
	dir := t.TempDir()
	program := "#!/bin/sh\necho " + version + "\n"
	data, err := tarred(append([]file{{"bin/muster", 0o755, []byte(program)}, {"share/doc/muster/LICENSE", 0o644, []byte("free\n")}}, more...), time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	r := &release{root: "../..", out: dir, version: version}
	if err := r.put(r.name(runtime.GOOS+"_"+runtime.GOARCH+".tar.gz"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := r.installer(); err != nil {
		t.Fatal(err)
	}
	if err := r.sums(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// install runs the installer of a release and returns what it says.
func install(t *testing.T, release string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("sh", append([]string{filepath.Join(release, "install.sh")}, args...)...)
	work := t.TempDir()
	cmd.Env = append(os.Environ(), "TMPDIR="+work)
	out, err := cmd.CombinedOutput()
	if left, _ := os.ReadDir(work); len(left) > 0 {
		t.Errorf("it left %v behind in TMPDIR", left)
	}
	return string(out), err
}

// below are the paths of all that is in a folder.
func below(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		all = append(all, rel)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func says(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestAnInstallationComesAndGoes installs from a folder and from an address, over an
// earlier version too, and removes it again.
func TestAnInstallationComesAndGoes(t *testing.T) {
	t.Parallel()
	older, newer := pretended(t, "1.0.0", file{"share/old/only", 0o644, nil}), pretended(t, "1.1.0")
	server := httptest.NewServer(http.FileServer(http.Dir(newer)))
	defer server.Close()
	home := t.TempDir()
	prefix := filepath.Join(home, "local")
	mine := filepath.Join(home, "others", "share")
	if err := os.MkdirAll(mine, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{prefix, filepath.Dir(mine)} {
		before := below(t, home)
		if out, err := install(t, older, "--prefix", at); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if got := says(t, filepath.Join(at, "bin", "muster")); got != "1.0.0" {
			t.Errorf("installed from a folder it says %q", got)
		}
		if out, err := install(t, newer, "--prefix", at, "--from", server.URL+"/"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if got := says(t, filepath.Join(at, "bin", "muster")); got != "1.1.0" {
			t.Errorf("installed from an address it says %q", got)
		}
		if _, err := os.Stat(filepath.Join(at, "share", "old", "only")); err == nil {
			t.Error("a file of the older version is still there")
		}
		if out, err := install(t, newer, "--prefix", at, "--uninstall"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if left := below(t, home); !slices.Equal(left, before) {
			t.Errorf("before there was %v, afterwards %v", before, left)
		}
		if out, err := install(t, newer, "--prefix", at, "--uninstall"); err == nil || !strings.Contains(out, "no installation") {
			t.Errorf("removed twice: %v, %s", err, out)
		}
	}
}

// TestADamagedReleaseIsRefused changes what the installer has to notice. Nothing may be
// left of it, and an installation that is there stays as it is.
func TestADamagedReleaseIsRefused(t *testing.T) {
	t.Parallel()
	archive := func(dir string) string {
		found, err := filepath.Glob(filepath.Join(dir, "*.tar.gz"))
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		return found[0]
	}
	change := func(path string, with func([]byte) []byte) {
		data, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, with(data), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		harm func(dir string)
		says string
	}{
		"one byte":      {func(d string) { change(archive(d), func(b []byte) []byte { b[len(b)/2] ^= 1; return b }) }, "damaged"},
		"cut off":       {func(d string) { change(archive(d), func(b []byte) []byte { return b[:len(b)/2] }) }, "damaged"},
		"no archive":    {func(d string) { os.Remove(archive(d)) }, "has no muster_"},
		"no checksums":  {func(d string) { os.Remove(filepath.Join(d, sumsFile)) }, "SHA256SUMS"},
		"another place": {func(d string) { change(filepath.Join(d, sumsFile), func([]byte) []byte { return []byte("00  x\n") }) }, "has nothing for"},
		"does not run": {func(d string) {
			data, err := tarred([]file{{"bin/muster", 0o755, []byte("#!/bin/sh\nexit 1\n")}}, time.Unix(1, 0))
			if err != nil {
				t.Fatal(err)
			}
			change(archive(d), func([]byte) []byte { return data })
			change(filepath.Join(d, sumsFile), func([]byte) []byte {
				return fmt.Appendf(nil, "%x  %s\n", sha256.Sum256(data), filepath.Base(archive(d)))
			})
		}, "does not run"},
	} {
		t.Run(name, func(t *testing.T) {
			home, dir := t.TempDir(), pretended(t, "1.1.0")
			prefix := filepath.Join(home, "new")
			c.harm(dir)
			if out, err := install(t, dir, "--prefix", prefix, "--from", dir); err == nil || !strings.Contains(out, c.says) {
				t.Errorf("%v, %s", err, out)
			}
			if left := below(t, home); len(left) != 1 {
				t.Errorf("left behind: %v", left)
			}
			if out, err := install(t, pretended(t, "1.0.0"), "--prefix", prefix); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			before := below(t, home)
			if out, err := install(t, dir, "--prefix", prefix, "--from", dir); err == nil {
				t.Errorf("it was taken over an installation: %s", out)
			}
			if after := below(t, home); !slices.Equal(before, after) || says(t, filepath.Join(prefix, "bin", "muster")) != "1.0.0" {
				t.Errorf("of %v it made %v", before, after)
			}
		})
	}
}

// TestWhatOthersPutThereIsNotOverwritten finds a program that no installer put there.
func TestWhatOthersPutThereIsNotOverwritten(t *testing.T) {
	t.Parallel()
	prefix := t.TempDir()
	if err := os.Mkdir(filepath.Join(prefix, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(prefix, "bin", "muster")
	if err := os.WriteFile(mine, []byte("#!/bin/sh\necho mine\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	before := below(t, prefix)
	if out, err := install(t, pretended(t, "1.0.0"), "--prefix", prefix); err == nil || !strings.Contains(out, "did not put it there") {
		t.Errorf("%v, %s", err, out)
	}
	if after := below(t, prefix); !slices.Equal(before, after) || says(t, mine) != "mine" {
		t.Errorf("of %v it made %v", before, after)
	}
}
