package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/spec"
)

// A cluster is a backend as people know it: each has a name, and a workload may
// say in which of them it may run.

// Silence is that of a backend which does not answer.
type Silence struct {
	Since   time.Time
	Message string // why, in the backend's words
}

// reached takes over whether a backend answers. Nothing new is placed on one that
// does not.
func (tx *tx) reached(name string, ok bool, message string) error {
	was, cut := tx.e.cut[name]
	tx.e.heard[name] = ok
	switch {
	case ok && !cut:
		return nil
	case ok:
		delete(tx.e.cut, name)
	case cut:
		tx.e.cut[name] = Silence{was.Since, message}
		return nil
	default:
		tx.e.cut[name] = Silence{tx.now, message}
	}
	var ids []core.NodeID
	for id, n := range tx.e.reported {
		if n.Backend == name {
			ids = append(ids, id)
		}
	}
	tx.surveyOf(ids)
	if !ok {
		return nil
	}
	return tx.handed() // of some it may be known only now that they never fit
}

// clusters are the names of all backends.
func (tx *tx) clusters() []string {
	if tx.e.D.Clusters != nil {
		return tx.e.D.Clusters
	}
	names := map[string]bool{}
	for _, n := range tx.e.nodes {
		names[n.Backend] = true
	}
	return SortedKeys(names)
}

// clustersExist refuses a document that names a cluster which there is not.
func (tx *tx) clustersExist(doc *spec.Document) error {
	all := tx.clusters()
	for i, name := range doc.Clusters {
		if !slices.Contains(all, name) {
			return &Error{
				Code: CodeInvalid, Field: fmt.Sprintf("clusters[%d]", i), Message: fmt.Sprintf("cluster %q does not exist", name),
				Hint: "those that exist are " + strings.Join(all, ", ") + "; muster cluster list shows them",
			}
		}
	}
	return nil
}

// mountsClaims reports whether a document has volumes that only Kubernetes clusters
// have.
func mountsClaims(doc *spec.Document) bool {
	return slices.ContainsFunc(doc.Volumes, func(v spec.Volume) bool { return v.Claim != "" })
}

// claimable refuses volumes that are claims where no cluster has any.
func (tx *tx) claimable(doc *spec.Document) error {
	if len(tx.e.cut) > 0 {
		return nil // nobody can tell
	}
	for _, n := range tx.e.nodes {
		if n.Labels[core.LabelRuns] == core.RunsImages {
			return nil
		}
	}
	for i, v := range doc.Volumes {
		if v.Claim != "" && len(tx.e.nodes) > 0 {
			return &Error{
				Code: CodeUnsupported, Field: fmt.Sprintf("volumes[%d].claim", i), Message: fmt.Sprintf("%q is a PersistentVolumeClaim, and this server drives no Kubernetes cluster", v.Claim),
				Hint: "write hostPath, or start the server with --cluster NAME=KUBECONFIG",
			}
		}
	}
	return nil
}

// inContainer reports whether w runs in containers.
func inContainer(w *core.Workload) bool { return imageOf(w) != "" || w.Spec.Build != nil }

