package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/submission"
)

// newQuay is a dock of three nodes: n0 and n1 have two adapters, of which others
// hold one of n1's, and n2 has none.
func newQuay(t *testing.T) *dock {
	d := newDock(t, 3)
	d.nodes[0].Extra, d.nodes[1].Extra = map[string]int{"rdma/hca": 2}, map[string]int{"rdma/hca": 2}
	d.nodes[1].Others.Extra = map[string]int{"rdma/hca": 1}
	d.do(engine.Inventory("p", d.nodes))
	return d
}

func (d *dock) submit(name, more string) error {
	d.t.Helper()
	doc, err := spec.Load(fmt.Appendf(nil, `{"name":%q,"image":"x","command":["x"],%s}`, name, more))
	if err != nil {
		d.t.Fatal(err)
	}
	err = d.try(submission.Submit(submission.Submission{Doc: doc, User: "v", Actor: "user:v"}))
	return err
}

// started are the assignments since the last look, by the workload's name.
func (d *dock) started() map[string]backend.Assignment {
	out := map[string]backend.Assignment{}
	for _, a := range d.asked {
		if a.Kind == draft.ActStart {
			out[a.Assignment.About.Name] = a.Assignment
		}
	}
	d.asked = nil
	return out
}

// says reports what the backend sees of the present task of a workload.
func (d *dock) says(name string, index int, state core.TaskState) {
	d.t.Helper()
	w := d.workload(name)
	o := backend.Observation{ID: core.TaskID{Workload: w.ID, Attempt: w.Attempt, Index: index}, State: state, At: d.now}
	if state == core.TaskSucceeded || state == core.TaskFailed {
		code := core.Bit(state == core.TaskFailed)
		o.ExitCode = &code
	}
	d.do(engine.Observe(engine.Observations{Backend: "p", Seen: []backend.Observation{o}}))
}

func (d *dock) check() {
	d.t.Helper()
	if err := d.e.Check(context.Background()); err != nil {
		d.t.Error(err)
	}
}

// TestExtendedResourcesAreCounted: a workload goes only where so many are free,
// is told what is short, and holds what it has over a start of the server.
func TestExtendedResourcesAreCounted(t *testing.T) {
	d := newQuay(t)
	if err := d.submit("a", `"resources":{"gpu":1,"extended":{"rdma/hca":2}}`); err != nil {
		t.Fatal(err)
	}
	a, ok := d.started()["a"]
	if !ok || a.Node != "n0" || fmt.Sprint(a.Extended) != "map[rdma/hca:2]" {
		t.Fatalf("it is started as %+v", a)
	}
	if err := d.submit("b", `"resources":{"extended":{"rdma/hca":2}}`); err != nil {
		t.Fatal(err)
	}
	const waits = "WaitingForCapacity: waits for rdma/hca: needs 2 rdma/hca, free 1 of 4 (3 of 3 nodes lack it, 1 has none at all)"
	if got := d.why("b"); got != waits {
		t.Errorf("it waits since:\n%s\nwant\n%s", got, waits)
	}
	d.check()
	d.open()
	if _, ok := d.started()["b"]; ok || d.why("b") != waits {
		t.Errorf("after a start of the server it waits since %s", d.why("b"))
	}
	d.check()
	d.says("a", 0, core.TaskRunning)
	d.says("a", 0, core.TaskSucceeded)
	if b, ok := d.started()["b"]; !ok || b.Node != "n0" {
		t.Errorf("it is started as %+v", b)
	}
	d.check()
}

