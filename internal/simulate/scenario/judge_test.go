package scenario

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// Node a has two devices, b three. run-0 runs on a, wait-0 and wait-1 wait, gone-0
// is leaving b, and half-0 and half-1 share a device of b.
const small = `{
"name": "small", "index": 7, "mode": "single_pass", "actions": ["allocate"],
"nodes": [{"name": "a", "gpus": 2}, {"name": "b", "gpus": 3}],
"queues": [{"name": "q", "parent": ""}],
"jobs": [
 {"name": "run", "queue": "q", "gpus_per_task": 1, "tasks": [{"name": "run-0", "state": "running", "node": "a"}]},
 {"name": "wait", "queue": "q", "gpus_per_task": 1, "tasks": [{"name": "wait-0", "state": "pending"}, {"name": "wait-1", "state": "pending"}]},
 {"name": "gone", "queue": "q", "gpus_per_task": 1, "tasks": [{"name": "gone-0", "state": "releasing", "node": "b"}]},
 {"name": "half", "queue": "q", "gpu_fraction_per_task": 0.5, "tasks": [
  {"name": "half-0", "state": "running", "node": "b", "gpu_groups": ["x"]}, {"name": "half-1", "state": "running", "node": "b", "gpu_groups": ["x"]}]}
],
"expected": {}}`

func smallCase(t *testing.T, change func(c *Case)) *Case {
	t.Helper()
	c := &Case{File: "small"}
	if err := decode([]byte(small), c); err != nil {
		t.Fatal(err)
	}
	c.Expected.RoundsUntilMatch = 1
	if change != nil {
		change(c)
	}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	return c
}

func inRounds(until, after int, x map[string]Expect) func(c *Case) {
	return func(c *Case) {
		c.Mode, c.Actions = Rounds, actions
		c.Expected.RoundsUntilMatch, c.Expected.RoundsAfterMatch, c.Expected.Jobs = until, after, x
	}
}

func once(jobs, tasks map[string]Expect) func(c *Case) {
	return func(c *Case) { c.Expected.Jobs, c.Expected.Tasks = jobs, tasks }
}

type xs = map[string]Expect

// judged is a case by hand with what a scheduler decides of it.
type judged struct {
	name   string
	change func(c *Case)
	rounds []func(d *Decisions)
	want   string // "" passes
}

