package wire

import (
	"reflect"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine/report"
)

// Standing is the API's form of what a project is guaranteed, uses and waits for.
func Standing(s report.Standing) api.Standing {
	use := func(r core.Resource) api.Use {
		q := s.Quota.Of(r)
		u := api.Use{Guaranteed: q.Quota, Used: s.Used[r], Reserved: s.Reserved[r], Fixed: s.Fixed[r], Limit: q.Limit, LendingLimit: q.LendingLimit, Weight: q.WeightOf(), FairShare: s.Fair[r]}
		if q.Quota != nil {
			u.Over = max(0, u.Used+u.Reserved-*q.Quota)
			u.Kept = max(0, q.Keeps()-u.Used)
			u.Lendable = max(0, *q.Quota-u.Used-u.Kept)
			if *q.Quota > 0 {
				share := (u.Used + u.Reserved) / *q.Quota
				u.Share = &share
			}
		}
		return u
	}
	return api.Standing{
		Project: string(s.Project.ID), Department: s.Project.Department, Parent: string(s.Project.Parent), Pool: s.Pool,
		GPU: use(core.GPU), CPU: use(core.CPU), Memory: use(core.Memory), Queued: s.Queued, QueuedGPUs: s.QueuedGPUs,
	}
}

// Shifts are those standings that differ. Everybody is in both lists, though
// perhaps in a pool of which only one of them says something.
func Shifts(before, after []report.Standing) []api.StandingShift {
	key := func(s api.Standing) string { return s.Project + "/" + s.Pool }
	was, is := map[string]api.Standing{}, map[string]api.Standing{}
	for _, s := range before {
		was[string(s.Project.ID)+"/"+s.Pool] = Standing(s)
	}
	out := []api.StandingShift{}
	for _, s := range after {
		now := Standing(s)
		is[key(now)] = now
		then, there := was[key(now)]
		if !there {
			then = api.Standing{Project: now.Project, Department: now.Department, Parent: now.Parent, Pool: now.Pool}
		}
		if !reflect.DeepEqual(then, now) {
			out = append(out, api.StandingShift{Before: then, After: now})
		}
	}
	for _, s := range before {
		then := Standing(s)
		if _, there := is[key(then)]; !there {
			out = append(out, api.StandingShift{Before: then, After: api.Standing{Project: then.Project, Department: then.Department, Parent: then.Parent, Pool: then.Pool}})
		}
	}
	return out
}
