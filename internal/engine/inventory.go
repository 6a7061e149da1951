package engine

import (
	"reflect"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// Inventory takes over what a backend says of its nodes.
func Inventory(backendName string, nodes []core.Node) Command {
	return func(tx *tx) (any, error) {
		e := tx.e
		known := map[core.NodeID]bool{}
		for _, n := range nodes {
			known[n.ID] = true
		}
		var gone []core.NodeID
		for id, n := range e.reported {
			if n.Backend == backendName && !known[id] {
				gone = append(gone, id)
			}
		}
		return nil, tx.reports(nodes, gone)
	}
}

// NodesChanged takes over what a backend tells of some of its nodes.
func NodesChanged(changed []core.Node, gone []core.NodeID) Command {
	return func(tx *tx) (any, error) { return nil, tx.reports(changed, gone) }
}

// reports takes nodes over that a backend has told of, and those that it does not
// have any more.
func (tx *tx) reports(nodes []core.Node, gone []core.NodeID) error {
	e := tx.e
	var news []core.NodeID
	for _, n := range nodes {
		delete(e.departed, n.ID)
		if was, ok := e.reported[n.ID]; !ok || !reflect.DeepEqual(was, n) {
			e.reported[n.ID] = n
			news = append(news, n.ID)
		}
	}
	for _, id := range gone {
		n, ok := e.reported[id]
		switch {
		case !ok:
		case !tx.occupied(id):
			delete(e.reported, id)
			news = append(news, id)
		case n.Ready || n.Message != goneMessage:
			n.Ready, n.Message = false, goneMessage
			e.reported[id] = n
			e.departed[id] = struct{}{}
			news = append(news, id)
		}
	}
	tx.surveyOf(news)
	if err := tx.silent(); err != nil {
		return err
	}
	return tx.handed()
}

const goneMessage = "the backend does not report it any more"

// occupied reports whether something is held on a node, by what is committed or
// by the draft.
func (tx *tx) occupied(id core.NodeID) bool {
	if u := tx.e.usage[id]; u != nil && u.tasks > 0 {
		return true
	}
	for _, d := range tx.drafts {
		if d.base == nil {
			continue
		}
		for _, t := range d.base.tasks { // what the draft releases is held until it is stored
			if t.Node == id && holds(d.base.w, t) {
				return true
			}
		}
	}
	return false
}

// depart forgets nodes that no backend has any more and on which nothing is held
// now.
func (tx *tx) depart() {
	var gone []core.NodeID
	for _, id := range SortedKeys(tx.e.departed) {
		if !tx.occupied(id) {
			gone = append(gone, id)
		}
	}
	if len(gone) == 0 {
		return
	}
	if err := tx.reports(nil, gone); err != nil {
		tx.e.D.Log.Error("nodes that are gone could not be forgotten", "nodes", gone, "err", err)
	}
}

// handed takes workloads on that were submitted before any backend had said what
// nodes it has.
func (tx *tx) handed() error {
	for _, id := range SortedKeys(tx.e.live) {
		w, _, ok := tx.view(id)
		if !ok || w.Phase != lifecycle.Submitted {
			continue
		}
		d, _ := tx.open(id)
		if err := tx.change(d, func() error { return tx.gate(d) }); err != nil {
			return err
		}
	}
	return nil
}
