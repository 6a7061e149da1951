package sqlstore

import (
	"errors"
	"fmt"
	"math"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/store"
)

// rows are the parts of a batch that are stored as JSON.
type rows struct {
	statuses, specs, tasks, secrets  []string // a spec is empty for what is neither new nor edited
	subscriptions, deliveries        []string
	templates                        []string
	access                           []accessRow
	audit                            []string
	reservations                     []string
	projects, pools, licenses, nodes []string // a node is empty that says nothing
}

func encode(b *store.Batch) (r rows, err error) {
	if err := r.workloads(b); err != nil {
		return r, err
	}
	r.tasks = make([]string, len(b.Tasks))
	for i, t := range b.Tasks {
		if t == nil || t.ID.Workload == "" || t.ID.Attempt < 0 || t.ID.Index < 0 || t.ID.Run < 0 {
			return r, fmt.Errorf("task %d of the batch: it has no complete id", i)
		}
		if r.tasks[i], err = encodeTask(t); err != nil {
			return r, fmt.Errorf("task %s: %w", t.ID, err)
		}
	}
	if err := store.CheckPromises(b.Promises); err != nil {
		return r, err
	}
	if err := r.organisation(b); err != nil {
		return r, err
	}
	if err := r.templatesOf(b); err != nil {
		return r, err
	}
	if err := r.notifications(b); err != nil {
		return r, err
	}
	if err := r.accessOf(b); err != nil {
		return r, err
	}
	r.secrets = make([]string, len(b.Secrets))
	for i := range b.Secrets {
		if b.Secrets[i].Name == "" {
			return r, fmt.Errorf("secret %d of the batch: it has no name", i)
		}
		if r.secrets[i], err = encodeSecret(&b.Secrets[i]); err != nil {
			return r, fmt.Errorf("secret %q of user %q: %w", b.Secrets[i].Name, b.Secrets[i].User, err)
		}
	}
	for i := range b.Transitions {
		if t := &b.Transitions[i]; t.Seq <= 0 || t.Workload == "" {
			return r, fmt.Errorf("transition %d of the batch: seq %d of workload %q; "+
				"seq must be positive and the workload named", i, t.Seq, t.Workload)
		}
	}
	return r, nil
}

func (r *rows) workloads(b *store.Batch) (err error) {
	edited := map[core.WorkloadID]bool{} // to whether it is in the batch
	for _, id := range b.Edited {
		edited[id] = false
	}
	r.statuses, r.specs = make([]string, len(b.Workloads)), make([]string, len(b.Workloads))
	for i, w := range b.Workloads {
		if err := check(w); err != nil {
			return err
		}
		if r.statuses[i], err = encodeStatus(w); err != nil {
			return fmt.Errorf("workload %s: %w", w.ID, err)
		}
		if _, ok := edited[w.ID]; ok {
			edited[w.ID] = true
		} else if w.Version > 1 {
			continue
		}
		if w.Spec == nil {
			return fmt.Errorf("workload %s: Spec is nil; the first version and an edited one carry it", w.ID)
		}
		if r.specs[i], err = encodeSpec(w.Spec); err != nil {
			return fmt.Errorf("workload %s: its document: %w", w.ID, err)
		}
	}
	for _, id := range b.Edited {
		if !edited[id] {
			return fmt.Errorf("edited workload %q is not among the workloads of the batch; add its next version", id)
		}
	}
	return nil
}

// check refuses what could be written and not be trusted when read.
func check(w *core.Workload) error {
	switch {
	case w == nil:
		return errors.New("a workload of the batch is nil")
	case w.ID == "":
		return fmt.Errorf("workload with seq %d: ID is empty", w.Seq)
	case w.Seq <= 0:
		return fmt.Errorf("workload %s: Seq is %d; it counts from 1", w.ID, w.Seq)
	case w.Version <= 0:
		return fmt.Errorf("workload %s: Version is %d; it counts from 1", w.ID, w.Version)
	case !w.Phase.Known():
		return fmt.Errorf("workload %s: Phase %q is none of lifecycle.Phases", w.ID, w.Phase)
	case math.IsNaN(w.GPUSeconds) || math.IsInf(w.GPUSeconds, 0):
		return fmt.Errorf("workload %s: GPUSeconds is %g; it must be a number", w.ID, w.GPUSeconds)
	}
	return nil
}
