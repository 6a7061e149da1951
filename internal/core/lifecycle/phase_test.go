package lifecycle

import "testing"

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
