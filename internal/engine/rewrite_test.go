package engine_test

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/testing/memstore"
)

// TestWhatWaitsIsGivenAnotherDocument changes what a workload waits for, in its queue
// and before it, and nothing of one that has started.
func TestWhatWaitsIsGivenAnotherDocument(t *testing.T) {
	o := newOffice(t, memstore.New())
	first := o.made(`{"name":"first","command":["fake"],"resources":{"cpu":"100m"}}`)
	held := o.made(`{"name":"held","command":["fake"],"resources":{"cpu":"100m"},"hold":true}`)
	rewrite := func(id core.WorkloadID, change func(d *spec.Document)) error {
		return o.try(submission.Rewrite(submission.Rewriting{Ref: draft.Ref{ID: id}, Actor: "user:u", Change: func(was *spec.Document) (*spec.Document, error) {
			d := was.Clone()
			change(d)
			return d, nil
		}}))
	}
	after := func(names ...string) func(d *spec.Document) {
		return func(d *spec.Document) {
			d.After = nil
			for _, n := range names {
				d.After = append(d.After, spec.Dependency{Workload: n})
			}
		}
	}
	second := o.made(`{"name":"second","command":["fake"],"resources":{"cpu":"100m"},"after":["held"]}`)
	o.is(second.ID, lifecycle.Reviewing)
	if err := rewrite(second.ID, after("first")); err != nil {
		t.Fatal(err)
	}
	w := o.is(second.ID, lifecycle.Reviewing)
	if len(w.Checks) != 1 || w.Checks[0].Of != "first" || w.Attempt != 0 || w.Seq != second.Seq {
		t.Errorf("it is %+v of attempt %d, and waits for %+v", w.Seq, w.Attempt, w.Checks)
	}
	if err := rewrite(second.ID, after("nobody")); err == nil || !strings.Contains(err.Error(), `there is no workload "nobody"`) {
		t.Errorf("what is not there can be waited for: %v", err)
	}
	if err := rewrite(second.ID, after("second")); err == nil || !strings.Contains(err.Error(), "cannot wait for itself") {
		t.Errorf("it can wait for itself: %v", err)
	}
	if err := rewrite(second.ID, after()); err != nil {
		t.Fatal(err)
	}
	o.is(second.ID, lifecycle.Starting)
	o.is(held.ID, lifecycle.Inadmissible)
	if err := rewrite(held.ID, func(d *spec.Document) { d.Resources.CPU = 200 }); err != nil {
		t.Fatal(err)
	}
	if w := o.is(held.ID, lifecycle.Inadmissible); w.Spec.Resources.CPU != 200 || w.Hold == nil {
		t.Errorf("it asks for %v, held by %+v", w.Spec.Resources.CPU, w.Hold)
	}
	if err := rewrite(first.ID, after()); err == nil || !strings.Contains(err.Error(), "only while it waits for its first start") {
		t.Errorf("what runs can be changed: %v", err)
	}
}
