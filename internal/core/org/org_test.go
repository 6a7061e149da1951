package org_test

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/org"
	"github.com/musterhq/muster/internal/core/spec"
)

// fleet are departments lab > vision, a project in each, and one outside.
func fleet() map[core.ProjectID]core.Project {
	m := map[core.ProjectID]core.Project{}
	for _, p := range []core.Project{
		{ID: "lab", Department: true}, {ID: "vision", Department: true, Parent: "lab"},
		{ID: "seg", Parent: "vision"}, {ID: "nlp", Parent: "lab"}, {ID: "free"},
	} {
		m[p.ID] = p
	}
	return m
}

func treeOf(m map[core.ProjectID]core.Project) org.Tree {
	return func(id core.ProjectID) (core.Project, bool) { p, ok := m[id]; return p, ok }
}

func n(x float64) *float64 { return &x }

func gpus(quota, limit *float64) core.PoolQuota {
	return core.PoolQuota{GPU: core.ResourceQuota{Quota: quota, Limit: limit}}
}

func TestCheckNamesTheField(t *testing.T) {
	minute := -time.Minute
	for name, c := range map[string]struct {
		edit  func(*core.Project)
		field string // empty: it is fine
	}{
		"nothing":         {func(*core.Project) {}, ""},
		"moved":           {func(p *core.Project) { p.Parent = "lab" }, ""},
		"to the top":      {func(p *core.Project) { p.Parent = "" }, ""},
		"bad name":        {func(p *core.Project) { p.ID = "Seg" }, "name"},
		"name ends in -":  {func(p *core.Project) { p.ID = "seg-" }, "name"},
		"itself":          {func(p *core.Project) { p.Parent = "seg" }, "parent"},
		"nobody":          {func(p *core.Project) { p.Parent = "nobody" }, "parent"},
		"below a project": {func(p *core.Project) { p.Parent = "nlp" }, "parent"},
		"quota":           {func(p *core.Project) { p.Pools = map[string]core.PoolQuota{"a": gpus(n(2.3), n(4)), "*": {}} }, ""},
		"limit = quota":   {func(p *core.Project) { p.Pools = map[string]core.PoolQuota{"a": gpus(n(2), n(2))} }, ""},
		"limit < quota":   {func(p *core.Project) { p.Pools = map[string]core.PoolQuota{"a": gpus(n(2), n(1))} }, "pools.a.gpu.limit"},
		"limit alone":     {func(p *core.Project) { p.Pools = map[string]core.PoolQuota{"a": gpus(nil, n(0))} }, ""},
		"negative quota":  {func(p *core.Project) { p.Pools = map[string]core.PoolQuota{"a": gpus(n(-1), nil)} }, "pools.a.gpu.quota"},
		"no number":       {func(p *core.Project) { p.Pools = map[string]core.PoolQuota{"a": gpus(n(math.NaN()), nil)} }, "pools.a.gpu.quota"},
		"endless":         {func(p *core.Project) { p.Pools = map[string]core.PoolQuota{"a": gpus(n(math.Inf(1)), nil)} }, "pools.a.gpu.quota"},
		"negative weight": {func(p *core.Project) {
			p.Pools = map[string]core.PoolQuota{"*": {CPU: core.ResourceQuota{Weight: n(-1)}}}
		}, "pools.*.cpu.weight"},
		"unknown pool":   {func(p *core.Project) { p.Pools = map[string]core.PoolQuota{"b": {}} }, "pools"},
		"pool order":     {func(p *core.Project) { p.PoolOrder = []string{"a", "default"} }, ""},
		"any in order":   {func(p *core.Project) { p.PoolOrder = []string{"*"} }, "poolOrder[0]"},
		"order twice":    {func(p *core.Project) { p.PoolOrder = []string{"a", "a"} }, "poolOrder[1]"},
		"kind":           {func(p *core.Project) { p.NodeTypes = map[lifecycle.Kind][]string{"job": {"a"}} }, "nodeTypes.job"},
		"no types":       {func(p *core.Project) { p.NodeTypes = map[lifecycle.Kind][]string{lifecycle.Training: nil} }, "nodeTypes.training"},
		"max running":    {func(p *core.Project) { p.MaxRunning = -1 }, "maxRunning"},
		"user's running": {func(p *core.Project) { p.UserLimit.MaxRunning = -1 }, "userLimit.maxRunning"},
		"user's GPUs":    {func(p *core.Project) { p.UserLimit.GPU = n(-1) }, "userLimit.gpu"},
		"min runtime":    {func(p *core.Project) { p.ReclaimMinRuntime = &minute }, "reclaimMinRuntime"},
		"stop mode":      {func(p *core.Project) { p.StopMode = "half" }, "stopMode"},
		"time limit":     {func(p *core.Project) { p.TimeLimit = map[lifecycle.Kind]time.Duration{lifecycle.Training: 0} }, "timeLimit.training"},
		"budget":         {func(p *core.Project) { p.Budget = 1 }, "budgetPeriod"},
	} {
		m := fleet()
		p := m["seg"]
		c.edit(&p)
		m[p.ID] = p
		err := treeOf(m).Check(&p, []string{"a", "default"})
		var wrong *org.Error
		switch {
		case c.field == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.field != "" && (!errors.As(err, &wrong) || wrong.Field != c.field):
			t.Errorf("%s: %v; want an error about %s", name, err, c.field)
		case c.field != "" && wrong.Hint == "":
			t.Errorf("%s: %v, without a next step", name, err)
		}
	}
}

