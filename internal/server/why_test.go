package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/testing/fakebackend"
)

// newHall is a world of four nodes with four GPUs each, two to a rack.
func newHall(t *testing.T) *world {
	t.Helper()
	var nodes []core.Node
	for i := range 4 {
		n := fakebackend.Node(core.NodeID(fmt.Sprintf("n%d", i)), 64_000, 64<<30, 4, []string{"Fake A100", "Fake H100"}[i/2])
		n.Labels = map[string]string{"rack": fmt.Sprintf("r%d", i/2)}
		nodes = append(nodes, n)
	}
	return newWorldOf(t, nodes...)
}

// hold runs something for ever on so many GPUs of a node.
func (w *world) hold(node string, gpus int) {
	w.t.Helper()
	name := fmt.Sprintf("hold-%s-%d", node, gpus)
	w.submit(fmt.Sprintf(`{"name":%q,"command":["fake","run=forever"],"maxDuration":"2h","resources":{"gpu":%d,"cpu":1},"nodeSelector":{"kubernetes.io/hostname":%q}}`, name, gpus, node))
	w.await(name, "Running")
}

func (w *world) why(name string) api.Why {
	w.t.Helper()
	var y api.Why
	if resp := w.call("GET", "/v1/projects/default/workloads/"+name+"/why", "", &y); resp.StatusCode != 200 {
		w.t.Fatalf("why %s: %s", name, resp.Status)
	}
	return y
}

func flagsOf(all []api.Suggestion) (out []string) {
	for _, o := range all {
		out = append(out, o.Flags)
	}
	return out
}

func TestWhyTellsScatteredRoomFromMissing(t *testing.T) {
	t.Parallel()
	w := newHall(t)
	for _, n := range []string{"n0", "n1", "n2"} {
		w.hold(n, 1)
	}
	w.submit(`{"name":"scattered","kind":"distributed","workers":3,"command":["fake"],"resources":{"gpu":4,"cpu":1}}`)
	y := w.why("scattered")
	r := y.Reasons[0]
	if r.Token != "Fragmented" || r.Free != 13 || r.Needed != 12 || r.Tasks != 3 || r.Fitting != 1 || r.Act != "wait" {
		t.Errorf("%+v", r)
	}
	if got := flagsOf(y.Suggestions); len(got) < 2 || got[0] != "--workers 1" || got[1] != "--gpus 2" {
		t.Errorf("it is offered %v", got)
	}
	if y.Estimate == nil || y.Estimate.Limits != 3 || y.Estimate.Early == nil || y.Estimate.Late == nil || len(y.Frees) == 0 {
		t.Errorf("%+v, room by %+v", y.Estimate, y.Frees)
	}
	if late := time.Time(*y.Estimate.Late).Sub(time.Time(y.EvaluatedAt)); late < time.Hour || late > 3*time.Hour {
		t.Errorf("it starts %v from now at the latest, and what is in its way has a limit of 2h", late)
	}
}

func TestWhyTellsTheRoomOfEachRack(t *testing.T) {
	t.Parallel()
	w := newHall(t)
	w.hold("n0", 2)
	w.hold("n2", 3)
	w.submit(`{"name":"close","kind":"distributed","workers":4,"command":["fake"],"resources":{"gpu":2,"cpu":1},"topology":{"required":"rack"}}`)
	y := w.why("close")
	r := y.Reasons[0]
	if r.Token != "TopologyUnsatisfied" || r.Domain != "rack" || r.Fitting != 3 || r.Act != "change" {
		t.Errorf("%+v", r)
	}
	if want := []api.Block{{Name: "r0", Free: 6, Fitting: 3}, {Name: "r1", Free: 5, Fitting: 2}}; !slices.Equal(r.Blocks, want) {
		t.Errorf("%+v, want %+v", r.Blocks, want)
	}
	if got := flagsOf(y.Suggestions); len(got) < 2 || got[0] != "--workers 3" || got[1] != "--set topology.required=" {
		t.Errorf("it is offered %v", got)
	}
}

func TestWhySuggestsOtherNodesAndTypes(t *testing.T) {
	t.Parallel()
	w := newHall(t)
	w.hold("n0", 4)
	w.hold("n1", 4)
	w.submit(`{"name":"picky","command":["fake"],"resources":{"gpu":{"count":1,"type":"a100"},"cpu":1}}`)
	w.submit(`{"name":"bound","command":["fake"],"resources":{"gpu":1,"cpu":1},"nodeSelector":{"rack":"r0"}}`)
	if got := flagsOf(w.why("picky").Suggestions); len(got) == 0 || got[0] != `--gpu-type "Fake H100"` {
		t.Errorf("picky is offered %v", got)
	}
	y := w.why("bound")
	if got := flagsOf(y.Suggestions); len(got) == 0 || got[0] != `--set 'nodeSelector={}'` {
		t.Errorf("bound is offered %v", got)
	}
	if y.Reasons[0].Token != "WaitingForCapacity" || y.Reasons[0].Excluded != 2 || !slices.ContainsFunc(y.Checked, func(c api.Checked) bool {
		return c.What == "nodes" && strings.HasPrefix(c.Note, "2 of 4")
	}) {
		t.Errorf("%+v, fine: %+v", y.Reasons, y.Checked)
	}
}

