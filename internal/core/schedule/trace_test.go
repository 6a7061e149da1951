package schedule

import (
	"fmt"
	"testing"
)

func TestTrace(t *testing.T) {
	if *seedFlag == 0 {
		t.Skip("needs -schedule.seed")
	}
	w := drawn(*seedFlag)
	small := shrunk(w, func(w *world) string { return fmt.Sprint(len(judged(w, Cycle(&w.Snap, w.Cfg))) > 0)[:0] + first(judged(w, Cycle(&w.Snap, w.Cfg))) })
	for _, j := range small.Snap.Jobs {
		t.Logf("%s q %s prio %d pre %v groups %+v held %+v", j.ID, j.Queue, j.Priority, j.Preemptible, j.Shape.Groups, j.Held)
	}
	p := Cycle(&small.Snap, small.Cfg)
	t.Logf("now %+v", p.Placements)
	t.Logf("later %+v", p.Promises)
	t.Logf("evict %+v", p.Evictions)
	t.Log(judged(small, p))
}

func first(s []string) string {
	if len(s) == 0 {
		return ""
	}
	return s[0]
}
