//go:build linux

package local

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/backend/local/taskdir"
	"github.com/musterhq/muster/internal/testing/testdisk"
)

var noticeLine = regexp.MustCompile(`(?m)^\[muster\] ([0-9,]+) bytes of output are missing here: no space left on device\n`)

// TestFullDisk: tasks go on, the reserve stays free, and what is missing is
// accounted for to the byte.
func TestFullDisk(t *testing.T) {
	disk := testdisk.Small(t, "tmpfs", 8)
	filler := filepath.Join(disk, "filler")
	if err := os.WriteFile(filler, make([]byte, 4<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	const reserve = 1 << 20
	p := open(t, Options{LogDir: filepath.Join(disk, "logs"), LogReserve: reserve})
	wait := func(name string) string {
		return `touch "$MUSTER_TASK_DIR/` + name + `-reached"; while [ ! -e "$MUSTER_TASK_DIR/` + name + `" ]; do sleep 0.01; done; `
	}
	a := shellTask("full", 0, `seq 1000000; `+wait("room")+`seq 1000; echo between; `+wait("full")+`seq 1000000; exit 11`)
	reach := func(name string) {
		t.Helper()
		until(t, name+" is reached", func() bool { return taskdir.Exists(filepath.Join(p.paths.Task(a.ID), name+"-reached")) })
	}
	pass := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(p.paths.Task(a.ID), name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	start(t, p, a)
	reach("room")
	var fs unix.Statfs_t
	if err := unix.Statfs(disk, &fs); err != nil {
		t.Fatal(err)
	}
	if free := int64(fs.Bavail) * int64(fs.Bsize); free < reserve {
		t.Errorf("%d bytes are free, want at least the reserve of %d", free, reserve)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	pass("room")
	reach("full")
	until(t, "output after the shortage is in the log", func() bool { return strings.Contains(outputOf(t, p, a.ID), "between\n") })
	if !noticeLine.MatchString(outputOf(t, p, a.ID)) {
		t.Error("there is room again, but the log does not tell what is missing")
	}
	pass("full")
	wantCode(t, end(t, p, a.ID), 11)

	wantAccounted(t, outputOf(t, p, a.ID), 2*sizeOfSeq(t, 1000000)+sizeOfSeq(t, 1000)+len("between\n"))
}

func sizeOfSeq(t *testing.T, n int) int {
	t.Helper()
	b, err := exec.Command("seq", strconv.Itoa(n)).Output()
	if err != nil {
		t.Fatal(err)
	}
	return len(b)
}

// wantAccounted expects two notices, which with the rest of the log make want
// bytes: one from when there was room again and one at the end.
func wantAccounted(t *testing.T, out string, want int) {
	t.Helper()
	missing, notices := 0, noticeLine.FindAllStringSubmatch(out, -1)
	if len(notices) != 2 {
		t.Errorf("%d notices, want 2", len(notices))
	}
	for _, m := range notices {
		n, err := strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
		if err != nil || n == 0 {
			t.Errorf("notice %q: %v", m[0], err)
		}
		missing += n
	}
	kept := len(noticeLine.ReplaceAllString(out, ""))
	// A notice begins on a line of its own: at most one line break each is ours.
	if got := kept + missing; got < want || got > want+len(notices) {
		t.Errorf("%d bytes in the log and %d missing make %d, want %d", kept, missing, got, want)
	}
	if !strings.HasSuffix(out, " device\n") {
		t.Errorf("the log ends with %q, want the notice", out[max(len(out)-80, 0):])
	}
}
