package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/workload"
)

// A cluster is a backend as people know it: each has a name, and a workload may
// say in which of them it may run.

// Clusters are the names of all backends.
func Clusters(tx *draft.Tx) []string {
	if tx.State.D.Clusters != nil {
		return tx.State.D.Clusters
	}
	names := map[string]bool{}
	for _, n := range tx.State.Nodes {
		names[n.Backend] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// clustersExist refuses a document that names a cluster which there is not.
func clustersExist(tx *draft.Tx, doc *spec.Document) error {
	all := Clusters(tx)
	for i, name := range doc.Clusters {
		if !slices.Contains(all, name) {
			return &draft.Error{
				Code: draft.CodeInvalid, Field: fmt.Sprintf("clusters[%d]", i), Message: fmt.Sprintf("cluster %q does not exist", name),
				Hint: "those that exist are " + strings.Join(all, ", ") + "; muster cluster list shows them",
			}
		}
	}
	return nil
}

// claimable refuses volumes that are claims where no cluster has any.
func claimable(tx *draft.Tx, doc *spec.Document) error {
	if len(tx.State.Cut) > 0 {
		return nil // nobody can tell
	}
	for _, n := range tx.State.Nodes {
		if n.Labels[core.LabelRuns] == core.RunsImages {
			return nil
		}
	}
	for i, v := range doc.Volumes {
		if v.Claim != "" && len(tx.State.Nodes) > 0 {
			return &draft.Error{
				Code: draft.CodeUnsupported, Field: fmt.Sprintf("volumes[%d].claim", i), Message: fmt.Sprintf("%q is a PersistentVolumeClaim, and this server drives no Kubernetes cluster", v.Claim),
				Hint: "write hostPath, or start the server with --cluster NAME=KUBECONFIG",
			}
		}
	}
	return nil
}

// Barred are the clusters that are out of the question for a workload as a
// whole, or out of reach.
type Barred struct {
	words string
	nodes map[string]int // of those out of the question, by pool
	pools []string       // that the workload may use; empty: all
	// beside is how many tasks come beside its workers.
	beside int64
	// types are those of nodes that project lets work of kind use, which the
	// document does not say; nil: any.
	types         []string
	project, kind string
}

// Barred says which clusters cannot take w, whatever is free.
func BarredFor(tx *draft.Tx, w *core.Workload) Barred {
	b := Barred{nodes: map[string]int{}, pools: w.Spec.Pools, beside: int64(workload.BesideWorkers(w.Spec))}
	if len(b.pools) == 0 {
		b.pools = tx.State.Tree.Pools(w.Project)
	}
	b.types, b.project, b.kind = tx.State.Tree.BoundsOf(w).NodeTypes, string(w.Project), string(w.Kind)
	wrong := map[string]bool{} // clusters whose nodes all run something else
	for _, n := range tx.State.Nodes {
		runs := n.Labels[core.LabelRuns]
		unfit := workload.MountsClaims(w.Spec) && runs != core.RunsImages || runs == core.RunsProcesses && workload.InContainer(w) || runs == core.RunsImages && !workload.InContainer(w)
		if was, seen := wrong[n.Backend]; !seen || was {
			wrong[n.Backend] = unfit
		}
	}
	var words []string
	chosen := w.Spec.Clusters
	if len(chosen) > 0 && len(Clusters(tx)) > 1 {
		words = append(words, "it may run in "+clusterWords(chosen)+" only")
	}
	for _, name := range Clusters(tx) {
		switch silence, cut := tx.State.Cut[name]; {
		case len(chosen) > 0 && !slices.Contains(chosen, name):
			b.count(tx.State, name)
		case wrong[name] && workload.MountsClaims(w.Spec):
			b.count(tx.State, name)
			words = append(words, "cluster "+name+" has no PersistentVolumeClaims; this workload has a volume that is one")
		case wrong[name] && workload.InContainer(w):
			b.count(tx.State, name)
			words = append(words, "nodes of cluster "+name+" run processes only; this workload has an image")
		case wrong[name]:
			b.count(tx.State, name)
			words = append(words, "nodes of cluster "+name+" run container images only; this workload has no image")
		case cut:
			words = append(words, fmt.Sprintf("cluster %s has not answered since %s", name, silence.Since.UTC().Format(time.RFC3339)))
		}
	}
	b.words = strings.Join(words, "; ")
	return b
}

func (b *Barred) count(e *draft.State, cluster string) {
	for _, n := range e.Nodes {
		if n.Backend == cluster {
			b.nodes[n.Pool]++
		}
	}
}

func clusterWords(names []string) string {
	if len(names) == 1 {
		return "cluster " + names[0]
	}
	return "clusters " + strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// Into tells a reason about nodes of the clusters, and leaves their nodes out of
// those that it counts as unsuitable one by one.
func (b Barred) Into(r *schedule.Reason) {
	b.rule(r)
	switch r.Token {
	case schedule.NeverFits, schedule.WaitingForCapacity, schedule.Fragmented, schedule.NoNodes:
	default:
		return
	}
	n := 0
	for pool, k := range b.nodes {
		if r.Pool == pool || r.Pool == "" && (len(b.pools) == 0 || slices.Contains(b.pools, pool)) {
			n += k
		}
	}
	n = min(n, r.Excluded)
	if r.Token == schedule.NeverFits && r.Resource == "tasks" {
		r.OfNodes -= n // else they were not counted
	}
	r.Excluded -= n
	r.Whole = min(r.Whole, r.Excluded)
	r.Barred, r.Beside = b.words, b.beside
}

// rule says of a condition that the project makes, and not the document, whose
// it is: who submitted the workload can take nothing away.
func (b Barred) rule(r *schedule.Reason) {
	if r.Token != schedule.NeverFits || r.Label != spec.NodeTypeLabel || b.types == nil {
		return
	}
	r.Note += fmt.Sprintf("; project %s lets work of kind %s use nodes of that type only", b.project, b.kind)
	r.Remedy = fmt.Sprintf("ask the administrator for such nodes, or for other types: muster project update %s --node-types %s=TYPE,TYPE; then submit it again, since it keeps what held when it was submitted", b.project, b.kind)
}
