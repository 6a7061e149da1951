package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// accountOf is the name of an account, or a group, that a script makes: none that
// somebody has, or another script.
func accountOf(ts *testscript.TestScript, name string) string {
	sum := sha256.Sum256([]byte(ts.Getenv("WORK")))
	return accountPrefix + hex.EncodeToString(sum[:4]) + "-" + name
}

// accountPrefix begins the names of accounts of tests.
const accountPrefix = "mustertest-"

// sweepAccounts removes accounts that tests which were killed have left: their homes
// are gone.
func sweepAccounts(ts *testscript.TestScript) {
	passwd, err := os.ReadFile("/etc/passwd")
	ts.Check(err)
	for line := range strings.Lines(string(passwd)) {
		f := strings.Split(line, ":")
		if len(f) < 7 || !strings.HasPrefix(f[0], accountPrefix) {
			continue
		}
		if _, err := os.Stat(f[5]); errors.Is(err, fs.ErrNotExist) {
			_ = exec.Command("userdel", f[0]).Run()
		}
	}
}

// hasAccounts says why accounts cannot be made for a test; "" where they can.
func hasAccounts() string {
	if os.Geteuid() != 0 {
		return "accounts are made by root"
	}
	for _, tool := range []string{"useradd", "userdel", "groupadd", "groupdel", "setpriv", "getent", "prlimit"} {
		if _, err := exec.LookPath(tool); err != nil {
			return tool + " is not installed: apt-get install passwd util-linux libc-bin"
		}
	}
	return ""
}

// makeAccount makes an account of the machine for a script's time, with a home that nobody
// else reads at $WORK/home/NAME, in a group where one is named; their names are in the variables NAME and
// GROUP.
func makeAccount(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 || len(args) > 2 {
		ts.Fatalf("usage: account NAME [GROUP]")
	}
	name, home := accountOf(ts, args[0]), ts.MkAbs(filepath.Join("home", args[0]))
	sweepAccounts(ts)
	open(ts, filepath.Dir(home))
	ts.Check(os.Mkdir(home, 0o700)) // before its account, which is swept without it
	add := []string{"--no-create-home", "--home-dir", home, "--user-group", "--shell", "/bin/sh"}
	if len(args) == 2 {
		group := accountOf(ts, args[1])
		if exec.Command("getent", "group", group).Run() != nil {
			run1(ts, "groupadd", group)
			ts.Defer(func() { run1(ts, "groupdel", group) })
		}
		ts.Setenv(args[1], group)
		add = append(add, "--groups", group)
	}
	run1(ts, "useradd", append(add, name)...)
	ts.Defer(func() { run1(ts, "userdel", "--force", name) })
	run1(ts, "chown", name+":", home)
	ts.Setenv(args[0], name)
}

// open makes a directory, and lets everybody pass through it and what is above it,
// which a test has made.
func open(ts *testscript.TestScript, dir string) {
	ts.Check(os.MkdirAll(dir, 0o755))
	for at := dir; at != os.TempDir() && at != "/"; at = filepath.Dir(at) {
		ts.Check(os.Chmod(at, 0o755))
	}
}

// run1 runs a program that has to succeed; where another has locked the accounts of the
// machine, after that one.
func run1(ts *testscript.TestScript, name string, args ...string) {
	for begun := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		out, err := exec.Command(name, args...).CombinedOutput()
		if err == nil {
			return
		}
		if !strings.Contains(string(out), "cannot lock") || time.Since(begun) > patience {
			ts.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
	}
}

// as runs a command as an account, in its home, as one that has just logged in; with !
// it must fail. Its output is where that of exec is.
func as(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: as NAME COMMAND…")
	}
	name, home := accountOf(ts, args[0]), ts.MkAbs(filepath.Join("home", args[0]))
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if strings.HasPrefix(dir, os.TempDir()+"/") { // testscript's own is root's alone
			open(ts, dir)
		}
	}
	path := args[1]
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if at := filepath.Join(dir, path); !strings.Contains(path, "/") && exec.Command("test", "-x", at).Run() == nil {
			path = at
			break
		}
	}
	err := ts.Exec("setpriv", append([]string{"--reuid=" + name, "--regid=" + name, "--init-groups", "env", "-C", home, "HOME=" + home, "USER=" + name, "MUSTER_DATA_DIR=", path}, args[2:]...)...)
	if (err != nil) != neg {
		ts.Fatalf("as %s %s: %v", args[0], strings.Join(args[1:], " "), err)
	}
}
