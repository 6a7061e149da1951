package system

import (
	"flag"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/simulate/scenario"
)

var which = flag.String("system.scenarios", "some", "which cases TestScenariosInACluster plays: some, all, or those whose ID this regular expression finds")

// TestScenariosInACluster plays the cases of internal/simulate/scenario through a
// whole server on a cluster: their nodes are the cluster's, their jobs are
// submitted, run as pods, and stand in the end as the case expects, and stay so.
func TestScenariosInACluster(t *testing.T) {
	all, left := scenarios(t)
	plays := pick(t, all)
	passed, refused, began := 0, []string(nil), time.Now()
	for i, some := range slices.Collect(slices.Chunk(plays, oneStage)) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			stage := newTheatre(t)
			passed += stage.performAll(t, some)
			refused = append(refused, stage.refused...)
			placed := func(c *scenario.Case) bool {
				return slices.ContainsFunc(slices.Collect(maps.Values(c.Expected.Jobs)), func(x scenario.Expect) bool { return x.Status == scenario.Running })
			}
			if at := slices.IndexFunc(some, placed); i == 0 && at >= 0 {
				stage.wrong(t, some[at])
			}
		})
	}
	t.Logf("%d of %d cases end as expected, in %s", passed, len(plays), time.Since(began).Truncate(time.Second))
	t.Logf("of %d cases somebody was refused who would have waited for ever: %s", len(refused), strings.Join(refused, " "))
	for _, why := range slices.Sorted(maps.Keys(left)) {
		t.Logf("%d cases are left out: %s", left[why], why)
	}
}

// performAll plays cases, many at once, and counts those that end as expected.
func (t *theatre) performAll(tb testing.TB, plays []*scenario.Case) (passed int) {
	next := make(chan int)
	var crew sync.WaitGroup
	var good atomic.Int64
	for range sideBySide {
		crew.Go(func() {
			for i := range next {
				c, begun := plays[i], time.Now()
				if err := t.perform(tb.Context(), fmt.Sprint("s", i), c); err != nil {
					tb.Errorf("%s %s: %v", c.ID(), c.Name, err)
					continue
				}
				good.Add(1)
				tb.Logf("%s took %s", c.ID(), time.Since(begun).Truncate(time.Millisecond))
			}
		})
	}
	for i := range plays {
		next <- i
	}
	close(next)
	crew.Wait()
	return int(good.Load())
}

// wrong plays a case of which the contrary is expected: that must be noticed.
func (t *theatre) wrong(tb testing.TB, c *scenario.Case) {
	tb.Helper()
	n := *c
	n.Expected.Tasks, n.Expected.Jobs = nil, map[string]scenario.Expect{}
	for name, x := range c.Expected.Jobs {
		if x.Node = ""; x.Status == scenario.Running {
			x.Status = scenario.Pending
		} else {
			x.Status = scenario.Running
		}
		n.Expected.Jobs[name] = x
	}
	if err := t.perform(tb.Context(), "wrong", &n); err == nil || !strings.Contains(err.Error(), " runs on ") {
		tb.Errorf("with the contrary expected %s ends with %v", c.ID(), err)
	}
}

// oneStage is how many cases a cluster and its server get in their life: each
// leaves a pool and queues behind, and every decision looks at all. sideBySide
// is how many are played at once.
const oneStage, sideBySide = 48, 16

// pick chooses what is played: by itself every third case, and so many more
// that every feature is there.
func pick(t *testing.T, all []*scenario.Case) (plays []*scenario.Case) {
	t.Helper()
	wanted := regexp.MustCompile(*which)
	shown := map[string]bool{}
	for i, c := range all {
		fresh := slices.ContainsFunc(c.Features, func(f string) bool { return !shown[f] })
		if *which == "all" || *which == "some" && (i%3 == 0 || fresh) || wanted.MatchString(c.ID()) {
			plays = append(plays, c)
			for _, f := range c.Features {
				shown[f] = true
			}
		}
	}
	if len(plays) == 0 {
		t.Fatalf("no case has an ID like %q; see internal/simulate/scenario/testdata", *which)
	}
	return plays
}
