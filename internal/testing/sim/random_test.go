package sim

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/musterhq/muster/internal/core/lifecycle"
)

var (
	seed  = flag.Uint64("sim.seed", 0, "run this seed only, and print its trace")
	seeds = flag.Uint64("sim.seeds", asked("MUSTER_SIM_SEEDS", 300), "how many seeds to run; $MUSTER_SIM_SEEDS says so too")
)

// asked is a number from the environment.
func asked(name string, otherwise uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv(name), 10, 64); err == nil {
		return n
	}
	return otherwise
}

// lastLines bounds what a failure prints.
const lastLines = 150

// enough is from how many seeds on every word of every dialect must have been
// said.
const enough = 200

func TestRandomWorlds(t *testing.T) {
	if *seed != 0 {
		w, err := Random(*seed)
		t.Logf("trace:\n%s", w.Trace())
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	var mu sync.Mutex
	all, deeds := newWords(), map[string]int{}
	t.Run("seed", func(t *testing.T) {
		for n := range *seeds {
			t.Run(fmt.Sprint(n+1), func(t *testing.T) {
				t.Parallel()
				w, err := Random(n + 1)
				mu.Lock()
				all.add(w.watch.words)
				for deed, n := range w.watch.deeds {
					deeds[deed] += n
				}
				mu.Unlock()
				if err == nil {
					return
				}
				lines := strings.Split(w.Trace(), "\n")
				t.Fatalf("%v\nlast lines of the trace:\n%s\n\nrepeat it with: go test ./internal/testing/sim -run TestRandomWorlds -sim.seed=%d",
					err, strings.Join(lines[max(0, len(lines)-lastLines):], "\n"), n+1)
			})
		}
	})
	if *seeds < enough || t.Failed() {
		return
	}
	everyWord(t, all)
	for _, deed := range deedsOf() {
		if deeds[deed] == 0 {
			t.Errorf("in no world it happened that someone or something %s", deed)
		}
	}
	t.Logf("deeds: %v", deeds)
	for _, word := range []string{"FAILED with a reason", "STOPPED with a reason"} {
		if !all.seen[lifecycle.Mcli][word] {
			t.Errorf("mcli has never said %s", word)
		}
	}
}

// TestSeedsThatFoundSomething repeats worlds beyond the usual ones: rounds without
// end, a gang of which one rank alone was started, some who wait and were told no
// reason, a drain and a wish for more replicas in one commit.
func TestSeedsThatFoundSomething(t *testing.T) {
	t.Parallel()
	for _, seed := range []uint64{335, 670, 981, 1018, 1078, 1316, 1354, 2016, 2526, 2841} {
		if w, err := Random(seed); err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, w.Trace())
		}
	}
}

// everyWord: what no course of events can make a platform say is a mistake in
// its dialect, or in us.
func everyWord(t *testing.T, all words) {
	for _, d := range lifecycle.Dialects() {
		for _, w := range lifecycle.Words(d) {
			switch {
			case all.seen[d][w.Status]:
			case all.steps[d][w.Status]:
				t.Logf("%s says %s only of steps that are over as soon as they are stored", d, w.Status)
			default:
				t.Errorf("%s has never said %s", d, w.Status)
			}
		}
	}
}

func TestSameSeedSameRun(t *testing.T) {
	t.Parallel()
	for _, seed := range []uint64{1, 4, 7, 8, 9} {
		a, b := everything(seed), everything(seed)
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				at := 0
				for at < min(len(a[i]), len(b[i])) && a[i][at] == b[i][at] {
					at++
				}
				around := func(s string) string { return s[max(0, at-200):min(len(s), at+200)] }
				t.Fatalf("seed %d, record %d (%.20s), from byte %d on:\n%s\n%s", seed, i, a[i], at, around(a[i]), around(b[i]))
			}
		}
		if len(a) != len(b) {
			t.Fatalf("seed %d: one run has %d records, the other %d", seed, len(a), len(b))
		}
	}
}

// everything is what the engine published and asked backends for in the run of a
// seed, in its order, and the run's trace.
func everything(seed uint64) []string {
	var all []string
	w, _ := random(seed, func(what string, v any) {
		data, err := json.Marshal(v)
		if err != nil {
			data = []byte(err.Error())
		}
		all = append(all, what+" "+string(data))
	})
	return append(all, strings.Split(w.Trace(), "\n")...)
}
