package workloads

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/filter"
	"github.com/musterhq/muster/internal/core/spec/codec"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/wire"
	"github.com/musterhq/muster/internal/store"
)

// filterChunk is how many workloads are read at a time to find those that a
// filter means.
const filterChunk = 500

// filtered is the page of what a query finds and a filter means, and the cursor
// of the next one.
func (s *routes) filtered(ctx context.Context, q store.Query, text string) ([]*core.Workload, string, error) {
	terms, err := filter.Parse(text)
	if err != nil {
		var e codec.FieldError
		errors.As(err, &e)
		return nil, "", problem.BadRequest("filter", e.Path+": "+strconv.Quote(e.Value)+" "+e.Problem, e.Hint)
	}
	asks := func(field string) bool {
		return slices.ContainsFunc(terms, func(t filter.Term) bool { return t.Field == field })
	}
	where, status := asks("node"), asks("status")
	q.Deleted = q.Deleted || filter.AsksDeleted(terms)
	me, now, limit := access.User(ctx), s.Clock(), q.Limit
	sight := access.SightOf(ctx)
	var found []*core.Workload
	for q.Limit = filterChunk; ; {
		page, err := s.Store.List(ctx, q)
		if err != nil {
			return nil, "", problem.Of(s.Log, err)
		}
		for i, w := range page.Items {
			if !sight.Of(w) {
				continue
			}
			p := wire.Parts{Workload: w}
			if where {
				if p.Tasks, err = s.RowTasks(ctx, w); err != nil {
					return nil, "", problem.Of(s.Log, err)
				}
			}
			if status && wire.Leaves(w) {
				if p.Transitions, err = s.Store.Transitions(ctx, w.ID, 0, 0); err != nil {
					return nil, "", problem.Of(s.Log, err)
				}
			}
			if !filter.Matches(terms, filterRow(p, status), me, now) {
				continue
			}
			if found = append(found, w); len(found) == limit && (i < len(page.Items)-1 || page.Next > 0) {
				return found, strconv.FormatInt(w.Seq, 10), nil
			}
		}
		if q.Cursor = page.Next; page.Next == 0 {
			return found, "", nil
		}
	}
}

// filterRow is what a filter looks at; said: what others call its phase too.
func filterRow(p wire.Parts, status bool) filter.Row {
	w := p.Workload
	r := filter.Row{
		ID: string(w.ID), Number: w.Seq, Name: w.Name, Project: string(w.Project), User: w.User, Kind: string(w.Kind), Phase: string(w.Phase), Reason: string(w.Reason),
		GPUType: w.Spec.Resources.GPU.Type, GPUs: float64(w.AskedMilli()) / 1000, Priority: int(w.Spec.Priority), Attempt: w.Attempt, Created: w.CreatedAt, Ended: w.EndedAt,
		Labels: w.Spec.Labels, Preemptible: *w.Spec.Preemptible,
	}
	r.Nodes, _ = wire.Whereabouts(w, p.Tasks)
	for _, c := range w.Conditions {
		r.Conditions = append(r.Conditions, string(c.Type))
	}
	if status {
		all, _ := wire.Words(p)
		for _, word := range all {
			r.Words = append(r.Words, word)
		}
	}
	return r
}
