package schedule

import (
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
)

// dead is the room on a device that is not healthy.
const dead = -1

// site is a node with what is free on it.
type site struct {
	node *Node
	pool *pool
	part *subset // the sites of its backend, where the pool has several
	at   int32   // place among the sites of its pool, which are sorted by name
	fit  bool    // ready, within reach and not cordoned
	// now is what is free at once. soon is what will be when those have left who
	// were told to, less what is promised to others: what is promised is taken
	// from soon only, and nothing is taken now that is promised.
	now, soon view
	cap       int64 // devices, thousandths
	memory    int64 // of each device, bytes
	product   string
	mixed     bool           // devices of several products
	migs      []string       // what is counted by name: partitions, and whatever else there is
	slices    []int64        // what one of each of migs counts for, see core.SlicesOf
	parted    bool           // some of migs are partitions
	tags      map[string]int // tasks by their tags, for affinity
	legacy    int            // tasks here that keep partitions from being given
	holds     []*hold        // that are here, in no order
	seen      uint64         // when it was looked at last, see State.sight
	turn      uint32         // grows with every change
	windows   []int32        // that keep it, by their places
	debt      *view          // what is given beyond what there is; nil: nothing, or not known
}

// view is free room.
type view struct {
	cpu, mem int64
	pods     int64
	whole    int32 // devices that are wholly free
	sum      int64 // free thousandths of all devices
	dev      []int32
	mig      []int32
	parts    []int16 // by device: how many have a share of it, and not all
	guests   guests
}

func newSite(n *Node, p *pool) *site {
	s := &site{node: n, pool: p, fit: n.Ready && !n.Cordon && !n.CutOff}
	s.now = view{cpu: n.CPU - n.OtherCPU, mem: n.Memory - n.OtherMem, pods: int64(n.Pods), dev: make([]int32, len(n.Devices)), parts: make([]int16, len(n.Devices))}
	if n.Pods == 0 {
		s.now.pods = 1 << 40
	}
	for d := range n.Devices {
		dev := &n.Devices[d]
		if d == 0 {
			s.memory, s.product = dev.Memory, dev.Product
		}
		s.mixed = s.mixed || dev.Product != s.product
		if !dev.Healthy {
			s.now.dev[d] = dead
			continue
		}
		s.cap += 1000
		free := int32(1000)
		if d < len(n.OtherMilli) {
			free = max(free-int32(n.OtherMilli[d]), 0)
		}
		s.now.dev[d] = free
		s.now.sum += int64(free)
		if free == 1000 {
			s.now.whole++
		}
	}
	s.migs = sortedKeys(n.MIG)
	for _, name := range s.migs {
		s.now.mig = append(s.now.mig, int32(n.MIG[name]))
		s.slices = append(s.slices, core.SlicesOf(name))
		s.parted = s.parted || core.SlicesOf(name) > 0
	}
	s.soon = s.now
	s.soon.dev, s.soon.mig, s.soon.parts = slices.Clone(s.now.dev), slices.Clone(s.now.mig), make([]int16, len(n.Devices))
	return s
}

// milli is what a takes of each device here; more than 1000: it does not fit.
func (s *site) milli(a *ask) int32 {
	if a.need.Share == 0 {
		return int32(a.need.Milli)
	}
	if s.memory == 0 {
		return 1001
	}
	// Rounded down to a thousandth, so that n equal shares fit n times.
	return int32(min(max(a.need.Share*1000/s.memory, 1), 1001))
}

// fits reports whether one task of a has room, now or soon. Rules about labels
// and the like are not asked.
func (s *site) fits(a *ask, soon bool) bool {
	if !s.soon.fits(s, a) {
		return false
	}
	return soon || s.now.fits(s, a) && s.both(a)
}

