package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/report"
)

// known are the nodes that the server knows.
func (s *shift) known() []core.NodeID {
	var ids []core.NodeID
	for _, n := range ask(s, report.Cluster()).Nodes {
		ids = append(ids, n.ID)
	}
	return ids
}

// An autoscaler takes nodes away and brings others: those that are gone are
// forgotten, and what could never fit on those left is refused as before.
func TestNodesThatAreGoneAreForgotten(t *testing.T) {
	for name, leave := range map[string]func(*shift){
		"told in full":    func(s *shift) { s.do(engine.Inventory("p", s.nodes[:1])) },
		"told one by one": func(s *shift) { s.do(engine.NodesChanged(nil, []core.NodeID{s.nodes[1].ID})) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newShift(t, 2)
			leave(s)
			if got := s.known(); !slices.Equal(got, []core.NodeID{"g0"}) {
				t.Errorf("known are %v", got)
			}
			s.refused(draft.CodeUnschedulable, s.submit(`{"command":["fake"],"resources":{"gpu":{"count":1,"type":"A100"}}}`))
			s.do(engine.Inventory("p", s.nodes)) // it comes back
			if w := s.run(`{"command":["fake"],"resources":{"gpu":{"count":1,"type":"A100"}}}`); w.Phase != lifecycle.Starting {
				t.Errorf("on a node that has come back it is %s", w.Phase)
			}
		})
	}
}

// What is held on a node that is gone is lost after its grace; until then the
// node is known, so that it can be, and afterwards forgotten.
func TestANodeThatIsGoneIsKnownWhileSomethingIsHeldThere(t *testing.T) {
	s := newShift(t, 2)
	w := s.run(`{"command":["fake"],"resources":{"gpu":{"count":1,"type":"A100"}},"retry":{"system":0}}`)
	s.report(w, core.TaskRunning)
	s.do(engine.Inventory("p", s.nodes[:1]))
	if got := s.known(); !slices.Equal(got, []core.NodeID{"g0", "g1"}) {
		t.Errorf("known are %v", got)
	}
	if w := s.run(`{"command":["fake"],"resources":{"gpu":{"count":8,"type":"A100"}}}`); w.Phase != lifecycle.Submitted {
		t.Errorf("while nobody can tell what comes back it is %s", w.Phase)
	}
	s.now = s.now.Add(6 * time.Minute)
	s.do(engine.NodesChanged(nil, nil)) // its task is given up
	s.do(engine.NodesChanged(nil, nil)) // and by now that is stored
	if got := s.known(); !slices.Equal(got, []core.NodeID{"g0"}) {
		t.Errorf("with nothing held there any more, known are %v", got)
	}
	s.refused(draft.CodeUnschedulable, s.submit(`{"command":["fake"],"resources":{"gpu":{"count":1,"type":"A100"}}}`))
}
