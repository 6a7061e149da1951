package schedule_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/forecast"
)

// life is a world in which plans take effect.
type life struct {
	w    *world
	keep bool // who was told to leave takes a round to do so, and promises are remembered
	held map[core.WorkloadID]int
}

// start moves what the plan places from the tasks that wait to those that run.
func (l *life) start(p *schedule.Plan) {
	for _, pl := range p.Placements {
		j := l.job(pl.ID)
		groups := cloneGroups(j.Shape.Groups)
		fresh := len(j.Held) == 0
		var used []int
		g := &judge{w: l.w, plan: p}
		for _, t := range pl.Tasks {
			need, rule := g.needOf(j, &t)
			l.held[j.ID]++
			j.Held = append(j.Held, schedule.Held{Group: t.Group, Task: 1000 + l.held[j.ID], Need: *need, Rule: rule, Place: t.Place})
			used = append(used, t.Group)
		}
		for i := range groups {
			n := 0
			for _, u := range used {
				if u == i {
					n++
				}
			}
			groups[i].Runs = forecast.Without(groups[i].Runs, n)
		}
		j.Shape, j.Promised, j.BelowSince = schedule.NewShape(j.Shape.Sets, groups), false, 0
		if fresh {
			j.Started = clock
		}
	}
}

func cloneGroups(in []schedule.Group) []schedule.Group {
	out := slices.Clone(in)
	for i := range out {
		out[i].Runs = slices.Clone(out[i].Runs)
	}
	return out
}

func (l *life) job(id core.WorkloadID) *schedule.Job {
	i := slices.IndexFunc(l.w.Snap.Jobs, func(j schedule.Job) bool { return j.ID == id })
	return &l.w.Snap.Jobs[i]
}

// part makes those whom stays does not want wait for a place again.
func (l *life) part(gone func(*schedule.Job, *schedule.Held) bool) {
	for i := range l.w.Snap.Jobs {
		j := &l.w.Snap.Jobs[i]
		groups := cloneGroups(j.Shape.Groups)
		var held []schedule.Held
		for _, h := range j.Held {
			if !gone(j, &h) {
				held = append(held, h)
				continue
			}
			g := &groups[h.Group]
			if k := slices.IndexFunc(g.Runs, func(r schedule.Run) bool { return r.Need == h.Need && reflect.DeepEqual(r.Rule, h.Rule) }); k >= 0 {
				g.Runs[k].Count++
			} else {
				g.Runs = append(g.Runs, schedule.Run{Need: h.Need, Rule: h.Rule, Count: 1})
			}
		}
		if len(held) == len(j.Held) {
			continue
		}
		j.Held, j.Shape = held, schedule.NewShape(j.Shape.Sets, groups)
		if len(held) == 0 {
			j.Started, j.BelowSince, j.EndsBy = 0, 0, 0
		}
	}
}

// turn is one round: a plan, and what becomes of it.
func (l *life) turn() *schedule.Plan {
	p := cycle.Cycle(&l.w.Snap, l.w.Cfg)
	evicted := func(j *schedule.Job, h *schedule.Held) bool {
		return slices.ContainsFunc(p.Evictions, func(e schedule.Eviction) bool { return e.ID == j.ID && slices.Contains(e.Tasks, h.Task) })
	}
	left := func(_ *schedule.Job, h *schedule.Held) bool { return h.Leaving && !h.Stuck }
	if l.keep {
		// Whoever leaves is gone after the round in which others were told to.
		l.start(p)
		l.part(left)
		for i := range l.w.Snap.Jobs {
			j := &l.w.Snap.Jobs[i]
			j.Promised = slices.ContainsFunc(p.Promises, func(x schedule.Placement) bool {
				return x.ID == j.ID && slices.ContainsFunc(x.Tasks, func(t schedule.Placed) bool { return !t.Moves })
			})
			for k := range j.Held {
				if h := &j.Held[k]; evicted(j, h) {
					h.Leaving = true
				}
			}
		}
		return p
	}
	l.start(p)
	l.part(func(j *schedule.Job, h *schedule.Held) bool { return evicted(j, h) || left(j, h) })
	return p
}

func (w *world) leaving() bool {
	return slices.ContainsFunc(w.Snap.Jobs, func(j schedule.Job) bool {
		return slices.ContainsFunc(j.Held, func(h schedule.Held) bool { return h.Leaving && !h.Stuck })
	})
}

// settles runs rounds until nothing more happens, and says what went on
// happening otherwise.
func settles(w *world, keep bool) string {
	l := &life{w: w.clone(), keep: keep, held: map[core.WorkloadID]int{}}
	var story []string
	for range 40 {
		p := l.turn()
		if len(p.Placements)+len(p.Evictions) == 0 && !l.w.leaving() {
			return ""
		}
		story = append(story, brief(p))
	}
	return "goes on for ever:\n" + strings.Join(story[len(story)-6:], "\n")
}

// brief is a plan in a line.
func brief(p *schedule.Plan) string {
	var out []string
	for _, e := range p.Evictions {
		out = append(out, fmt.Sprintf("-%s%v by %s (%s)", e.ID, e.Tasks, e.For, e.Cause))
	}
	list := func(sign string, all []schedule.Placement) {
		for _, pl := range all {
			at := ""
			for _, t := range pl.Tasks {
				at += fmt.Sprintf(" %d@%s", t.Group, t.Place.Node)
			}
			out = append(out, sign+string(pl.ID)+at)
		}
	}
	list("+", p.Placements)
	list("~", p.Promises)
	return strings.Join(out, "; ")
}

func TestPlansSettleWithPromisesForgotten(t *testing.T) {
	t.Parallel()
	search(t, 1000, func(w *world) string {
		// With several pools, who is served in its second choice would have to
		// remember that: those whose first choice it is come before it.
		return settles(onePool(w), false)
	})
}

// onePool is the world with all nodes in one pool.
func onePool(w *world) *world {
	c := w.clone()
	for i := range c.Snap.Nodes {
		c.Snap.Nodes[i].Pool = "default"
	}
	for i := range c.Snap.Jobs {
		c.Snap.Jobs[i].Pools = nil
	}
	return c
}

func TestPlansSettleWithPromisesKept(t *testing.T) {
	t.Parallel()
	search(t, 1500, func(w *world) string { return settles(w, true) })
}

// filled is a world after one cycle that displaces nobody, and its plan; nil:
// someone is promised room that is still to be free.
func filled(w *world) (*life, *schedule.Plan) {
	l := &life{w: w.clone(), held: map[core.WorkloadID]int{}}
	l.w.Cfg.Actions = []schedule.Action{schedule.Allocate}
	first := cycle.Cycle(&l.w.Snap, l.w.Cfg)
	if len(first.Promises) > 0 {
		return nil, first
	}
	l.start(first)
	return l, first
}

// TestOneCycleFillsWhatIsFree: what a plan left waiting, the next does not
// place, if nothing has changed in between.
func TestOneCycleFillsWhatIsFree(t *testing.T) {
	t.Parallel()
	search(t, 1000, func(w *world) string {
		l, first := filled(w)
		if l == nil {
			return ""
		}
		if second := cycle.Cycle(&l.w.Snap, l.w.Cfg); len(second.Placements)+len(second.Promises) > 0 {
			return fmt.Sprintf("after %s comes %s", brief(first), brief(second))
		}
		return ""
	})
}
