package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// stage is where programs are built once for all tests.
var stage string

func TestMain(m *testing.M) {
	var err error
	if stage, err = os.MkdirTemp("", "muster-stage-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(stage)
	os.Exit(code)
}

// here is a release of this commit for this machine alone.
func here(t *testing.T) *release {
	t.Helper()
	r := &release{root: "../..", out: t.TempDir(), stage: stage, platforms: []platform{{runtime.GOOS, runtime.GOARCH}}}
	var err error
	if r.root, err = filepath.Abs(r.root); err != nil {
		t.Fatal(err)
	}
	if err := r.describe("v9.8.7"); err != nil {
		t.Fatal(err)
	}
	return r
}

// made is a release for this machine. Tests share it and change nothing in it.
func made(t *testing.T) *release {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skipf("this takes Linux, on which servers are built, and runs on %s: run it in a container or on another machine", runtime.GOOS)
	}
	once.Do(func() {
		shared = here(t)
		if shared.out, failed = os.MkdirTemp(stage, "out-"); failed == nil {
			failed = shared.make(parts)
		}
	})
	if failed != nil {
		t.Fatal(failed)
	}
	return shared
}

var (
	once   sync.Once
	shared *release
	failed error
)

// TestTwiceTheSame makes all files a second time out of the same programs, and
// compares each byte. That the programs come out the same is for release --check.
func TestTwiceTheSame(t *testing.T) {
	t.Parallel()
	one, two := made(t), here(t)
	if err := two.make(parts); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(one.out)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		a, err := os.ReadFile(filepath.Join(one.out, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(two.out, f.Name()))
		if err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s is not the same the second time (%v)", f.Name(), err)
		}
	}
	if others, _ := os.ReadDir(two.out); len(others) != len(files) {
		t.Errorf("%d files, then %d", len(files), len(others))
	}
}

// TestTheReleaseIsInstalledAndRuns installs what was built, from an address, and has it
// run a command with a server of its own.
func TestTheReleaseIsInstalledAndRuns(t *testing.T) {
	t.Parallel()
	r := made(t)
	server := httptest.NewServer(http.FileServer(http.Dir(r.out)))
	defer server.Close()
	home := t.TempDir()
	prefix := filepath.Join(home, "local")
	if out, err := install(t, r.out, "--from", server.URL, "--prefix", prefix); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	works(t, filepath.Join(prefix, "bin", "muster"))
	for _, f := range []string{"share/man/man1/muster-run.1", "share/bash-completion/completions/muster", "share/doc/muster/THIRD_PARTY_LICENSES"} {
		if info, err := os.Stat(filepath.Join(prefix, f)); err != nil || info.Size() < 500 {
			t.Errorf("%s: %v", f, err)
		}
	}
	if out, err := install(t, r.out, "--uninstall", "--prefix", prefix); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if left := below(t, home); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

// works has a program start a server, run a command (else its own words say which) and
// end the server.
func works(t *testing.T, program string, command ...string) {
	t.Helper()
	data, err := os.MkdirTemp("", "d-") // short, for the socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(data)
	call := func(args ...string) string {
		cmd := exec.Command(program, args...)
		cmd.Env = append(os.Environ(), "MUSTER_DATA_DIR="+data, "MUSTER_SERVER=", "MUSTER_TOKEN=", "MUSTER_CONFIG="+os.DevNull)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s %v: %v\n%s", program, args, err, out)
		}
		return string(out)
	}
	if out := call("version", "--client"); !strings.Contains(out, "v9.8.7") {
		t.Errorf("its version is %s", out)
	}
	want := "v9.8.7"
	if command == nil {
		command, want = []string{"--", "echo", "it", "works"}, "it works"
	}
	if out := call(append([]string{"run", "--follow"}, command...)...); !strings.Contains(out, want) {
		t.Errorf("what ran said %s", out)
	}
	call("server", "stop")
}
