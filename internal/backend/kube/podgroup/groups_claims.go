package podgroup

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/internal/core"
)

// ClaimSeen takes over what a claim is like.
func (x *Groups) ClaimSeen(c *resourcev1.ResourceClaim) {
	x.claimsMoved([]string{x.Wishes.ClaimSeen(c)})
}

// ClaimGone takes over that a claim is not there any more.
func (x *Groups) ClaimGone(c *resourcev1.ResourceClaim) {
	x.claimsMoved([]string{x.Wishes.ClaimGone(c)})
}

// ClassSeen takes over what a class is like; nil: it is gone.
func (x *Groups) ClassSeen(name string, c *resourcev1.DeviceClass) {
	x.Wishes.ClassSeen(name, c)
	x.remark(x.Wishes.PodsOf(""))
}

// claimsMoved has the pods looked at again that name some claim.
func (x *Groups) claimsMoved(keys []string) {
	for _, key := range keys {
		x.remark(x.Wishes.PodsOf(key))
	}
}

// remark has pods looked at again that wait.
func (x *Groups) remark(pods []types.UID) {
	if len(pods) == 0 {
		return
	}
	x.Mu.Lock()
	defer x.Mu.Unlock()
	for _, uid := range pods {
		if o := x.Pods[uid]; o != nil && o.task == (core.TaskID{}) {
			if g := x.Groups[o.group]; g != nil {
				x.Marked[g.key] = true
			}
		}
	}
	ring(x.Wake)
}
