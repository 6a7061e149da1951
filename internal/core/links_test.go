package core

import "testing"

func TestKindsOfLinks(t *testing.T) {
	for l, want := range map[Link]struct {
		kind  string
		links int
	}{
		LinkSockets: {"sockets", 0}, LinkNUMANode.Near(): {"numa-node", 0}, LinkHostBridge: {"host-bridge", 0}, LinkSwitches.Near(): {"switches", 0}, LinkSwitch: {"switch", 0},
		LinkNVLink: {"nvlink", 1}, LinkNVLink4.Near(): {"nvlink", 4}, LinkNVLink8: {"nvlink", 8}, LinkNVLink12.Near(): {"nvlink", 12},
	} {
		if kind, links := l.Kind(); kind != want.kind || links != want.links {
			t.Errorf("%d is %s of %d, not %s of %d", l, kind, links, want.kind, want.links)
		}
	}
}
