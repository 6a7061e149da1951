package heap

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

const mib = 1 << 20

// TestLimitFollowsWhatIsAlive has values worked out by hand.
func TestLimitFollowsWhatIsAlive(t *testing.T) {
	for _, c := range []struct{ alive, least, want int64 }{
		{0, 512 * mib, 512 * mib},
		{300 * mib, 512 * mib, 512 * mib}, // 1.4 times that and 64 are 484
		{1000 * mib, 512 * mib, 1464 * mib},
		{2765 * mib, 512 * mib, 3935 * mib},
	} {
		if got := limit(c.alive, c.least); got != c.want {
			t.Errorf("with %d MiB alive, of %d: %d MiB, want %d", c.alive/mib, c.least/mib, got/mib, c.want/mib)
		}
	}
}

// TestAProcessThatNeedsMoreDoesNotCollectWithoutEnd has ten times the bound alive and
// makes garbage: each collection must be worth it.
func TestAProcessThatNeedsMoreDoesNotCollectWithoutEnd(t *testing.T) {
	const needs = "HEAP_TEST_NEEDS"
	if os.Getenv(needs) != "" {
		needy()
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), needs+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	n, err := strconv.Atoi(strings.Fields(string(out))[0])
	if err != nil {
		t.Fatal(err)
	}
	// 640 MiB of garbage with 64 alive: one collection for each 0.4 × 64 and more, of
	// which the last third may be what is made while it runs. A bound that stays at
	// 6 MiB makes 56 to 140.
	if n > 45 {
		t.Errorf("%d collections for garbage of ten times what is alive", n)
	}
}

var kept, garbage [][]byte

// needy holds 64 MiB, makes 640 MiB of garbage and prints how many collections
// that took.
func needy() {
	Bound(6 * mib)
	for range 64 * 1024 {
		kept = append(kept, make([]byte, mib/1024))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	garbage = make([][]byte, 1)
	for range 640 * 1024 {
		garbage[0] = make([]byte, mib/1024)
	}
	runtime.ReadMemStats(&after)
	os.Stdout.WriteString(strconv.Itoa(int(after.NumGC-before.NumGC)) + "\n")
	runtime.KeepAlive(kept)
}
