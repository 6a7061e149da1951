package engine_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/report"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/naming"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/testing/memstore"
)

// office is an engine whose one backend has two nodes.
type office struct {
	policy schedule.Policy
	failed func(*schedule.Fault)
	images bool // it has a backend that runs images
	t      testing.TB
	st     store.Store
	e      *engine.Engine
}

func newOffice(t testing.TB, st store.Store) *office {
	o := &office{t: t, st: st}
	o.open()
	return o
}

// open is a start of the server.
func (o *office) open() {
	o.t.Helper()
	o.begin()
	o.do(engine.Inventory("p", []core.Node{
		{ID: "n1", Backend: "p", Ready: true, CPU: 4000, Memory: 8 << 30, Labels: map[string]string{"zone": "x"}, Devices: []core.Device{{ID: "g", Healthy: true}}},
		{ID: "n2", Backend: "p", Ready: true, CPU: 4000, Memory: 8 << 30},
	}))
}

// begin is a start of the server before any backend has answered.
func (o *office) begin() {
	o.t.Helper()
	random := rand.New(rand.NewSource(1))
	var err error
	o.e, err = engine.Open(context.Background(), draft.Deps{
		Store: o.st, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Elapsed: func() time.Duration { return 0 },
		NewID: naming.NewID(random), NewName: naming.NewName(random), Port: func() int { return 1 }, Policy: o.policy, Failed: o.failed, Images: o.images,
	}, nil)
	if err != nil {
		o.t.Fatal(err)
	}
}

// opens is when everything is done that names no other time.
var opens = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// ask runs a command where do does, and returns what it answers.
func ask[R any](where interface{ do(...draft.Work) }, c draft.Command[R]) R {
	asked := draft.Question[R]{Command: c}
	where.do(&asked)
	return asked.Answer
}

func (o *office) try(c draft.Work) error {
	return o.e.Do(context.Background(), opens, []draft.Work{c})[0]
}

func (o *office) do(work ...draft.Work) {
	o.t.Helper()
	for _, c := range work {
		o.at(opens, c)
	}
}

func (o *office) at(now time.Time, c draft.Work) {
	o.t.Helper()
	if err := o.e.Do(context.Background(), now, []draft.Work{c})[0]; err != nil {
		o.t.Fatal(err)
	}
}

// askAt is ask at another time than the office opens.
func askAt[R any](o *office, now time.Time, c draft.Command[R]) R {
	o.t.Helper()
	asked := draft.Question[R]{Command: c}
	o.at(now, &asked)
	return asked.Answer
}

// refused must fail with a code and a next step; it returns the message.
func (o *office) refused(code draft.Code, c draft.Work) string {
	o.t.Helper()
	err := o.try(c)
	var e *draft.Error
	if !errors.As(err, &e) || e.Code != code || e.Hint == "" {
		o.t.Errorf("%+v; want code %s and a hint", err, code)
		return ""
	}
	return e.Error()
}

func (o *office) submit(doc string) draft.Command[*submission.Submitted] {
	d, err := spec.Load([]byte(doc))
	if err != nil {
		o.t.Fatal(err)
	}
	return submission.Submit(submission.Submission{Doc: d, User: "u", Actor: "user:u"})
}

func (o *office) node(id core.NodeID) report.NodeState {
	o.t.Helper()
	for _, n := range ask(o, report.Cluster()).Nodes {
		if n.ID == id {
			return n
		}
	}
	o.t.Fatalf("there is no node %s", id)
	panic("unreachable")
}

func (o *office) project(id core.ProjectID) (core.Project, bool) {
	o.t.Helper()
	for _, p := range ask(o, report.Cluster()).Projects {
		if p.ID == id {
			return p, true
		}
	}
	return core.Project{}, false
}

// guaranteed gives a project so many GPUs, in whatever pool.
func guaranteed(name string, gpus float64) organisation.Edit {
	return organisation.Edit{What: organisation.RecordProject, Name: name, Project: func(p *core.Project) error {
		p.Pools = map[string]core.PoolQuota{core.AnyPool: {GPU: core.ResourceQuota{Quota: &gpus}}}
		return nil
	}}
}

func nothing(*core.Project) error { return nil }

func below(parent core.ProjectID) func(*core.Project) error {
	return func(p *core.Project) error { p.Parent = parent; return nil }
}

func gpuPool(p *core.Pool) error {
	p.Selector = core.Label{Key: "pool", Value: "gpu"}
	return nil
}

