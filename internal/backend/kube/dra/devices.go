// Package dra knows the GPUs that nodes have by dynamic resource allocation
// (kubernetes.io, "Dynamic Resource Allocation"): which devices drivers offer, which
// of them resource claims have, and what claims of pods ask for. It is given
// ResourceSlices, ResourceClaims and DeviceClasses and gives devices and allocations;
// it writes nothing into the cluster.
package dra

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

// Driver is the driver whose devices are GPUs, and the class of those.
const Driver = "gpu.nvidia.com"

// Devices are what drivers offer and what is taken of it. The lock of the
// cluster guards it.
type Devices struct {
	Slices map[string]*slice // by name
	Nodes  map[string]map[*slice]bool
	Owner  map[Pool]string // the node of each pool
	taken  map[Pool]map[string]map[types.UID]bool
	of     map[types.UID][]Device // what each claim has
}

// Pool is a set of devices; those of a node usually are one that has its name.
type Pool struct{ Driver, Name string }

// Device names one of a pool.
type Device struct {
	Pool
	Device string
}

// slice is a part of a pool on a node.
type slice struct {
	node       string
	pool       Pool
	generation int64
	gpus       []Offered
}

// Offered is a GPU that is had by a claim.
type Offered struct {
	Name    Device
	Product string
	memory  int64
	Healthy bool
	parts   []string // devices that are partitions of it
}

// takenOn reports whether some claim has a GPU or a part of it.
func (c *Devices) takenOn(g *Offered) bool {
	all := c.taken[g.Name.Pool]
	return len(all[g.Name.Device]) > 0 || slices.ContainsFunc(g.parts, func(p string) bool { return len(all[p]) > 0 })
}

// NewDevices knows no devices yet.
func NewDevices() *Devices {
	return &Devices{Slices: map[string]*slice{}, Nodes: map[string]map[*slice]bool{}, Owner: map[Pool]string{}, taken: map[Pool]map[string]map[types.UID]bool{}, of: map[types.UID][]Device{}}
}

