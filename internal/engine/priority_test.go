package engine_test

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/testing/memstore"
)

// TestAWorkspaceWithinItsQuotaGoesFirst has a project whose training has taken
// more than its quota: its workspace makes as much of it leave as it needs, and
// waits where it would be beyond the quota itself.
func TestAWorkspaceWithinItsQuotaGoesFirst(t *testing.T) {
	o := newOffice(t, memstore.New())
	four := 4.0
	o.do(organisation.Organise([]organisation.Edit{{What: organisation.RecordProject, Name: "team", Project: func(p *core.Project) error {
		p.Pools = map[string]core.PoolQuota{core.AnyPool: {CPU: core.ResourceQuota{Quota: &four}}}
		return nil
	}}}, false))
	var training []*core.Workload
	for _, name := range []string{"a", "b", "c", "d"} { // all 8 cores
		training = append(training, o.made(plain(name, "")))
		o.is(training[len(training)-1].ID, lifecycle.Starting)
	}
	desk := o.made(strings.Replace(plain("desk", `,"kind":"workspace"`), `"cpu":2`, `"cpu":4`, 1))
	left := 0
	for _, w := range training {
		if o.phase(w) == lifecycle.Terminating {
			left++
			o.seen(opens, w.ID, 0, core.TaskFailed)
		}
	}
	if left != 2 {
		t.Errorf("%d of its project's training leave for it, want 2", left)
	}
	o.is(desk.ID, lifecycle.Starting)
	second := o.made(plain("second", `,"kind":"workspace"`))
	o.is(second.ID, lifecycle.Queued) // it is not preemptible, and the quota is used up
	soft := o.made(plain("soft", `,"kind":"workspace","preemptible":true`))
	o.is(soft.ID, lifecycle.Queued)
	n := 0
	for _, w := range training {
		n += map[bool]int{true: 1}[o.phase(w) == lifecycle.Terminating]
	}
	if n != 1 {
		t.Errorf("%d more leave for a workspace that is preemptible, want 1", n)
	}
}