func TestEditsComeAllOrNone(t *testing.T) {
	o := newOffice(t, memstore.New())
	edits := []organisation.Edit{
		{What: organisation.RecordProject, Name: "vision", Project: func(p *core.Project) error {
			q := 3.0
			p.Parent, p.Pools = "lab", map[string]core.PoolQuota{"gpu": {GPU: core.ResourceQuota{Quota: &q}}, "": {}}
			return nil
		}},
		{What: organisation.RecordDepartment, Name: "lab", Project: nothing},
		{What: organisation.RecordPool, Name: "gpu", Pool: gpuPool},
	}
	bad := append(edits[:3:3], organisation.Edit{What: organisation.RecordProject, Name: "nlp", Project: below("nobody")})
	if got := o.refused(draft.CodeInvalid, organisation.Organise(bad, false)); got != `parent: project nlp: department "nobody" does not exist` {
		t.Error(got)
	}
	for _, there := range []core.ProjectID{"vision", "lab"} {
		if _, ok := o.project(there); ok {
			t.Errorf("%s was made beside what was refused", there)
		}
	}
	for _, dry := range []bool{true, false} { // one refers to what comes later
		out := ask(o, organisation.Organise(edits, dry))
		p := out[0].After.Project
		if out[0].Before.Project != nil || p.Parent != "lab" || p.Priority != core.UsualPriority || len(p.Pools) != 2 {
			t.Errorf("dry run %v: %+v", dry, p)
		}
		if _, any := p.Pools[core.AnyPool]; !any {
			t.Errorf("the empty name of a pool was kept: %v", p.Pools)
		}
		if _, ok := o.project("lab"); ok == dry {
			t.Errorf("dry run %v; lab is there: %v", dry, ok)
		}
		if w := strings.Join(out[2].Warnings, ""); !strings.Contains(w, "no node has the label pool=gpu") {
			t.Errorf("of an empty pool: %q", w)
		}
	}
	o.open()
	if p, ok := o.project("vision"); !ok || *p.Pools["gpu"].GPU.Quota != 3 {
		t.Errorf("after a restart: %+v, %v", p, ok)
	}
	out := ask(o, organisation.LabelNode("n1", map[string]string{"pool": "gpu"}, nil))
	if out[0].After.Node.Labels["pool"] != "gpu" || o.node("n1").Pool != "gpu" || o.node("n2").Pool != "default" {
		t.Errorf("%+v; n1 is in pool %s, n2 in %s", out[0].After, o.node("n1").Pool, o.node("n2").Pool)
	}
	again := ask(o, organisation.Organise(edits[:1], false))[0]
	if w := strings.Join(again.Warnings, ""); w != "" {
		t.Errorf("of quotas below a department without one: %q", w)
	}
}

func TestWhatIsSaidOfNodesHoldsAfterARestart(t *testing.T) {
	o := newOffice(t, memstore.New())
	o.do(organisation.CordonNode("n1", true, "fan"))
	o.do(organisation.LabelNode("n1", map[string]string{"zone": "y", "rack": "1"}, nil))
	o.do(organisation.Organise([]organisation.Edit{{What: organisation.RecordNode, Name: "n2", Node: func(s *core.NodeSetting, _ core.Node) error { s.Cordon = true; return nil }}}, true))
	o.do(organisation.TaintNode(organisation.Tainting{Node: "n1", Set: []core.Taint{{Key: "k", Value: "v", Effect: core.NoSchedule}}}))
	for range 2 {
		n := o.node("n1")
		if !n.Cordon || n.Labels["zone"] != "y" || n.Labels["rack"] != "1" || len(n.Taints) != 1 || n.Taints[0].String() != "k=v:NoSchedule" {
			t.Errorf("%+v", n.Node)
		}
		if n := o.node("n2"); n.Cordon || len(n.Labels) != 0 {
			t.Errorf("of another node: %+v", n.Node)
		}
		o.open()
	}
	o.do(organisation.CordonNode("n1", false, ""))
	o.do(organisation.LabelNode("n1", nil, []string{"zone", "rack"}))
	o.do(organisation.TaintNode(organisation.Tainting{Node: "n1", Drop: []core.Taint{{Key: "k"}}}))
	if n := o.node("n1"); n.Cordon || n.Labels["zone"] != "x" || len(n.Labels) != 1 || len(n.Taints) != 0 {
		t.Errorf("after everything was taken back: %+v", n.Node)
	}
	if left, err := o.st.Nodes(context.Background()); err != nil || len(left) != 0 {
		t.Errorf("what says nothing is kept: %+v, %v", left, err)
	}
	o.refused(draft.CodeConflict, organisation.LabelNode("n1", nil, []string{"zone"}))
	o.refused(draft.CodeInvalid, organisation.LabelNode("n1", map[string]string{"a b": ""}, nil))
	o.refused(draft.CodeNotFound, organisation.CordonNode("n9", true, ""))
	o.refused(draft.CodeInvalid, organisation.TaintNode(organisation.Tainting{Node: "n1", Set: []core.Taint{{Key: "k", Effect: "Never"}}}))
}

