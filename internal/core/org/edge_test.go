package org_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/org"
	"github.com/musterhq/muster/internal/core/spec"
)

// says holds an error against "field: part of its message"; empty: there is none.
func says(t *testing.T, name string, err error, want string) {
	t.Helper()
	field, message, _ := strings.Cut(want, ": ")
	var wrong *org.Error
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v", name, err)
	case want != "" && (!errors.As(err, &wrong) || wrong.Field != field || !strings.Contains(wrong.Message, message) || wrong.Hint == ""):
		t.Errorf("%s: %v; want %s", name, err, want)
	}
}

// TestAmountsAtTheirBounds holds what is the last that is allowed, and the first that
// is not, with the words for it.
func TestAmountsAtTheirBounds(t *testing.T) {
	quota := func(q core.ResourceQuota) func(*core.Project) {
		return func(p *core.Project) { p.Pools = map[string]core.PoolQuota{"a": {GPU: q}} }
	}
	minute, nothing, early := time.Minute, time.Duration(0), -time.Nanosecond
	for name, c := range map[string]struct {
		edit func(*core.Project)
		want string
	}{
		"nothing":                     {quota(core.ResourceQuota{Quota: n(0), Limit: n(0), Weight: n(0)}), ""},
		"the most":                    {quota(core.ResourceQuota{Quota: n(1 << 53)}), ""},
		"more than the most":          {quota(core.ResourceQuota{Quota: n(1<<53 + 2)}), "pools.a.gpu.quota: is not an amount"},
		"not a number":                {quota(core.ResourceQuota{Limit: n(math.NaN())}), "pools.a.gpu.limit: NaN is not an amount"},
		"below nothing":               {quota(core.ResourceQuota{Weight: n(-0.5)}), "pools.a.gpu.weight: -0.5 is negative"},
		"lends all":                   {quota(core.ResourceQuota{Quota: n(4), LendingLimit: n(4)}), ""},
		"lends more than it has":      {quota(core.ResourceQuota{Quota: n(4), LendingLimit: n(5)}), "pools.a.gpu.lendingLimit: 5 is more than its quota, 4"},
		"lends what it has not":       {quota(core.ResourceQuota{LendingLimit: n(1)}), "pools.a.gpu.lendingLimit: there is no quota"},
		"no minimum":                  {func(p *core.Project) { p.PreemptMinRuntime = &nothing }, ""},
		"a minimum":                   {func(p *core.Project) { p.PreemptMinRuntime = &minute }, ""},
		"a minimum below nothing":     {func(p *core.Project) { p.PreemptMinRuntime = &early }, "preemptMinRuntime: is negative"},
		"any may run":                 {func(p *core.Project) { p.MaxRunning, p.UserLimit.MaxRunning = 0, 0 }, ""},
		"one may run":                 {func(p *core.Project) { p.MaxRunning, p.UserLimit.MaxRunning = 1, 1 }, ""},
		"held":                        {func(p *core.Project) { p.StopMode = core.StopHold }, ""},
		"held and drained":            {func(p *core.Project) { p.StopMode = core.StopHoldAndDrain }, ""},
		"a kind's types":              {func(p *core.Project) { p.NodeTypes = map[lifecycle.Kind][]string{lifecycle.Training: {"x"}} }, ""},
		"an empty type":               {func(p *core.Project) { p.NodeTypes = map[lifecycle.Kind][]string{lifecycle.Training: {"x", ""}} }, "nodeTypes.training: is empty"},
		"a limit of time":             {func(p *core.Project) { p.IdleLimit = map[lifecycle.Kind]time.Duration{lifecycle.Training: 1} }, ""},
		"no limit of time":            {func(p *core.Project) { p.IdleLimit = map[lifecycle.Kind]time.Duration{lifecycle.Training: 0} }, "idleLimit.training: 0s is not a limit"},
		"a limit for what is no kind": {func(p *core.Project) { p.IdleLimit = map[lifecycle.Kind]time.Duration{"job": 1} }, `idleLimit.job: "job" is not a kind`},
		"a budget":                    {func(p *core.Project) { p.Budget, p.Period = 1, time.Hour }, ""},
		"a period alone":              {func(p *core.Project) { p.Period = time.Hour }, ""},
		"a period below nothing":      {func(p *core.Project) { p.Period = -1 }, "budgetPeriod: is missing"},
		"a budget below nothing":      {func(p *core.Project) { p.Budget, p.Period = -1, time.Hour }, "budgetGpuHours: -1 is negative"},
		"a pool that is not there":    {func(p *core.Project) { p.PoolOrder = []string{"a", "b"} }, `poolOrder[1]: pool "b" does not exist`},
	} {
		m := fleet()
		p := m["seg"]
		c.edit(&p)
		m[p.ID] = p
		says(t, name, treeOf(m).Check(&p, []string{"a"}), c.want)
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "z": true, "a-b": true, "a0": true, "z9": true, strings.Repeat("a", spec.MaxName): true,
		"": false, "0a": false, "-a": false, "a-": false, "aB": false, "a_b": false, "a.b": false, "a{": false, "a`": false, "a/": false, "a:": false,
		strings.Repeat("a", spec.MaxName+1): false,
	} {
		if org.Named(name) != want {
			t.Errorf("%q is a name: %v", name, !want)
		}
	}
}

