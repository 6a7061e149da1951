package kube

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/internal/backend/kube/dra"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/resources"
	"github.com/musterhq/muster/internal/core"
)

// sliceSeen takes over what a driver offers.
func (c *cluster) sliceSeen(o *resourcev1.ResourceSlice) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.touchSome(c.claims.AddSlice(o))
}

func (c *cluster) sliceGone(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.touchSome(c.claims.DropSlice(name))
}

// touchSome notes that nodes have to be looked at. The lock is held.
func (c *cluster) touchSome(nodes []string) {
	for _, n := range nodes {
		c.touch(n)
	}
}

// claimSeen takes over what a claim of others has. Ours are counted as tasks.
func (c *cluster) claimSeen(o *resourcev1.ResourceClaim) {
	if o.Labels[naming.LabelManaged] == naming.Managed && c.mine(o.Labels) {
		c.claim(o.UID, nil)
		return
	}
	c.claim(o.UID, dra.AllocatedDevices(o))
}

// claim notes what a claim has: nothing, once it is gone.
func (c *cluster) claim(uid types.UID, has []dra.Device) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.touchSome(c.claims.SetClaim(uid, has))
}

// rival is a device of these that another claim has, or some of it; empty: none.
func (c *cluster) rival(devices []dra.Device, claim types.UID) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.claims.Rival(devices, claim)
}

// byClaims reports whether a node has GPUs by claims only.
func (c *cluster) byClaims(node string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sites[node]
	return s != nil && s.node != nil && len(resources.Devices(s.node)) == 0 && c.claims.Offers(node)
}

// claimable are the drivers' names of devices of a node; false: it does not
// offer one of them any more.
func (c *cluster) claimable(node string, devices []core.Share) ([]dra.Device, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.claims.Named(node, devices)
}
