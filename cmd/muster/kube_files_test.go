package main

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/testing/kubetest"
)

// desk is a task in a cluster and a folder of this machine, between which files
// go.
type desk struct {
	t   *testing.T
	w   *world
	dir string
}

// filed sends files to a pod and fetches them, with our own cp and with what
// people have: ssh, scp and sftp.
func filed(t *testing.T, w *world, image string) {
	t.Helper()
	d := &desk{t: t, w: w, dir: filepath.Dir(w.data)}
	w.muster("run", "--kind", "workspace", "--name", "desk", "--image", image, "--set", "workdir=/tmp", "--set", "env={SAID: hello}", "--set", "resources.cpu=100m",
		"--set", "gracePeriod=1s", "--", "sh", "-c", "sleep 100000")
	w.is("desk", "running", phase("Running"))
	d.tree()
	d.cp()
	d.ssh()
	w.muster("stop", "desk", "--wait", "--yes")
}

// tree makes something to send.
func (d *desk) tree() {
	d.t.Helper()
	big := make([]byte, 6_000_000)
	_, _ = rand.Read(big)
	if err := os.WriteFile(filepath.Join(d.dir, "big"), big, 0o644); err != nil {
		d.t.Fatal(err)
	}
	d.sh(`mkdir -p tree/sub tree/empty && echo body >tree/sub/f && echo run >tree/run && chmod 750 tree/run && ln -s ../run tree/sub/link &&
printf 'a\0b' >"tree/with a
line" && touch -d '2001-02-03 04:05:06' tree/run`)
}

// sh runs a script in the folder and returns what it said.
func (d *desk) sh(script string) string {
	d.t.Helper()
	out, err := d.try(script)
	if err != nil {
		d.t.Fatalf("%s: %v: %s", script, err, out)
	}
	return out
}

func (d *desk) try(script string) (string, error) {
	cmd := exec.Command("sh", "-c", script)
	of := d.w.program()
	cmd.Dir, cmd.Env = d.dir, of.Env // PATH has muster, which this test is
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// same checks that a tree came back as it was sent.
func (d *desk) same(back string) {
	d.t.Helper()
	d.sh(fmt.Sprintf(`diff -r --no-dereference tree %s && test "$(stat -c '%%a %%Y' tree/run)" = "$(stat -c '%%a %%Y' %[1]s/run)"`, back))
}

func (d *desk) cp() {
	d.t.Helper()
	d.sh("muster cp tree desk: && muster cp desk:tree back")
	d.same("back")
	d.sh("muster cp big desk:0:/tmp/big2 && muster cp desk:/tmp/big2 big2 && cmp big big2")
	d.sh("mkdir all && muster cp desk:tree/. all")
	d.same("all")
	for script, want := range map[string]string{
		"muster cp desk:nothing x":   "nothing does not exist in task 0 of desk",
		"muster cp big desk:none/":   "mkdir -p",
		"muster cp big desk:/proc/x": "tar in task 0 of desk ended",
		"muster cp desk:1:tree more": "task 1 of desk does not run",
	} {
		if out, err := d.try(script); err == nil || !strings.Contains(out, want) {
			d.t.Errorf("%s: %v, %s", script, err, out)
		}
	}
	d.sh("muster exec desk -- rm -r tree big2")
}

func (d *desk) ssh() {
	d.t.Helper()
	for _, program := range []string{"ssh", "scp", "sftp"} {
		if _, err := exec.LookPath(program); err != nil {
			kubetest.Fail(d.t, &kubetest.Missing{What: "there is no " + program + " on this machine: apt-get install openssh-client"})
		}
	}
	d.sh("muster ssh-config desk >config")
	if out, err := d.try(`ssh -F config desk.muster 'echo $SAID from $MUSTER_WORKLOAD in $(pwd); exit 7'`); out != "hello from desk in /tmp\n" || err == nil || !strings.Contains(err.Error(), "7") {
		d.t.Errorf("ssh said %q, %v", out, err)
	}
	if out := d.sh(`ssh -F config -tt desk.muster 'test -t 0 && test -t 1 && echo a terminal' </dev/null`); !strings.Contains(out, "a terminal") {
		d.t.Errorf("ssh -tt said %q", out)
	}
	d.sh(`ssh -F config desk.muster "cat >big2; cat big2" <big | cmp - big`)
	d.sh("scp -q -F config -rp tree desk.muster: && scp -q -F config -rp desk.muster:tree again")
	d.sh(`test "$(readlink again/sub/link)" = "" && rm again/sub/link && ln -s ../run again/sub/link`) // scp follows links
	d.same("again")
	d.sh("scp -q -F config big desk.muster:/tmp/big3 && scp -q -F config desk.muster:big3 . && cmp big big3")
	if out := d.sh("printf 'ls tree\nrename tree/run tree/ran\nget tree/ran\n' | sftp -q -F config -b - desk.muster && cat ran"); !strings.Contains(out, "tree/sub") || !strings.HasSuffix(out, "run\n") {
		d.t.Errorf("sftp said %q", out)
	}
	d.port()
}

// port reaches a port of the pod with a client that has said all it has to say
// before it is answered.
func (d *desk) port() {
	d.t.Helper()
	d.sh(`ssh -F config desk.muster 'busybox nc -ll -p 7000 -e cat >/dev/null 2>&1 &'`)
	cmd := exec.Command("ssh", "-N", "-F", "config", "-o", "ExitOnForwardFailure=yes", "-L", filepath.Join(d.dir, "port")+":localhost:7000", "desk.muster")
	cmd.Dir, cmd.Env = d.dir, d.w.program().Env
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	sent := strings.Repeat("ping", 50_000)
	kubetest.Eventually(d.t, "an echo", func() error {
		conn, err := net.Dial("unix", filepath.Join(d.dir, "port"))
		if err != nil {
			return err
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		go func() {
			_, _ = io.WriteString(conn, sent)
			_ = conn.(*net.UnixConn).CloseWrite()
		}()
		if got, err := io.ReadAll(conn); string(got) != sent || err != nil {
			return errf("%d bytes, %v", len(got), err)
		}
		return nil
	})
}
