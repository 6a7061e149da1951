package control_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/report"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/testing/controltest"
	"github.com/musterhq/muster/internal/testing/fakebackend"
	"github.com/musterhq/muster/internal/testing/memstore"
)

// distant is a backend that can be cut off.
type distant struct {
	*fakebackend.Backend
	runs string
	away atomic.Bool
	late bool // it does not even refuse, but keeps its callers waiting
}

func (d *distant) Describe() backend.Description {
	return backend.Description{Kind: "fake", Runs: d.runs}
}

func (d *distant) gone(ctx context.Context) error {
	switch {
	case !d.away.Load():
		return nil
	case d.late:
		for d.away.Load() {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(10 * time.Millisecond):
			}
		}
		return nil
	default:
		return errors.New("connection refused")
	}
}

func (d *distant) Inventory(ctx context.Context) ([]core.Node, error) {
	if err := d.gone(ctx); err != nil {
		return nil, err
	}
	return d.Backend.Inventory(ctx)
}

func (d *distant) Observe(ctx context.Context) ([]backend.Observation, error) {
	if err := d.gone(ctx); err != nil {
		return nil, err
	}
	return d.Backend.Observe(ctx)
}

func (d *distant) Start(ctx context.Context, tasks []backend.Assignment) error {
	if err := d.gone(ctx); err != nil {
		return err
	}
	return d.Backend.Start(ctx, tasks)
}

func (d *distant) Stop(ctx context.Context, ids []core.TaskID, grace time.Duration) error {
	if err := d.gone(ctx); err != nil {
		return err
	}
	return d.Backend.Stop(ctx, ids, grace)
}

func cluster(name string, nodes ...string) *distant {
	var all []core.Node
	for _, n := range nodes {
		all = append(all, fakebackend.Node(core.NodeID(name+"/"+n), 4000, 8<<30, 2, "A100"))
	}
	return &distant{Backend: fakebackend.New(name, time.Now, all)}
}

func drive(t *testing.T, backends ...backend.Backend) *control.Control {
	t.Helper()
	return controltest.Begin(t, control.Options{Deps: draft.Deps{Store: memstore.New(), Images: true}}, backends...)
}

func await(t *testing.T, c *control.Control, w *core.Workload, what string, ok func(*core.Workload, []core.Task) bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		got, err := c.Store().Workload(context.Background(), w.ID)
		if err != nil {
			t.Fatal(err)
		}
		tasks, err := c.Store().Tasks(context.Background(), w.ID, got.Attempt)
		if err != nil {
			t.Fatal(err)
		}
		if ok(got, tasks) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is not %s: %s, %+v, tasks %+v", w.Name, what, got.Phase, got.Conditions, tasks)
		}
	}
}

func runsOn(backend string) func(*core.Workload, []core.Task) bool {
	return func(w *core.Workload, tasks []core.Task) bool {
		return w.Phase == lifecycle.Running && len(tasks) > 0 && tasks[0].Backend == backend
	}
}

func must(t *testing.T, c *control.Control, doc string) *core.Workload {
	t.Helper()
	w, err := submit(t, c, doc)
	if err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	return w
}

func clusters(t *testing.T, c *control.Control) map[string]report.ClusterInfo {
	t.Helper()
	all, err := control.Do(context.Background(), c, report.Clusters())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]report.ClusterInfo{}
	for _, info := range all {
		out[info.Name] = info
	}
	return out
}

func because(t *testing.T, c *control.Control, w *core.Workload) string {
	t.Helper()
	y, err := c.Why(context.Background(), draft.Ref{ID: w.ID})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, r := range y.Reasons {
		all = append(all, r.String())
	}
	return strings.Join(all, "\n")
}

func TestAWorkloadRunsInTheClustersThatItNames(t *testing.T) {
	c := drive(t, cluster("east", "a"), cluster("west", "a", "b"))
	for _, name := range []string{"west", "east"} {
		w := must(t, c, `{"name":"in-`+name+`","command":["fake","run=1h"],"clusters":["`+name+`"]}`)
		await(t, c, w, "running in "+name, runsOn(name))
	}
	_, err := submit(t, c, `{"command":["fake"],"clusters":["west","north"]}`)
	var refused *draft.Error
	if !errors.As(err, &refused) || refused.Field != "clusters[1]" || !strings.Contains(refused.Hint, "east, west") {
		t.Errorf("an unknown cluster: %v", err)
	}
	_, err = submit(t, c, `{"command":["fake"],"clusters":["east"],"resources":{"gpu":2,"cpu":1},"kind":"distributed","workers":2}`)
	if !errors.As(err, &refused) || refused.Code != draft.CodeUnschedulable || !strings.Contains(refused.Message, "it may run in cluster east only") {
		t.Errorf("what never fits there: %v", err)
	}
}

func TestAGangNeverSpansTwoClusters(t *testing.T) {
	c := drive(t, cluster("east", "a"), cluster("west", "a", "b"))
	_, err := submit(t, c, `{"name":"three","kind":"distributed","workers":3,"command":["fake","run=1h"],"resources":{"gpu":2}}`)
	var refused *draft.Error
	if !errors.As(err, &refused) || refused.Code != draft.CodeUnschedulable {
		t.Fatalf("a gang that would have to span both: %v", err)
	}
	w := must(t, c, `{"name":"two","kind":"distributed","workers":2,"command":["fake","run=1h"],"resources":{"gpu":2}}`)
	await(t, c, w, "running in one cluster", func(w *core.Workload, tasks []core.Task) bool {
		return w.Phase == lifecycle.Running && len(tasks) == 2 && tasks[0].Backend == "west" && tasks[1].Backend == "west"
	})
}

