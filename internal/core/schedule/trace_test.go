package schedule

import (
	"testing"
)

func TestTrace(t *testing.T) {
	if *seedFlag == 0 {
		t.Skip("needs -schedule.seed")
	}
	small := shrunk(drawn(*seedFlag), func(w *world) string { return settles(w, false) })
	for _, j := range small.Snap.Jobs {
		t.Logf("%s q %s prio %d pre %v user %s pools %v sets %+v groups %+v held %+v", j.ID, j.Queue, j.Priority, j.Preemptible, j.User, j.Pools, j.Shape.Sets, j.Shape.Groups, j.Held)
	}
	for _, q := range small.Snap.Queues {
		t.Logf("%+v", q)
	}
	t.Log(settles(small, false))
}
