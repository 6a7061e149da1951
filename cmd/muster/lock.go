package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
)

// lockFor locks the data directory. A server that may stand by waits while
// another has it: that one may be about to end.
func lockFor(ctx context.Context, o cli.ServerOptions, log *slog.Logger) (*os.File, error) {
	logged := false
	for {
		f, err := lockDir(o.DataDir)
		var p *api.Problem
		if !o.LeaderElect || !errors.As(err, &p) {
			return f, err
		}
		if !logged {
			log.Info("standing by", "until", "the data directory is free", "why", p.Detail)
			logged = true
		}
		select {
		case <-ctx.Done():
			return nil, nil
		case <-time.After(lockEvery):
		}
	}
}

// lockEvery is how often a server that stands by tries to lock its data
// directory.
const lockEvery = 200 * time.Millisecond

// lockDir keeps a second server from the same data directory.
func lockDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the data directory cannot be made: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "server.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the data directory cannot be used: %w", err)
	}
	if err := flock(f); err != nil {
		pid, _ := os.ReadFile(f.Name())
		f.Close()
		return nil, precondition(
			fmt.Sprintf("another server (pid %s) serves %s already", strings.TrimSpace(string(pid)), dir),
			"use it, end it with muster server stop, or choose another --data-dir")
	}
	if err := f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("the data directory cannot be written: %w", err)
		}
	}
	return f, nil
}

// flock takes the lock. A server that was ended by force may have left it to a
// child that had not come to its own program yet; that one lets go by itself.
func flock(f *os.File) error {
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil || time.Since(begun) > lockLeft || !ownerGone(f.Name()) {
			return err
		}
	}
}

// lockLeft is how long the lock of a server that is gone is waited for.
const lockLeft = 5 * time.Second

// ownerGone reports whether a lock was written by a process that is no more.
func ownerGone(path string) bool {
	text, _ := os.ReadFile(path)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return err == nil && pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