func judgedCases() []judged {
	placed := both(set("wait-0", Binding, "a"), set("wait-1", Binding, "b"))
	one, two := 1, 2
	return []judged{
		{"all as expected", once(xs{"wait": {Status: Binding}, "run": {Status: Running, Node: "a"}}, xs{"wait-1": {Status: Binding, Node: "b"}}), []func(*Decisions){placed}, ""},
		{"who is not named is not judged", once(xs{"run": {Status: Running}}, nil), []func(*Decisions){placed}, ""},
		{"every task of a job is judged", once(xs{"wait": {Status: Binding}}, nil), []func(*Decisions){set("wait-0", Binding, "a")},
			"task wait-1: expected binding, was pending after allocate"},
		{"a task is judged", once(nil, xs{"run-0": {Status: Releasing, Node: "a"}}), nil,
			"task run-0: expected releasing on a, was running on a after allocate"},
		{"a place is not a promise", once(nil, xs{"wait-0": {Status: Pipelined, Node: "a"}}), []func(*Decisions){set("wait-0", Binding, "a")},
			"task wait-0: expected pipelined on a, was binding on a after allocate"},
		{"nodes are judged", once(nil, xs{"wait-0": {Status: Binding, Node: "b"}}), []func(*Decisions){set("wait-0", Binding, "a")},
			"task wait-0: expected binding on b, was binding on a after allocate"},
		{"what waits is nowhere", once(nil, xs{"wait-0": {Status: Pending, Node: "b"}}), nil, ""},
		{"wherever it was, it is said", once(nil, xs{"wait-0": {Status: Binding, Node: "b"}}), []func(*Decisions){set("wait-0", Pending, "a")},
			"task wait-0: expected binding on b, was pending on a after allocate"},
		{"a status weighs more than a node", once(nil, xs{"wait-0": {Status: Binding, Node: "b"}, "wait-1": {Status: Binding}}), []func(*Decisions){set("wait-0", Binding, "a")},
			"task wait-1: expected binding, was pending after allocate (and 1 more)"},
		{"what names nothing is not judged", once(nil, xs{"wait": {Status: Failed, Vacuous: true}}), nil, ""},
		{"what runs must not be promised another place", once(xs{"run": {Status: Running}}, nil), []func(*Decisions){set("run-0", Pipelined, "b")},
			"task run-0: expected running, was pipelined on b after allocate"},
		{"a round may not place too many", func(c *Case) { c.Expected.MaxBinds = &one }, []func(*Decisions){placed},
			"expected at most 1 binds in a round, were 2 in round 1"},
		{"a round may place as many", func(c *Case) { c.Expected.MaxBinds = &two }, []func(*Decisions){placed}, ""},
		{"a round may not promise too much", func(c *Case) { c.Expected.MaxPipelined = &one }, []func(*Decisions){both(set("wait-0", Pipelined, "a"), set("wait-1", Pipelined, "a"))},
			"expected at most 1 promises in a round, were 2 in round 1"},
		{"moving is evicting", func(c *Case) { c.Expected.MaxEvictions = new(int) }, []func(*Decisions){set("run-0", Pipelined, "b")},
			"expected at most 0 evictions in a round, were 1 in round 1"},
		{"and promising", func(c *Case) { c.Expected.MaxPipelined = new(int) }, []func(*Decisions){set("run-0", Pipelined, "b")},
			"expected at most 0 promises in a round, were 1 in round 1"},
		{"who was leaving is not evicted", func(c *Case) { c.Expected.MaxEvictions = new(int) }, nil, ""},
		{"each later round is bounded, too", func(c *Case) {
			inRounds(1, 2, nil)(c)
			c.Expected.MaxEvictions = new(int)
		}, []func(*Decisions){nil, nil, set("run-0", Releasing, "a")}, "expected at most 0 evictions in a round, were 1 in round 3"},

		{"who is placed runs in the next round", inRounds(1, 2, xs{"wait": {Status: Running}}), []func(*Decisions){placed, nil}, ""},
		{"a promise is forgotten", inRounds(1, 0, xs{"run": {Status: Running}, "wait": {Status: Pending}}), []func(*Decisions){set("wait-0", Pipelined, "a")}, ""},
		{"who is moved waits, then runs", inRounds(2, 2, xs{"run": {Status: Running, Node: "b"}}), []func(*Decisions){set("run-0", Pipelined, "b"), set("run-0", Binding, "b"), nil}, ""},
		{"who is evicted waits", inRounds(1, 1, xs{"run": {Status: Pending}}), []func(*Decisions){set("run-0", Releasing, "a"), nil}, ""},
		{"who was leaving waits", inRounds(1, 1, xs{"gone": {Status: Pending}}), nil, ""},
		{"unless it stays", func(c *Case) {
			inRounds(2, 2, xs{"gone": {Status: Releasing, Node: "b"}})(c)
			c.Jobs[2].StaysReleasing = true
		}, nil, ""},
		{"it must be reached in time", inRounds(1, 3, xs{"wait": {Status: Running}}), []func(*Decisions){nil, placed, nil},
			"task wait-0: expected running, was pending after round 1 (and 1 more)"},
		{"a promise in the end is a change", inRounds(1, 2, xs{"wait": {Status: Pending}}), []func(*Decisions){nil, nil, set("wait-0", Pipelined, "a")},
			"task wait-0: expected pending, was pipelined on a in round 3, when nothing should change any more"},
		{"an eviction that comes back is a change", inRounds(1, 2, xs{"run": {Status: Running}}), []func(*Decisions){nil, set("run-0", Releasing, "a"), set("run-0", Binding, "a")},
			"task run-0: expected running, was releasing on a in round 2, when nothing should change any more"},
	}
}

