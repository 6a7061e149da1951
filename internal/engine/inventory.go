package engine

import (
	"maps"
	"reflect"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/consequence"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/workload"
)

// Inventory takes over what a backend says of its nodes.
func Inventory(backendName string, nodes []core.Node) draft.Command[draft.Nothing] {
	return func(tx *draft.Tx) (draft.Nothing, error) {
		e := tx.State
		known := map[core.NodeID]bool{}
		for _, n := range nodes {
			known[n.ID] = true
		}
		var gone []core.NodeID
		for id, n := range e.Reported {
			if n.Backend == backendName && !known[id] {
				gone = append(gone, id)
			}
		}
		return nil, reports(tx, nodes, gone)
	}
}

// NodesChanged takes over what a backend tells of some of its nodes.
func NodesChanged(changed []core.Node, gone []core.NodeID) draft.Command[draft.Nothing] {
	return func(tx *draft.Tx) (draft.Nothing, error) { return nil, reports(tx, changed, gone) }
}

// reports takes nodes over that a backend has told of, and those that it does not
// have any more.
func reports(tx *draft.Tx, nodes []core.Node, gone []core.NodeID) error {
	e := tx.State
	var news []core.NodeID
	for _, n := range nodes {
		delete(e.Departed, n.ID)
		if was, ok := e.Reported[n.ID]; !ok || !reflect.DeepEqual(was, n) {
			e.Reported[n.ID] = n
			news = append(news, n.ID)
		}
	}
	for _, id := range gone {
		n, ok := e.Reported[id]
		switch {
		case !ok:
		case !occupied(tx, id):
			delete(e.Reported, id)
			news = append(news, id)
		case n.Ready || n.Message != goneMessage:
			n.Ready, n.Message = false, goneMessage
			e.Reported[id] = n
			e.Departed[id] = struct{}{}
			news = append(news, id)
		}
	}
	tx.SurveyOf(news)
	if err := silent(tx); err != nil {
		return err
	}
	return handed(tx)
}

const goneMessage = "the backend does not report it any more"

// occupied reports whether something is held on a node, by what is committed or
// by the draft.
func occupied(tx *draft.Tx, id core.NodeID) bool {
	if u := tx.State.Usage[id]; u != nil && u.Tasks > 0 {
		return true
	}
	for _, d := range tx.Drafts {
		if d.Base == nil {
			continue
		}
		for _, t := range d.Base.Tasks.Open() { // what the draft releases is held until it is stored
			if t.Node == id && workload.Holds(d.Base.W, t) {
				return true
			}
		}
	}
	return false
}

// depart forgets nodes that no backend has any more and on which nothing is held
// now.
func depart(tx *draft.Tx) {
	var gone []core.NodeID
	for _, id := range slices.Sorted(maps.Keys(tx.State.Departed)) {
		if !occupied(tx, id) {
			gone = append(gone, id)
		}
	}
	if len(gone) == 0 {
		return
	}
	if err := reports(tx, nil, gone); err != nil {
		tx.State.D.Log.Error("nodes that are gone could not be forgotten", "nodes", gone, "err", err)
	}
}

// handed takes workloads on that were submitted before any backend had said what
// nodes it has.
func handed(tx *draft.Tx) error {
	for _, id := range slices.Sorted(maps.Keys(tx.State.Live)) {
		w, _, ok := tx.View(id)
		if !ok || w.Phase != lifecycle.Submitted {
			continue
		}
		d, _ := tx.Open(id)
		if err := tx.Change(d, func() error { return consequence.Gate(tx, d) }); err != nil {
			return err
		}
	}
	return nil
}