func TestLabelsAndTaints(t *testing.T) {
	for name, c := range map[string]struct {
		label core.Label
		want  string
	}{
		"plain":                {core.Label{Key: "zone", Value: "a"}, ""},
		"no value":             {core.Label{Key: "zone"}, ""},
		"a prefix":             {core.Label{Key: "example.org/zone", Value: "A-1_b.c"}, ""},
		"no key":               {core.Label{Value: "a"}, "x: is not the key"},
		"no name":              {core.Label{Key: "example.org/"}, "x: is not the key"},
		"no prefix":            {core.Label{Key: "/zone"}, "x: is not the key"},
		"two slashes":          {core.Label{Key: "a/b/c"}, "x: is not the key"},
		"the longest":          {core.Label{Key: strings.Repeat("k", 63), Value: strings.Repeat("v", 63)}, ""},
		"too long a key":       {core.Label{Key: strings.Repeat("k", 64)}, "x: is not the key"},
		"too long a value":     {core.Label{Key: "k", Value: strings.Repeat("v", 64)}, "x: is not the value"},
		"the longest prefix":   {core.Label{Key: strings.Repeat("p", 253) + "/k"}, ""},
		"too long a prefix":    {core.Label{Key: strings.Repeat("p", 254) + "/k"}, "x: is not the key"},
		"a blank in the value": {core.Label{Key: "k", Value: "a b"}, "x: is not the value"},
	} {
		says(t, name, org.CheckLabel("x", c.label), c.want)
	}
	for effect, want := range map[core.TaintEffect]string{core.NoSchedule: "", core.PreferNoSchedule: "", core.NoExecute: "", "Sometimes": "taints: is not the effect"} {
		says(t, string(effect), org.CheckTaint(core.Taint{Key: "k", Value: "v", Effect: effect}), want)
	}
	says(t, "a taint without a key", org.CheckTaint(core.Taint{Effect: core.NoSchedule}), "taints: is not the key")
}

func TestPoolsAtTheirBounds(t *testing.T) {
	zone := core.Label{Key: "zone", Value: "a"}
	for name, c := range map[string]struct {
		pool core.Pool
		want string
	}{
		"a pool":                      {core.Pool{Name: "p", Selector: core.Label{Key: "zone", Value: "b"}, Topology: []string{"row", "rack"}, MinRuntime: 1}, ""},
		"itself":                      {core.Pool{Name: "old", Selector: zone}, ""},
		"the same nodes":              {core.Pool{Name: "p", Selector: zone}, `selector: pool "old" gathers`},
		"the default pool":            {core.Pool{Name: core.DefaultPool}, ""},
		"the default pool, and which": {core.Pool{Name: core.DefaultPool, Selector: core.Label{Key: "k"}}, "selector: the default pool"},
		"no selector":                 {core.Pool{Name: "p"}, "selector: is not the key"},
		"no name":                     {core.Pool{Selector: zone}, "name: is not a name"},
		"strategies":                  {core.Pool{Name: core.DefaultPool, Placement: core.Placement{GPU: core.PlaceSpread, CPU: core.PlaceFill}}, ""},
		"no strategy":                 {core.Pool{Name: core.DefaultPool, Placement: core.Placement{CPU: "most"}}, "placement.cpu: is not a strategy"},
		"a level twice":               {core.Pool{Name: core.DefaultPool, Topology: []string{"row", "row"}}, "topology[1]: stands there twice"},
		"a level that is none":        {core.Pool{Name: core.DefaultPool, Topology: []string{"row", ""}}, "topology[1]: is not the key"},
		"no time":                     {core.Pool{Name: core.DefaultPool, MinRuntime: -1}, "minRuntime: is negative"},
	} {
		says(t, name, org.CheckPool(&c.pool, map[string]core.Pool{"old": {Name: "old", Selector: zone}}), c.want)
	}
}

// TestWhatAReservationKeeps holds each way to name nodes, alone and beside another.
func TestWhatAReservationKeeps(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		r    core.Reservation
		want string
	}{
		"nodes":                   {core.Reservation{Nodes: []core.NodeID{"n"}}, ""},
		"a selector":              {core.Reservation{Selector: core.Label{Key: "zone", Value: "a"}}, ""},
		"a selector that is none": {core.Reservation{Selector: core.Label{Key: "zone", Value: "a b"}}, "selector: is not the value"},
		"a pool":                  {core.Reservation{Pool: "p"}, ""},
		"one node of a pool":      {core.Reservation{Pool: "p", NodeCount: 1}, ""},
		"one GPU of a pool":       {core.Reservation{Pool: "p", GPUs: 1}, ""},
		"nothing":                 {core.Reservation{}, "nodes: does not say which"},
		"nodes and a selector":    {core.Reservation{Nodes: []core.NodeID{"n"}, Selector: core.Label{Key: "zone"}}, "nodes: more than one way"},
		"nodes, selector, pool":   {core.Reservation{Nodes: []core.NodeID{"n"}, Selector: core.Label{Key: "zone"}, Pool: "p"}, "nodes: more than one way"},
		"fewer than no GPUs":      {core.Reservation{Pool: "p", GPUs: -1}, "nodeCount: is negative"},
		"both counts":             {core.Reservation{Pool: "p", NodeCount: 1, GPUs: 1}, "gpus: cannot both"},
		"a count of nowhere":      {core.Reservation{Nodes: []core.NodeID{"n"}, NodeCount: 1}, "pool: none is named"},
		"GPUs of nowhere":         {core.Reservation{Nodes: []core.NodeID{"n"}, GPUs: 1}, "pool: none is named"},
	} {
		r := c.r
		r.Name, r.Start, r.Duration, r.Maintenance = "r", start, time.Hour, true
		says(t, name, org.CheckReservation(&r, []string{"p"}, func(core.ProjectID) bool { return true }), c.want)
	}
}
