package lifecycle

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// probes are the states that the rules can tell apart in phase p.
func probes(p Phase) []State {
	var all []State
	for _, started := range []bool{false, true} {
		if p != Terminating {
			all = append(all, State{Phase: p, Started: started, Reason: ReasonSystem, Attempt: 3})
			continue
		}
		for _, target := range targets() {
			all = append(all, State{Phase: p, Target: target, Started: started, Reason: ReasonSystem, Attempt: 3})
		}
	}
	return all
}

// TestGrid writes down what every event makes of every phase.
func TestGrid(t *testing.T) {
	var b strings.Builder
	b.WriteString("What every event makes of every phase. Nothing is written where it is refused. Terminating>X: X comes after.\n")
	ins := inputs()
	for _, p := range append([]PhaseInfo{{Phase: None}}, Phases()...) {
		name := string(p.Phase)
		if p.Phase == None {
			name = "(nothing)"
		}
		fmt.Fprintf(&b, "\n%s\n", name)
		for _, e := range allEvents {
			var results []string
			for _, s := range probes(p.Phase) {
				for _, in := range ins {
					if in.On != e {
						continue
					}
					n, err := Next(s, in)
					if err != nil {
						continue
					}
					text := string(n.Phase)
					if n.Target != None {
						text += ">" + string(n.Target)
					}
					if n.Attempt != s.Attempt {
						text += " +1"
					}
					if !slices.Contains(results, text) {
						results = append(results, text)
					}
				}
			}
			if len(results) > 0 {
				fmt.Fprintf(&b, "  %-16s %s\n", e, strings.Join(results, " | "))
			}
		}
	}
	golden(t, "testdata/matrix.txt", b.String())
}

// TestAccountingGrid pins which phases count and which hold; the scheduler's
// books rest on nothing else.
func TestAccountingGrid(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, "%-14s %-6s %-6s %s\n", "phase", "quota", "held", "end")
	for _, p := range Phases() {
		fmt.Fprintf(&b, "%-14s %-6v %-6v %v\n", p.Phase, p.Phase.Quota(), p.Phase.Held(), p.Phase.End())
		if p.Held && !p.Quota {
			t.Errorf("%s holds devices that count against no quota", p.Phase)
		}
		if p.End && (p.Quota || p.Held) {
			t.Errorf("%s is an end and still takes something", p.Phase)
		}
		if !p.Phase.Known() || p.Phase.Meaning() == "" {
			t.Errorf("%s has no meaning", p.Phase)
		}
	}
	golden(t, "testdata/accounting.txt", b.String())
	for _, p := range []Phase{None, AsTargeted, "running"} {
		if p.Known() || p.Held() || p.Quota() || p.End() {
			t.Errorf("%q passes for a phase", p)
		}
	}
}

func TestEveryPhaseIsReachedAndCanEnd(t *testing.T) {
	_, edges := explore()
	reached := map[Phase]bool{}
	canEnd := map[placement]bool{}
	exits := map[Phase]bool{}
	for _, e := range edges {
		reached[e.to.now.Phase] = true
		if e.to.now.Phase != e.from.now.Phase {
			exits[e.from.now.Phase] = true
		}
		if e.to.now.Phase.End() {
			canEnd[e.to] = true
		}
	}
	// Whoever leads to one that can end can end: repeat until nothing is new.
	// Deletion would end anything, so it does not count here.
	for grew := true; grew; {
		grew = false
		for _, e := range edges {
			if e.in.On != Delete && canEnd[e.to] && !canEnd[e.from] {
				canEnd[e.from], grew = true, true
			}
		}
	}
	placements, _ := explore()
	for _, s := range placements {
		if !canEnd[s] {
			t.Errorf("%+v can never end", s.now)
		}
	}
	for _, p := range Phases() {
		if !reached[p.Phase] {
			t.Errorf("nothing leads to %s", p.Phase)
		}
		if !p.End && !exits[p.Phase] {
			t.Errorf("%s has no exit", p.Phase)
		}
	}
}

func TestEndsAreClosed(t *testing.T) {
	_, edges := explore()
	left := map[Phase]bool{}
	for _, e := range edges {
		if p := e.from.now.Phase; p.End() {
			left[p] = true
			if e.in.On != Restart && e.in.On != Delete {
				t.Errorf("%s leaves the end %s", e.in.On, p)
			}
		}
	}
	if left[Deleted] {
		t.Error("Deleted can be left")
	}
	for _, p := range Phases() {
		if p.End && p.Phase != Deleted && !left[p.Phase] {
			t.Errorf("%s can be neither restarted nor deleted", p.Phase)
		}
	}
}

