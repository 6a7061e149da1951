package kube

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/resources"
	"github.com/musterhq/muster/internal/core"
)

// Dynamic resource allocation (kubernetes.io, "Dynamic Resource Allocation"):
// drivers say in ResourceSlices which devices there are, and ResourceClaims say
// which of them are taken. A node may have GPUs that way, from a device plugin,
// or both ways.

// claimDriver is the driver whose devices are GPUs, and the class of those.
const claimDriver = "gpu.nvidia.com"

// claims are what drivers offer and what is taken of it. The lock of the
// cluster guards it.
type claims struct {
	slices map[string]*slice // by name
	nodes  map[string]map[*slice]bool
	owner  map[pool]string // the node of each pool
	taken  map[pool]map[string]map[types.UID]bool
	of     map[types.UID][]deviceName // what each claim has
}

// pool is a set of devices; those of a node usually are one that has its name.
type pool struct{ driver, name string }

type deviceName struct {
	pool
	device string
}

// slice is a part of a pool on a node.
type slice struct {
	node       string
	pool       pool
	generation int64
	gpus       []offered
}

// offered is a GPU that is had by a claim.
type offered struct {
	name    deviceName
	product string
	memory  int64
	healthy bool
	parts   []string // devices that are partitions of it
}

// takenOn reports whether some claim has a GPU or a part of it.
func (c *claims) takenOn(g *offered) bool {
	all := c.taken[g.name.pool]
	return len(all[g.name.device]) > 0 || slices.ContainsFunc(g.parts, func(p string) bool { return len(all[p]) > 0 })
}

func newClaims() *claims {
	return &claims{slices: map[string]*slice{}, nodes: map[string]map[*slice]bool{}, owner: map[pool]string{}, taken: map[pool]map[string]map[types.UID]bool{}, of: map[types.UID][]deviceName{}}
}

// sliceOf is what of a ResourceSlice concerns GPUs; nil: nothing.
func sliceOf(o *resourcev1.ResourceSlice) *slice {
	if o.Spec.Driver != claimDriver || o.Spec.NodeName == nil {
		return nil
	}
	s := &slice{node: *o.Spec.NodeName, pool: pool{o.Spec.Driver, o.Spec.Pool.Name}, generation: o.Spec.Pool.Generation}
	for i := range o.Spec.Devices {
		d := &o.Spec.Devices[i]
		if !isGPU(d) {
			continue
		}
		memory := d.Capacity["memory"]
		g := offered{parts: partitionsOf(d, o.Spec.Devices), name: deviceName{s.pool, d.Name}, product: cmp.Or(text(d, "productName"), "nvidia"), memory: resources.Amount(&memory.Value, false), healthy: true}
		for _, t := range d.Taints {
			if t.Effect == resourcev1.DeviceTaintEffectNoSchedule || t.Effect == resourcev1.DeviceTaintEffectNoExecute {
				g.healthy = false
			}
		}
		if s.gpus = append(s.gpus, g); len(s.gpus) == resources.MostDevices {
			break
		}
	}
	return s
}

// isGPU tells whole GPUs from partitions.
func isGPU(d *resourcev1.Device) bool {
	kind := text(d, "type")
	return kind == "gpu" || kind == "" && strings.HasPrefix(d.Name, "gpu-")
}

// partitionsOf are the partitions of a GPU among devices: they name it, or live
// on the same means.
func partitionsOf(gpu *resourcev1.Device, all []resourcev1.Device) (out []string) {
	for i := range all {
		d := &all[i]
		same := text(d, "parentUUID") != "" && text(d, "parentUUID") == text(gpu, "uuid")
		for _, c := range d.ConsumesCounters {
			same = same || slices.ContainsFunc(gpu.ConsumesCounters, func(g resourcev1.DeviceCounterConsumption) bool { return g.CounterSet == c.CounterSet })
		}
		if same && !isGPU(d) {
			out = append(out, d.Name)
		}
	}
	return out
}

func text(d *resourcev1.Device, name resourcev1.QualifiedName) string {
	if s := d.Attributes[name].StringValue; s != nil {
		return *s
	}
	return ""
}

// sliceSeen takes over what a driver offers.
func (c *cluster) sliceSeen(o *resourcev1.ResourceSlice) {
	s := sliceOf(o)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropSlice(o.Name)
	if s == nil {
		return
	}
	if c.claims.nodes[s.node] == nil {
		c.claims.nodes[s.node] = map[*slice]bool{}
	}
	c.claims.slices[o.Name], c.claims.nodes[s.node][s], c.claims.owner[s.pool] = s, true, s.node
	c.touch(s.node)
}

func (c *cluster) sliceGone(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropSlice(name)
}

// dropSlice forgets what a driver offered. The lock is held.
func (c *cluster) dropSlice(name string) {
	was := c.claims.slices[name]
	if was == nil {
		return
	}
	delete(c.claims.slices, name)
	if delete(c.claims.nodes[was.node], was); len(c.claims.nodes[was.node]) == 0 {
		delete(c.claims.nodes, was.node)
	}
	left := false
	for s := range c.claims.nodes[was.node] {
		left = left || s.pool == was.pool
	}
	if !left && c.claims.owner[was.pool] == was.node {
		delete(c.claims.owner, was.pool)
	}
	c.touch(was.node)
}

