package accounts

import (
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// Waits is how many workloads wait in a project, and how many GPUs they ask for.
type Waits struct{ Workloads, GPUs int }

// Waiting counts who waits by project, so that a page which says so costs nothing by
// how many they are. Who waits with something set aside for it is not counted but
// listed: it is few of them, and what is set aside counts as used.
type Waiting struct {
	Projects map[core.ProjectID]Waits
	Reserved map[core.WorkloadID]struct{}
}

// NewWaiting counts nobody.
func NewWaiting() Waiting {
	return Waiting{Projects: map[core.ProjectID]Waits{}, Reserved: map[core.WorkloadID]struct{}{}}
}

// Count counts a workload (sign 1), or takes it off.
func (a Waiting) Count(w *core.Workload, sign int) {
	switch {
	case !w.Phase.InQueue():
		return
	case w.Phase == lifecycle.Reserved && sign > 0:
		a.Reserved[w.ID] = struct{}{}
		return
	case w.Phase == lifecycle.Reserved:
		delete(a.Reserved, w.ID)
		return
	}
	n := a.Projects[w.Project]
	n.Workloads += sign
	n.GPUs += sign * w.Spec.TotalGPUs()
	if a.Projects[w.Project] = n; n == (Waits{}) {
		delete(a.Projects, w.Project)
	}
}
