package main

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/musterhq/muster/internal/core/schedule"
)

// faultsKept bounds how many faults of the scheduler are kept as files: the
// first tell what is wrong, and a large cluster makes large ones.
const faultsKept = 20

// faults keeps what it takes to repeat a fault of the scheduler:
// muster simulate cycle reads it.
type faults struct {
	dir   string
	clock func() time.Time
	log   *slog.Logger
	turn  chan struct{} // one at a time
}

func newFaults(dir string, clock func() time.Time, log *slog.Logger) *faults {
	return &faults{dir: dir, clock: clock, log: log, turn: make(chan struct{}, 1)}
}

// keep writes a fault down, beside whoever had it. One that comes while another
// is being written is not kept.
func (k *faults) keep(f *schedule.Fault) {
	select {
	case k.turn <- struct{}{}:
	default:
		return
	}
	at := k.clock()
	go func() {
		defer func() { <-k.turn }()
		file, err := k.write(f, at)
		switch {
		case err != nil:
			k.log.Error("what the scheduler failed at could not be kept", "err", err)
		case file != "":
			k.log.Error("what the scheduler failed at is kept", "file", file, "repeat", "muster simulate cycle "+file)
		}
	}()
}

// write returns the file, or nothing where there are enough.
func (k *faults) write(f *schedule.Fault, at time.Time) (string, error) {
	if err := os.MkdirAll(k.dir, 0o700); err != nil {
		return "", err
	}
	if old, err := os.ReadDir(k.dir); err != nil || len(old) >= faultsKept {
		return "", err
	}
	text, err := json.Marshal(f)
	if err != nil {
		return "", err
	}
	file := filepath.Join(k.dir, at.UTC().Format("20060102T150405.000Z")+".json")
	return file, os.WriteFile(file, text, 0o600)
}
