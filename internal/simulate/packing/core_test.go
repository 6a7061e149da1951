package packing

import (
	"context"
	"math/rand/v2"
	"testing"
)

// TestTheSchedulerItselfFills holds the whole scheduler, not only the policy in
// it, to the policy's figure: one cycle for each arrival. Of the ten published
// seeds these two are neither the best nor the worst; muster simulate packing
// runs all.
func TestTheSchedulerItselfFills(t *testing.T) {
	res, err := Fill(context.Background(), trace(t), Core(), seeds(t, "42-43"))
	if err != nil {
		t.Fatal(err)
	}
	if res.Mean < 95.8 || res.Worst < 95.7 {
		t.Errorf("%.2f %% in the mean, %.2f %% at worst (seed %d); want at least 95.8 and 95.7", res.Mean, res.Worst, res.WorstSeed)
	}
	if res.Missed > 0 {
		t.Errorf("%d tasks were dropped although a node could have taken them", res.Missed)
	}
}

// TestTheSchedulerGivesBackWhatLeaves lets random tasks come and go, and asks
// for everything at last: whoever left must have left nothing behind.
func TestTheSchedulerGivesBackWhatLeaves(t *testing.T) {
	tr := &Trace{
		Nodes: []Node{{Name: "a", CPU: 8000, Memory: 100, GPUs: 2, Model: "X"}, {Name: "b", CPU: 8000, Memory: 100, GPUs: 4, Model: "Y"}, {Name: "c", CPU: 9000, Memory: 100}},
		Tasks: []Task{
			{Name: "half", CPU: 500, Memory: 1, GPUs: 1, Milli: 500}, {Name: "pair", CPU: 1000, Memory: 1, GPUs: 2, Milli: 1000},
			{Name: "x", CPU: 100, Memory: 1, GPUs: 1, Milli: 1000, Models: []string{"X"}}, {Name: "cpu", CPU: 3000, Memory: 10},
			{Name: "all", CPU: 8000, Memory: 100, GPUs: 4, Milli: 1000},
		},
	}
	tr.classify()
	type seat struct {
		task    *Task
		node    int
		devices []int
	}
	chance := rand.New(rand.NewPCG(7, 7))
	books, placer := NewCluster(tr.Nodes), Core().New(tr, 0)
	var there []seat
	for range 2000 {
		if len(there) > 0 && chance.IntN(2) == 0 {
			i := chance.IntN(len(there))
			x := there[i]
			there = append(there[:i], there[i+1:]...)
			placer.Release(x.task, x.node, x.devices)
			books.Give(x.task, x.node, x.devices)
			continue
		}
		task := &tr.Tasks[chance.IntN(len(tr.Tasks))]
		node, devices, ok := placer.Place(task)
		if ok != books.FitsSomewhere(task) {
			t.Fatalf("task %s: placed %v, but fits %v", task.Name, ok, !ok)
		}
		if !ok {
			continue
		}
		devices = append([]int{}, devices...)
		if err := books.Take(task, node, devices); err != nil {
			t.Fatal(err)
		}
		there = append(there, seat{task, node, devices})
	}
	for _, x := range there {
		placer.Release(x.task, x.node, x.devices)
	}
	if node, _, ok := placer.Place(&tr.Tasks[4]); !ok || node != 1 {
		t.Errorf("on the empty cluster the largest task has node %d, %v; want 1", node, ok)
	}
}