// TestExtendedResourcesThatAreFreeElsewhere: what is free where the GPUs are not
// is told as such.
func TestExtendedResourcesThatAreFreeElsewhere(t *testing.T) {
	d := newQuay(t)
	for _, node := range []string{"a", "b"} { // where the adapters are
		if err := d.submit("full-"+node, `"nodeSelector":{"zone":"`+node+`"},"resources":{"gpu":4}`); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.submit("w", `"resources":{"gpu":2,"extended":{"rdma/hca":1}}`); err != nil {
		t.Fatal(err)
	}
	const want = "WaitingForCapacity: waits for rdma/hca: needs 1 rdma/hca, free 0 of 0: on nodes where all else is free"
	if got := d.why("w"); got != want {
		t.Errorf("it waits since:\n%s\nwant\n%s", got, want)
	}
}

// TestExtendedResourcesThatNobodyHas: what no node could ever give is refused
// with the numbers.
func TestExtendedResourcesThatNobodyHas(t *testing.T) {
	for _, c := range []struct{ ask, field, says string }{
		{`"rdma/hca":3`, "resources.extended.rdma/hca", "never fits: each task asks for 3 rdma/hca, the largest of 3 nodes has 2 rdma/hca in all"},
		{`"example.org/fpgas":1`, "resources.extended.example.org/fpgas", "never fits: each task asks for 1 example.org/fpgas, and none of 3 nodes has any"},
	} {
		var e *draft.Error
		if err := newQuay(t).submit("a", `"resources":{"extended":{`+c.ask+`}}`); !errors.As(err, &e) || e.Field != c.field || e.Message != c.says {
			t.Errorf("%s: %#v", c.ask, err)
		}
	}
	d := newDock(t, 1)
	var e *draft.Error
	const many = "never fits: its 5 tasks must start together, and all nodes together have room for 4 even when empty: they need 5 rdma/hca, and there are 4"
	if err := newQuay(t).submit("a", `"kind":"distributed","workers":5,"resources":{"extended":{"rdma/hca":1}}`); !errors.As(err, &e) || e.Message != many {
		t.Errorf("of a gang: %#v", err)
	}
	if err := d.submit("a", `"resources":{"extended":{"rdma/hca":1}}`); !errors.As(err, &e) || e.Message != "never fits: each task asks for 1 rdma/hca, and the only node has none" {
		t.Errorf("%#v", err)
	}
}

// TestExtendedResourcesOfAGang: the master may need others than the workers.
func TestExtendedResourcesOfAGang(t *testing.T) {
	d := newQuay(t)
	if err := d.submit("g", `"kind":"distributed","workers":3,"resources":{"extended":{"rdma/hca":1}},"master":{"resources":{"gpu":4}}`); err != nil {
		t.Fatal(err)
	}
	at := map[int]string{}
	for _, a := range d.asked {
		if a.Kind == draft.ActStart {
			at[a.Task.Index] = fmt.Sprint(a.Assignment.Extended)
		}
	}
	if want := map[int]string{0: "map[]", 1: "map[rdma/hca:1]", 2: "map[rdma/hca:1]"}; fmt.Sprint(at) != fmt.Sprint(want) {
		t.Errorf("its tasks get %v, want %v", at, want)
	}
	d.check()
}

// TestAReplicaHoldsWhatItWasPlacedWith: its document may have changed since.
func TestAReplicaHoldsWhatItWasPlacedWith(t *testing.T) {
	d := newDock(t, 1)
	d.nodes[0].Extra = map[string]int{"rdma/hca": 2}
	d.do(engine.Inventory("p", d.nodes))
	if err := d.submit("s", `"kind":"inference","ports":[8000],"resources":{"extended":{"rdma/hca":2}}`); err != nil {
		t.Fatal(err)
	}
	d.says("s", 0, core.TaskRunning)
	w := d.workload("s")
	doc := w.Spec.Clone()
	doc.Resources.Extended = nil
	d.do(submission.Update(submission.UpdateRequest{Ref: draft.Ref{ID: w.ID}, Doc: doc, Actor: "user:v"}))
	if err := d.submit("b", `"resources":{"extended":{"rdma/hca":1}}`); err != nil {
		t.Fatal(err)
	}
	d.open()
	if b, ok := d.started()["b"]; ok {
		t.Errorf("beside the former replica it is started as %+v", b)
	}
	d.check()
	d.says("s", 0, core.TaskFailed)
	d.phase("b", lifecycle.Starting)
	d.check()
}

// TestExtendedResourcesAreTakenBack: who goes first has others leave for what is
// short, and only those who hold it.
func TestExtendedResourcesAreTakenBack(t *testing.T) {
	d := newQuay(t)
	for _, w := range []struct{ name, ask string }{{"beside", `"gpu":1`}, {"low", `"gpu":1,"extended":{"rdma/hca":2}`}} {
		if err := d.submit(w.name, `"priority":"low","resources":{`+w.ask+`}`); err != nil {
			t.Fatal(err)
		}
		d.says(w.name, 0, core.TaskRunning)
	}
	d.asked = nil
	if err := d.submit("high", `"priority":"high","resources":{"extended":{"rdma/hca":2}}`); err != nil {
		t.Fatal(err)
	}
	var stopped []core.WorkloadID
	for _, a := range d.asked {
		if a.Kind == draft.ActStop {
			stopped = append(stopped, a.Task.Workload)
		}
	}
	if want := []core.WorkloadID{d.workload("low").ID}; !slices.Equal(stopped, want) {
		t.Fatalf("%q have to leave, want %q; it waits since %s", stopped, want, d.why("high"))
	}
	d.says("low", 0, core.TaskFailed)
	if a, ok := d.started()["high"]; !ok || a.Node != "n0" {
		t.Errorf("it is started as %+v", a)
	}
	d.check()
}
