package sim

import (
	"flag"
	"fmt"
	"strings"
	"testing"
)

var (
	seed  = flag.Uint64("sim.seed", 0, "run this seed only, and print its trace")
	seeds = flag.Uint64("sim.seeds", 300, "how many seeds to run")
)

// lastLines bounds what a failure prints.
const lastLines = 150

func TestRandomWorlds(t *testing.T) {
	if *seed != 0 {
		w, err := Random(*seed)
		t.Logf("trace:\n%s", w.Trace())
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	for n := range *seeds {
		t.Run(fmt.Sprint(n+1), func(t *testing.T) {
			t.Parallel()
			w, err := Random(n + 1)
			if err == nil {
				return
			}
			lines := strings.Split(w.Trace(), "\n")
			t.Fatalf("%v\nlast lines of the trace:\n%s\n\nrepeat it with: go test ./internal/sim -run TestRandomWorlds -sim.seed=%d",
				err, strings.Join(lines[max(0, len(lines)-lastLines):], "\n"), n+1)
		})
	}
}

func TestSameSeedSameRun(t *testing.T) {
	t.Parallel()
	for _, seed := range []uint64{7, 8, 9} {
		a, _ := Random(seed)
		b, _ := Random(seed)
		if a.Hash() != b.Hash() {
			x, y := strings.Split(a.Trace(), "\n"), strings.Split(b.Trace(), "\n")
			for i := range min(len(x), len(y)) {
				if x[i] != y[i] {
					t.Fatalf("seed %d, line %d:\n%s\n%s", seed, i, x[i], y[i])
				}
			}
			t.Fatalf("seed %d: one run has %d lines, the other %d", seed, len(x), len(y))
		}
	}
}