func TestWhatIsNeededIsNotDropped(t *testing.T) {
	o := newOffice(t, memstore.New())
	o.do(organisation.Organise([]organisation.Edit{
		{What: organisation.RecordPool, Name: "gpu", Pool: gpuPool},
		{What: organisation.RecordDepartment, Name: "lab", Project: nothing},
		{What: organisation.RecordProject, Name: "vision", Project: func(p *core.Project) error { p.Parent, p.PoolOrder = "lab", []string{"gpu"}; return nil }},
	}, false))
	drop := func(what organisation.Record, name string) draft.Work {
		return organisation.Organise([]organisation.Edit{{What: what, Name: name, Drop: true}}, false)
	}
	if got := o.refused(draft.CodeConflict, drop(organisation.RecordPool, "gpu")); !strings.Contains(got, "vision") {
		t.Error(got)
	}
	if got := o.refused(draft.CodeConflict, drop(organisation.RecordDepartment, "lab")); !strings.Contains(got, "still holds vision") {
		t.Error(got)
	}
	o.do(o.submit(`{"name":"a","project":"vision","command":["fake"]}`))
	if got := o.refused(draft.CodeConflict, drop(organisation.RecordProject, "vision")); got != "project vision has live workloads (1): a" {
		t.Error(got)
	}
	if got := o.refused(draft.CodeInvalid, o.submit(`{"name":"b","project":"lab","command":["fake"]}`)); !strings.Contains(got, "department") {
		t.Error(got)
	}
	o.do(organisation.LabelNode("n1", map[string]string{"pool": "gpu"}, nil))
	o.do(organisation.LabelNode("n2", map[string]string{"pool": "gpu"}, nil))
	o.do(organisation.Organise([]organisation.Edit{{What: organisation.RecordProject, Name: "vision", Project: func(p *core.Project) error { p.PoolOrder = nil; return nil }}}, false))
	if got := o.refused(draft.CodeConflict, drop(organisation.RecordPool, "gpu")); !strings.Contains(got, "workloads on its nodes (1): a") {
		t.Error(got)
	}
	o.refused(draft.CodeConflict, drop(organisation.RecordPool, "default"))
	o.refused(draft.CodeConflict, drop(organisation.RecordProject, "default"))
	o.refused(draft.CodeNotFound, drop(organisation.RecordPool, "gone"))
	o.refused(draft.CodeNotFound, drop(organisation.RecordDepartment, "vision"))
	o.refused(draft.CodeConflict, organisation.Organise([]organisation.Edit{{What: organisation.RecordDepartment, Name: "vision", Project: nothing}}, false))
	// Together with what needs it, a department goes.
	o.do(submission.Stop(submission.StopRequest{Ref: draft.Ref{Project: "vision", Name: "a"}, Actor: "user:u"}))
	o.do(organisation.Organise([]organisation.Edit{
		{What: organisation.RecordProject, Name: "vision", Project: below("")}, {What: organisation.RecordDepartment, Name: "lab", Drop: true},
	}, false))
}

func TestAFailedCommitTakesTheOrganisationBack(t *testing.T) {
	st := &memstore.Full{Store: memstore.New(), Room: make(chan struct{})}
	o := newOffice(t, st)
	o.refused(draft.CodeFull, organisation.CordonNode("n1", true, ""))
	o.refused(draft.CodeFull, organisation.Organise([]organisation.Edit{{What: organisation.RecordDepartment, Name: "lab", Project: nothing}}, false))
	if n := o.node("n1"); n.Cordon {
		t.Error("the node is cordoned, and nothing was stored")
	}
	if _, ok := o.project("lab"); ok {
		t.Error("the department is there, and nothing was stored")
	}
	close(st.Room)
	o.do(organisation.CordonNode("n1", true, ""))
	if n := o.node("n1"); !n.Cordon {
		t.Error("the node is not cordoned")
	}
}

func TestADrainSaysWhatItWouldDo(t *testing.T) {
	o := newOffice(t, memstore.New())
	for _, doc := range []string{
		`{"name":"gpu","command":["fake"],"resources":{"gpu":1},"gracePeriod":"7s"}`,
		`{"name":"fixed","command":["fake"],"preemptible":false,"resources":{"cpu":3,"memory":"1Gi"}}`,
		`{"name":"fixed2","command":["fake"],"preemptible":false,"resources":{"cpu":3,"memory":"1Gi"}}`,
	} {
		o.do(o.submit(doc))
	}
	for _, dry := range []bool{true, false} {
		steps := map[string]organisation.DrainStep{}
		for _, s := range ask(o, organisation.Drain(organisation.DrainRequest{Node: "n1", DryRun: dry, Actor: "user:u"})).Steps {
			steps[s.Workload.Name] = s
		}
		if s := steps["gpu"]; s.Do != organisation.DrainParks || s.Tasks != 1 || s.GPUMilli != 1000 || s.Within != 7*time.Second {
			t.Errorf("what needs the only GPU: %+v", s)
		}
		if len(steps) != 2 || steps["fixed"].Do+steps["fixed2"].Do != organisation.DrainWaits {
			t.Errorf("what is not preemptible: %+v", steps)
		}
		if n := o.node("n1"); n.Cordon == dry || n.Drain == dry {
			t.Errorf("dry run %v; the node is %+v", dry, n.Node)
		}
	}
}