func TestTheJudgeSaysWhatDiffers(t *testing.T) {
	t.Parallel()
	for _, c := range judgedCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := Run(smallCase(t, c.change), &double{rounds: c.rounds}, Defaults())
			want := c.want
			if want != "" {
				want = "small#7 small: " + want
			}
			if o.Line() != want || o.Passed() != (want == "") {
				t.Errorf("the judge says %q (passed: %v), want %q", o.Line(), o.Passed(), want)
			}
		})
	}
}

func TestFreeDevicesAreJudged(t *testing.T) {
	t.Parallel()
	number := func(n float64) *float64 { return &n }
	expect := func(idle, releasing float64) func(c *Case) {
		return func(c *Case) { c.Expected.Nodes = map[string]NodeExpect{"b": {number(idle), number(releasing)}} }
	}
	halves := both(set("half-0", Releasing, "b", "x"), set("half-1", Releasing, "b", "x"))
	for _, c := range []struct {
		idle, releasing float64
		f               double
		want            string
	}{
		{1, 1, double{}, ""},
		{2, 1, double{}, "node b: expected 2 GPUs idle, were 1 after allocate"},
		{1, 0, double{}, "node b: expected 0 GPUs releasing, were 1 after allocate"},
		{1, 2, double{rounds: []func(*Decisions){halves}}, ""},
		{1, 1, double{rounds: []func(*Decisions){set("half-0", Releasing, "b", "x")}}, ""},
		{0, 1, double{rounds: []func(*Decisions){set("wait-0", Binding, "b")}}, ""},
		{1, 1, double{rounds: []func(*Decisions){set("wait-0", Pipelined, "b")}}, ""},
		{1, 1, double{silent: true}, "node b: expected 1 GPUs idle, none were told after allocate (and 1 more)"},
	} {
		o := Run(smallCase(t, expect(c.idle, c.releasing)), &c.f, Defaults())
		if got := strings.TrimPrefix(o.Line(), "small#7 small: "); got != c.want {
			t.Errorf("with %v idle and %v leaving the judge says %q, want %q", c.idle, c.releasing, got, c.want)
		}
	}
	gone := smallCase(t, inRounds(1, 1, nil))
	expect(2, 0)(gone)
	if o := Run(gone, &double{}, Defaults()); !o.Passed() {
		t.Errorf("when one has left the judge says %q", o.Line())
	}
}

func TestDecisionsThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		f    double
		want string
	}{
		{double{err: errors.New("no idea")}, "failed: no idea"},
		{double{rounds: []func(*Decisions){func(d *Decisions) { d.Tasks = d.Tasks[1:] }}}, "about 5 tasks, the state has 6"},
		{double{rounds: []func(*Decisions){func(d *Decisions) { d.Tasks[0], d.Tasks[1] = d.Tasks[1], d.Tasks[0] }}}, `decision 0 is about task "wait-0"`},
		{double{rounds: []func(*Decisions){set("run-0", Pending, "")}}, "run-0 was running and is pending, want one of [running releasing pipelined]"},
		{double{rounds: []func(*Decisions){set("gone-0", Running, "b")}}, "gone-0 was releasing and is running"},
		{double{rounds: []func(*Decisions){set("wait-0", Binding, "c")}}, `on node "c", which does not exist`},
		{double{rounds: []func(*Decisions){set("run-0", Running, "b")}}, "only a promise can move it"},
		{double{rounds: []func(*Decisions){set("wait-0", Binding, "a")}, counts: &[3]int{}}, "count 0 binds, 0 evictions and 0 promises, their tasks show 1, 0 and 0"},
	} {
		o := Run(smallCase(t, nil), &c.f, Defaults())
		if len(o.Differences) != 1 || o.Differences[0].Kind != Broken || !strings.Contains(o.Line(), c.want) {
			t.Errorf("the judge says %q, want %q in it", o.Line(), c.want)
		}
	}
	if o := Run(smallCase(t, nil), nothing{}, Defaults()); !strings.Contains(o.Line(), "decided nothing and gave no error") {
		t.Errorf("of no decisions the judge says %q", o.Line())
	}
}

type nothing struct{}

func (nothing) Cycle(*Case, *State) (*Decisions, error) { return nil, nil }

