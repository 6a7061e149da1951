// Package ledger is what there is and who holds what of it, as records that point
// to one another: pools and their sites with what is free on them, what is asked
// for, jobs with their holds and the classes in which they wait, and the accounts
// of queues. It answers what one record, or the sites of a pool, can tell: whether
// something fits, which site serves it best, when there will be room. Who is
// served and what the quotas allow is known above. Its fields are for the packages
// of the scheduler only.
package ledger

import (
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/fragmentation"
)

// SameNode reports whether two say the same of a node, its name and pool aside.
func SameNode(a, b *schedule.Node) bool {
	return a.Ready == b.Ready && a.Cordon == b.Cordon && a.CutOff == b.CutOff && a.CPU == b.CPU && a.Memory == b.Memory && a.Pods == b.Pods &&
		a.OtherCPU == b.OtherCPU && a.OtherMem == b.OtherMem && slices.Equal(a.OtherMilli, b.OtherMilli) && a.MIGStrategy == b.MIGStrategy && a.Whole == b.Whole &&
		slices.Equal(a.Devices, b.Devices) && a.Links == b.Links && equalMaps(a.Labels, b.Labels) && equalMaps(a.MIG, b.MIG) && equalMaps(a.OtherMIG, b.OtherMIG) && slices.Equal(a.Taints, b.Taints)
}

func equalMaps[V comparable](a, b map[string]V) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || w != v {
			return false
		}
	}
	return true
}

// Partitioned reports whether any of what is counted by name is a partition of a
// device.
func Partitioned(counted string) bool {
	for part := range strings.SplitSeq(counted, ",") {
		if name, _, _ := strings.Cut(part, "="); core.SlicesOf(name) > 0 {
			return true
		}
	}
	return false
}

// FirstPool is where a job class's demand counts: the first that it would try. Pools
// without nodes do not count.
func (n *Nodes) FirstPool(l *JobClass) *Pool {
	if names := n.PoolNames(); l.Pools == nil && len(names) > 0 {
		return n.Pools[names[0]]
	}
	for _, name := range l.Pools {
		if p := n.Pools[name]; p != nil && len(p.Sites) > 0 {
			return p
		}
	}
	return nil
}

// PoolNames are the pools that have nodes, in the order in which who names none
// tries them.
func (n *Nodes) PoolNames() []string {
	if n.Names != nil {
		return n.Names
	}
	names := []string{}
	for _, name := range SortedKeys(n.Pools) {
		if len(n.Pools[name].Sites) > 0 {
			names = append(names, name)
		}
	}
	if i := slices.Index(names, "default"); i > 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, "default")
	}
	n.Names = names
	return names
}

// Nodes are the sites of all pools.
type Nodes struct {
	Cfg   schedule.Config
	Pools map[string]*Pool
	Sites map[core.NodeID]*Site
	Fill  *Filler
	Names []string // of pools, as poolNames says; nil: not known
}

// Filler scores sites by how well the room that remains serves the usual work.
type Filler struct {
	Shapes []fragmentation.Shape // of which the model was made
	model  *fragmentation.Model
	kinds  map[fragmentation.Stock]fragmentation.Product
}
