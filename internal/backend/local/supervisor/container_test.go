//go:build linux

package supervisor

import (
	"os/exec"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/backend/local/proc"
)

// TestWhatIsEndingDoesNotWait: a command that is ending has no environment any
// more, and is not taken for a container that never began.
func TestWhatIsEndingDoesNotWait(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	x := &task{dir: t.TempDir(), pid: cmd.Process.Pid, engine: "/an/engine"}
	for begun := time.Now(); ; time.Sleep(time.Millisecond) { // until it has ended and nobody has asked for its code
		s, err := proc.ReadStat(x.pid)
		x.start = s.Start
		if err == nil && s.Leaving {
			break
		}
		if time.Since(begun) > time.Minute {
			t.Fatalf("it does not end: %+v, %v", s, err)
		}
	}
	if x.waitsForWord() {
		t.Error("it is said to wait for its word")
	}
}
