package schedule_test

import (
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
)

// book is who holds what, kept a second time and as plainly as can be: the
// judge of plans shares no arithmetic with the core.
type book struct {
	snap  *schedule.Snapshot
	nodes map[core.NodeID]*shelf
	queue map[core.ProjectID]*schedule.Queue
}

// shelf is what is used of a node.
type shelf struct {
	node     *schedule.Node
	cpu, mem int64
	pods     int
	dev      []int
	mig      map[string]int
	tags     map[string]int
}

func newBook(s *schedule.Snapshot) *book {
	b := &book{snap: s, nodes: map[core.NodeID]*shelf{}, queue: map[core.ProjectID]*schedule.Queue{}}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		x := &shelf{node: n, cpu: n.OtherCPU, mem: n.OtherMem, dev: make([]int, len(n.Devices)), mig: map[string]int{}, tags: map[string]int{}}
		copy(x.dev, n.OtherMilli)
		b.nodes[n.ID] = x
	}
	for i := range s.Queues {
		b.queue[s.Queues[i].ID] = &s.Queues[i]
	}
	return b
}

func (x *shelf) add(n *schedule.Need, r *schedule.Rule, p *schedule.Place, sign int) {
	x.cpu += int64(sign) * p.CPU
	x.mem += int64(sign) * p.Memory
	x.pods += sign
	for _, sh := range p.Devices {
		x.dev[slices.IndexFunc(x.node.Devices, func(d core.Device) bool { return d.ID == sh.Device })] += sign * sh.Milli
	}
	for name, count := range partitions(n.Extended) {
		x.mig[name] += sign * count
	}
	if r != nil && r.Tags != "" {
		x.tags[r.Tags] += sign
	}
}

// partitions reads "a=1,b=2".
func partitions(s string) map[string]int {
	out := map[string]int{}
	for part := range strings.SplitSeq(s, ",") {
		if name, count, ok := strings.Cut(part, "="); ok {
			for _, c := range count {
				out[name] = out[name]*10 + int(c-'0')
			}
		}
	}
	return out
}

func (b *book) take(_ *schedule.Job, h *schedule.Held) {
	b.nodes[h.Place.Node].add(&h.Need, h.Rule, &h.Place, 1)
}
func (b *book) give(_ *schedule.Job, h *schedule.Held) {
	b.nodes[h.Place.Node].add(&h.Need, h.Rule, &h.Place, -1)
}

// over names what of the node is used beyond what there is; empty: nothing.
func (x *shelf) over() string {
	n := x.node
	switch {
	case x.cpu > n.CPU:
		return "CPU"
	case x.mem > n.Memory:
		return "memory"
	case n.Pods > 0 && x.pods > n.Pods:
		return "pods"
	}
	for _, used := range x.dev {
		if used > 1000 {
			return "a device"
		}
	}
	for name, used := range x.mig {
		if used > n.MIG[name] {
			return "partition " + name
		}
	}
	return ""
}

// milliOn is what need takes of each device of the node.
func milliOn(n *schedule.Node, need *schedule.Need) int {
	if need.GPUMemory == 0 {
		return need.Milli
	}
	return int(max(need.GPUMemory*1000/n.Devices[0].Memory, 1))
}

// suits reports whether the node may take the task whatever is free.
func suits(n *schedule.Node, need *schedule.Need, r *schedule.Rule) bool {
	if !n.Ready || n.Cordon {
		return false
	}
	if n.MIGStrategy != "" && need.Devices > 0 && (n.MIGStrategy == "mixed" || need.GPUMemory > 0 || need.Milli < 1000) {
		return false
	}
	if n.Whole && need.Devices > 0 && (need.GPUMemory > 0 || need.Milli < 1000) {
		return false
	}
	for _, t := range n.Taints {
		ok := t.Effect == core.PreferNoSchedule
		for i := range tolerates(r) {
			x := r.Tolerates[i]
			ok = ok || (x.Key == "" || x.Key == t.Key) && (x.Value == "" || x.Value == t.Value) && (x.Effect == "" || x.Effect == string(t.Effect))
		}
		if !ok {
			return false
		}
	}
	if r == nil {
		return true
	}
	for _, t := range r.Terms {
		in := slices.Contains(t.Values, labelOf(n, t.Key))
		if in != (t.Op == "In") {
			return false
		}
	}
	return true
}

func tolerates(r *schedule.Rule) []schedule.Toleration {
	if r == nil {
		return nil
	}
	return r.Tolerates
}

func labelOf(n *schedule.Node, key string) string {
	if key == "kubernetes.io/hostname" {
		return string(n.ID)
	}
	return n.Labels[key]
}

// domainOf is the node's path of labels down to a level; false where one lacks.
func domainOf(n *schedule.Node, levels []string, level string) (string, bool) {
	path := ""
	for _, l := range levels {
		if labelOf(n, l) == "" {
			return "", false
		}
		path += labelOf(n, l) + "/"
		if l == level {
			return path, true
		}
	}
	return "", false
}

// places are the ways to put a task on the node, up to which of equally free
// devices it gets.
func (x *shelf) places(need *schedule.Need, r *schedule.Rule) []schedule.Place {
	n := x.node
	if !suits(n, need, r) {
		return nil
	}
	p := schedule.Place{Node: n.ID, CPU: need.CPU, Memory: need.Memory, Extended: need.Extended}
	x.cpu, x.mem, x.pods = x.cpu+need.CPU, x.mem+need.Memory, x.pods+1
	bad := need.CPU > 0 && x.cpu > n.CPU || need.Memory > 0 && x.mem > n.Memory || n.Pods > 0 && x.pods > n.Pods
	x.cpu, x.mem, x.pods = x.cpu-need.CPU, x.mem-need.Memory, x.pods-1
	for name, count := range partitions(need.Extended) {
		bad = bad || x.mig[name]+count > n.MIG[name]
	}
	if bad {
		return nil
	}
	if need.Devices == 0 {
		return []schedule.Place{p}
	}
	if len(n.Devices) < need.Devices {
		return nil
	}
	m := milliOn(n, need)
	var out []schedule.Place
	seen := map[string]bool{}
	var pick func(from int, devs []core.Share, mark string)
	pick = func(from int, devs []core.Share, mark string) {
		if len(devs) == need.Devices {
			if !seen[mark] {
				seen[mark] = true
				q := p
				q.Devices = slices.Clone(devs)
				out = append(out, q)
			}
			return
		}
		for d := from; d < len(n.Devices); d++ {
			dev := &n.Devices[d]
			if dev.Healthy && x.dev[d]+m <= 1000 && (need.Type == "" || strings.Contains(strings.ToLower(dev.Product), strings.ToLower(need.Type))) {
				pick(d+1, append(devs, core.Share{Device: dev.ID, Index: d, Milli: m}), mark+dev.Product+string(rune('0'+x.dev[d]/10)))
			}
		}
	}
	pick(0, nil, "")
	return out
}

// amountOf is what a place counts for in quotas.
func amountOf(need *schedule.Need, p *schedule.Place) quota.Amounts {
	a := quota.Amounts{quota.CPU: p.CPU, quota.Memory: p.Memory}
	for _, sh := range p.Devices {
		a[quota.GPU] += int64(sh.Milli)
	}
	for name, count := range partitions(need.Extended) {
		if slices, ok := strings.CutPrefix(name, "mig-"); ok { // else it is no GPU
			a[quota.GPU] += int64(slices[0]-'0') * 1000 * int64(count)
		}
	}
	return a
}
