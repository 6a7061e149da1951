package schedule

import (
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
)

// fine is what was looked at for j and does not stand in its way.
func (st *State) fine(j *job, ex Explanation) []Check {
	says := func(tokens ...Token) bool {
		return slices.ContainsFunc(ex.Reasons, func(r Reason) bool { return slices.Contains(tokens, r.Token) })
	}
	if says(QueueNotFound, NotYetEvaluated) {
		return nil
	}
	var out []Check
	note := func(what, format string, args ...any) {
		out = append(out, Check{what, fmt.Sprintf(format, args...)})
	}
	if !says(QueueStopped) {
		note("queue", "%s is open", j.Queue)
	}
	if first := st.firstOf(ex.Ahead); first == nil || first.Priority <= j.Priority {
		note("priority", "nobody of a higher priority waits in %s", j.Queue)
	}
	if st.limited(j) && !says(OverLimit) {
		note("limits", "within all limits")
	}
	if says(NeverFits, NoNodes) {
		return out
	}
	note("size", "it fits when enough is free")
	for _, p := range st.poolsOf(j) {
		if len(p.sites) > 0 {
			out = append(out, st.fineIn(p, j, ex.Reasons, says)...)
			break
		}
	}
	return out
}

func (st *State) firstOf(ids []core.WorkloadID) *job {
	if len(ids) == 0 {
		return nil
	}
	return st.jobs[ids[0]]
}

// fineIn is what is in order in the pool that j tries first.
func (st *State) fineIn(p *pool, j *job, reasons []Reason, says func(...Token) bool) []Check {
	var out []Check
	_, tries := st.next(j)
	if need := j.beyond(p, st.cost(j, p, tries)); !st.cfg.NoQuota && !says(NonPreemptibleOverQuota, WaitingForQuota) {
		a := &p.q[j.leaf]
		if d := a.Quota.Quota[quota.GPU]; need[quota.GPU] > 0 && d >= 0 && a.alloc[quota.GPU]+need[quota.GPU] <= d {
			r := Reason{Resource: "gpu"}
			out = append(out, Check{"quota", fmt.Sprintf("%s of %s guaranteed to %s would be used", r.part(a.alloc[quota.GPU]+need[quota.GPU]), r.part(d), j.Queue)})
		}
	}
	if says(WaitingForPreemption) {
		return out
	}
	short := map[string]bool{}
	for _, r := range reasons {
		if r.Token == WaitingForCapacity || r.Token == Fragmented || r.Token == TopologyUnsatisfied {
			short[r.Resource] = true
		}
	}
	suits, all, ruled := len(p.sites), len(p.sites), false
	for _, x := range st.wanted(j, tries) {
		n := 0
		for _, s := range p.sites {
			if st.allowed(s, x.ask) {
				n++
			}
		}
		suits = min(suits, n)
		ruled = ruled || x.ask.rule != nil && len(x.ask.rule.Terms)+len(x.ask.rule.Tolerates) > 0
		for res := range quota.Resources {
			if x.ask.amountOf(res) == 0 {
				continue
			}
			_, lack := p.short(st, x.ask, x.count, res, nil)
			short[resourceNames[res]] = short[resourceNames[res]] || lack
		}
	}
	if ruled && suits > 0 {
		out = append(out, Check{"nodes", fmt.Sprintf("%d of %d nodes have the labels and taints that suit it", suits, all)})
	}
	for res := range quota.Resources {
		if lack, asked := short[resourceNames[res]]; asked && !lack {
			out = append(out, Check{resourceNames[res], "enough is free"})
		}
	}
	if t, _ := j.required(); t != nil && !says(TopologyUnsatisfied, WaitingForCapacity, Fragmented) {
		out = append(out, Check{"topology", "one " + t.Required + " has room for all of it"})
	}
	if i := slices.IndexFunc(j.Shape.Groups, func(g Group) bool { return g.Segment > 0 && g.Topology != nil && g.Topology.Required != "" }); i >= 0 && !says(TopologyUnsatisfied, WaitingForCapacity, Fragmented) {
		g := &j.Shape.Groups[i]
		out = append(out, Check{"topology", fmt.Sprintf("each of its segments of %d tasks has room in one %s", g.Segment, g.Topology.Required)})
	}
	return out
}

// limited reports whether any limit holds for j.
func (st *State) limited(j *job) bool {
	for q := j.leaf; q >= 0; q = st.queues.list[q].parent {
		if st.queues.list[q].MaxJobs > 0 || st.queues.list[q].perUser() {
			return true
		}
		for _, p := range st.pools {
			for r := range quota.Resources {
				if p.q[q].Limit[r] >= 0 {
					return true
				}
			}
		}
	}
	return false
}
