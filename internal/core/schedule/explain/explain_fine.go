package explain

import (
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/queues"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// fine is what was looked at for j and does not stand in its way.
func fine(st *state.State, j *ledger.Job, ex schedule.Explanation) []schedule.Check {
	says := func(tokens ...schedule.Token) bool {
		return slices.ContainsFunc(ex.Reasons, func(r schedule.Reason) bool { return slices.Contains(tokens, r.Token) })
	}
	if says(schedule.QueueNotFound, schedule.NotYetEvaluated) {
		return nil
	}
	var out []schedule.Check
	note := func(what, format string, args ...any) {
		out = append(out, schedule.Check{What: what, Note: fmt.Sprintf(format, args...)})
	}
	if !says(schedule.QueueStopped) {
		note("queue", "%s is open", j.Queue)
	}
	if first := firstOf(st, ex.Ahead); first == nil || first.Priority <= j.Priority {
		note("priority", "nobody of a higher priority waits in %s", j.Queue)
	}
	if limited(st, j) && !says(schedule.OverLimit) {
		note("limits", "within all limits")
	}
	if says(schedule.NeverFits, schedule.NoNodes) {
		return out
	}
	note("size", "it fits when enough is free")
	for _, p := range st.PoolsOf(j) {
		if len(p.Sites) > 0 {
			out = append(out, fineIn(st, p, j, ex.Reasons, says)...)
			break
		}
	}
	return out
}

func firstOf(st *state.State, ids []core.WorkloadID) *ledger.Job {
	if len(ids) == 0 {
		return nil
	}
	return st.Jobs[ids[0]]
}

// fineIn is what is in order in the pool that j tries first.
func fineIn(st *state.State, p *ledger.Pool, j *ledger.Job, reasons []schedule.Reason, says func(...schedule.Token) bool) []schedule.Check {
	var out []schedule.Check
	_, tries := j.Next()
	if need := j.Beyond(p, st.Cost(j, p, tries)); !st.Cfg.NoQuota && !says(schedule.NonPreemptibleOverQuota, schedule.WaitingForQuota) {
		a := &p.Q[j.Leaf]
		if d := a.Quota.Quota[quota.GPU]; need[quota.GPU] > 0 && d >= 0 && a.Alloc[quota.GPU]+need[quota.GPU] <= d {
			r := schedule.Reason{Resource: "gpu"}
			out = append(out, schedule.Check{What: "quota", Note: fmt.Sprintf("%s of %s guaranteed to %s would be used", r.QuotaAmount(a.Alloc[quota.GPU]+need[quota.GPU]), r.QuotaAmount(d), j.Queue)})
		}
	}
	if says(schedule.WaitingForPreemption) {
		return out
	}
	short := map[string]bool{}
	for _, r := range reasons {
		if r.Token == schedule.WaitingForCapacity || r.Token == schedule.Fragmented || r.Token == schedule.TopologyUnsatisfied {
			short[r.Resource] = true
		}
	}
	suits, all, ruled := len(p.Sites), len(p.Sites), false
	for _, x := range st.Wanted(j, tries) {
		n := 0
		for _, s := range p.Sites {
			if st.Allowed(s, x.Ask) {
				n++
			}
		}
		suits = min(suits, n)
		ruled = ruled || x.Ask.Rule != nil && len(x.Ask.Rule.Terms)+len(x.Ask.Rule.Any)+len(x.Ask.Rule.Tolerates) > 0
		for res := range quota.Resources {
			if amountOf(x.Ask, res) == 0 {
				continue
			}
			_, lack := shortOf(p, st, x.Ask, x.Count, res, nil)
			short[queues.ResourceNames[res]] = short[queues.ResourceNames[res]] || lack
		}
	}
	if ruled && suits > 0 {
		out = append(out, schedule.Check{What: "nodes", Note: fmt.Sprintf("%d of %d nodes have the labels and taints that suit it", suits, all)})
	}
	for res := range quota.Resources {
		if lack, asked := short[queues.ResourceNames[res]]; asked && !lack {
			out = append(out, schedule.Check{What: queues.ResourceNames[res], Note: "enough is free"})
		}
	}
	if t, _ := required(j); t != nil && !says(schedule.TopologyUnsatisfied, schedule.WaitingForCapacity, schedule.Fragmented) {
		out = append(out, schedule.Check{What: "topology", Note: "one " + t.Required + " has room for all of it"})
	}
	if i := slices.IndexFunc(j.Shape.Groups, func(g schedule.Group) bool { return g.Segment > 0 && g.Topology != nil && g.Topology.Required != "" }); i >= 0 && !says(schedule.TopologyUnsatisfied, schedule.WaitingForCapacity, schedule.Fragmented) {
		g := &j.Shape.Groups[i]
		out = append(out, schedule.Check{What: "topology", Note: fmt.Sprintf("each of its segments of %d tasks has room in one %s", g.Segment, g.Topology.Required)})
	}
	return out
}

// limited reports whether any limit holds for j.
func limited(st *state.State, j *ledger.Job) bool {
	if _, ok := st.Bound(j.User); ok {
		return true
	}
	for q := j.Leaf; q >= 0; q = st.Queues.List[q].ParentIndex {
		if st.Queues.List[q].MaxJobs > 0 || st.Queues.List[q].PerUser() {
			return true
		}
		for _, p := range st.Pools {
			for r := range quota.Resources {
				if p.Q[q].Limit[r] >= 0 {
					return true
				}
			}
		}
	}
	return false
}