func TestProcessesAndContainersGoWhereTheyCanRun(t *testing.T) {
	east, here := cluster("east", "a"), cluster("local", "a")
	east.runs, here.runs = core.RunsImages, core.RunsProcesses
	c := drive(t, east, here)
	await(t, c, must(t, c, `{"name":"process","command":["fake","run=1h"]}`), "running here", runsOn("local"))
	await(t, c, must(t, c, `{"name":"image","image":"busybox","command":["fake","run=1h"]}`), "running in east", runsOn("east"))
	_, err := submit(t, c, `{"command":["fake"],"clusters":["east"]}`)
	var refused *draft.Error
	if !errors.As(err, &refused) || !strings.Contains(refused.Message, "nodes of cluster east run container images only; this workload has no image") || strings.Contains(refused.Message, "label") {
		t.Errorf("a process in a cluster that runs containers: %v", err)
	}
	must(t, c, `{"name":"full","command":["fake","run=1h"],"resources":{"gpu":2}}`)
	waits := must(t, c, `{"name":"waits","command":["fake","run=1h"],"resources":{"gpu":1},"preemptible":false}`)
	if got := because(t, c, waits); !strings.Contains(got, "nodes of cluster east run container images only; this workload has no image") || strings.Contains(got, "labels") {
		t.Errorf("why: %s", got)
	}
}

func TestAServerBeginsWithoutAClusterThatDoesNotAnswer(t *testing.T) {
	for _, late := range []bool{false, true} {
		east, west := cluster("east", "a"), cluster("west", "a")
		west.late = late
		west.away.Store(true)
		c := drive(t, east, west)
		all := clusters(t, c)
		if s := all["west"].Silence; s == nil || s.Message == "" || all["east"].Silence != nil {
			t.Errorf("late %v: what is known of the clusters: %+v", late, all)
		}
		await(t, c, must(t, c, `{"name":"anywhere","command":["fake","run=1h"],"resources":{"gpu":1}}`), "running in east", runsOn("east"))
		there := must(t, c, `{"name":"there","command":["fake","run=1h"],"clusters":["west"],"resources":{"gpu":1}}`)
		west.away.Store(false)
		await(t, c, there, "running in west", runsOn("west"))
		if s := clusters(t, c)["west"].Silence; s != nil {
			t.Errorf("late %v: west answers, and is said to be silent: %+v", late, s)
		}
	}
}

func TestWorkOfAClusterThatIsCutOffGoesOnAndNewWorkGoesElsewhere(t *testing.T) {
	east, west := cluster("east", "a"), cluster("west", "a")
	c := drive(t, east, west)
	ctx := context.Background()
	old := must(t, c, `{"name":"old","command":["fake","run=1h"],"clusters":["west"],"resources":{"gpu":1}}`)
	await(t, c, old, "running in west", runsOn("west"))
	told := must(t, c, `{"name":"told","command":["fake","run=1h"],"clusters":["west"]}`)
	await(t, c, told, "running in west", runsOn("west"))
	west.away.Store(true)
	if err := c.Apply(ctx, engine.Reach("west", false, "connection refused")); err != nil {
		t.Fatal(err)
	}
	await(t, c, old, "unreachable", func(w *core.Workload, _ []core.Task) bool {
		return w.Phase == lifecycle.Running && len(w.Conditions) == 1 && w.Conditions[0].Type == lifecycle.Unreachable
	})
	if err := c.Apply(ctx, submission.Stop(submission.StopRequest{Ref: draft.Ref{ID: told.ID}, Actor: "user:u"})); err != nil {
		t.Fatal(err)
	}
	for range 2 { // east has room for two
		w := must(t, c, `{"namePrefix":"new","command":["fake","run=1h"],"resources":{"gpu":1}}`)
		await(t, c, w, "running in east", runsOn("east"))
	}
	third := must(t, c, `{"name":"third","command":["fake","run=1h"],"resources":{"gpu":1}}`)
	if got := because(t, c, third); !strings.Contains(got, "cluster west has not answered since") {
		t.Errorf("why: %s", got)
	}
	info := clusters(t, c)["west"]
	if info.Silence == nil || info.Workloads != 2 || info.Ready != 0 || info.FreeGPUs != 0 || info.GPUs != 2000 {
		t.Errorf("west: %+v", info)
	}
	west.away.Store(false)
	if err := c.Apply(ctx, engine.Reach("west", true, "")); err != nil {
		t.Fatal(err)
	}
	await(t, c, third, "running in west", runsOn("west"))
	await(t, c, told, "stopped", func(w *core.Workload, _ []core.Task) bool { return w.Phase == lifecycle.Stopped })
	await(t, c, old, "running, and within reach", func(w *core.Workload, _ []core.Task) bool {
		return w.Phase == lifecycle.Running && len(w.Conditions) == 0
	})
}
