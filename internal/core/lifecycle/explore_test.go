package lifecycle

import (
	"flag"
	"os"
	"slices"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files and docs/lifecycle.md")

// golden compares got with a file, or rewrites the file with -update.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what the code says; look at the difference after go test ./internal/core/lifecycle -update\ngot:\n%s", path, got)
	}
}

// allEvents is every constant of type Event, the table left aside.
var allEvents = []Event{
	Submit, Hand, Refuse, Rewrite, ReviewRequired, CheckStarted, Approve, Reject, BuildRequired, Built, BuildFail, QueueOpen,
	QueueClosed, Reserve, Release, Admit, AllReady, PullFail, CannotRun, MountFail, TaskFail, BackoffOver, Succeed,
	Preempt, Move, Stop, Deadline, NodeLost, OutcomeLost, Scale, BelowMinimum, Stuck, Publish, ModelFail, DeployFail,
	Restart, Delete, Remove, RemoveFail,
}

// inputs returns every way to offer an event that can make a difference. The
// reasons come with events that have none of their own, and with failures of
// tasks.
func inputs(reasons ...Reason) []Input {
	var all []Input
	for _, on := range allEvents {
		for _, to := range []Phase{None, Restarting, Terminating} {
			if to != None && on != TaskFail {
				continue
			}
			for _, target := range append([]Phase{None}, targets()...) {
				for _, why := range slices.Concat([]Reason{ReasonNone}, reasons, otherReasons[on]) {
					if why != ReasonNone && ownReason(on, None) != ReasonNone && on != TaskFail && !slices.Contains(otherReasons[on], why) {
						continue
					}
					all = append(all, Input{On: on, To: to, Target: target, Reason: why})
				}
			}
		}
	}
	return all
}

// placement is a state with what was before its deletion.
type placement struct{ now, prior State }

// edge is one legal step between spots.
type edge struct {
	from placement
	in   Input
	to   placement
}

// explore walks everything that can happen to a workload. Attempts after the
// second are not told apart, which is what makes the walk finite.
func explore(reasons ...Reason) (placements []placement, edges []edge) {
	ins := inputs(reasons...)
	seen := map[placement]bool{{}: true}
	for queue := []placement{{}}; len(queue) > 0; queue = queue[1:] {
		from := queue[0]
		placements = append(placements, from)
		for _, in := range ins {
			n, err := Next(from.now, in)
			if err != nil {
				continue
			}
			n.Attempt = min(n.Attempt, 1)
			to := placement{n, n}
			if n.Leaving() {
				to.prior = from.prior
			}
			edges = append(edges, edge{from, in, to})
			if !seen[to] {
				seen[to] = true
				queue = append(queue, to)
			}
		}
	}
	return placements, edges
}

// details returns every sort of circumstance that a dialect may look at.
func details() []View {
	code := 3
	tasks := [][]TaskView{nil}
	for _, waiting := range []string{
		"", "ContainerCreating", "PodInitializing", "Init:0/1", "Init:Error", "Init:CrashLoopBackOff", "Init:OOMKilled",
		"Init:ErrImagePull", "ErrImagePull", "ImagePullBackOff", "Error", "CrashLoopBackOff", "NeverHeardOf",
	} {
		tasks = append(tasks, []TaskView{{Role: "launcher", State: "starting", Waiting: waiting}})
	}
	tasks = append(tasks,
		[]TaskView{{Role: "launcher", State: "running"}, {Role: "worker", Index: 1, State: "starting", Waiting: "ErrImagePull"}},
		[]TaskView{{Role: "launcher", State: "failed", ExitCode: &code, Restarts: 2}},
		[]TaskView{{Role: "launcher", State: "starting", Waiting: "ContainerCreating", Restarts: 1}},
		[]TaskView{{Role: "replica", State: "failed", ExitCode: &code}, {Role: "replica", Index: 1, State: "starting", Waiting: "ErrImagePull"}, {Role: "replica", Index: 2, State: "running"}},
		[]TaskView{{Role: "launcher", State: "succeeded"}, {Role: "worker", Index: 1, State: "lost"}},
		[]TaskView{{Role: "worker", State: "pending"}, {Role: "worker", Index: 1, State: "stopping"}},
	)
	var all []View
	for _, ts := range tasks {
		all = append(all, View{Tasks: ts})
	}
	for _, c := range ConditionTypes() {
		all = append(all, View{Conditions: []ConditionType{c}}, View{Conditions: []ConditionType{c}, BackendUnreachable: true})
	}
	all = append(all, View{Conditions: []ConditionType{Updating, Degraded}}, View{BackendUnreachable: true},
		View{Conditions: []ConditionType{Scaling, Unreachable}, Tasks: tasks[2]})
	return all
}

// views returns at in every circumstance and of every kind.
func views(at placement, details []View) []View {
	all := make([]View, 0, len(details)*len(Kinds()))
	for _, v := range details {
		for _, k := range Kinds() {
			v.Kind, v.State, v.Prior = k, at.now, at.prior
			all = append(all, v)
		}
	}
	return all
}

func TestEveryEventIsInTheTable(t *testing.T) {
	for _, e := range allEvents {
		if !slices.Contains(Events(), e) {
			t.Errorf("no rule for event %s", e)
		}
	}
	if len(Events()) != len(allEvents) {
		t.Errorf("the table uses %d events, the tests know %d", len(Events()), len(allEvents))
	}
}
