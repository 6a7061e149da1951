package watch

import (
	"bytes"
	"encoding/json"

	"github.com/musterhq/muster/api"
)

// compared is an overview that was made, with the texts by which its parts are compared.
type compared struct {
	of     *api.Overview
	phases []byte
	waits  []byte
	frame  []byte            // the cluster without its nodes
	nodes  map[string][]byte // by name
}

func compare(o *api.Overview) (*compared, error) {
	t := &compared{of: o, nodes: make(map[string][]byte, len(o.Cluster.Nodes))}
	frame := o.Cluster
	frame.Nodes = nil
	var err error
	text := func(v any) (out []byte) {
		if err == nil {
			out, err = json.Marshal(v)
		}
		return out
	}
	t.phases, t.waits, t.frame = text(o.Phases), text(o.Waits), text(frame)
	for i := range o.Cluster.Nodes {
		t.nodes[o.Cluster.Nodes[i].Name] = text(o.Cluster.Nodes[i])
	}
	return t, err
}

// same reports whether nothing has become another; nothing was told: false.
func (t *compared) same(old *compared) bool {
	if old == nil || !bytes.Equal(t.phases, old.phases) || !bytes.Equal(t.waits, old.waits) || !bytes.Equal(t.frame, old.frame) || len(t.nodes) != len(old.nodes) {
		return false
	}
	for name, text := range t.nodes {
		if !bytes.Equal(text, old.nodes[name]) {
			return false
		}
	}
	return true
}

// since is what has become another since an overview that was told; nil: none was. o is
// the overview as who asks may see it. What he may see can have become another, too:
// unless he sees all, what depends on that is told in any case. The first of all comes
// in two parts, for who waits is what a page waits for, and nodes may be many.
func (t *compared) since(old *compared, o *api.Overview, all bool) []api.OverviewChange {
	if old == nil {
		return []api.OverviewChange{{Phases: o.Phases, Waits: &o.Waits}, {Phases: o.Phases, Cluster: &o.Cluster}}
	}
	c := api.OverviewChange{Phases: o.Phases}
	if !all || !bytes.Equal(t.waits, old.waits) {
		c.Waits = &o.Waits
	}
	cluster := o.Cluster
	cluster.Nodes = []api.Node{}
	for _, n := range o.Cluster.Nodes {
		if !bytes.Equal(t.nodes[n.Name], old.nodes[n.Name]) {
			cluster.Nodes = append(cluster.Nodes, n)
		}
	}
	for _, n := range old.of.Cluster.Nodes {
		if _, there := t.nodes[n.Name]; !there {
			c.Gone = append(c.Gone, n.Name)
		}
	}
	if !all || len(cluster.Nodes)+len(c.Gone) > 0 || !bytes.Equal(t.frame, old.frame) {
		c.Cluster = &cluster
	}
	return []api.OverviewChange{c}
}
