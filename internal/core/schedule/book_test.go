package schedule

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
)

// book is who holds what, kept a second time and as plainly as can be: the
// judge of plans shares no arithmetic with the core.
type book struct {
	snap  *Snapshot
	nodes map[core.NodeID]*shelf
	queue map[core.ProjectID]*Queue
}

// shelf is what is used of a node.
type shelf struct {
	node     *Node
	cpu, mem int64
	pods     int
	dev      []int
	mig      map[string]int
	tags     map[string]int
}

func newBook(s *Snapshot) *book {
	b := &book{snap: s, nodes: map[core.NodeID]*shelf{}, queue: map[core.ProjectID]*Queue{}}
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

func (x *shelf) add(n *Need, r *Rule, p *Place, sign int) {
	x.cpu += int64(sign) * p.CPU
	x.mem += int64(sign) * p.Memory
	x.pods += sign
	for _, sh := range p.Devices {
		x.dev[slices.IndexFunc(x.node.Devices, func(d core.Device) bool { return d.ID == sh.Device })] += sign * sh.Milli
	}
	for name, count := range partitions(n.MIG) {
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

func (b *book) take(_ *Job, h *Held) { b.nodes[h.Place.Node].add(&h.Need, h.Rule, &h.Place, 1) }
func (b *book) give(_ *Job, h *Held) { b.nodes[h.Place.Node].add(&h.Need, h.Rule, &h.Place, -1) }

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
func milliOn(n *Node, need *Need) int {
	if need.Share == 0 {
		return need.Milli
	}
	return int(max(need.Share*1000/n.Devices[0].Memory, 1))
}

// suits reports whether the node may take the task whatever is free.
func suits(n *Node, need *Need, r *Rule) bool {
	if !n.Ready || n.Cordon {
		return false
	}
	if n.MIGStrategy != "" && need.Devices > 0 && (n.MIGStrategy == "mixed" || need.Share > 0 || need.Milli < 1000) {
		return false
	}
	for _, t := range n.Taints {
		ok := t.Effect == core.PreferNoSchedule
		for i := range r.tolerates() {
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

func (r *Rule) tolerates() []Toleration {
	if r == nil {
		return nil
	}
	return r.Tolerates
}

func labelOf(n *Node, key string) string {
	if key == "kubernetes.io/hostname" {
		return string(n.ID)
	}
	return n.Labels[key]
}

// domainOf is the node's path of labels down to a level; false where one lacks.
func domainOf(n *Node, levels []string, level string) (string, bool) {
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
func (x *shelf) places(need *Need, r *Rule) []Place {
	n := x.node
	if !suits(n, need, r) {
		return nil
	}
	p := Place{Node: n.ID, CPU: need.CPU, Memory: need.Memory, MIG: need.MIG}
	x.cpu, x.mem, x.pods = x.cpu+need.CPU, x.mem+need.Memory, x.pods+1
	bad := need.CPU > 0 && x.cpu > n.CPU || need.Memory > 0 && x.mem > n.Memory || n.Pods > 0 && x.pods > n.Pods
	x.cpu, x.mem, x.pods = x.cpu-need.CPU, x.mem-need.Memory, x.pods-1
	for name, count := range partitions(need.MIG) {
		bad = bad || x.mig[name]+count > n.MIG[name]
	}
	if bad {
		return nil
	}
	if need.Devices == 0 {
		return []Place{p}
	}
	if len(n.Devices) < need.Devices {
		return nil
	}
	m := milliOn(n, need)
	var out []Place
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
func amountOf(need *Need, p *Place) quota.Amounts {
	a := quota.Amounts{quota.CPU: p.CPU, quota.Memory: p.Memory}
	for _, sh := range p.Devices {
		a[quota.GPU] += int64(sh.Milli)
	}
	for name, count := range partitions(need.MIG) {
		a[quota.GPU] += int64(name[len("mig-")]-'0') * 1000 * int64(count)
	}
	return a
}

// seat is a task with a place that a search has found.
type seat struct {
	group int
	place Place
}

// finder looks at every way to place a job's minimum.
type finder struct {
	book    *book
	job     *Job
	held    []Held // tasks of the job that stay
	budget  int
	shuffle *rand.Rand
	spent   bool // the search was given up
	permit  func(pool string, groups []int) bool
}

// whole returns places that make the job's minimum whole, or nil. pools are
// those to be tried; nil: the job's.
func (f *finder) whole(pools []string) []seat {
	if pools == nil {
		pools = f.job.Pools
	}
	if len(pools) == 0 {
		pools = []string{"default", "west"}
	}
	for _, pool := range pools {
		for _, groups := range f.choices() {
			if f.permit != nil && !f.permit(pool, groups) {
				continue
			}
			if out, ok := f.seats(pool, groups, nil); ok {
				return out
			}
		}
	}
	return nil
}

// choices are the ways to make the tree whole: of each, the groups of the tasks
// to be placed, one entry for each task.
func (f *finder) choices() [][]int {
	have := make([]int, len(f.job.Shape.Groups))
	for _, h := range f.held {
		have[h.Group]++
	}
	return ways(f.job, have, 0)
}

func ways(j *Job, have []int, set int) [][]int {
	type member struct{ ways [][]int }
	var open []member
	whole, members := 0, 0
	for s := range j.Shape.Sets {
		if s == 0 || j.Shape.Sets[s].Parent != set {
			continue
		}
		members++
		w := ways(j, have, s)
		if len(w) == 1 && len(w[0]) == 0 {
			whole++
		} else {
			open = append(open, member{w})
		}
	}
	for g := range j.Shape.Groups {
		grp := &j.Shape.Groups[g]
		if grp.Set != set {
			continue
		}
		members++
		short, wants := grp.Min-have[g], 0
		for _, r := range grp.Runs {
			wants += r.Count
		}
		switch {
		case short <= 0:
			whole++
		case wants < short:
			open = append(open, member{})
		default:
			open = append(open, member{[][]int{slices.Repeat([]int{g}, short)}})
		}
	}
	want := members
	if m := j.Shape.Sets[set].MinGroups; m > 0 {
		want = min(m, members)
	}
	lack := want - whole
	if lack <= 0 {
		return [][]int{{}}
	}
	var out [][]int
	var pick func(from, left int, sofar []int)
	pick = func(from, left int, sofar []int) {
		if left == 0 {
			out = append(out, slices.Clone(sofar))
			return
		}
		for i := from; i < len(open); i++ {
			for _, w := range open[i].ways {
				pick(i+1, left-1, slices.Concat(sofar, w))
			}
		}
	}
	pick(0, lack, nil)
	return out
}

// seats places one task of each listed group in the pool, by trying everything.
func (f *finder) seats(pool string, groups []int, sofar []seat) ([]seat, bool) {
	if len(groups) == len(sofar) {
		return slices.Clone(sofar), true
	}
	if f.budget--; f.budget < 0 {
		f.spent = true
		return nil, false
	}
	g := groups[len(sofar)]
	nth := 0
	for _, s := range sofar {
		if s.group == g {
			nth++
		}
	}
	var run *Run
	for i := range f.job.Shape.Groups[g].Runs {
		r := &f.job.Shape.Groups[g].Runs[i]
		if nth < r.Count {
			run = r
			break
		}
		nth -= r.Count
	}
	ids := make([]core.NodeID, 0, len(f.book.nodes))
	for id := range f.book.nodes {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	if f.shuffle != nil {
		f.shuffle.Shuffle(len(ids), func(a, b int) { ids[a], ids[b] = ids[b], ids[a] })
	}
	for _, id := range ids {
		x := f.book.nodes[id]
		if x.node.Pool != pool || !f.book.company(x.node, run.Rule) || !f.near(g, x.node, sofar) {
			continue
		}
		for _, p := range x.places(&run.Need, run.Rule) {
			x.add(&run.Need, run.Rule, &p, 1)
			out, ok := f.seats(pool, groups, append(sofar, seat{g, p}))
			if ok {
				if f.shuffle == nil {
					x.add(&run.Need, run.Rule, &p, -1)
				}
				return out, true
			}
			x.add(&run.Need, run.Rule, &p, -1)
			if f.spent {
				return nil, false
			}
		}
	}
	return nil, false
}

// company is the oracle's view of Near and Away.
func (b *book) company(n *Node, r *Rule) bool {
	if r == nil || r.Near == "" && r.Away == "" {
		return true
	}
	near, away, any := 0, 0, 0
	for _, x := range b.nodes {
		if x.node.Pool != n.Pool {
			continue
		}
		any += x.tags[r.Tags]
		if r.Near != "" && labelOf(x.node, r.Near) == labelOf(n, r.Near) {
			near += x.tags[r.Tags]
		}
		if r.Away != "" && labelOf(x.node, r.Away) == labelOf(n, r.Away) {
			away += x.tags[r.Tags]
		}
	}
	return away == 0 && (r.Near == "" || near > 0 || any == 0)
}

// near reports whether n is in the domains that the group's task must share
// with those of the job that have a place.
func (f *finder) near(g int, n *Node, sofar []seat) bool {
	sh := f.job.Shape
	others := map[int][]*Node{}
	for _, s := range sofar {
		others[s.group] = append(others[s.group], f.book.nodes[s.place.Node].node)
	}
	for _, h := range f.held {
		others[h.Group] = append(others[h.Group], f.book.nodes[h.Place.Node].node)
	}
	check := func(t *Topology, in func(int) bool) bool {
		if t == nil || t.Required == "" {
			return true
		}
		at, ok := domainOf(n, t.Levels, t.Required)
		if !ok {
			return false
		}
		for o, nodes := range others {
			for _, other := range nodes {
				if d, _ := domainOf(other, t.Levels, t.Required); in(o) && d != at {
					return false
				}
			}
		}
		return true
	}
	if !check(sh.Groups[g].Topology, func(o int) bool { return o == g }) {
		return false
	}
	for s := sh.Groups[g].Set; s >= 0; s = sh.Sets[s].Parent {
		if !check(sh.Sets[s].Topology, func(o int) bool { return within(sh, o, s) }) {
			return false
		}
	}
	return true
}

// within reports whether group g is in set, or in one below it.
func within(sh *Shape, g, set int) bool {
	for s := sh.Groups[g].Set; s >= 0; s = sh.Sets[s].Parent {
		if s == set {
			return true
		}
	}
	return false
}
