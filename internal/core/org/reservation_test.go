package org

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
)

var epoch = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

func at(hours float64) time.Time { return epoch.Add(time.Duration(hours * float64(time.Hour))) }

// TestOverlapIsWhatTheTimesSay compares with a look at every quarter of an hour
// of three weeks.
func TestOverlapIsWhatTheTimesSay(t *testing.T) {
	t.Parallel()
	var all []core.Reservation
	for _, start := range []float64{-30, 0, 1, 5, 23, 30, 47, 190} {
		for _, hours := range []float64{0.5, 1, 6, 24} {
			for _, repeat := range []core.Repeat{core.Once, core.Daily, core.Weekly} {
				all = append(all, core.Reservation{Start: at(start), Duration: time.Duration(hours * float64(time.Hour)), Repeat: repeat})
			}
		}
	}
	on := make([][]bool, len(all)) // from now on, per quarter
	for i := range all {
		for q := range 6 * 7 * 24 * 4 {
			now := epoch.Add(time.Duration(q) * 15 * time.Minute)
			start, _, ok := all[i].At(now)
			on[i] = append(on[i], ok && !now.Before(start))
		}
	}
	for i := range all {
		for k := range all {
			both := false
			for q := range on[i] {
				both = both || on[i][q] && on[k][q]
			}
			if got := Overlap(&all[i], &all[k], epoch); got != both {
				t.Fatalf("%v for %v %q and %v for %v %q: %v, want %v", all[i].Start, all[i].Duration, all[i].Repeat, all[k].Start, all[k].Duration, all[k].Repeat, got, both)
			}
		}
	}
}

func TestChooseTakesWhatCostsLeast(t *testing.T) {
	t.Parallel()
	node := func(id string, gpus int) core.Node {
		n := core.Node{ID: core.NodeID(id), Pool: "p", Ready: true}
		for range gpus {
			n.Devices = append(n.Devices, core.Device{Healthy: true})
		}
		return n
	}
	all := []Candidate{
		{Node: node("a", 8), Fixed: 8000}, {Node: node("b", 8), Held: 8000}, {Node: node("c", 8)}, {Node: node("d", 4)}, {Node: node("e", 8), Taken: true}, {Node: node("f", 0)},
	}
	all[3].Node.Devices[0].Healthy = false
	for _, c := range []struct {
		nodes, gpus int
		want        []core.NodeID
		have        int
	}{
		{nodes: 2, want: []core.NodeID{"c", "d"}, have: 5},
		{gpus: 11, want: []core.NodeID{"c", "d"}, have: 27},
		{gpus: 12, want: []core.NodeID{"b", "c", "d"}, have: 27},
		{gpus: 28, have: 27},
		{nodes: 6, have: 5},
	} {
		got, have := Choose(&core.Reservation{Pool: "p", NodeCount: c.nodes, GPUs: c.gpus}, all)
		if !slices.Equal(got, c.want) || have != c.have {
			t.Errorf("%d nodes, %d GPUs: %v of %d, want %v of %d", c.nodes, c.gpus, got, have, c.want, c.have)
		}
	}
}

func TestWrongReservations(t *testing.T) {
	t.Parallel()
	good := core.Reservation{Name: "r", Start: epoch, Duration: time.Hour, Pool: "p", Projects: []core.ProjectID{"x"}}
	check := func(r core.Reservation) error {
		return CheckReservation(&r, []string{"p"}, func(id core.ProjectID) bool { return id == "x" })
	}
	if err := check(good); err != nil {
		t.Fatal(err)
	}
	for field, change := range map[string]func(*core.Reservation){
		"name":        func(r *core.Reservation) { r.Name = "R" },
		"start":       func(r *core.Reservation) { r.Start = time.Time{} },
		"duration":    func(r *core.Reservation) { r.Duration, r.Repeat = 25*time.Hour, core.Daily },
		"repeat":      func(r *core.Reservation) { r.Repeat = "yearly" },
		"nodes":       func(r *core.Reservation) { r.Nodes = []core.NodeID{"n"} },
		"nodeCount":   func(r *core.Reservation) { r.NodeCount = -1 },
		"gpus":        func(r *core.Reservation) { r.NodeCount, r.GPUs = 1, 1 },
		"pool":        func(r *core.Reservation) { r.Pool = "q" },
		"projects":    func(r *core.Reservation) { r.Projects = []core.ProjectID{"y"} },
		"maintenance": func(r *core.Reservation) { r.Maintenance = true },
		"magnetic":    func(r *core.Reservation) { r.Maintenance, r.Magnetic, r.Projects = true, true, nil },
	} {
		r := good
		change(&r)
		var wrong *Error
		if err := check(r); !errors.As(err, &wrong) || wrong.Field != field && !(field == "pool" && wrong.Field == "pool[0]") || wrong.Hint == "" {
			t.Errorf("%s: %v", field, err)
		}
	}
}
