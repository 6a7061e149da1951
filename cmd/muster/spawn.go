package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// spawn starts a server that outlives this process: own session, no terminal,
// its words in server.log.
func spawn(_ context.Context, dataDir string, args ...string) error {
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
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("a local server cannot be started: %w", err)
	}
	return cmd.Process.Release()
}
