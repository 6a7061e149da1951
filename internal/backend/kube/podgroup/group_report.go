package podgroup

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
)

// gather is for how long news of claims is gathered: whoever makes pods makes
// them one by one.
const gather = 20 * time.Millisecond

// Claims implements backend.Claimant.
func (x *Groups) Claims(ctx context.Context, seen func(backend.Claims) error) error {
	all := true
	for {
		if news, ok := x.News(all); ok {
			if err := seen(news); err != nil {
				return err
			}
			all = false
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-x.news:
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(gather):
		}
	}
}

// News is what has changed since the last call, or all; false: nothing, or it is
// not known yet.
func (x *Groups) News(all bool) (backend.Claims, bool) {
	x.Mu.Lock()
	defer x.Mu.Unlock()
	if !x.Begun || x.Busy {
		return backend.Claims{}, false // news rings again
	}
	out := backend.Claims{All: all}
	if all {
		for key := range x.Groups {
			x.stale[key] = true
		}
	}
	for key := range x.stale {
		g := x.Groups[key]
		if g == nil {
			continue
		}
		over := g.over != "" && len(g.pods) == 0
		if over {
			delete(x.Groups, key)
			x.Owners.Forget(g.chain)
		}
		if g.Project == "" {
			continue // nobody here has heard of it
		}
		out.Changed = append(out.Changed, x.describe(g))
		if over {
			x.gone[key] = true
		}
	}
	if !all {
		for key := range x.gone {
			if !x.stale[key] {
				out.Gone = append(out.Gone, key)
				delete(x.gone, key)
			}
		}
	}
	clear(x.stale)
	if len(x.gone) > 0 {
		ring(x.news) // the next time they are gone
	}
	slices.SortFunc(out.Changed, func(a, b backend.Claim) int { return cmp.Compare(a.Key, b.Key) })
	slices.Sort(out.Gone)
	return out, all || len(out.Changed)+len(out.Gone) > 0
}

// describe is a group as the control plane knows it. The lock is held.
func (x *Groups) describe(g *group) backend.Claim {
	c := backend.Claim{
		Key: g.key, Project: g.Project, User: g.User, Pools: g.Pools, Priority: g.Priority, Preemptible: g.Preemptible,
		Min: g.Min, Remade: len(g.chain) > 0, Over: g.over, Barred: g.Scheduling.Bars, Note: g.Note,
	}
	if c.Barred == "" {
		c.Barred = g.Gang.Bars
	}
	var pods []*foreignPod
	for uid := range g.pods {
		if o := x.Pods[uid]; o != nil {
			pods = append(pods, o)
		}
	}
	slices.SortFunc(pods, func(a, b *foreignPod) int {
		return cmp.Or(cmp.Compare(a.Pod.Name, b.Pod.Name), cmp.Compare(a.Pod.UID, b.Pod.UID))
	})
	turn := ""
	for _, o := range pods {
		if o.live() {
			c.Members = append(c.Members, x.placeable(o, g, &turn))
			c.Over = ""
		}
		if s := o.Pod.Spec.TerminationGracePeriodSeconds; s != nil {
			c.Grace = max(c.Grace, time.Duration(min(max(*s, 0), 1<<30))*time.Second)
		}
	}
	name := ""
	switch {
	case len(g.chain) > 0:
		top := g.chain[len(g.chain)-1]
		name, c.Maker, c.Labels = top.Name, top.String(), top.Labels
		if g.Part != "" && g.Part != name {
			name, c.Maker = name+"-"+g.Part, c.Maker+" ("+g.Part+")"
		}
	case g.Part != "":
		name, c.Maker = g.Part, "pods of group "+g.Part
	default:
		name, c.Maker = "pod", "a pod"
	}
	if len(pods) > 0 {
		first := pods[0].Pod
		if len(g.chain) == 0 {
			c.Labels = first.Labels
			if g.Part == "" {
				name, c.Maker = first.Name, "Pod "+first.Namespace+"/"+first.Name
			}
		}
	}
	c.Name = WorkloadName(name)
	return c
}

// WorkloadName makes a name of the cluster fit to be one of a workload.
func WorkloadName(s string) string {
	const most = 45 // a few characters more may have to follow
	s = strings.Trim(strings.ReplaceAll(strings.ToLower(s), ".", "-"), "-")
	if len(s) > most {
		s = strings.TrimRight(s[:most], "-")
	}
	if s == "" {
		return "w"
	}
	return s
}

// Disown implements backend.Claimant.
func (x *Groups) Disown(_ context.Context, ids []core.TaskID) error {
	for _, id := range ids {
		t, ok := x.tasks.Get(id)
		if !ok || t.Claim == "" {
			continue
		}
		x.Mu.Lock()
		o := x.Pods[types.UID(t.Claim)]
		if o != nil {
			x.disowned[types.UID(t.Claim)] = true
		}
		x.Mu.Unlock()
		x.tasks.Drop(id)
		x.tasks.Disown(types.UID(t.Claim))
		x.p.NodeInfo.Release(t.Node, id)
		x.logs.PodGone(id) // nobody here reads on
		if o != nil {
			x.Seen(o.Pod, false)
		}
	}
	return nil
}
