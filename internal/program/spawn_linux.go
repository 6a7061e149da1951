package program

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// spawn starts a server that outlives this process: own session, no terminal,
// its words in server.log. It returns when ctx is done (the server answers, or
// nobody waits for it any more), or with an error when the server has died.
func spawn(ctx context.Context, dataDir string, args ...string) error {
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return fmt.Errorf("the data directory cannot be made: %w", err)
	}
	log, err := os.OpenFile(filepath.Join(dataDir, "server.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("the server's log cannot be opened: %w", err)
	}
	defer log.Close()
	// The link stays good when the file behind it is gone, as after go run.
	cmd := exec.Command("/proc/self/exe", append([]string{"server", "--data-dir", dataDir}, args...)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	KeepToItself()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("a local server cannot be started: %w", err)
	}
	died := make(chan error, 1)
	go func() { died <- cmd.Wait() }()
	select {
	case <-ctx.Done():
		return nil
	case err := <-died:
		return fmt.Errorf("the local server did not start (%v): %s", err, lastLine(log.Name()))
	}
}

// lastLine is the last thing that a dead server said.
func lastLine(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "see " + path
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	last := lines[len(lines)-1]
	if len(lines) > 1 && strings.HasPrefix(last, "fix:") {
		last = lines[len(lines)-2] + "; " + last
	}
	return last
}
