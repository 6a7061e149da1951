package schedule_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// pairs is a node of eight GPUs: bridged in pairs, four on each socket.
func pairs(a, b int) core.Link {
	switch {
	case a/2 == b/2:
		return core.LinkNVLink4.Near()
	case a/4 == b/4:
		return core.LinkNUMANode.Near()
	}
	return core.LinkSockets
}

// swapped is the same node, numbered so that neighbours are on other sockets.
func swapped(a, b int) core.Link {
	at := []int{0, 4, 1, 5, 2, 6, 3, 7}
	return pairs(at[a], at[b])
}

// switched has all GPUs on one switch, four near each socket.
func switched(a, b int) core.Link {
	if a/4 == b/4 {
		return core.LinkNVLink12.Near()
	}
	return core.LinkNVLink12
}

// TestCloseDevices: tasks of several GPUs get those that are close to one another,
// and whoever needs few takes them where they leave close sets whole.
func TestCloseDevices(t *testing.T) {
	for _, c := range []struct {
		name  string
		link  func(a, b int) core.Link
		taken []int
		count int
		want  []int
	}{
		{"a pair", pairs, nil, 2, []int{0, 1}},
		{"a pair, one is broken", pairs, []int{0}, 2, []int{2, 3}},
		{"a pair, numbered otherwise", swapped, nil, 2, []int{0, 2}},
		{"a socket", swapped, nil, 4, []int{0, 2, 4, 6}},
		{"four, where no socket has all", pairs, []int{0, 4}, 4, []int{2, 3, 6, 7}},
		{"one beside the one that is taken", pairs, []int{2}, 1, []int{3}},
		{"a pair from the socket that is begun", pairs, []int{4, 5}, 2, []int{6, 7}},
		{"three leave a socket whole", pairs, []int{0}, 3, []int{1, 2, 3}},
		{"near one socket though all are linked alike", switched, []int{0}, 4, []int{4, 5, 6, 7}},
		{"one, so that four stay", switched, []int{0}, 1, []int{1}},
		{"all", pairs, nil, 8, []int{0, 1, 2, 3, 4, 5, 6, 7}},
		{"nobody knows", nil, []int{0}, 2, []int{1, 2}},
	} {
		for _, strategy := range []schedule.Strategy{schedule.BinPack, schedule.Fill, schedule.Spread} {
			st := state.NewState(schedule.Config{NoQuota: true})
			st.SetPools([]schedule.Pool{{GPU: strategy}})
			n := core.Node{ID: "a", Ready: true}
			square := make([][]core.Link, 8)
			for d := range 8 {
				n.Devices = append(n.Devices, core.Device{ID: strconv.Itoa(d), Index: d, Healthy: true})
				for k := range 8 {
					if c.link != nil {
						square[d] = append(square[d], c.link(d, k))
					}
				}
			}
			n.Links = core.NewLinks(square)
			st.PutNode(schedule.Node{Node: n})
			st.SetWork(nil)
			st.SetQueues([]schedule.Queue{{ID: "q", Default: schedule.Unlimited()}})
			held := schedule.Job{ID: "there", Queue: "q", Order: 1, Shape: schedule.Flat(schedule.Group{Min: 1})}
			for _, d := range c.taken {
				held.Held = append(held.Held, schedule.Held{Need: schedule.Need{Devices: 1, Milli: 1000}, Place: schedule.Place{Node: "a", Devices: []core.Share{{Device: strconv.Itoa(d), Index: d, Milli: 1000}}}})
			}
			st.PutJob(held)
			st.PutJob(schedule.Job{ID: "new", Queue: "q", Order: 2, Shape: schedule.Flat(schedule.Group{Min: 1, Runs: []schedule.Run{{Need: schedule.Need{Devices: c.count, Milli: 1000}, Count: 1}}})})
			plan := cycle.Run(st, 1)
			if len(plan.Placements) != 1 {
				t.Fatalf("%s: %+v", c.name, plan)
			}
			var got []int
			for _, d := range plan.Placements[0].Tasks[0].Place.Devices {
				got = append(got, d.Index)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s, strategy %v: %v, want %v", c.name, strategy, got, c.want)
			}
		}
	}
}

// TestLinksOfOtherDevices: what was told of a node's GPUs before one of them went
// says nothing of those that are left.
func TestLinksOfOtherDevices(t *testing.T) {
	links := core.NewLinks([][]core.Link{{1, 2}, {3, 4}})
	if !links.Known(2) || links.Known(3) || links.Known(0) || core.Links("").Known(0) || links.Between(1, 0, 2) != 3 {
		t.Errorf("%q", links)
	}
}

// BenchmarkCloseDevices places four GPUs on a node of eight whose links are known.
func BenchmarkCloseDevices(b *testing.B) {
	square := make([][]core.Link, 8)
	n := core.Node{ID: "a", Ready: true}
	for d := range 8 {
		n.Devices = append(n.Devices, core.Device{ID: strconv.Itoa(d), Healthy: true})
		for k := range 8 {
			square[d] = append(square[d], pairs(d, k))
		}
	}
	n.Links = core.NewLinks(square)
	s := ledger.NewSite(&schedule.Node{Node: n}, nil)
	a := &ledger.Ask{Need: schedule.Need{Devices: 4, Milli: 1000}}
	for b.Loop() {
		if len(s.Closest(a, false)) != 4 {
			b.Fatal("no place")
		}
	}
}
