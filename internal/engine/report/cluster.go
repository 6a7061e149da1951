package report

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/draft"
)

// ClusterState is the nodes with what is held of them.
type ClusterState struct {
	Nodes    []NodeState
	Pools    []PoolState
	Projects []core.Project          // departments too
	Phases   map[lifecycle.Phase]int // live workloads
	Holding  int                     // workloads that hold resources
	Waiting  int                     // workloads that wait for resources

	Commits    int64
	CommitTime time.Duration
	Entered    map[lifecycle.Phase]int64 // since the start
}

// NodeState is one node with what is held of it.
type NodeState struct {
	core.Node
	Note       string // why it takes nothing
	UsedCPU    int64
	UsedMemory int64
	Tasks      int
	Milli      map[string]int // by device ID
	Counted    map[string]int // that tasks hold of what is counted by name
}

// Cluster reads the nodes, their use and the projects.
func Cluster() draft.Command[*ClusterState] {
	return func(tx *draft.Tx) (*ClusterState, error) {
		e := tx.State
		st := &ClusterState{
			Phases: map[lifecycle.Phase]int{}, Holding: len(e.Held),
			Commits: e.Stats.Commits, CommitTime: e.Stats.Spent, Entered: maps.Clone(e.Stats.Entered),
		}
		for _, en := range e.Live {
			st.Phases[en.W.Phase]++
		}
		st.Waiting = st.Phases[lifecycle.Queued]
		st.Pools = poolStates(tx)
		st.Nodes = nodeStates(tx)
		st.Projects = slices.SortedFunc(tx.EachProject(), func(a, b core.Project) int { return cmp.Compare(a.ID, b.ID) })
		return st, nil
	}
}

// Nodes reads the nodes and their use alone, which costs nothing by what waits.
func Nodes() draft.Command[[]NodeState] {
	return func(tx *draft.Tx) ([]NodeState, error) { return nodeStates(tx), nil }
}

// nodeStates are the nodes with what is held of them, by name.
func nodeStates(tx *draft.Tx) []NodeState {
	var all []NodeState
	for _, id := range slices.Sorted(maps.Keys(tx.State.Nodes)) {
		ns := NodeState{Node: tx.State.Nodes[id], Note: tx.Setting(id).Note, Milli: map[string]int{}}
		if u := tx.State.Usage[id]; u != nil {
			ns.UsedCPU, ns.UsedMemory, ns.Tasks, ns.Milli, ns.Counted = u.Cpu, u.Memory, u.Tasks, maps.Clone(u.Milli), maps.Clone(u.Counted)
		}
		all = append(all, ns)
	}
	return all
}