func TestWhyOfWhatDoesNotWaitForRoom(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.refused("GET", "/v1/projects/default/workloads/nobody/why", "", 404, "not_found")
	w.submit(`{"name":"pulls","image":"busybox","command":["fake","waiting=ImagePullBackOff","never-ready"]}`)
	w.await("pulls", "Starting")
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		y := w.why("pulls")
		if y.Waits && len(y.Reasons) == 1 && y.Reasons[0].Token == "ImagePull" && strings.Contains(y.Reasons[0].Message, "task 0 on node-1, ImagePullBackOff") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v", y)
		}
	}
	w.submit(`{"name":"done","command":["fake"]}`)
	w.await("done", "Completed")
	if y := w.why("done"); y.Waits || y.Phase != "Completed" || len(y.Reasons) != 0 {
		t.Errorf("%+v", y)
	}
	var text string
	w.call("GET", "/metrics", "", &text)
	if !strings.Contains(text, `muster_start_estimates_total{result="inside"}`) {
		t.Error("the estimates are not counted")
	}
}

func TestADryRunSaysWhere(t *testing.T) {
	t.Parallel()
	w := newHall(t)
	w.hold("n0", 4)
	var got api.Workload
	ask := func(doc string) *api.Plan {
		t.Helper()
		got = api.Workload{}
		if resp := w.call("POST", "/v1/projects/-/workloads?dry_run=true", doc, &got); resp.StatusCode != 200 || got.Plan == nil {
			t.Fatalf("%s: %s, %+v", doc, resp.Status, got)
		}
		return got.Plan
	}
	p := ask(`{"kind":"distributed","workers":2,"command":["fake"],"resources":{"gpu":4,"cpu":1},"topology":{"required":"rack"}}`)
	if !p.Now || !p.Fits || len(p.Tasks) != 2 || len(p.Tasks[0].Devices) != 4 || len(p.Reasons) != 0 || p.Estimate != nil {
		t.Errorf("%+v", p)
	}
	for _, x := range p.Tasks {
		if x.Node != "n2" && x.Node != "n3" {
			t.Errorf("a task is on %s, where only one is free in its rack", x.Node)
		}
	}
	if p := ask(`{"command":["fake"],"priority":"high","resources":{"gpu":4,"cpu":1},"nodeSelector":{"kubernetes.io/hostname":"n0"}}`); p.Now || !p.Fits || len(p.Displaces) != 1 || p.Displaces[0].Name != "hold-n0-4" || p.Displaces[0].Cause != "preempt" {
		t.Errorf("%+v", p)
	}
	if p := ask(`{"command":["fake"],"resources":{"gpu":4,"cpu":1},"nodeSelector":{"kubernetes.io/hostname":"n0"}}`); p.Fits || p.Position != 1 || p.Waiting != 1 || len(p.Reasons) != 1 || p.Estimate == nil {
		t.Errorf("%+v", p)
	}
	var list api.WorkloadList
	if w.call("GET", "/v1/projects/-/workloads", "", &list); len(list.Items) != 1 {
		t.Errorf("a dry run left something: %d workloads", len(list.Items))
	}
}

// Answers are worked out beside the writer, which goes on meanwhile.
func TestWhyIsAskedWhileMuchHappens(t *testing.T) {
	t.Parallel()
	w := newHall(t)
	w.hold("n0", 4)
	w.submit(`{"name":"waits","command":["fake"],"resources":{"gpu":4,"cpu":1},"nodeSelector":{"kubernetes.io/hostname":"n0"}}`)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 60 {
			var out api.Workload
			w.call("POST", "/v1/projects/-/workloads", fmt.Sprintf(`{"name":"j%d","command":["fake","run=5ms"],"resources":{"gpu":%d,"cpu":1}}`, i, i%4), &out)
		}
	}()
	asked := 0
	for busy := true; busy || asked < 10; asked++ {
		if y := w.why("waits"); !y.Waits || y.Position < 1 || len(y.Reasons) == 0 || y.Reasons[0].Resource != "gpu" {
			t.Fatalf("%+v", y)
		}
		select {
		case <-done:
			busy = false
		default:
		}
	}
	for i := range 60 {
		w.await(fmt.Sprintf("j%d", i), "Completed")
	}
}

// What a limit never allows is said to be so, with no start, and its size is not
// called fine.
func TestWhyOfWhatALimitNeverAllows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ok("POST", "/v1/projects", `{"name":"small","pools":{"default":{"gpu":{"limit":1}}}}`, http.StatusCreated, nil)
	w.submit(`{"name":"a","project":"small","command":["fake"],"resources":{"gpu":2}}`)
	var y api.Why
	w.ok("GET", "/v1/projects/small/workloads/a/why", "", http.StatusOK, &y)
	if len(y.Reasons) == 0 || y.Reasons[0].Token != "OverLimit" || !y.Reasons[0].Never || y.Estimate != nil {
		t.Fatalf("%+v, estimate %+v", y.Reasons, y.Estimate)
	}
	for _, c := range y.Checked {
		if c.What == "size" {
			t.Errorf("its size is said to be in order: %+v", c)
		}
	}
}
