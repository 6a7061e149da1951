package nodeinfo

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/resources"
	"github.com/musterhq/muster/internal/core"
)

// describe is the node as the scheduler knows it.
func (s *site) describe(c *Nodes) core.Node {
	k := s.node
	own := maps.Clone(k.Labels)
	resources.Set(&own, core.LabelRuns, core.RunsImages)
	resources.Set(&own, naming.LabelNode, k.Name)
	n := core.Node{
		ID: core.NodeID(c.prefix + k.Name), Labels: own, Cordon: k.Spec.Unschedulable,
		CPU: resources.Amount(k.Status.Allocatable.Cpu(), true), Memory: resources.Amount(k.Status.Allocatable.Memory(), false),
		Tasks: int(min(resources.Amount(k.Status.Allocatable.Pods(), false), 1<<20)),
	}
	if n.Tasks -= len(s.beside); n.Tasks <= 0 {
		n.Tasks = 1 // a node that takes none at all says so by not being ready
	}
	for _, a := range k.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			n.Address = a.Address
			break
		}
	}
	n.Ready, n.Message = resources.Readiness(k)
	for _, t := range k.Spec.Taints {
		if t.Key != corev1.TaintNodeUnschedulable && t.Key != corev1.TaintNodeNotReady && t.Key != corev1.TaintNodeUnreachable {
			n.Taints = append(n.Taints, core.Taint{Key: t.Key, Value: t.Value, Effect: core.TaintEffect(t.Effect)})
		}
	}
	if os := k.Labels[corev1.LabelOSStable]; os != "" && os != string(corev1.Linux) { // our tasks are for Linux
		n.Taints = append(n.Taints, core.Taint{Key: corev1.LabelOSStable, Value: os, Effect: core.NoSchedule})
	}
	n.Devices = resources.Devices(k)
	if gpus := resources.GPUResource(k); gpus != "" {
		n.Labels[naming.LabelVendor] = resources.VendorOf(gpus)
		n.Whole = resources.Unshareable(k) != ""
	}
	n.MIG, n.MIGStrategy = resources.MIGPartitions(k)
	for label, r := range c.reach {
		if !r.reach.Matches(k) {
			n.Labels[label] = core.OutOfReach
		}
	}
	for name := range k.Status.Allocatable {
		if resources.Extended(string(name)) {
			resources.Set(&n.Extra, string(name), resources.Offered(k, string(name)))
		}
	}
	for name := range c.asked {
		resources.Set(&n.Extra, name, resources.Offered(k, name))
	}
	n.Others = s.taken(len(n.Devices), c.asked)
	resources.Withhold(&n, k)
	c.claims.AddTo(&n, k.Name, k.Annotations[resources.NoteKwok] != "", s.owned())
	return n
}

// taken is what others hold of a node with so many devices. Which devices they
// have nobody tells: it cannot be ours, so it is the last of the others.
func (s *site) taken(devices int, asked map[string]bool) core.Others {
	var o core.Others
	gpus := 0
	for _, u := range s.others {
		o.CPU += u.Cpu
		o.Memory += u.Memory
		o.Tasks++
		gpus += u.Gpus
		for profile, n := range u.Mig {
			if o.MIG == nil {
				o.MIG = map[string]int{}
			}
			o.MIG[profile] += n
		}
		for name, n := range u.Extra {
			if asked[name] || resources.Extended(name) {
				resources.Set(&o.Extra, name, o.Extra[name]+int(n))
			}
		}
	}
	for _, u := range s.excess {
		o.CPU += u.Cpu
		o.Memory += u.Memory
	}
	if gpus == 0 || devices == 0 {
		return o
	}
	own := s.owned()
	o.Milli = make([]int, devices)
	for i := devices - 1; i >= 0 && gpus > 0; i-- {
		if !own[i] {
			o.Milli[i], gpus = 1000, gpus-1
		}
	}
	return o
}
