package workload

import (
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
)

// MountsClaims reports whether a document has volumes that only Kubernetes clusters
// have.
func MountsClaims(doc *spec.Document) bool {
	return slices.ContainsFunc(doc.Volumes, func(v spec.Volume) bool { return v.Claim != "" })
}

// InContainer reports whether w runs in containers.
func InContainer(w *core.Workload) bool { return ImageOf(w) != "" || w.Spec.Build != nil }

// ImageOf is the image that runs: the one that was built, else the document's.
func ImageOf(w *core.Workload) string {
	if w.Image != "" {
		return w.Image
	}
	return w.Spec.Image
}

// BesideWorkers is how many tasks of a gang come beside the workers that its document
// counts: the launcher of mpi.
func BesideWorkers(s *spec.Document) int {
	if !s.Kind.Ranked() {
		return 0
	}
	return s.Size() - max(1, s.Workers)
}