func TestACycleIsRefused(t *testing.T) {
	m := fleet()
	lab := m["lab"]
	lab.Parent = "vision"
	m["lab"] = lab
	tree := treeOf(m)
	if err := tree.Check(&lab, nil); err == nil || !strings.Contains(err.Error(), "lab below vision below lab") {
		t.Errorf("lab below vision below lab: %v", err)
	}
	if path := tree.Path("seg"); len(path) > 64 { // a stored one must not hang the server
		t.Errorf("a path of %d", len(path))
	}
}

func TestWhatStandsAboveHolds(t *testing.T) {
	m := fleet()
	set := func(id core.ProjectID, edit func(*core.Project)) { p := m[id]; edit(&p); m[id] = p }
	tree := treeOf(m)
	if mode, _ := tree.Stopped("seg"); mode != core.StopNone {
		t.Errorf("stopped by nobody: %q", mode)
	}
	set("lab", func(p *core.Project) { p.StopMode = core.StopHoldAndDrain })
	set("seg", func(p *core.Project) { p.StopMode = core.StopHold })
	if mode, by := tree.Stopped("seg"); mode != core.StopHoldAndDrain || by.ID != "lab" {
		t.Errorf("stopped: %q by %s", mode, by.ID)
	}
	if mode, _ := tree.Stopped("free"); mode != core.StopNone {
		t.Errorf("what stands elsewhere is stopped: %q", mode)
	}

	k, h := lifecycle.Training, time.Hour
	set("lab", func(p *core.Project) {
		p.Checks = []spec.Check{{Name: "head"}}
		p.TimeLimit = map[lifecycle.Kind]time.Duration{k: 2 * h, lifecycle.Workspace: h}
		p.Budget, p.Period = 1, h
		p.PoolOrder = []string{"a"}
		p.ReclaimMinRuntime = &h
		p.NodeTypes = map[lifecycle.Kind][]string{k: {"x", "y"}}
	})
	set("seg", func(p *core.Project) {
		p.Checks = []spec.Check{{Name: "own"}}
		p.TimeLimit = map[lifecycle.Kind]time.Duration{k: 3 * h}
		p.IdleLimit = map[lifecycle.Kind]time.Duration{k: h}
		p.NodeTypes = map[lifecycle.Kind][]string{k: {"y", "z"}}
	})
	r := tree.Rules("seg")
	if len(r.Checks) != 2 || r.Checks[0].Name != "head" || r.Checks[1].Name != "own" {
		t.Errorf("checks: %+v", r.Checks)
	}
	if r.TimeLimit[k] != 2*h || r.TimeLimit[lifecycle.Workspace] != h || r.IdleLimit[k] != h {
		t.Errorf("limits: %v, %v", r.TimeLimit, r.IdleLimit)
	}
	if m["seg"].TimeLimit[k] != 3*h || len(m["seg"].Checks) != 1 {
		t.Error("the project's own record was changed")
	}
	if b := tree.Budgets("seg"); len(b) != 1 || b[0].ID != "lab" {
		t.Errorf("budgets: %+v", b)
	}
	if p := tree.Pools("seg"); !slices.Equal(p, []string{"a"}) {
		t.Errorf("pools: %v", p)
	}
	if d := tree.MinRuntime("seg", func(p *core.Project) *time.Duration { return p.ReclaimMinRuntime }); d != h {
		t.Errorf("minimum runtime: %v", d)
	}
	if types := tree.NodeTypes("seg", k); !slices.Equal(types, []string{"y"}) {
		t.Errorf("node types: %v", types)
	}
	if types := tree.NodeTypes("seg", lifecycle.Workspace); types != nil {
		t.Errorf("node types of a kind that nobody restricts: %v", types)
	}
}

