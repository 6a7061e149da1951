package kube

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/internal/core"
)

// claimSeen takes over what a claim is like.
func (x *podGroups) claimSeen(c *resourcev1.ResourceClaim) {
	x.claimsMoved([]string{x.wishes.ClaimSeen(c)})
}

func (x *podGroups) claimGone(c *resourcev1.ResourceClaim) {
	x.claimsMoved([]string{x.wishes.ClaimGone(c)})
}

// classSeen takes over what a class is like; nil: it is gone.
func (x *podGroups) classSeen(name string, c *resourcev1.DeviceClass) {
	x.wishes.ClassSeen(name, c)
	x.remark(x.wishes.PodsOf(""))
}

// claimsMoved has the pods looked at again that name some claim.
func (x *podGroups) claimsMoved(keys []string) {
	for _, key := range keys {
		x.remark(x.wishes.PodsOf(key))
	}
}

// remark has pods looked at again that wait.
func (x *podGroups) remark(pods []types.UID) {
	if len(pods) == 0 {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, uid := range pods {
		if o := x.pods[uid]; o != nil && o.task == (core.TaskID{}) {
			if g := x.groups[o.group]; g != nil {
				x.marked[g.key] = true
			}
		}
	}
	ring(x.wake)
}
