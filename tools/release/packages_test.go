package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// needs skips a test where a program is missing; in CI nothing may be.
func needs(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatal(err)
			}
			t.Skipf("this takes %s, which scripts/packages installs where it may: %v", name, err)
		}
	}
}

// TestTheDebianPackageIsInstalledAndRuns installs it by dpkg into a root of its own, runs
// the program there, and removes it again.
func TestTheDebianPackageIsInstalledAndRuns(t *testing.T) {
	t.Parallel()
	needs(t, "dpkg", "dpkg-deb")
	if os.Getuid() != 0 {
		t.Skip("this takes root: dpkg gives files to root")
	}
	r := made(t)
	file := filepath.Join(r.out, r.name("linux_"+runtime.GOARCH+".deb"))
	root := t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(root, "var", "lib", "dpkg")
	for _, dir := range []string{"info", "updates", "triggers"} {
		if err := os.MkdirAll(filepath.Join(state, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(state, "status"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dpkg := func(args ...string) string { return says(t, "dpkg", append([]string{"--root=" + root}, args...)...) }
	dpkg("--install", file)
	for _, want := range []string{"Package: muster", "Status: install ok installed", "Version: 9.8.7\n", "Architecture: " + runtime.GOARCH, "Recommends: runc", "Installed-Size: "} {
		if got := dpkg("--status", "muster") + "\n"; !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if changed := dpkg("--verify", "muster"); changed != "" {
		t.Errorf("what is installed is not what was packed: %s", changed)
	}
	works(t, filepath.Join(root, "usr", "bin", "muster"))
	listed := says(t, "dpkg-deb", "--contents", file) + "\n"
	for line := range strings.Lines(listed) {
		words := strings.Fields(line)
		if mode := words[0]; words[1] != "root/root" || strings.HasPrefix(mode, "-") && mode != "-rw-r--r--" && (mode != "-rwxr-xr-x" || !strings.HasSuffix(words[5], "/usr/bin/muster")) {
			t.Errorf("owner or mode: %s", line)
		}
	}
	for _, want := range []string{"./usr/share/doc/muster/copyright", "./usr/share/man/man1/muster-run.1.gz", "./usr/share/zsh/vendor-completions/_muster", "./usr/share/bash-completion/completions/muster"} {
		if !strings.Contains(listed, want+"\n") {
			t.Errorf("%s is not in the package", want)
		}
	}
	dpkg("--purge", "muster")
	if left, err := os.ReadDir(filepath.Join(root, "usr")); err == nil {
		t.Errorf("left behind: %v", left)
	}
}

// TestTheRPMHoldsTheSame looks at what can be seen of it without rpm.
func TestTheRPMHoldsTheSame(t *testing.T) {
	t.Parallel()
	r := made(t)
	data, err := os.ReadFile(filepath.Join(r.out, r.name("linux_"+runtime.GOARCH+".rpm")))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(data), "\xed\xab\xee\xdb") {
		t.Fatalf("it begins with %x", data[:4])
	}
	for _, want := range []string{"9.8.7", "Apache-2.0", "/usr/bin/\x00", "muster-run.1.gz", "/usr/share/zsh/site-functions/\x00"} {
		if !strings.Contains(string(data[:1<<18]), want) {
			t.Errorf("no %q in its header", want)
		}
	}
}