func TestWhoPromisesMore(t *testing.T) {
	at := func(parent core.ProjectID, quota, limit *float64, note string) *core.Project {
		return &core.Project{ID: "p", Parent: parent, Note: note, Pools: map[string]core.PoolQuota{"a": gpus(quota, limit)}}
	}
	was := at("lab", n(2), n(4), "")
	for what, c := range map[string]struct {
		was, is *core.Project
		more    bool
	}{
		"another note": {was, at("lab", n(2), n(4), "noon"), false}, "another limit": {was, at("lab", n(2), n(8), ""), false},
		"another quota": {was, at("lab", n(3), n(4), ""), true}, "another place": {was, at("seg", n(2), n(4), ""), true},
		"new, with a quota": {nil, was, true}, "new, without": {nil, at("lab", nil, n(4), ""), false},
		"a quota without a bound": {was, at("lab", nil, n(4), ""), true},
	} {
		if got := org.PromisesMore(c.was, c.is); got != c.more {
			t.Errorf("%s: %t", what, got)
		}
	}
}

func TestWhatIsPromisedTwiceIsSaid(t *testing.T) {
	m := fleet()
	quota := func(id core.ProjectID, pool string, q float64) {
		p := m[id]
		p.Pools = map[string]core.PoolQuota{pool: gpus(n(q), nil)}
		m[id] = p
	}
	there := org.CapacityOf(slices.Values([]core.Node{
		{ID: "1", Pool: "a", CPU: 4000, Memory: 8 << 30, Devices: []core.Device{{Healthy: true}, {Healthy: true}, {}}},
	}))
	said := func(id core.ProjectID) string {
		return strings.Join(org.Oversubscribed(m[id], maps.Values(m), there), "; ")
	}
	if got := said("seg"); got != "" {
		t.Errorf("nothing is promised: %s", got)
	}
	quota("vision", "a", 2)
	quota("lab", "a", 2)
	quota("seg", "*", 2)
	if got := said("seg") + said("vision") + said("lab"); got != "" {
		t.Errorf("everything fits: %s", got)
	}
	quota("nlp", "a", 1)
	want := "in pool a the quotas of nlp, vision add up to 3 GPUs; department lab has 2 GPUs"
	if got := said("nlp"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := said("lab"); got != want {
		t.Errorf("from above: got  %s\nwant %s", got, want)
	}
	quota("free", "a", 1.5)
	if got := said("free"); got != "in pool a the quotas of free, lab add up to 3.5 GPUs; its nodes have 2 GPUs" {
		t.Errorf("of the cluster: %s", got)
	}
}

func TestPools(t *testing.T) {
	pools := map[string]core.Pool{
		"default": {Name: "default"},
		"b":       {Name: "b", Selector: core.Label{Key: "gpu", Value: "b"}},
		"a":       {Name: "a", Selector: core.Label{Key: "rack", Value: "1"}},
	}
	for _, c := range []struct {
		node core.Node
		want string
	}{
		{core.Node{}, "default"},
		{core.Node{Pool: "east"}, "east"},
		{core.Node{Pool: "east", Labels: map[string]string{"gpu": "b"}}, "b"},
		{core.Node{Labels: map[string]string{"gpu": "b", "rack": "1"}}, "a"},
		{core.Node{Labels: map[string]string{"gpu": "c"}}, "default"},
	} {
		if got := org.PoolOf(c.node, pools); got != c.want {
			t.Errorf("%+v is in %s; want %s", c.node, got, c.want)
		}
	}
	for name, c := range map[string]struct {
		pool  core.Pool
		field string
	}{
		"fine":     {core.Pool{Name: "c", Selector: core.Label{Key: "example.com/gpu", Value: "c"}, Topology: []string{"block", "rack"}}, ""},
		"again":    {pools["b"], ""},
		"taken":    {core.Pool{Name: "c", Selector: core.Label{Key: "gpu", Value: "b"}}, "selector"},
		"none":     {core.Pool{Name: "c"}, "selector"},
		"default":  {core.Pool{Name: "default", Selector: core.Label{Key: "x", Value: "y"}}, "selector"},
		"strategy": {core.Pool{Name: "default", Placement: core.Placement{CPU: "random"}}, "placement.cpu"},
		"level":    {core.Pool{Name: "default", Topology: []string{"a b"}}, "topology[0]"},
		"levels":   {core.Pool{Name: "default", Topology: []string{"a", "a"}}, "topology[1]"},
		"runtime":  {core.Pool{Name: "default", MinRuntime: -1}, "minRuntime"},
	} {
		err := org.CheckPool(&c.pool, pools)
		var wrong *org.Error
		if c.field == "" && err != nil || c.field != "" && (!errors.As(err, &wrong) || wrong.Field != c.field) {
			t.Errorf("%s: %v; want an error about %q", name, err, c.field)
		}
	}
}

func TestWhatIsSaidOfANodeComesOnTop(t *testing.T) {
	node := core.Node{ID: "n", Labels: map[string]string{"a": "1", "b": "1"}, Taints: []core.Taint{{Key: "backend", Effect: core.NoSchedule}}}
	got := org.Set(node, core.NodeSetting{Drain: true, Labels: map[string]string{"b": "2"}, Taints: []core.Taint{{Key: "k", Effect: core.NoExecute}}})
	if !got.Cordon || !got.Drain || got.Labels["a"] != "1" || got.Labels["b"] != "2" || len(got.Taints) != 2 {
		t.Errorf("%+v", got)
	}
	if node.Labels["b"] != "1" || len(node.Taints) != 1 {
		t.Error("what the backend reports was changed")
	}
}

func TestAmountsAreShownForPeople(t *testing.T) {
	for _, c := range []struct {
		r    core.Resource
		n    float64
		want string
	}{
		{core.GPU, 1, "1 GPU"}, {core.GPU, 2.5, "2.5 GPUs"}, {core.CPU, 1, "1 core"}, {core.CPU, 64, "64 cores"},
		{core.Memory, 1 << 40, "1 TiB"}, {core.Memory, 1.5 * (1 << 30), "1.5 GiB"}, {core.Memory, 10, "10 bytes"},
	} {
		if got := org.Show(c.r, c.n); got != c.want {
			t.Errorf("%v of %s: %q, want %q", c.n, c.r, got, c.want)
		}
	}
}

// TestWhatIsBelowOnlyTightens: what a project allows beyond what is above it is said to
// change nothing, once, by who says it.
func TestWhatIsBelowOnlyTightens(t *testing.T) {
	k, h := lifecycle.Training, time.Hour
	dep := core.NewProject("research", time.Time{})
	dep.Department, dep.TimeLimit, dep.IdleLimit = true, map[lifecycle.Kind]time.Duration{k: 2 * h}, map[lifecycle.Kind]time.Duration{k: h}
	dep.NodeTypes = map[lifecycle.Kind][]string{k: {"a100", "h100"}}
	p := core.NewProject("vision", time.Time{})
	p.Parent, p.TimeLimit, p.IdleLimit = "research", map[lifecycle.Kind]time.Duration{k: 5 * h}, map[lifecycle.Kind]time.Duration{k: h / 2}
	p.NodeTypes = map[lifecycle.Kind][]string{k: {"h100", "b200"}}
	tree := org.TreeOf([]core.Project{dep, p})
	got := tree.Looser(nil, &p)
	want := []string{
		"timeLimit.training: 5h changes nothing: department research has 2h, and the tightest holds",
		"nodeTypes.training: b200 changes nothing: a department above has a list without that",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if again := tree.Looser(&p, &p); len(again) != 0 {
		t.Errorf("said again: %q", again)
	}
	if b := tree.BoundsNow("vision", k); b.TimeLimit != 2*h || b.IdleLimit != h/2 || !slices.Equal(b.NodeTypes, []string{"h100"}) {
		t.Errorf("holds: %+v", b)
	}
}

// TestIdleLimitsOfSomeOfAKind: what is preemptible may have another limit than what is not,
// beside that of the kind; of several above each other the tightest holds, each by itself.
func TestIdleLimitsOfSomeOfAKind(t *testing.T) {
	type limits = map[lifecycle.Kind]time.Duration
	w, m := lifecycle.Workspace, time.Minute
	dep := core.NewProject("research", time.Time{})
	dep.Department, dep.IdleLimit = true, limits{"workspace-preemptible": 20 * m, "workspace-non-preemptible": 240 * m}
	p := core.NewProject("vision", time.Time{})
	p.Parent, p.IdleLimit = "research", limits{w: 60 * m, "workspace-preemptible": 30 * m}
	b := org.TreeOf([]core.Project{dep, p}).BoundsNow("vision", w)
	if yes, no := b.Idle(true), b.Idle(false); yes != 20*m || no != 60*m {
		t.Errorf("a preemptible workspace may idle %v, another %v; want 20m, 1h", yes, no)
	}
	if other := org.TreeOf([]core.Project{dep, p}).BoundsNow("vision", lifecycle.Training); other.Idle(true) != 0 {
		t.Errorf("a training may idle %v", other.Idle(true))
	}
	for key, ok := range map[lifecycle.Kind]bool{"workspace-preemptible": true, "training-non-preemptible": true, "workspace-firm": false, "-preemptible": false, "workspace-preemptible-preemptible": false} {
		p := core.NewProject("p", time.Time{})
		p.IdleLimit = limits{key: m}
		if err := org.TreeOf(nil).Check(&p, nil); (err == nil) != ok {
			t.Errorf("%s: %v", key, err)
		}
	}
	p = core.NewProject("p", time.Time{})
	p.TimeLimit = limits{"workspace-preemptible": m}
	if err := org.TreeOf(nil).Check(&p, nil); err == nil {
		t.Error("a time limit is of all of a kind")
	}
}