func TestTheSchedulerSeesWhatFollowed(t *testing.T) {
	t.Parallel()
	f := &double{rounds: []func(*Decisions){
		both(set("run-0", Pipelined, "b"), set("half-0", Releasing, "b", "x"), set("wait-0", Binding, "a", "y")), nil}}
	Run(smallCase(t, inRounds(1, 1, nil)), f, Defaults())
	if len(f.seen) != 2 || f.seen[0].Round != 0 || f.seen[1].Round != 1 {
		t.Fatalf("cycles were run on %+v", f.seen)
	}
	want := []string{"gone-0 pending []", "half-0 pending []", "half-1 running b[x]", "run-0 pending []", "wait-0 running a[y]", "wait-1 pending []"}
	if got := states(f.seen[1].Tasks); !slices.Equal(got, want) {
		t.Errorf("the second cycle saw %q, want %q", got, want)
	}
	if f.seen[1].Task("wait-1") == nil || f.seen[1].Task("nobody") != nil {
		t.Error("tasks are not found by name")
	}
}

// A scheduler that keeps or changes what it was shown harms nobody.
func TestTheSchedulerCannotSpoilTheState(t *testing.T) {
	t.Parallel()
	c := smallCase(t, inRounds(1, 2, map[string]Expect{"half": {Status: Running, Node: "b"}}))
	o := Run(c, vandal{}, Defaults())
	if !o.Passed() {
		t.Errorf("the judge says %q", o.Line())
	}
}

type vandal struct{}

func (vandal) Cycle(_ *Case, s *State) (*Decisions, error) {
	d := s.Decide()
	for i := range s.Tasks {
		s.Tasks[i].Status, s.Tasks[i].Node = Failed, "nowhere"
		for g := range s.Tasks[i].Groups {
			s.Tasks[i].Groups[g] = "spoilt"
		}
	}
	return d, nil
}

func TestHintsDecideNothing(t *testing.T) {
	t.Parallel()
	c := smallCase(t, once(nil, map[string]Expect{"half-0": {Status: Running, GPUGroupsHint: []string{"0"}}, "half-1": {Status: Running, GPUGroupsHint: []string{"1"}}}))
	o := Run(c, &double{}, Defaults())
	if !o.Passed() || !slices.Equal(o.Hints, []string{"tasks half-0 and half-1 were not meant to share a device of b"}) {
		t.Errorf("passed %v with hints %q", o.Passed(), o.Hints)
	}
	c.Expected.Tasks["half-1"] = Expect{Status: Running, GPUGroupsHint: []string{"0"}}
	if o := Run(c, &double{}, Defaults()); len(o.Hints) != 0 {
		t.Errorf("hints are %q", o.Hints)
	}
	c.Jobs[3].Tasks[1].GPUGroups = []string{"y"}
	if o := Run(c, &double{}, Defaults()); !o.Passed() || !slices.Equal(o.Hints, []string{"tasks half-0 and half-1 were meant to share a device of b"}) {
		t.Errorf("passed %v with hints %q", o.Passed(), o.Hints)
	}
}

func TestAReportHasALineForEachCaseThatDiffers(t *testing.T) {
	t.Parallel()
	odd := func(c *Case) { c.Expected.Jobs = map[string]Expect{"wait": {Status: Binding}}; c.Name = "odd\nname" }
	set := &Set{Cases: []*Case{
		smallCase(t, nil), smallCase(t, odd),
		smallCase(t, func(c *Case) { c.Features = []string{"device-claims"} }),
		smallCase(t, func(c *Case) { c.IdleFits = []string{"wait"} }),
	}}
	options := Defaults()
	options.SkipIdleFits = true
	want := "small#7 odd name: task wait-0: expected binding, was pending after allocate (and 1 more)\n1 passed, 1 failed, 2 skipped\n"
	if got := set.Run(&double{}, options).String(); got != want {
		t.Errorf("the report is %q, want %q", got, want)
	}
	if got := set.Run(&double{}, Options{}); got.Passed != 3 || got.Skipped != 0 {
		t.Errorf("without skipping %d pass and %d are skipped", got.Passed, got.Skipped)
	}
}
