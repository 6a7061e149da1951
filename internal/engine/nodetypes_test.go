package engine_test

import (
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/testing/memstore"
)

// TestARuleOfTheProjectIsNamed has a project allow no node that there is: why
// its work waits says whose condition that is, and who can change it.
func TestARuleOfTheProjectIsNamed(t *testing.T) {
	o := newOffice(t, memstore.New())
	o.do(organisation.Organise([]organisation.Edit{{What: organisation.RecordProject, Name: "team", Project: func(p *core.Project) error {
		p.NodeTypes = map[lifecycle.Kind][]string{lifecycle.Training: {"a100", "h100"}}
		return nil
	}}}, false))
	w := o.made(plain("first", ""))
	o.is(w.ID, lifecycle.Queued)
	r := o.why(w.ID)
	if got, want := r.String(), "never fits: it asks for nodes with node-type in a100, h100, and none of 2 nodes has that; project team lets work of kind training use nodes of that type only"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := r.Hint(), "ask the administrator for such nodes, or for other types: muster project update team --node-types training=TYPE,TYPE; then submit it again, since it keeps what held when it was submitted"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
