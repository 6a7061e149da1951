// Package system tests and measures the whole: the binary as users run it, over
// its unix socket, with its real store and real processes.
package system

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/testing/kubetest"
)

// binary is the program, once for all benchmarks. Data directories lie under root until the end: ext4 looks long for an inode while
// thousands were freed in the last minutes, so removing the files of one
// benchmark would be measured in the next.
var binary, root string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if root, err = os.MkdirTemp("", "muster-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(root)
	if binary, err = kubetest.Program(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return kubetest.Main(m)
}

// server is one running server with a data directory of its own.
type server struct {
	cmd  *exec.Cmd
	dir  string
	conn *client.Client
}

func start(tb testing.TB, args ...string) *server {
	tb.Helper()
	dir, err := os.MkdirTemp(root, "data-")
	if err != nil {
		tb.Fatal(err)
	}
	return startIn(tb, dir, args...)
}

// startIn starts a server on a directory that may have been used before.
func startIn(tb testing.TB, dir string, args ...string) *server {
	tb.Helper()
	s := &server{dir: dir}
	s.cmd = exec.Command(binary, append([]string{"server", "--data-dir", s.dir}, args...)...)
	log, err := os.OpenFile(filepath.Join(s.dir, "server.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		tb.Fatal(err)
	}
	defer log.Close()
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.stop(tb) })
	if s.conn, err = client.New(client.Options{Address: "unix://" + filepath.Join(s.dir, "muster.sock"), Retries: -1}); err != nil {
		tb.Fatal(err)
	}
	deadline := time.Now().Add(time.Minute)
	for s.conn.Ready(context.Background()) != nil {
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(log.Name())
			tb.Fatalf("the server did not come up:\n%s", text)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return s
}

// kill ends the server as loss of power would, and waits until it is gone.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	s.cmd = nil
}

// stop ends the server and waits for its supervisor to leave, so that the next
// benchmark has the machine for itself.
func (s *server) stop(tb testing.TB) {
	if s.cmd == nil {
		return // it was killed
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	_ = s.cmd.Wait()
	deadline := time.Now().Add(time.Minute)
	for {
		if _, err := os.Stat(filepath.Join(s.dir, "local", "supervisor.sock")); err != nil || time.Now().After(deadline) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// saved tells of a checkpoint with the token of a task.
func (s *server) saved(ctx context.Context, token string) error {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(s.dir, "muster.sock"))
	}
	c := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://server/v1/self/checkpoint", strings.NewReader(`{"path": "/saved"}`))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	a, err := c.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	if text, _ := io.ReadAll(a.Body); a.StatusCode != http.StatusNoContent {
		return fmt.Errorf("a checkpoint is answered with %s: %s", a.Status, text)
	}
	return nil
}

// resident is the memory of a process in bytes: all of it, and its share of
// what it has in common with others.
func resident(pid int) (rss, pss int64, err error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "smaps_rollup"))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		var kb int64
		if n, _ := fmt.Sscanf(line, "Rss: %d kB", &kb); n == 1 {
			rss = kb << 10
		}
		if n, _ := fmt.Sscanf(line, "Pss: %d kB", &kb); n == 1 {
			pss = kb << 10
		}
	}
	return rss, pss, nil
}
