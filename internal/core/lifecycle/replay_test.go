package lifecycle

import (
	"math/rand/v2"
	"testing"
)

// record is what is kept of one transition.
type record struct {
	on      Event
	to      Phase
	target  Phase
	reason  Reason
	message string
	attempt int
}

func replay(t *testing.T, history []record) State {
	t.Helper()
	var s State
	for i, r := range history {
		n, err := Next(s, Input{On: r.on, To: r.to, Target: r.target, Reason: r.reason, Message: r.message})
		if err != nil {
			t.Fatalf("record %d of %+v does not fit %+v: %v", i, history, s, err)
		}
		if n.Attempt != r.attempt {
			t.Fatalf("record %d of %+v: attempt %d", i, history, n.Attempt)
		}
		s = n
	}
	return s
}

// TestReplay is I5: the transitions of a workload, from nothing, give its
// present state.
func TestReplay(t *testing.T) {
	const walks = 10_000
	ways := map[Event][]Input{}
	for _, in := range inputs(ReasonOutOfMemory) {
		ways[in.On] = append(ways[in.On], in)
	}
	visited := map[Phase]int{}
	for seed := range uint64(walks) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var s State
		var history []record
		for range 20 + rng.IntN(100) {
			allowed := Allowed(s)
			if len(allowed) == 0 {
				break
			}
			on := allowed[rng.IntN(len(allowed))]
			in := ways[on][rng.IntN(len(ways[on]))]
			if rng.IntN(3) == 0 {
				in.Message = "m"
			}
			switch on { // what every phase allows would cut most lives short
			case Delete, Stop, Reject, Refuse, Rewrite:
				if rng.IntN(20) > 0 {
					continue
				}
			}
			n, err := Next(s, in)
			if err != nil {
				continue
			}
			history = append(history, record{in.On, n.Phase, n.Target, n.Reason, n.Message, n.Attempt})
			s = n
			visited[s.Phase]++
		}
		if got := replay(t, history); got != s {
			t.Fatalf("seed %d: replay gives %+v, it was %+v\n%+v", seed, got, s, history)
		}
	}
	for _, p := range Phases() {
		if visited[p.Phase] < 100 {
			t.Errorf("the walks visited %s only %d times", p.Phase, visited[p.Phase])
		}
	}
}

// FuzzNext drives the machine with arbitrary events and looks at it with every
// dialect. Each three bytes are one event; bytes that fit nothing become words
// that do not exist.
func FuzzNext(f *testing.F) {
	f.Add([]byte{0, 0, 0, 10, 0, 0, 12, 0, 0, 14, 0, 0, 15, 0, 0, 21, 1, 0, 13, 0, 0})
	f.Add([]byte{0, 0, 0, 255, 255, 255, 35, 9, 9})
	reasons := []Reason{ReasonNone, ReasonOutOfMemory, ReasonFailedImagePull, ReasonDeleteFailed, "Invented"}
	choices := append(targets(), None, AsTargeted, Restarting, "Invented")
	f.Fuzz(func(t *testing.T, data []byte) {
		var s, prior State
		for ; len(data) >= 3; data = data[3:] {
			in := Input{On: "invented", Reason: reasons[int(data[2])%len(reasons)]}
			if int(data[0]) < len(allEvents) {
				in.On = allEvents[data[0]]
			}
			in.Target = choices[int(data[1])%len(choices)]
			in.To = []Phase{None, None, Terminating, Restarting, AsTargeted}[int(data[1]>>4)%5]
			n, err := Next(s, in)
			if err != nil {
				if n != s {
					t.Fatalf("refused %+v changed %+v to %+v", in, s, n)
				}
				continue
			}
			if !n.Phase.Known() || n.Attempt < s.Attempt || n.Attempt > s.Attempt+1 {
				t.Fatalf("%+v made %+v of %+v", in, n, s)
			}
			if (n.Phase == Terminating) != (n.Target != None) || n.Phase.Held() && !n.Started {
				t.Fatalf("%+v made %+v of %+v", in, n, s)
			}
			if s.Phase.Held() && !n.Phase.Held() && s.Phase != Terminating {
				t.Fatalf("%s let devices go without Terminating", s.Phase)
			}
			if s = n; !s.Leaving() {
				prior = s
			}
			for _, d := range Dialects() {
				v := View{Kind: Kinds()[int(data[2])%len(Kinds())], State: s, Prior: prior, BackendUnreachable: data[2] > 200}
				v.Tasks = []TaskView{{State: "starting", Waiting: string(data[:min(16, len(data))])}}
				if w := Say(d, v); len(PhasesOf(d, w.Status)) == 0 {
					t.Fatalf("%s says %q of %+v, which is not in its vocabulary", d, w.Status, s)
				}
			}
		}
	})
}
