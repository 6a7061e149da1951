package system

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/musterhq/muster/internal/simulate/scenario"
)

// scenarios reads the cases of internal/simulate/scenario, whose README says
// where they come from, as a cluster can show them: in the end everybody stands
// where the case says, and stays there. Others are counted by reason.
func scenarios(tb testing.TB) (all []*scenario.Case, left map[string]int) {
	tb.Helper()
	set, err := scenario.Load(os.DirFS("../../simulate/scenario/testdata/kai"))
	if err != nil {
		tb.Fatal(err)
	}
	left = map[string]int{}
	seen := map[string]bool{}
	for _, c := range set.Cases {
		why := unlike(c)
		if why == "" && seen[c.ID()] {
			why = "the file has another case of that number"
		}
		seen[c.ID()] = true
		if why == "" && c.Mode == scenario.SinglePass {
			c, why = settled(c)
		}
		if why != "" {
			left[why]++
			continue
		}
		all = append(all, c)
	}
	return all, left
}

// settled is a case of one pass as one of whole cycles: who was to be placed or
// was promised a place runs there in the end, who was to leave waits. It is one
// only if whole cycles lead there, which the scheduler alone can tell; that the
// expectation is right the case itself says.
func settled(c *scenario.Case) (out *scenario.Case, why string) {
	n := *c
	n.Mode = scenario.Rounds
	n.Actions = []scenario.Action{scenario.Allocate, scenario.Consolidation, scenario.Reclaim, scenario.Preempt, scenario.StaleGangEviction}
	n.Expected = scenario.Expected{RoundsUntilMatch: 30, RoundsAfterMatch: 3, Jobs: inTheEnd(c.Expected.Jobs), Tasks: inTheEnd(c.Expected.Tasks)}
	if o := scenario.Run(&n, scenario.Core{}, scenario.Defaults()); !o.Passed() {
		return nil, "one pass, and whole cycles go on from there"
	}
	return &n, ""
}

func inTheEnd(all map[string]scenario.Expect) map[string]scenario.Expect {
	out := maps.Clone(all)
	for name, x := range out {
		switch x.Status {
		case scenario.Binding, scenario.Pipelined:
			x.Status = scenario.Running
		case scenario.Releasing:
			x.Status, x.Node = scenario.Pending, ""
		}
		out[name] = x
	}
	return out
}

// unlike says what of a case has no like in a document or a cluster of nodes
// that are not there.
func unlike(c *scenario.Case) string {
	switch {
	case slices.Contains(c.Features, "device-claims"):
		return "devices by resource claim need a driver on the node"
	case len(c.Config.Plugins) > 0:
		return "parts of the scheduler are turned off"
	case c.Config.DevicePlacement == "spread":
		return "shares are spread over devices, which pools cannot ask for"
	case len(c.Topologies) > 1:
		return "a pool has one topology"
	}
	for i := range c.Jobs {
		if why := unlikeJob(&c.Jobs[i]); why != "" {
			return why
		}
	}
	return ""
}

func unlikeJob(j *scenario.Job) string {
	running := 0
	for i := range j.Tasks {
		t, first := &j.Tasks[i], &j.Tasks[0]
		switch {
		case t.State != scenario.Running && t.State != scenario.Pending:
			return fmt.Sprintf("somebody is %s at the start", t.State)
		case t.LegacyMIG:
			return "partitions in the old form of annotations"
		case t.Priority != first.Priority:
			return "tasks of one job with priorities of their own"
		case t.AffinityKey != "" || t.AntiAffinityKey != "":
			return "affinity to pods of other jobs"
		case !maps.Equal(t.MIG, first.MIG) || !slices.Equal(t.NodeAffinityIn, first.NodeAffinityIn) || wholeOf(j, t) != wholeOf(j, &j.Tasks[min(i, 1)]):
			return "tasks of one job with needs of their own"
		}
		if t.State == scenario.Running {
			running++
		}
	}
	switch n := least(j); {
	case n < 0:
		return "sub-groups with a minimum or a place of their own"
	case n == 0:
		return "a gang of none"
	case running > 0 && running < n:
		return "a gang that runs with less than its minimum"
	}
	return ""
}

// wholeOf is how many whole devices a task asks for.
func wholeOf(j *scenario.Job, t *scenario.Task) float64 {
	if t.GPUs != nil {
		return *t.GPUs
	}
	return j.GPUs
}

// least is how many tasks of a job must run at once. Sub-groups are as good as
// none where each needs all of its tasks; else it is -1.
func least(j *scenario.Job) int {
	if len(j.Groups) == 0 {
		return min(j.Min(), len(j.Tasks))
	}
	has := map[string]int{}
	for i := range j.Tasks {
		has[j.Tasks[i].Group]++
	}
	whole := j.MinGroups == nil
	var walk func([]scenario.Group)
	walk = func(groups []scenario.Group) {
		for i := range groups {
			g := &groups[i]
			whole = whole && g.MinGroups == nil && (g.TopologyConstraint == nil || *g.TopologyConstraint == scenario.Constraint{})
			if len(g.Groups) == 0 {
				whole = whole && (g.MinAvailable == nil && has[g.Name] <= 1 || g.MinAvailable != nil && *g.MinAvailable == has[g.Name])
			}
			walk(g.Groups)
		}
	}
	if walk(j.Groups); !whole {
		return -1
	}
	return len(j.Tasks)
}
