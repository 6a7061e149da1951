package org_test

import (
	"maps"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/org"
)

func TestBoundsOfAProject(t *testing.T) {
	t.Parallel()
	n := func(x float64) *float64 { return &x }
	limit := func(gpu, cpu *float64) core.PoolQuota {
		return core.PoolQuota{GPU: core.ResourceQuota{Quota: n(1), Limit: gpu}, CPU: core.ResourceQuota{Limit: cpu}}
	}
	all := map[core.ProjectID]core.Project{
		"lab":    {ID: "lab", Department: true, Pools: map[string]core.PoolQuota{core.AnyPool: limit(n(3), nil)}},
		"vision": {ID: "vision", Parent: "lab", Pools: map[string]core.PoolQuota{"a": limit(n(2), n(8)), core.AnyPool: limit(n(1.5), n(4))}},
		"wide":   {ID: "wide", Parent: "lab", Pools: map[string]core.PoolQuota{"a": limit(n(20), nil), core.AnyPool: limit(n(20), nil)}},
		"part":   {ID: "part", Pools: map[string]core.PoolQuota{"a": limit(n(2), nil)}},
		"free":   {ID: "free"},
	}
	tree := org.Tree(func(id core.ProjectID) (core.Project, bool) { p, ok := all[id]; return p, ok })
	for id, want := range map[core.ProjectID]map[core.Resource]float64{
		"vision": {core.GPU: 3.5, core.CPU: 12}, // of a and of b
		"wide":   {core.GPU: 6},                 // the department's, in both pools
		"part":   nil,                           // b gives it any number
		"free":   nil,
	} {
		if got := tree.Bounds(id, []string{"a", "b"}); !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", id, got, want)
		}
	}
	if got := tree.Bounds("vision", nil); got != nil {
		t.Errorf("without pools: %v", got)
	}
}
