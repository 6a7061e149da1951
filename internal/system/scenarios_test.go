package system

import (
	"flag"
	"fmt"
	"regexp"
	"slices"
	"sync"
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
	stage := newTheatre(t)
	began := time.Now()
	results := make([]error, len(plays))
	next := make(chan int)
	var crew sync.WaitGroup
	for range sideBySide {
		crew.Go(func() {
			for i := range next {
				begun := time.Now()
				results[i] = stage.perform(t.Context(), fmt.Sprint("s", i), plays[i])
				t.Logf("%s took %s", plays[i].ID(), time.Since(begun).Truncate(time.Millisecond))
			}
		})
	}
	for i := range plays {
		next <- i
	}
	close(next)
	crew.Wait()
	passed := 0
	for i, c := range plays {
		if results[i] != nil {
			t.Errorf("%s %s: %v", c.ID(), c.Name, results[i])
			continue
		}
		passed++
	}
	t.Logf("%d of %d cases end as expected, in %s; %d workloads were refused that would have waited for ever", passed, len(plays), time.Since(began).Truncate(time.Second), stage.refused.Load())
	for why, n := range left {
		t.Logf("%d cases are left out: %s", n, why)
	}
}

// sideBySide is how many cases are played at once.
const sideBySide = 16

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