// barred are the clusters that are out of the question for a workload as a
// whole, or out of reach.
type barred struct {
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

// barred says which clusters cannot take w, whatever is free.
func (tx *tx) barred(w *core.Workload) barred {
	b := barred{nodes: map[string]int{}, pools: w.Spec.Pools, beside: int64(beside(w.Spec))}
	if len(b.pools) == 0 {
		b.pools = tx.e.tree.Pools(w.Project)
	}
	b.types, b.project, b.kind = tx.e.tree.NodeTypes(w.Project, w.Kind), string(w.Project), string(w.Kind)
	wrong := map[string]bool{} // clusters whose nodes all run something else
	for _, n := range tx.e.nodes {
		runs := n.Labels[core.LabelRuns]
		unfit := mountsClaims(w.Spec) && runs != core.RunsImages || runs == core.RunsProcesses && inContainer(w) || runs == core.RunsImages && !inContainer(w)
		if was, seen := wrong[n.Backend]; !seen || was {
			wrong[n.Backend] = unfit
		}
	}
	var words []string
	chosen := w.Spec.Clusters
	if len(chosen) > 0 && len(tx.clusters()) > 1 {
		words = append(words, "it may run in "+clusterWords(chosen)+" only")
	}
	for _, name := range tx.clusters() {
		switch silence, cut := tx.e.cut[name]; {
		case len(chosen) > 0 && !slices.Contains(chosen, name):
			b.count(tx.e, name)
		case wrong[name] && mountsClaims(w.Spec):
			b.count(tx.e, name)
			words = append(words, "cluster "+name+" has no PersistentVolumeClaims; this workload has a volume that is one")
		case wrong[name] && inContainer(w):
			b.count(tx.e, name)
			words = append(words, "nodes of cluster "+name+" run processes only; this workload has an image")
		case wrong[name]:
			b.count(tx.e, name)
			words = append(words, "nodes of cluster "+name+" run container images only; this workload has no image")
		case cut:
			words = append(words, fmt.Sprintf("cluster %s has not answered since %s", name, silence.Since.UTC().Format(time.RFC3339)))
		}
	}
	b.words = strings.Join(words, "; ")
	return b
}

func (b *barred) count(e *Engine, cluster string) {
	for _, n := range e.nodes {
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

// into tells a reason about nodes of the clusters, and leaves their nodes out of
// those that it counts as unsuitable one by one.
func (b barred) into(r *schedule.Reason) {
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
func (b barred) rule(r *schedule.Reason) {
	if r.Token != schedule.NeverFits || r.Label != spec.NodeTypeLabel || b.types == nil {
		return
	}
	r.Note += fmt.Sprintf("; project %s lets work of kind %s use nodes of that type only", b.project, b.kind)
	r.Remedy = fmt.Sprintf("ask the administrator for such nodes, or for other types: muster project update %s --node-types %s=TYPE,TYPE", b.project, b.kind)
}

// ClusterInfo is one cluster with what is held of it.
type ClusterInfo struct {
	Name    string
	Silence *Silence // nil: it answers
	Nodes   int
	Ready   int // nodes that take work
	// GPUs are in thousandths of devices; free is what is healthy, on nodes that
	// take work, and held by nobody.
	GPUs, FreeGPUs int64
	Workloads      int // with tasks there
	Tasks          int
}

// Clusters reads all clusters, by name; the value is a []ClusterInfo.
func Clusters() Command {
	return func(tx *tx) (any, error) {
		e := tx.e
		all := map[string]*ClusterInfo{}
		of := func(name string) *ClusterInfo {
			if all[name] == nil {
				all[name] = &ClusterInfo{Name: name}
				if s, cut := e.cut[name]; cut {
					all[name].Silence = &s
				}
			}
			return all[name]
		}
		for _, name := range tx.clusters() {
			of(name)
		}
		for _, n := range e.nodes {
			c := of(n.Backend)
			c.Nodes++
			takes := n.Ready && !n.Cordon && !n.CutOff
			if takes {
				c.Ready++
			}
			c.GPUs += 1000 * int64(len(n.Devices))
			if takes {
				c.FreeGPUs += freeOf(n, e.usage[n.ID])
			}
		}
		for id := range e.held {
			_, tasks, ok := tx.view(id)
			if !ok {
				continue
			}
			there := map[string]bool{}
			for _, t := range tasks {
				if t.State.Held() {
					there[t.Backend] = true
					of(t.Backend).Tasks++
				}
			}
			for name := range there {
				of(name).Workloads++
			}
		}
		out := make([]ClusterInfo, 0, len(all))
		for _, name := range SortedKeys(all) {
			out = append(out, *all[name])
		}
		return out, nil
	}
}

// freeOf is how much of a node's healthy devices nobody holds, in thousandths.
func freeOf(n core.Node, u *usage) int64 {
	free := int64(0)
	for i, d := range n.Devices {
		left := 1000
		if u != nil {
			left -= u.milli[d.ID]
		}
		if i < len(n.Others.Milli) {
			left -= n.Others.Milli[i]
		}
		if d.Healthy {
			free += int64(max(left, 0))
		}
	}
	return free
}
