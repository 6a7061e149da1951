package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/testing/kubetest"
)

// runShell starts a script and waits until it runs.
func runShell(t *testing.T, p placed, image, workload, script string) backend.Assignment {
	t.Helper()
	a := backend.Assignment{ID: core.TaskID{Workload: core.WorkloadID(workload)}, Image: image, Argv: []string{"/bin/sh", "-c", script}}
	start(t, p, a)
	return a
}

func start(t *testing.T, p placed, a backend.Assignment) {
	t.Helper()
	if err := p.Start(t.Context(), []backend.Assignment{a}); err != nil {
		t.Fatal(err)
	}
	kubetest.Eventually(t, a.ID.String()+" runs", func() error {
		if x, _ := p.pods.Tasks.Get(a.ID); x.Seen.State != core.TaskRunning {
			return fmt.Errorf("it is %+v", x.Seen)
		}
		return nil
	})
}

// realDial reaches ports of a pod, which has a network of its own.
func realDial(t *testing.T, c *kubetest.Cluster, node *kubetest.Node) {
	p := openOn(t, c, node.Name, t.TempDir())
	t.Cleanup(func() { sweep(t, c) })
	a := runShell(t, p, c.Busybox(t), "dial", "exec busybox nc -ll -p 7000 -e cat")
	kubetest.Eventually(t, "an echo", func() error {
		conn, err := p.Dial(t.Context(), a.ID, 7000)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		if _, err := io.WriteString(conn, strings.Repeat("ping", 50_000)); err != nil {
			return err
		}
		if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			return err
		}
		if got, err := io.ReadAll(conn); len(got) != 200_000 || err != nil {
			return fmt.Errorf("%d bytes, %w", len(got), err)
		}
		return nil
	})
	conn, err := p.Dial(t.Context(), a.ID, 7001)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if n, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "7001") {
		t.Errorf("from a port on which nothing listens: %d bytes, %v", n, err)
	}
	late, err := p.Dial(t.Context(), a.ID, 7000)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = late.Close() }()
	_ = late.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	if _, err := late.Read(make([]byte, 1)); err == nil || !err.(interface{ Timeout() bool }).Timeout() { //nolint:errorlint // as callers of net.Conn do
		t.Errorf("a read past its deadline: %v", err)
	}
}

// realPrelude enters a task whose environment came to be in the container.
func realPrelude(t *testing.T, c *kubetest.Cluster, node *kubetest.Node) {
	p := openOn(t, c, node.Name, t.TempDir())
	t.Cleanup(func() { sweep(t, c) })
	a := backend.Assignment{ID: core.TaskID{Workload: "entered"}, Image: c.Busybox(t), Argv: []string{"sleep", "100000"}}
	a.Prelude = []byte("mkdir '/tmp/a b'; cd '/tmp/a b'\nexport ODD=\"it's \\$HOME \\`x\\`\n\\\"second\\\" line\" EMPTY= SPACES='  '\n")
	start(t, p, a)
	for _, env := range [][]string{nil, {"MORE=1", "ODD2=it's"}} {
		kubetest.Eventually(t, "the prelude has run", func() error {
			var out bytes.Buffer
			code, err := p.Exec(t.Context(), a.ID, backend.ExecOptions{
				Argv: []string{"/bin/sh", "-c", `printf '%s|%s|%s|%s|%s|' "$ODD" "${EMPTY-unset}" "$SPACES" "$MORE" "$1"; pwd`, "sh", "an $argument"},
				Env:  env, Streams: backend.Streams{Stdout: &out},
			})
			more := ""
			if env != nil {
				more = "1"
			}
			if want := "it's $HOME `x`\n\"second\" line||  |" + more + "|an $argument|/tmp/a b\n"; err != nil || code != 0 || out.String() != want {
				return fmt.Errorf("code %d, %w, output %q, want %q", code, err, out.String(), want)
			}
			return nil
		})
	}
}

// realOutages counts while kubelet and server come and go.
func realOutages(t *testing.T, c *kubetest.Cluster, node *kubetest.Node) {
	dir := t.TempDir()
	p := openOn(t, c, node.Name, dir)
	t.Cleanup(func() { sweep(t, c) })
	a := runShell(t, p, c.Busybox(t), "outages", `i=0; while [ ! -e /tmp/enough ]; do i=$((i+1)); echo "$i"; [ $((i%100)) -gt 0 ] || sleep 0.1; done; echo end`)
	grows := func() {
		t.Helper()
		was := -1
		kubetest.Eventually(t, "more output comes", func() error {
			now := len(readOutput(t, p.Backend, a.ID, backend.LogOptions{Tail: -1}))
			if was >= 0 && now > was {
				return nil
			}
			if was < 0 {
				was = now
			}
			return errors.New("not yet")
		})
	}
	grows()
	node.Kill(t) // and with it all streams
	time.Sleep(2 * time.Second)
	node.Restart(t)
	grows()
	_ = p.Close()
	time.Sleep(time.Second)
	p = openOn(t, c, node.Name, dir)
	if err := p.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	grows()
	c.StopServer(t)
	time.Sleep(2 * time.Second)
	c.StartServer(t)
	grows()
	kubetest.Eventually(t, "it has been told to end", func() error {
		_, err := p.Exec(context.Background(), a.ID, backend.ExecOptions{Argv: []string{"touch", "/tmp/enough"}})
		return err
	})
	got := strings.Split(readOutput(t, p.Backend, a.ID, backend.LogOptions{Tail: -1, Follow: true}), "\n")
	for i, line := range got[:max(len(got)-2, 0)] {
		if line != strconv.Itoa(i+1) {
			t.Fatalf("line %d of %d is %q, after %q", i+1, len(got), line, got[max(i-1, 0)])
		}
	}
	if end := got[max(len(got)-2, 0):]; len(got) < 3 || end[0] != "end" || end[1] != "" {
		t.Errorf("the log ends with %q", end)
	}
}

func readOutput(t *testing.T, p *Backend, id core.TaskID, o backend.LogOptions) string {
	t.Helper()
	r, err := p.Logs(t.Context(), id, o)
	if err != nil {
		t.Fatalf("Logs: %v", err)
	}
	defer func() { _ = r.Close() }()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("read logs: %v", err)
	}
	return string(data)
}

// realSample has a pod that works and one that rests; their kubelet tells them
// apart, and so must we.
func realSample(t *testing.T, c *kubetest.Cluster, node *kubetest.Node) {
	p := openOn(t, c, node.Name, t.TempDir())
	t.Cleanup(func() { sweep(t, c) })
	busy, idle := runShell(t, p, c.Busybox(t), "busy", "while :; do :; done"), runShell(t, p, c.Busybox(t), "idle", "exec sleep 100000")
	kubetest.Eventually(t, "the kubelet tells who works", func() error {
		r, err := p.Sample(t.Context())
		if err != nil {
			return err
		}
		at := map[core.TaskID]backend.Sample{}
		for _, s := range r.Tasks {
			at[s.Task] = s
		}
		b, i := at[busy.ID], at[idle.ID]
		if b.CPU < 0.05 || b.CPU <= i.CPU || b.Memory <= 0 || b.Busy != backend.Unknown || len(r.Nodes) != 1 || r.Nodes[0].Node != p.node {
			return fmt.Errorf("%+v", r)
		}
		return nil
	})
}
