//go:build linux

package local

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/backend/local/taskdir"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/testing/backendtest"
)

// TestStopIsOnRecordBeforeItsAnswer: of two who stop a task at once, the second
// too hears yes only once a supervisor that dies would leave the wish behind. Here the
// record cannot be written until somebody reads it.
func TestStopIsOnRecordBeforeItsAnswer(t *testing.T) {
	p := open(t, Options{})
	a := shellTask("stopped", 0, "trap '' TERM; while :; do sleep 1000; done")
	start(t, p, a)
	until(t, "it runs", func() bool { return observe(t, p, a.ID).State == core.TaskRunning })
	record := filepath.Join(p.paths.Task(a.ID), taskdir.RecordFile)
	if err := os.Rename(record, record+".kept"); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(record, 0o600); err != nil {
		t.Fatal(err)
	}
	answers := make(chan error, 2)
	for range 2 {
		go func() { answers <- p.Stop(t.Context(), []core.TaskID{a.ID}, backendtest.Within) }()
	}
	early := false
	select {
	case err := <-answers:
		early = true
		t.Errorf("answered with %v before it was on record", err)
	case <-time.After(300 * time.Millisecond): // a moment is enough to be wrong
	}
	fifo, err := os.OpenFile(record, os.O_RDWR, 0) // for both records
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = fifo.Close() }()
	for i := range 2 {
		if i == 0 && early {
			continue
		}
		if err := <-answers; err != nil {
			t.Errorf("Stop: %v", err)
		}
	}
	if err := os.Rename(record+".kept", record); err != nil {
		t.Fatal(err)
	}
}
