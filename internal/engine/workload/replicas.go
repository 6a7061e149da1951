package workload

import (
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
)

// Wanted reports whether t still counts as one of the replicas.
func Wanted(t *core.Task) bool {
	return !t.Leaving && (t.State.Held() || !t.RestartAt.IsZero())
}

// UpToDate reports whether no other replica is to take over from t.
func UpToDate(w *core.Workload, t *core.Task) bool { return t.Generation == w.Generation && !t.Away }

// replicasMissing is how many replicas may be placed now: up to what is wanted
// and, during an update, maxSurge more.
func replicasMissing(w *core.Workload, tasks *Tasks) int {
	all, fresh := 0, 0
	for _, t := range tasks.All() {
		if Wanted(t) {
			all++
			if UpToDate(w, t) {
				fresh++
			}
		}
	}
	most := w.Replicas
	if all > fresh {
		most += *w.Spec.Update.MaxSurge
	}
	return max(min(w.Replicas-fresh, most-all), 0)
}

// FirstReplicas is how many replicas a document begins with.
func FirstReplicas(doc *spec.Document) int {
	if !doc.Kind.Replicated() {
		return 0
	}
	n := doc.Size()
	if a := doc.Autoscale; a != nil {
		n = min(max(n, a.Min), a.Max)
	}
	return n
}