// claimSeen takes over what a claim of others has. Ours are counted as tasks.
func (c *cluster) claimSeen(o *resourcev1.ResourceClaim) {
	var has []deviceName
	if o.Status.Allocation != nil && (o.Labels[naming.LabelManaged] != naming.Managed || !c.mine(o.Labels)) {
		for _, r := range o.Status.Allocation.Devices.Results {
			if r.Driver == claimDriver && (r.AdminAccess == nil || !*r.AdminAccess) {
				has = append(has, deviceName{pool{r.Driver, r.Pool}, r.Device})
			}
		}
	}
	c.claim(o.UID, has)
}

// claim notes what a claim has: nothing, once it is gone.
func (c *cluster) claim(uid types.UID, has []deviceName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Equal(c.claims.of[uid], has) {
		return
	}
	for _, d := range c.claims.of[uid] {
		delete(c.claims.taken[d.pool][d.device], uid)
		if len(c.claims.taken[d.pool][d.device]) == 0 {
			delete(c.claims.taken[d.pool], d.device)
		}
		if len(c.claims.taken[d.pool]) == 0 {
			delete(c.claims.taken, d.pool)
		}
		c.touch(c.claims.nodeOf(d.pool))
	}
	delete(c.claims.of, uid)
	for _, d := range has {
		if c.claims.taken[d.pool] == nil {
			c.claims.taken[d.pool] = map[string]map[types.UID]bool{}
		}
		if c.claims.taken[d.pool][d.device] == nil {
			c.claims.taken[d.pool][d.device] = map[types.UID]bool{}
		}
		c.claims.taken[d.pool][d.device][uid] = true
		c.touch(c.claims.nodeOf(d.pool))
		c.claims.of[uid] = has
	}
}

// nodeOf is the node of a pool: that of its slices, else the one of its name.
func (c *claims) nodeOf(p pool) string {
	return cmp.Or(c.owner[p], p.name)
}

// on are the GPUs that drivers offer on a node, in the order of their numbers.
// Of a pool only the newest generation counts.
func (c *claims) on(node string) []offered {
	newest := map[pool]int64{}
	for s := range c.nodes[node] {
		newest[s.pool] = max(newest[s.pool], s.generation)
	}
	var out []offered
	for s := range c.nodes[node] {
		if s.generation == newest[s.pool] {
			out = append(out, s.gpus...)
		}
	}
	slices.SortFunc(out, func(a, b offered) int {
		return cmp.Or(cmp.Compare(numberIn(a.name.device), numberIn(b.name.device)), cmp.Compare(a.name.pool.name, b.name.pool.name), cmp.Compare(a.name.device, b.name.device))
	})
	return numbered(out)
}

// numberIn is that at the end of a device's name; -1: it has none.
func numberIn(name string) int {
	_, end, _ := strings.Cut(name, "-")
	if n, err := strconv.Atoi(end); err == nil && n >= 0 {
		return n
	}
	return -1
}

// numbered puts devices at the places that their names say, so that one that is
// not offered any more does not move the others: it is there, and not healthy.
func numbered(all []offered) []offered {
	if len(all) == 0 {
		return nil
	}
	last := numberIn(all[len(all)-1].name.device)
	if numberIn(all[0].name.device) < 0 || last >= resources.MostDevices {
		return all[:min(len(all), resources.MostDevices)]
	}
	out := make([]offered, last+1)
	for _, o := range all {
		n := numberIn(o.name.device)
		if out[n].product != "" {
			return all[:min(len(all), resources.MostDevices)] // two of a number: it says nothing
		}
		out[n] = o
	}
	for i := range out {
		if out[i].product == "" {
			out[i].product, out[i].memory = all[0].product, all[0].memory
		}
	}
	return out
}

// claimed adds to a node what is had there by claims. Where its GPUs come from
// a device plugin, nobody tells which of these a claim's device is; else they
// are the driver's, and which are taken is known.
func (s *site) claimed(n *core.Node, c *claims) {
	name := s.node.Name
	gpus := c.on(name)
	if len(n.Devices) > 0 {
		s.claimedSome(n, c, gpus)
		return
	}
	if len(gpus) == 0 {
		return
	}
	n.Whole = true // no reservation can hold one that is shared
	n.Labels[naming.LabelDriver] = claimDriver
	own := s.owned()
	for i, g := range gpus {
		n.Devices = append(n.Devices, core.Device{ID: naming.DeviceID(i), Index: i, Product: g.product, Memory: g.memory, Fake: s.node.Annotations[resources.NoteKwok] != "", Healthy: g.healthy})
		if c.takenOn(&g) && !own[i] { // where it is a task's that is a pod of others it is counted as that
			if n.Others.Milli == nil {
				n.Others.Milli = make([]int, len(gpus))
			}
			n.Others.Milli[i] = 1000
		}
	}
}

// claimedSome counts claims on a node whose device plugin has numbered its GPUs.
func (s *site) claimedSome(n *core.Node, c *claims, gpus []offered) {
	some := 0
	for i := range gpus {
		if c.takenOn(&gpus[i]) {
			some++
		}
	}
	if len(gpus) == 0 { // nobody says what they are
		for device := range c.taken[pool{claimDriver, s.node.Name}] {
			if numberIn(device) >= 0 {
				some++
			}
		}
	}
	if some == 0 {
		return
	}
	own := s.owned()
	if n.Others.Milli == nil {
		n.Others.Milli = make([]int, len(n.Devices))
	}
	for i := len(n.Devices) - 1; i >= 0 && some > 0; i-- {
		if !own[i] && n.Others.Milli[i] == 0 {
			n.Others.Milli[i] = 1000
			some--
		}
	}
}

// owned are the devices, by number, that tasks of ours have.
func (s *site) owned() map[int]bool {
	own := map[int]bool{}
	for _, shares := range s.ours {
		for _, d := range shares {
			own[d.Index] = true
		}
	}
	return own
}
