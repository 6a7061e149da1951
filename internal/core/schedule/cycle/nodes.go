package cycle

import (
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// Nodes are the nodes that are known, by name.
func Nodes(st *state.State) []core.NodeID {
	ids := make([]core.NodeID, 0, len(st.Sites))
	for id := range st.Sites {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
