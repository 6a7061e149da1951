package systemd

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// TestMain is also the program that systemd starts: it answers one connection on
// the socket that it was given.
func TestMain(m *testing.M) {
	if os.Getenv("ANSWER") == "" {
		os.Exit(m.Run())
	}
	if os.Getenv("LISTEN_PID") == "self" {
		_ = os.Setenv("LISTEN_PID", strconv.Itoa(os.Getpid()))
	}
	h, err := Take()
	if err != nil || len(h.Listeners) != 1 || os.Getenv("LISTEN_FDS") != "" || os.Getenv("NOTIFY_SOCKET") != "" {
		os.Exit(3)
	}
	if h.Notify("READY=1") != nil {
		os.Exit(4)
	}
	c, err := h.Listeners[0].Accept()
	if err != nil {
		os.Exit(5)
	}
	_, _ = c.Write([]byte("here"))
	_ = c.Close()
	_ = h.Listeners[0].Close()
	os.Exit(0)
}

func TestASocketIsTakenOver(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	told, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "n"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer told.Close()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "ANSWER=1", "LISTEN_PID=self", "LISTEN_FDS=1", "LISTEN_FDNAMES=muster.socket", "NOTIFY_SOCKET="+filepath.Join(dir, "n"))
	cmd.ExtraFiles = []*os.File{f} // descriptor 3
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, 64)
	n, err := told.Read(said)
	if err != nil || string(said[:n]) != "READY=1" {
		t.Errorf("it was told %q, %v", said[:n], err)
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	n, _ = c.Read(said)
	if string(said[:n]) != "here" {
		t.Errorf("the answer is %q", said[:n])
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the socket of systemd is gone with the server: %v", err)
	}
}

func TestWithoutSystemdNothingIsHandedOver(t *testing.T) {
	t.Setenv("LISTEN_PID", "1") // another process's
	t.Setenv("LISTEN_FDS", "1")
	h, err := Take()
	if err != nil || len(h.Listeners) != 0 {
		t.Errorf("%v, %v", h.Listeners, err)
	}
	if err := h.Notify("READY=1"); err != nil {
		t.Error(err)
	}
}
