package watch

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/musterhq/muster/api"
)

// page is what a page knows that puts together what it is told.
type page struct {
	waits   []api.Wait
	phases  map[string]int
	cluster api.Cluster
}

func (p *page) hear(all []api.OverviewChange) (nodes int) {
	for _, c := range all {
		p.phases = c.Phases
		if c.Waits != nil {
			p.waits = *c.Waits
		}
		if c.Cluster == nil {
			continue
		}
		nodes += len(c.Cluster.Nodes)
		have := p.cluster.Nodes
		p.cluster = *c.Cluster
		p.cluster.Nodes = slices.DeleteFunc(slices.Clone(have), func(n api.Node) bool {
			return slices.Contains(c.Gone, n.Name) || slices.ContainsFunc(c.Cluster.Nodes, func(x api.Node) bool { return x.Name == n.Name })
		})
		p.cluster.Nodes = append(p.cluster.Nodes, c.Cluster.Nodes...)
		slices.SortFunc(p.cluster.Nodes, func(a, b api.Node) int { return map[bool]int{true: -1, false: 1}[a.Name < b.Name] })
	}
	return nodes
}

// Who puts together what was told of changes knows what the overview says, and is told no
// more nodes than have become others.
func TestChangesMakeTheWholeOfAnOverview(t *testing.T) {
	node := func(i, tasks int) api.Node { return api.Node{Name: fmt.Sprintf("n%d", i), Tasks: tasks} }
	hall := func(tasks map[int]int, waits ...api.Wait) *api.Overview {
		o := &api.Overview{Phases: map[string]int{"Queued": len(waits)}, Waits: waits, Cluster: api.Cluster{Waiting: len(waits)}}
		for i := range 9 {
			if n, there := tasks[i]; there {
				o.Cluster.Nodes = append(o.Cluster.Nodes, node(i, n))
			}
		}
		return o
	}
	full := func(changed map[int]int) map[int]int {
		all := map[int]int{0: 0, 1: 0, 2: 0, 3: 0, 4: 0}
		for i, n := range changed {
			if n < 0 {
				delete(all, i)
				continue
			}
			all[i] = n
		}
		return all
	}
	var p page
	var last *compared
	for i, c := range []struct {
		o     *api.Overview
		nodes int // that are told
		parts int
		waits bool
	}{
		{hall(full(nil)), 5, 2, true},
		{hall(full(map[int]int{2: 7})), 1, 1, false},
		{hall(full(map[int]int{2: 7}), api.Wait{ID: "a", Position: 1}), 0, 1, true},
		{hall(full(map[int]int{2: 7}), api.Wait{ID: "a", Position: 2}), 0, 1, true},
		{hall(full(map[int]int{2: -1, 3: -1}), api.Wait{ID: "a", Position: 2}), 0, 1, false},
		{hall(full(map[int]int{2: 1, 8: 4}), api.Wait{ID: "a", Position: 2}), 3, 1, false},
	} {
		now, err := compare(c.o)
		if err != nil {
			t.Fatal(err)
		}
		if now.same(last) {
			t.Errorf("%d: nothing has changed, it says", i)
		}
		parts := now.since(last, c.o, true)
		nodes := p.hear(parts)
		if nodes != c.nodes || len(parts) != c.parts || (parts[0].Waits != nil) != c.waits {
			t.Errorf("%d: %d nodes in %d parts, waits told: %v; want %d in %d, %v", i, nodes, len(parts), parts[0].Waits != nil, c.nodes, c.parts, c.waits)
		}
		got, _ := json.Marshal(api.Overview{Phases: p.phases, Waits: p.waits, Cluster: p.cluster})
		want, _ := json.Marshal(c.o)
		if string(got) != string(want) {
			t.Errorf("%d: put together it is\n%s, not\n%s", i, got, want)
		}
		again, _ := compare(c.o)
		if !again.same(now) {
			t.Errorf("%d: the same is another one", i)
		}
		// What depends on who asks is told in any case.
		if curbed := again.since(now, c.o, false); curbed[0].Waits == nil || curbed[0].Cluster == nil || len(curbed[0].Cluster.Nodes) > 0 {
			t.Errorf("%d: who does not see all is told %+v", i, curbed[0])
		}
		last = now
	}
}