func (v *view) fits(s *site, a *ask) bool {
	n := &a.need
	switch {
	case !s.fit || n.Never || n.CPU > 0 && v.cpu < n.CPU || n.Memory > 0 && v.mem < n.Memory || v.pods < 1:
		return false
	case a.migs != nil && !v.fitsMIG(s, a):
		return false
	case !v.guests.admits(a.alone()) || a.alone() != "" && s.foreign():
		return false
	case n.Devices == 0:
		return true
	}
	m := s.milli(a)
	if m >= 1000 && (int(v.whole) < n.Devices || n.Type == "" || !s.mixed) {
		return m == 1000 && int(v.whole) >= n.Devices && typed(s.product, n.Type)
	}
	return v.count(s, a, m) >= n.Devices
}

// both reports whether the same devices are free in both views. That whole
// devices are free in each is not enough where some are promised.
func (s *site) both(a *ask) bool {
	n := &a.need
	if n.Devices == 0 || s.now.sum == s.soon.sum && s.now.whole == s.soon.whole && s.pool.moving == 0 {
		return true
	}
	m, k := s.milli(a), 0
	for d := range s.now.dev {
		if min(s.now.dev[d], s.soon.dev[d]) >= m && s.is(d, n.Type) {
			k++
		}
	}
	return k >= n.Devices
}

func (v *view) fitsMIG(s *site, a *ask) bool {
	if s.legacy > 0 && a.slices > 0 {
		return false
	}
	for _, w := range a.migs {
		i := slices.Index(s.migs, w.name)
		if i < 0 || v.mig[i] < w.count {
			return false
		}
	}
	return true
}

// count is how many devices have m free.
func (v *view) count(s *site, a *ask, m int32) int {
	k := 0
	for d := range v.dev {
		if v.dev[d] >= m && s.is(d, a.need.Type) {
			k++
		}
	}
	return k
}

// room is how many tasks of a have room at once, at most limit.
func (s *site) room(a *ask, limit int) int {
	if !s.soon.fits(s, a) {
		return 0
	}
	n, v, k := &a.need, &s.soon, int64(limit)
	k = min(k, v.pods)
	if a.alone() == AloneEach {
		k = min(k, 1)
	}
	if n.CPU > 0 {
		k = min(k, v.cpu/n.CPU)
	}
	if n.Memory > 0 {
		k = min(k, v.mem/n.Memory)
	}
	for _, w := range a.migs {
		k = min(k, int64(v.mig[slices.Index(s.migs, w.name)]/w.count))
	}
	if n.Devices > 0 {
		k = min(k, s.roomDevices(a))
	}
	return int(k)
}

func (s *site) roomDevices(a *ask) int64 {
	n, v, m := &a.need, &s.soon, s.milli(a)
	if m == 1000 && !s.mixed {
		return int64(v.whole) / int64(n.Devices)
	}
	// With several devices for each task: a task takes m of n different ones, so
	// a device serves each task once at most.
	per := make([]int64, 0, 16)
	var sum int64
	for d := range v.dev {
		if v.dev[d] >= m && s.is(d, n.Type) {
			per = append(per, int64(v.dev[d]/m))
			sum += int64(v.dev[d] / m)
		}
	}
	if n.Devices == 1 {
		return sum
	}
	for k := sum / int64(n.Devices); k > 0; k-- {
		var have int64
		for _, c := range per {
			have += min(c, k)
		}
		if have >= k*int64(n.Devices) {
			return k
		}
	}
	return 0
}

func (s *site) is(d int, want string) bool {
	if !s.mixed {
		return typed(s.product, want)
	}
	return typed(s.node.Devices[d].Product, want)
}

// typed reports whether a device's product is of the wanted type.
func typed(product, want string) bool {
	return want == "" || product == want || strings.Contains(strings.ToLower(product), strings.ToLower(want))
}

// choose returns the devices that a task of a gets, with pack the fullest that
// have room first. What is free now comes before what will be. Of a share of
// several devices each it takes the emptiest where the fullest would leave room
// for fewer of its kind than need be.
func (s *site) choose(a *ask, pack, soon bool) []int32 {
	out := s.pick(a, pack, soon)
	if m := s.milli(a); !pack || a.need.Devices < 2 || m >= 1000 || out == nil {
		return out
	}
	before := s.roomDevices(a)
	s.shift(out, -s.milli(a))
	after := s.roomDevices(a)
	s.shift(out, s.milli(a))
	if after < before-1 {
		return s.pick(a, false, soon)
	}
	return out
}

