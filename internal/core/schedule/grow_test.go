package schedule_test

import (
	"slices"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// TestGrowthThroughATreeOfSets: at each level the member with the least beyond its
// minimum goes on, whatever the groups in it look like by themselves; and the one
// with the most gives up first.
func TestGrowthThroughATreeOfSets(t *testing.T) {
	group := func(set, least, wants int) schedule.Group {
		return schedule.Group{Set: set, Min: least, Runs: []schedule.Run{{Need: schedule.Need{CPU: 1}, Count: wants}}}
	}
	for _, c := range []struct {
		name   string
		sets   []schedule.Set
		groups []schedule.Group
		held   []int // tasks by group
		grows  []int // groups of the first option
		counts []int
		gives  []int
		every  bool
	}{
		{"one level, the lower ratio", []schedule.Set{{Parent: -1}}, []schedule.Group{group(0, 1, 3), group(0, 1, 3)}, []int{2, 1}, []int{1}, []int{1}, []int{0}, false},
		{"one level, equal", []schedule.Set{{Parent: -1}}, []schedule.Group{group(0, 1, 3), group(0, 1, 3)}, []int{2, 2}, []int{0}, []int{1}, []int{1}, false},
		// Groups 0, 2 and 3 are equally full; the set of 2 and 3 is fuller than that of 0 and 1 only by its minimum of one.
		{"a set that needs one of two and has both", []schedule.Set{{Parent: -1}, {Parent: 0, MinGroups: 1}, {Parent: 0}}, []schedule.Group{group(1, 1, 1), group(1, 1, 1), group(2, 1, 1), group(2, 1, 1)},
			[]int{1, 1, 1, 1}, []int{2}, []int{1}, []int{1}, true},
		{"a fuller set with an empty-looking group", []schedule.Set{{Parent: -1}, {Parent: 0}, {Parent: 0}}, []schedule.Group{group(1, 1, 3), group(1, 1, 3), group(2, 1, 3)},
			[]int{1, 5, 2}, []int{2}, []int{1}, []int{1}, false},
		{"what is not whole comes first, in its set", []schedule.Set{{Parent: -1}, {Parent: 0, MinGroups: 1}, {Parent: 0}}, []schedule.Group{group(1, 1, 1), group(1, 2, 2), group(2, 1, 1)},
			[]int{1, 0, 1}, []int{1}, []int{2}, nil, false},
		{"a set that need not be there comes whole or not at all", []schedule.Set{{Parent: -1, MinGroups: 1}, {Parent: 0}, {Parent: 0}}, []schedule.Group{group(1, 1, 1), group(2, 1, 1), group(2, 2, 2)},
			[]int{1, 0, 0}, []int{1, 2}, []int{1, 2}, nil, false},
		{"and leaves whole", []schedule.Set{{Parent: -1, MinGroups: 1}, {Parent: 0}, {Parent: 0}}, []schedule.Group{group(1, 1, 0), group(2, 1, 0), group(2, 2, 0)},
			[]int{1, 1, 2}, nil, nil, []int{1, 2}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := state.NewState(schedule.Config{NoQuota: true})
			st.PutNode(schedule.Node{Node: core.Node{ID: "a", Ready: true, CPU: 100}})
			st.SetQueues([]schedule.Queue{{ID: "q", Default: schedule.Unlimited()}})
			j := schedule.Job{ID: "w", Queue: "q", Shape: schedule.NewShape(c.sets, c.groups)}
			for g, n := range c.held {
				for range n {
					j.Held = append(j.Held, schedule.Held{Group: g, Need: schedule.Need{CPU: 1}, Place: schedule.Place{Node: "a", CPU: 1}})
				}
			}
			st.PutJob(j)
			var grows, counts []int
			if all := st.Jobs["w"].Options(); len(all) > 0 {
				for _, x := range all[0] {
					grows, counts = append(grows, x.Group), append(counts, x.Count)
				}
			}
			if !slices.Equal(grows, c.grows) || !slices.Equal(counts, c.counts) {
				t.Errorf("groups %v grow by %v, want %v by %v", grows, counts, c.grows, c.counts)
			}
			if gives, every := st.Jobs["w"].Shrink(0); !slices.Equal(gives, c.gives) || every != c.every {
				t.Errorf("it gives up %v, all of it %v; want %v, %v", gives, every, c.gives, c.every)
			}
		})
	}
}
