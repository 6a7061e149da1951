package system

import (
	"flag"
	"fmt"
	"maps"
	"regexp"
	"slices"
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
	passed, refused, began := 0, 0, time.Now()
	for i, some := range slices.Collect(slices.Chunk(plays, oneStage)) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			stage := newTheatre(t)
			passed += stage.performAll(t, some)
			refused += int(stage.refused.Load())
		})
	}
	t.Logf("%d of %d cases end as expected, in %s; %d workloads were refused that would have waited for ever", passed, len(plays), time.Since(began).Truncate(time.Second), refused)
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

// oneStage is how many cases a cluster and its server get in their life: each
// leaves a pool and queues behind, and every decision looks at all. sideBySide
// is how many are played at once.
const oneStage, sideBySide = 48, 16

// pick chooses what is played: by itself every seventh case, and so many more
// that every feature is there.
func pick(t *testing.T, all []*scenario.Case) (plays []*scenario.Case) {
	t.Helper()
	wanted := regexp.MustCompile(*which)
	shown := map[string]bool{}
	for i, c := range all {
		fresh := slices.ContainsFunc(c.Features, func(f string) bool { return !shown[f] })
		if *which == "all" || *which == "some" && (i%7 == 0 || fresh) || wanted.MatchString(c.ID()) {
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