func (s *site) shift(devs []int32, by int32) {
	for _, d := range devs {
		s.soon.dev[d] += by
	}
}

func (s *site) pick(a *ask, pack, soon bool) []int32 {
	n := a.need.Devices
	if n == 0 {
		return nil
	}
	m := s.milli(a)
	out := make([]int32, 0, n)
	for len(out) < n {
		best := int32(-1)
		var bestFree int32
		for d := range s.soon.dev {
			free, ready := s.soon.dev[d], s.now.dev[d] >= m
			if free < m || !soon && !ready || !s.is(d, a.need.Type) || slices.Contains(out, int32(d)) {
				continue
			}
			if !pack {
				free = 1000 - free
			}
			if !ready {
				free += 4000 // after all that are free now
			}
			if best < 0 || free < bestFree {
				best, bestFree = int32(d), free
			}
		}
		if best < 0 {
			return nil
		}
		out = append(out, best)
	}
	return out
}

// take and give move what a hold takes out of a view, or back into it.
func (v *view) move(h *hold, sign int64) {
	n := &h.ask.need
	v.cpu += sign * h.cpu
	v.mem += sign * h.mem
	v.pods += sign
	v.guests.move(h, sign)
	for _, d := range h.devs {
		was := v.dev[d]
		if h.milli < 1000 {
			v.parts[d] -= int16(sign)
		}
		v.dev[d] += int32(sign) * h.milli
		v.sum += int64(max(v.dev[d], 0) - max(was, 0)) // of what is given twice or broken, nothing
		if was == 1000 {
			v.whole--
		} else if v.dev[d] == 1000 {
			v.whole++
		}
	}
	if n.MIG != "" {
		for _, w := range h.ask.migs {
			if i := slices.Index(h.site.migs, w.name); i >= 0 {
				v.mig[i] += int32(sign) * w.count
			}
		}
	}
}

// move moves what a hold takes out of what will be free, or back into it.
func (s *site) move(h *hold, sign int64) {
	was := s.soon.left()
	s.soon.move(h, sign)
	if s.fit {
		s.pool.free = s.pool.free.Add(s.soon.left()).Sub(was)
		s.pool.free[quota.GPU] += sign * h.ask.slices
	}
}

// left is what is free, partitions aside. Where more is given than there is,
// nothing is.
func (v *view) left() quota.Amounts {
	return quota.Amounts{quota.GPU: v.sum, quota.CPU: max(v.cpu, 0), quota.Memory: max(v.mem, 0)}
}

// free is what will be free here.
func (s *site) free() quota.Amounts {
	f := s.soon.left()
	for i := range s.soon.mig {
		f[quota.GPU] += int64(s.soon.mig[i]) * s.slices[i]
	}
	return f
}

// place is h's room as the caller knows it.
func (h *hold) place() Place {
	p := Place{Node: h.site.node.ID, CPU: h.cpu, Memory: h.mem, MIG: h.ask.need.MIG}
	for _, d := range h.devs {
		dev := &h.site.node.Devices[d]
		p.Devices = append(p.Devices, core.Share{Device: dev.ID, Index: dev.Index, Milli: int(h.milli)})
	}
	return p
}

// mostNews is how many changes of sites a pool remembers at least.
const mostNews = 1024

// note tells those who remember something of s that it has changed.
func (p *pool) note(s *site) {
	if !p.watched {
		return
	}
	if n := len(p.news); n > p.read && p.news[n-1] == s {
		return
	}
	if gone := len(p.news) - mostNews; gone == 3*mostNews {
		p.first += uint64(gone)
		p.news, p.read = append(p.news[:0], p.news[gone:]...), max(p.read-gone, 0)
	}
	p.news = append(p.news, s)
}

// leave takes a hold off the list of those on its site.
func (s *site) leave(h *hold) {
	if i := slices.Index(s.holds, h); i >= 0 {
		last := len(s.holds) - 1
		s.holds[i] = s.holds[last]
		s.holds[last] = nil
		s.holds = s.holds[:last]
	}
}
