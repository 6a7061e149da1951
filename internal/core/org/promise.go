package org

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"

	"github.com/musterhq/muster/internal/core"
)

// Capacity is what the ready and unready nodes of each pool add up to, in the
// units of quotas.
type Capacity map[string]map[core.Resource]float64

// CapacityOf adds nodes up; what is broken does not count.
func CapacityOf(nodes iter.Seq[core.Node]) Capacity {
	c := Capacity{}
	for n := range nodes {
		pool := c[n.Pool]
		if pool == nil {
			pool = map[core.Resource]float64{}
			c[n.Pool] = pool
		}
		for _, d := range n.Devices {
			if d.Healthy {
				pool[core.GPU]++
			}
		}
		for profile, k := range n.MIG {
			pool[core.GPU] += float64(core.SlicesOf(profile)*int64(k)) / 1000
		}
		pool[core.CPU] += float64(n.CPU) / 1000
		pool[core.Memory] += float64(n.Memory)
	}
	return c
}

// Oversubscribed says where more has been promised than there is, around one
// project or department: by its department to all that stand beside it, and by
// itself to those below. That is allowed, and somebody should know.
func Oversubscribed(p core.Project, all iter.Seq[core.Project], there Capacity) []string {
	var beside, below []core.Project
	var above *core.Project
	for x := range all {
		switch {
		case x.ID == p.Parent:
			above = &x
		case x.Parent == p.ID:
			below = append(below, x)
		}
		if x.Parent == p.Parent && x.ID != p.ID {
			beside = append(beside, x)
		}
	}
	beside = append(beside, p)
	out := promised(above, beside, there)
	if p.Department {
		out = append(out, promised(&p, below, there)...)
	}
	return out
}

// PromisesMore reports whether a change of a record, or a new one (was is nil),
// may have made the sum of what is promised exceed what there is: it stands
// somewhere else, or its own quotas are others.
func PromisesMore(was, is *core.Project) bool {
	if was == nil {
		was = &core.Project{Parent: is.Parent}
	}
	return was.Parent != is.Parent || !maps.Equal(quotasOf(was), quotasOf(is))
}

type promise struct {
	pool     string
	resource core.Resource
}

// quotasOf are the quotas of a record that have a bound.
func quotasOf(p *core.Project) map[promise]float64 {
	out := map[promise]float64{}
	for pool, q := range p.Pools {
		for _, r := range core.Resources() {
			if n := q.Of(r).Quota; n != nil {
				out[promise{pool, r}] = *n
			}
		}
	}
	return out
}

// promised compares what projects are promised with what is above them: a
// department, or the cluster itself.
func promised(above *core.Project, below []core.Project, there Capacity) []string {
	pools := map[string]bool{}
	for _, p := range below {
		for pool := range p.Pools {
			pools[pool] = true
		}
	}
	if above != nil {
		for pool := range above.Pools {
			pools[pool] = true
		}
	} else {
		for pool := range there {
			pools[pool] = true
		}
		delete(pools, core.AnyPool) // it is looked at pool by pool
	}
	var out []string
	for _, pool := range slices.Sorted(maps.Keys(pools)) {
		for _, r := range core.Resources() {
			has, who, ok := 0.0, "", false
			if above == nil {
				has, ok = there[pool][r], there[pool] != nil
				who = "its nodes have"
			} else if q := above.QuotaIn(pool).Of(r).Quota; q != nil {
				has, ok = *q, true
				who = fmt.Sprintf("department %s has", above.ID)
			}
			if !ok {
				continue
			}
			sum, names := sumOf(below, pool, r)
			if sum > has {
				out = append(out, fmt.Sprintf("in pool %s the quotas of %s add up to %s; %s %s", pool, names, Show(r, sum), who, Show(r, has)))
			}
		}
	}
	return out
}

// sumOf adds the quotas of projects up; one without a bound is promised
// nothing in particular.
func sumOf(ps []core.Project, pool string, r core.Resource) (float64, string) {
	ps = slices.Clone(ps)
	slices.SortFunc(ps, func(a, b core.Project) int { return cmp.Compare(a.ID, b.ID) })
	sum, names, more := 0.0, "", 0
	for _, p := range ps {
		q := p.QuotaIn(pool).Of(r).Quota
		if q == nil || *q == 0 {
			continue
		}
		sum += *q
		switch {
		case names == "":
			names = string(p.ID)
		case len(names) < 60:
			names += ", " + string(p.ID)
		default:
			more++
		}
	}
	if more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return sum, names
}

// Show writes an amount of a resource for people: 4 GPUs, 2.5 cores, 64 GiB.
func Show(r core.Resource, n float64) string {
	text := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	switch {
	case r == core.GPU && n == 1:
		return "1 GPU"
	case r == core.GPU:
		return text(n) + " GPUs"
	case r == core.CPU && n == 1:
		return "1 core"
	case r == core.CPU:
		return text(n) + " cores"
	}
	for _, u := range []struct {
		name string
		size float64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.size {
			return strconv.FormatFloat(float64(int64(n/u.size*10))/10, 'f', -1, 64) + " " + u.name
		}
	}
	return text(n) + " bytes"
}
