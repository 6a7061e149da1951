package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// userManager is a shell script that becomes systemd's manager of a user: in mounts and
// control groups of its own, where it finds a machine that was booted with systemd
// (sd_booted(3)), and out of reach of the machine's own units.
const userManager = `set -e
[ -d /sys/fs/cgroup/systemd ] && old=/sys/fs/cgroup/systemd || old=
new=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/mounts)
for h in $old $new; do mkdir -p $h/$1 && echo $$ >$h/$1/cgroup.procs; done
exec unshare --cgroup --mount sh -ec '
  mkdir -p /run/systemd && mount -t tmpfs none /run/systemd && mkdir /run/systemd/system
  mount -t tmpfs none /sys/fs/cgroup
  if [ -n "$1" ]; then
    mkdir /sys/fs/cgroup/systemd /sys/fs/cgroup/unified
    mount -t cgroup -o none,name=systemd none /sys/fs/cgroup/systemd
    mount -t cgroup2 none /sys/fs/cgroup/unified
  else
    mount -t cgroup2 none /sys/fs/cgroup
  fi
  exec /lib/systemd/systemd --user --unit=empty.target
' sh "$old"
`

// systemdUser starts a real systemd for the script's user, which systemctl --user
// then finds, and ends it with the script.
func systemdUser(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: systemd")
	}
	runtime, err := os.MkdirTemp("", "muster-systemd-") // a script's own folder is too deep for a socket
	ts.Check(err)
	group := filepath.Base(runtime)
	config := ts.MkAbs(".config")
	units := filepath.Join(config, "systemd", "user")
	ts.Check(os.MkdirAll(units, 0o755))
	// Only what the test installs is there to be started.
	ts.Check(os.WriteFile(filepath.Join(units, "empty.target"), []byte("[Unit]\nDescription=Nothing\n"), 0o600))
	log, err := os.Create(ts.MkAbs("systemd.log"))
	ts.Check(err)
	cmd := exec.Command("sh", "-c", userManager, "sh", group)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + ts.Getenv("WORK"), "XDG_RUNTIME_DIR=" + runtime, "SYSTEMD_LOG_TARGET=console", "TMPDIR=" + os.TempDir()}
	cmd.Stdout, cmd.Stderr = log, log
	ts.Check(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ts.Defer(func() {
		_ = cmd.Process.Signal(os.Interrupt) // as Ctrl-Alt-Del: it stops its units and ends
		select {
		case <-ended:
		case <-time.After(patience):
			_ = cmd.Process.Kill()
			<-ended
		}
		log.Close()
		_ = os.RemoveAll(runtime)
		for _, h := range []string{"/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"} {
			removeGroups(filepath.Join(h, group))
		}
	})
	ts.Setenv("XDG_RUNTIME_DIR", runtime)
	for begun := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		ctl := exec.Command("systemctl", "--user", "is-active", "empty.target")
		ctl.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+runtime)
		out, err := ctl.CombinedOutput()
		if err == nil {
			return
		}
		select {
		case err := <-ended:
			ended <- err
			said, _ := os.ReadFile(log.Name())
			ts.Fatalf("systemd ended: %v\n%s", err, said)
		default:
		}
		if time.Since(begun) > patience {
			said, _ := os.ReadFile(log.Name())
			ts.Fatalf("systemd is not there after %s: %s\n%s", patience, out, said)
		}
	}
}

// removeGroups removes a control group and those below it, which are empty.
func removeGroups(dir string) {
	below, _ := os.ReadDir(dir)
	for _, e := range below {
		if e.IsDir() {
			removeGroups(filepath.Join(dir, e.Name()))
		}
	}
	_ = os.Remove(dir)
}

// hasSystemd says why a test of systemd cannot run here; "" where it can.
func hasSystemd() string {
	if os.Geteuid() != 0 {
		return "mounts for a systemd of one's own take root"
	}
	for _, p := range []string{"/lib/systemd/systemd", "/usr/bin/systemctl", "/usr/bin/unshare"} {
		if _, err := os.Stat(p); err != nil {
			return "there is no " + p + ": apt-get install systemd util-linux"
		}
	}
	return ""
}

// unitPid puts the main process of the server's unit into a variable.
func unitPid(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: unitpid VARIABLE")
	}
	ctl := exec.Command("systemctl", "--user", "show", "muster.service", "--property=MainPID", "--value")
	ctl.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+ts.Getenv("XDG_RUNTIME_DIR"))
	out, err := ctl.Output()
	ts.Check(err)
	pid := strings.TrimSpace(string(out))
	if pid == "0" {
		ts.Fatalf("the server's unit has no process")
	}
	ts.Setenv(args[0], pid)
}