// sliceOf is what of a ResourceSlice concerns GPUs; nil: nothing.
func sliceOf(o *resourcev1.ResourceSlice) *slice {
	if o.Spec.Driver != Driver || o.Spec.NodeName == nil {
		return nil
	}
	s := &slice{node: *o.Spec.NodeName, pool: Pool{o.Spec.Driver, o.Spec.Pool.Name}, generation: o.Spec.Pool.Generation}
	for i := range o.Spec.Devices {
		d := &o.Spec.Devices[i]
		if !isGPU(d) {
			continue
		}
		memory := d.Capacity["memory"]
		g := Offered{parts: partitionsOf(d, o.Spec.Devices), Name: Device{s.pool, d.Name}, Product: cmp.Or(text(d, "productName"), "nvidia"), memory: resources.Amount(&memory.Value, false), Healthy: true}
		for _, t := range d.Taints {
			if t.Effect == resourcev1.DeviceTaintEffectNoSchedule || t.Effect == resourcev1.DeviceTaintEffectNoExecute {
				g.Healthy = false
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

// AddSlice takes over what a driver offers, and returns the nodes that it is about.
func (c *Devices) AddSlice(o *resourcev1.ResourceSlice) (nodes []string) {
	s := sliceOf(o)
	nodes = c.DropSlice(o.Name)
	if s == nil {
		return nodes
	}
	if c.Nodes[s.node] == nil {
		c.Nodes[s.node] = map[*slice]bool{}
	}
	c.Slices[o.Name], c.Nodes[s.node][s], c.Owner[s.pool] = s, true, s.node
	return append(nodes, s.node)
}

// DropSlice forgets what a driver offered, and returns the nodes that it was about.
func (c *Devices) DropSlice(name string) (nodes []string) {
	was := c.Slices[name]
	if was == nil {
		return nil
	}
	delete(c.Slices, name)
	if delete(c.Nodes[was.node], was); len(c.Nodes[was.node]) == 0 {
		delete(c.Nodes, was.node)
	}
	left := false
	for s := range c.Nodes[was.node] {
		left = left || s.pool == was.pool
	}
	if !left && c.Owner[was.pool] == was.node {
		delete(c.Owner, was.pool)
	}
	return []string{was.node}
}

// AllocatedDevices are the GPUs that a claim has.
func AllocatedDevices(o *resourcev1.ResourceClaim) (has []Device) {
	if o.Status.Allocation == nil {
		return nil
	}
	for _, r := range o.Status.Allocation.Devices.Results {
		if r.Driver == Driver && (r.AdminAccess == nil || !*r.AdminAccess) {
			has = append(has, Device{Pool{r.Driver, r.Pool}, r.Device})
		}
	}
	return has
}

// SetClaim notes what a claim has: nothing, once it is gone. It returns the nodes that this
// is about.
func (c *Devices) SetClaim(uid types.UID, has []Device) (nodes []string) {
	if slices.Equal(c.of[uid], has) {
		return nil
	}
	for _, d := range c.of[uid] {
		delete(c.taken[d.Pool][d.Device], uid)
		if len(c.taken[d.Pool][d.Device]) == 0 {
			delete(c.taken[d.Pool], d.Device)
		}
		if len(c.taken[d.Pool]) == 0 {
			delete(c.taken, d.Pool)
		}
		nodes = append(nodes, c.nodeOf(d.Pool))
	}
	delete(c.of, uid)
	for _, d := range has {
		if c.taken[d.Pool] == nil {
			c.taken[d.Pool] = map[string]map[types.UID]bool{}
		}
		if c.taken[d.Pool][d.Device] == nil {
			c.taken[d.Pool][d.Device] = map[types.UID]bool{}
		}
		c.taken[d.Pool][d.Device][uid] = true
		nodes = append(nodes, c.nodeOf(d.Pool))
		c.of[uid] = has
	}
	return nodes
}

// Rival is a device of these that another claim has, or some of it; empty: none.
func (c *Devices) Rival(devices []Device, claim types.UID) string {
	for _, d := range devices {
		for uid := range c.taken[d.Pool][d.Device] {
			if uid != claim {
				return d.Device
			}
		}
	}
	return ""
}

// Offers reports whether drivers offer something on a node.
func (c *Devices) Offers(node string) bool { return len(c.Nodes[node]) > 0 }

// Named are the drivers' names of devices of a node; false: it does not offer one
// of them any more.
func (c *Devices) Named(node string, devices []core.Share) ([]Device, bool) {
	all := c.on(node)
	var out []Device
	for _, d := range devices {
		if d.Index >= len(all) || all[d.Index].Name.Device == "" {
			return nil, false
		}
		out = append(out, all[d.Index].Name)
	}
	return out, true
}

// nodeOf is the node of a pool: that of its slices, else the one of its name.
func (c *Devices) nodeOf(p Pool) string {
	return cmp.Or(c.Owner[p], p.Name)
}

// on are the GPUs that drivers offer on a node, in the order of their numbers.
// Of a pool only the newest generation counts.
func (c *Devices) on(node string) []Offered {
	newest := map[Pool]int64{}
	for s := range c.Nodes[node] {
		newest[s.pool] = max(newest[s.pool], s.generation)
	}
	var out []Offered
	for s := range c.Nodes[node] {
		if s.generation == newest[s.pool] {
			out = append(out, s.gpus...)
		}
	}
	slices.SortFunc(out, func(a, b Offered) int {
		return cmp.Or(cmp.Compare(numberIn(a.Name.Device), numberIn(b.Name.Device)), cmp.Compare(a.Name.Pool.Name, b.Name.Pool.Name), cmp.Compare(a.Name.Device, b.Name.Device))
	})
	return Numbered(out)
}

// numberIn is that at the end of a device's name; -1: it has none.
func numberIn(name string) int {
	_, end, _ := strings.Cut(name, "-")
	if n, err := strconv.Atoi(end); err == nil && n >= 0 {
		return n
	}
	return -1
}

// Numbered puts devices at the places that their names say, so that one that is
// not offered any more does not move the others: it is there, and not healthy.
func Numbered(all []Offered) []Offered {
	if len(all) == 0 {
		return nil
	}
	last := numberIn(all[len(all)-1].Name.Device)
	if numberIn(all[0].Name.Device) < 0 || last >= resources.MostDevices {
		return all[:min(len(all), resources.MostDevices)]
	}
	out := make([]Offered, last+1)
	for _, o := range all {
		n := numberIn(o.Name.Device)
		if out[n].Product != "" {
			return all[:min(len(all), resources.MostDevices)] // two of a number: it says nothing
		}
		out[n] = o
	}
	for i := range out {
		if out[i].Product == "" {
			out[i].Product, out[i].memory = all[0].Product, all[0].memory
		}
	}
	return out
}

// AddTo adds to a node what is had there by claims. Where its GPUs come from
// a device plugin, nobody tells which of these a claim's device is; else they
// are the driver's, and which are taken is known.
func (c *Devices) AddTo(n *core.Node, name string, fake bool, own map[int]bool) {
	gpus := c.on(name)
	if len(n.Devices) > 0 {
		c.addSome(n, name, gpus, own)
		return
	}
	if len(gpus) == 0 {
		return
	}
	n.Whole = true // no reservation can hold one that is shared
	n.Labels[naming.LabelDriver] = Driver
	for i, g := range gpus {
		n.Devices = append(n.Devices, core.Device{ID: naming.DeviceID(i), Index: i, Product: g.Product, Memory: g.memory, Fake: fake, Healthy: g.Healthy})
		if c.takenOn(&g) && !own[i] { // where it is a task's that is a pod of others it is counted as that
			if n.Others.Milli == nil {
				n.Others.Milli = make([]int, len(gpus))
			}
			n.Others.Milli[i] = 1000
		}
	}
}

// addSome counts claims on a node whose device plugin has numbered its GPUs.
func (c *Devices) addSome(n *core.Node, name string, gpus []Offered, own map[int]bool) {
	some := 0
	for i := range gpus {
		if c.takenOn(&gpus[i]) {
			some++
		}
	}
	if len(gpus) == 0 { // nobody says what they are
		for device := range c.taken[Pool{Driver, name}] {
			if numberIn(device) >= 0 {
				some++
			}
		}
	}
	if some == 0 {
		return
	}
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
