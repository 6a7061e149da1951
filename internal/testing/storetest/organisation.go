package storetest

import (
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/store"
)

func testProjects(t *testing.T, w *world) {
	a, b := core.NewProject("a", epoch), core.NewProject("b", epoch)
	w.commit(&store.Batch{Projects: []core.Project{b, a}})
	b.StopMode, b.Note = core.StopHold, "by ada"
	w.commit(&store.Batch{Projects: []core.Project{b}})
	w.reopen()
	w.projects(a, b)
	// A project that goes and comes back in one batch is a new one.
	b = core.NewProject("b", epoch.Add(time.Hour))
	w.commit(&store.Batch{DropProjects: []core.ProjectID{"b", "a", "nobody"}, Projects: []core.Project{b}})
	w.projects(b)
}

func (w *world) projects(want ...core.Project) {
	w.t.Helper()
	got, err := w.s.Projects(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	same(w.t, "Projects", got, want)
}

// testQuotas: none, nothing and no bound are three different things.
func testQuotas(t *testing.T, w *world) {
	zero, some, never := 0.0, 2.3, time.Duration(0)
	p := core.NewProject("p", epoch)
	p.Priority, p.PreemptMinRuntime = 0, &never
	p.Pools = map[string]core.PoolQuota{
		"none":       {GPU: core.ResourceQuota{Quota: &zero, Limit: &zero, Weight: &zero}},
		core.AnyPool: {GPU: core.ResourceQuota{Quota: &some}},
		"free":       {},
	}
	p.NodeTypes = map[lifecycle.Kind][]string{lifecycle.Training: {"a", "b"}}
	w.commit(&store.Batch{Projects: []core.Project{p}})
	w.projects(p)
	// What was written or read is not what is kept.
	got, err := w.s.Projects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	*got[0].Pools["none"].GPU.Quota, got[0].NodeTypes[lifecycle.Training][0] = 7, "x"
	got[0].Pools["more"] = core.PoolQuota{}
	p.Pools = map[string]core.PoolQuota{
		"none":       {GPU: core.ResourceQuota{Quota: new(float64), Limit: new(float64), Weight: new(float64)}},
		core.AnyPool: {GPU: core.ResourceQuota{Quota: &some}},
		"free":       {},
	}
	p.NodeTypes = map[lifecycle.Kind][]string{lifecycle.Training: {"a", "b"}}
	zero = 9
	w.projects(p)
}

func testPools(t *testing.T, w *world) {
	a := core.Pool{Name: "a", Selector: core.Label{Key: "gpu", Value: "a100"}, Topology: []string{"block", "rack"}, CreatedAt: epoch}
	b := core.Pool{Name: "b", MinRuntime: time.Hour, CreatedAt: epoch}
	w.commit(&store.Batch{Pools: []core.Pool{b, a}})
	a.Placement.GPU = core.PlaceSpread
	w.commit(&store.Batch{Pools: []core.Pool{a}, DropPools: []string{"b", "nobody"}})
	w.reopen()
	got, err := w.s.Pools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "Pools", got, []core.Pool{a})
}

func testNodes(t *testing.T, w *world) {
	a := core.NodeSetting{ID: "a", Cordon: true, Note: "fan"}
	b := core.NodeSetting{ID: "b", Taints: []core.Taint{{Key: "k", Effect: core.NoSchedule}}}
	w.commit(&store.Batch{Nodes: []core.NodeSetting{b, a}})
	b.Labels = map[string]string{"rack": "r1"}
	w.commit(&store.Batch{Nodes: []core.NodeSetting{b, {ID: "a"}, {ID: "nobody"}}})
	w.reopen()
	got, err := w.s.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "Nodes", got, []core.NodeSetting{b})
}

func testLicenses(t *testing.T, w *world) {
	a := core.License{Name: "ansys", Total: 4, Note: "until May", CreatedAt: epoch}
	b := core.License{Name: "matlab", Total: 8, CreatedAt: epoch}
	w.commit(&store.Batch{Licenses: []core.License{b, a}})
	a.Total = 6
	w.commit(&store.Batch{Licenses: []core.License{a}, DropLicenses: []string{"matlab", "nobody"}})
	w.reopen()
	got, err := w.s.Licenses(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "Licenses", got, []core.License{a})
}

func testReservations(t *testing.T, w *world) {
	a := core.Reservation{Name: "a", Start: epoch, Duration: time.Hour, Nodes: []core.NodeID{"n1"}, Users: []string{"ada"}, CreatedAt: epoch}
	b := core.Reservation{Name: "b", Start: epoch, Duration: time.Hour, Repeat: core.Daily, Pool: "p", NodeCount: 2, Chosen: []core.NodeID{"n1", "n2"}, Maintenance: true, CreatedAt: epoch}
	w.commit(&store.Batch{Reservations: []core.Reservation{b, a}})
	b.Note = "fans"
	w.commit(&store.Batch{Reservations: []core.Reservation{b}, DropReservations: []string{"a", "nobody"}})
	w.reopen()
	got, err := w.s.Reservations(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "Reservations", got, []core.Reservation{b})
}
