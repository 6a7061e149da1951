package draft

import (
	"fmt"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/workload"
)

func TestSegmentsCountRanks(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]struct{ groups, tasks string }{
		`{kind: distributed, workers: 7, command: ls, topology: {segment: {size: 4, required: rack}}}`: {
			"segment 4, segment 3", "0/4 0/4 0/4 0/4 1/3 1/3 1/3",
		},
		`{kind: distributed, framework: mpi, workers: 5, command: ls, topology: {segment: {size: 4, required: rack}}}`: {
			"launcher 1, segment 4, segment 1", "- 0/4 0/4 0/4 0/4 1/1",
		},
		`{kind: distributed, workers: 5, command: ls, resources: {gpu: 2}, master: {resources: {gpu: 1}}, topology: {segment: {size: 3, preferred: rack}}}`: {
			"segment 1+2, segment 2", "0/3 0/3 0/3 1/2 1/2",
		},
		`{kind: distributed, workers: 3, command: ls, topology: {segment: {size: 8, required: rack}}}`: {
			"segment 3", "0/3 0/3 0/3",
		},
	} {
		d, err := spec.Load([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		w := &core.Workload{Spec: d, Kind: lifecycle.Distributed}
		e := &State{}
		groups := e.segments(w, nil, nil)
		var all, tasks []string
		for _, g := range groups {
			var runs []string
			for _, r := range g.Runs {
				runs = append(runs, fmt.Sprint(r.Count))
			}
			all = append(all, g.Name+" "+strings.Join(runs, "+"))
		}
		for i := range d.Size() {
			n, size, ok := workload.SegmentOf(w, i)
			if got := groupOf(groups, i); ok && got != n+workload.OutsideSegments(w) || !ok && got != 0 {
				t.Errorf("%s: task %d is of group %d, of segment %d", doc, i, got, n)
			}
			if !ok {
				tasks = append(tasks, "-")
				continue
			}
			tasks = append(tasks, fmt.Sprintf("%d/%d", n, size))
		}
		if got := strings.Join(all, ", "); got != want.groups {
			t.Errorf("%s: %s, want %s", doc, got, want.groups)
		}
		if got := strings.Join(tasks, " "); got != want.tasks {
			t.Errorf("%s: %s, want %s", doc, got, want.tasks)
		}
	}
}

// TestLevelsAreThoseOfThePool: a level is a domain within those above it, which
// only the pool can tell.
func TestLevelsAreThoseOfThePool(t *testing.T) {
	t.Parallel()
	e := &State{Records: Records{Pools: map[string]core.Pool{"a": {Topology: []string{"block", "host"}}, "b": {Topology: []string{"zone", "block", "rack"}}}}}
	top := spec.Topology{Required: "block", Segment: spec.Segment{Size: 4, Required: "rack"}}
	for pools, want := range map[string]string{"": "zone,block,rack", "a,b": "zone,block,rack", "a": "rack"} {
		var names []string
		if pools != "" {
			names = strings.Split(pools, ",")
		}
		if got := strings.Join(e.levels(names, top, "rack", "").Levels, ","); got != want {
			t.Errorf("in pools %q: %s, want %s", pools, got, want)
		}
	}
	if e.levels(nil, top, "", "") != nil {
		t.Error("levels of nothing")
	}
}