func TestRefusalChangesNothing(t *testing.T) {
	refused := 0
	for _, p := range append([]PhaseInfo{{Phase: None}, {Phase: "Nonsense"}}, Phases()...) {
		for _, s := range probes(p.Phase) {
			for _, in := range append(inputs(), Input{On: "nonsense"}, Input{}) {
				n, err := Next(s, in)
				fits := slices.Contains(Allowed(s), in.On)
				if err == nil {
					if !fits {
						t.Fatalf("%s happened to %+v, which Allowed does not list", in.On, s)
					}
					continue
				}
				refused++
				var illegal *IllegalError
				if !errors.As(err, &illegal) {
					t.Fatalf("refusal of %s in %+v is %T", in.On, s, err)
				}
				if n != s {
					t.Fatalf("refused %s changed %+v to %+v", in.On, s, n)
				}
				if illegal.Phase != s.Phase || illegal.Event != in.On || !slices.Equal(illegal.Allowed, Allowed(s)) {
					t.Fatalf("refusal of %s in %+v says %+v", in.On, s, illegal)
				}
				if fits && illegal.Detail == "" {
					t.Fatalf("%s fits %+v and is refused without a detail: %v", in, s, err)
				}
				if err.Error() == "" || s.Phase != None && !strings.Contains(err.Error(), string(s.Phase)) {
					t.Fatalf("refusal does not name the phase: %q", err)
				}
			}
		}
	}
	if refused < 1000 {
		t.Errorf("only %d refusals were looked at", refused)
	}
}

func TestAttemptNumbers(t *testing.T) {
	_, edges := explore()
	grown := map[string]bool{}
	for _, e := range edges {
		if e.from.now.Attempt > 0 {
			continue // explore does not tell later attempts apart
		}
		f, n := e.from.now, e.to.now
		want := e.in.On == Restart ||
			e.in.On == BackoffOver && f.Phase == Backoff ||
			e.in.On == Release && f.Phase == Terminating && (f.Target == Queued || f.Target == Reserved)
		if (n.Attempt == 1) != want {
			t.Errorf("%s takes %+v to attempt %d", e.in.On, f, n.Attempt)
		}
		if want {
			grown[string(e.in.On)+" "+string(f.Target)] = true
		}
		if f.Started && !n.Started {
			t.Errorf("%s forgets that %+v had started", e.in.On, f)
		}
	}
	for _, way := range []string{"restart ", "backoff_over ", "release Queued", "release Reserved"} {
		if !grown[way] {
			t.Errorf("no new attempt by %s", way)
		}
	}
}

func TestTargets(t *testing.T) {
	_, edges := explore()
	for _, e := range edges {
		if s := e.to.now; (s.Phase == Terminating) != (s.Target != None) {
			t.Errorf("%s gives %+v: a target belongs to Terminating and to nothing else", e.in.On, s)
		}
		if f, n := e.from.now, e.to.now; f.Phase == Terminating && n.Phase != Terminating && n.Phase != f.Target {
			t.Errorf("%+v was released to %s", f, n.Phase)
		}
	}
}

func TestStrongerWishReplacesTheTarget(t *testing.T) {
	for _, target := range targets() {
		for _, c := range []struct {
			on   Event
			wish Phase
			over bool
		}{
			{Stop, Stopped, target != Stopped && target != Deleting},
			{Delete, Deleting, target != Deleting},
		} {
			s := State{Phase: Terminating, Target: target, Reason: ReasonSystem, Started: true}
			n, err := Next(s, Input{On: c.on})
			if c.over && (err != nil || n.Phase != Terminating || n.Target != c.wish) {
				t.Errorf("%s over %s gives %+v, %v", c.on, target, n, err)
			}
			if !c.over && err == nil {
				t.Errorf("%s replaces %s, which is as strong", c.on, target)
			}
		}
		stuck, err := Next(State{Phase: Terminating, Target: target, Reason: ReasonSystem, Message: "m"}, Input{On: Stuck, Reason: ReasonError})
		if want := (State{Phase: Terminating, Target: target, Reason: ReasonSystem, Message: "m"}); err != nil || stuck != want {
			t.Errorf("stuck made %+v of a way to %s, %v", stuck, target, err)
		}
	}
}

func TestAnOutcomeKeepsItsReason(t *testing.T) {
	s := State{Phase: Terminating, Target: Failed, Reason: ReasonOutOfMemory, Message: "worker 1"}
	n, err := Next(s, Input{On: Release})
	if err != nil || n.Phase != Failed || n.Reason != ReasonOutOfMemory || n.Message != "worker 1" {
		t.Errorf("got %+v, %v", n, err)
	}
	n, err = Next(s, Input{On: Release, Reason: ReasonKilled, Message: "later"})
	if err != nil || n.Reason != ReasonKilled || n.Message != "later" {
		t.Errorf("a reason of the release is lost: %+v, %v", n, err)
	}
}

// TestFailedAlwaysSaysWhy: a failure without a reason helps nobody.
func TestFailedAlwaysSaysWhy(t *testing.T) {
	_, edges := explore()
	for _, e := range edges {
		if s := e.to.now; (s.Phase == Failed || s.Target == Failed || s.Phase == Lost) && s.Reason == ReasonNone {
			t.Errorf("%s leads to %+v without a reason", e.in.On, s)
		}
	}
	if s, err := Next(State{Phase: Reserved}, Input{On: Reject}); err != nil || s.Reason != ReasonCheckRejected {
		t.Errorf("rejected after reservation: %+v, %v", s, err)
	}
	if s, err := Next(State{Phase: Building}, Input{On: BuildFail, Reason: ReasonOutOfMemory}); err != nil || s.Reason != ReasonOutOfMemory {
		t.Errorf("the reason that came with the event is lost: %+v, %v", s, err)
	}
}
