package report

import (
	"maps"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/planner"
)

// ClusterInfo is one cluster with what is held of it.
type ClusterInfo struct {
	Name    string
	Silence *draft.Silence // nil: it answers
	Nodes   int
	Ready   int // nodes that take work
	// GPUs are in thousandths of devices; free is what is healthy, on nodes that
	// take work, and held by nobody.
	GPUs, FreeGPUs int64
	Workloads      int // with tasks there
	Tasks          int
}

// Clusters reads all clusters, by name.
func Clusters() draft.Command[[]ClusterInfo] {
	return func(tx *draft.Tx) ([]ClusterInfo, error) {
		e := tx.State
		all := map[string]*ClusterInfo{}
		of := func(name string) *ClusterInfo {
			if all[name] == nil {
				all[name] = &ClusterInfo{Name: name}
				if s, cut := e.Cut[name]; cut {
					all[name].Silence = &s
				}
			}
			return all[name]
		}
		for _, name := range planner.Clusters(tx) {
			of(name)
		}
		for _, n := range e.Nodes {
			c := of(n.Backend)
			c.Nodes++
			takes := n.Ready && !n.Cordon && !n.CutOff
			if takes {
				c.Ready++
			}
			c.GPUs += 1000 * int64(len(n.Devices))
			if takes {
				c.FreeGPUs += freeOf(n, e.Usage[n.ID])
			}
		}
		for id := range e.Held {
			_, tasks, ok := tx.View(id)
			if !ok {
				continue
			}
			there := map[string]bool{}
			for _, t := range tasks.Open() {
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
		for _, name := range slices.Sorted(maps.Keys(all)) {
			out = append(out, *all[name])
		}
		return out, nil
	}
}

// freeOf is how much of a node's healthy devices nobody holds, in thousandths.
func freeOf(n core.Node, u *draft.Usage) int64 {
	free := int64(0)
	for i, d := range n.Devices {
		left := 1000
		if u != nil {
			left -= u.Milli[d.ID]
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
