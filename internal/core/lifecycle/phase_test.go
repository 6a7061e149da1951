package lifecycle

import (
	"slices"
	"testing"
)

// Every phase but those about its removal and what follows its success is in exactly
// one set, or holds its place without going on; the sets agree with what the phases
// mean for accounting.
func TestPhaseSetsAreApart(t *testing.T) {
	alone := map[Phase]bool{Terminating: true, Publishing: true, Deleting: true, Deleted: true}
	for _, p := range Phases() {
		n := 0
		for _, in := range []bool{p.Phase.Unstarted(), p.Phase.Active(), p.Phase.Ended()} {
			if in {
				n++
			}
		}
		if want := 1; alone[p.Phase] && n != 0 || !alone[p.Phase] && n != want {
			t.Errorf("%s is in %d sets", p.Phase, n)
		}
		if p.Phase.Active() && !p.Held || p.Phase.Unstarted() && p.Held || p.Phase.Ended() && !p.End {
			t.Errorf("%s: its set does not fit %+v", p.Phase, p)
		}
	}
}

// A workload is in its queue, or its checks are asked, only before it starts.
func TestThoseInAQueueHaveNotStarted(t *testing.T) {
	var inQueue, checking []Phase
	for _, p := range Phases() {
		if p.Phase.InQueue() {
			inQueue = append(inQueue, p.Phase)
		}
		if p.Phase.Checking() {
			checking = append(checking, p.Phase)
		}
	}
	for _, p := range slices.Concat(inQueue, checking) {
		if !p.Unstarted() {
			t.Errorf("%s is in a queue, or checked, and has started", p)
		}
	}
	// What has quota and holds nothing has a place in its queue; a verdict can come
	// only where checks are asked.
	for _, p := range Phases() {
		if p.Quota && !p.Held && !p.Phase.InQueue() {
			t.Errorf("%s has quota and is in no queue", p.Phase)
		}
	}
	for _, r := range Rules() {
		for _, p := range r.From {
			if (r.On == Approve || r.On == Reject) && !p.Checking() {
				t.Errorf("%s gets a verdict and is not checked", p)
			}
		}
	}
	if len(inQueue) != 2 || len(checking) != 2 {
		t.Errorf("in their queue are %v, checked %v", inQueue, checking)
	}
}
