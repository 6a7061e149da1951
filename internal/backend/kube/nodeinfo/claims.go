package nodeinfo

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/internal/backend/kube/dra"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/resources"
	"github.com/musterhq/muster/internal/core"
)

// SliceSeen takes over what a driver offers.
func (c *Nodes) SliceSeen(o *resourcev1.ResourceSlice) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.touchSome(c.claims.AddSlice(o))
}

// SliceGone takes over that a driver offers a slice no more.
func (c *Nodes) SliceGone(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.touchSome(c.claims.DropSlice(name))
}

// touchSome notes that nodes have to be looked at. The lock is held.
func (c *Nodes) touchSome(nodes []string) {
	for _, n := range nodes {
		c.touch(n)
	}
}

// ClaimSeen takes over what a claim of others has. Ours are counted as tasks.
func (c *Nodes) ClaimSeen(o *resourcev1.ResourceClaim) {
	if o.Labels[naming.LabelManaged] == naming.Managed && c.mine(o.Labels) {
		c.SetClaim(o.UID, nil)
		return
	}
	c.SetClaim(o.UID, dra.AllocatedDevices(o))
}

// SetClaim notes what a claim has: nothing, once it is gone.
func (c *Nodes) SetClaim(uid types.UID, has []dra.Device) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.touchSome(c.claims.SetClaim(uid, has))
}

// Rival is a device of these that another claim has, or some of it; empty: none.
func (c *Nodes) Rival(devices []dra.Device, claim types.UID) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.claims.Rival(devices, claim)
}

// HasOnlyClaims reports whether a node has GPUs by claims only.
func (c *Nodes) HasOnlyClaims(node string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.Sites[node]
	return s != nil && s.node != nil && len(resources.Devices(s.node)) == 0 && c.claims.Offers(node)
}

// Devices are the drivers' names of devices of a node; false: it does not
// offer one of them any more.
func (c *Nodes) Devices(node string, devices []core.Share) ([]dra.Device, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.claims.Named(node, devices)
}
