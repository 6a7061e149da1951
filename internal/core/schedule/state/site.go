package state

import (
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
)

// dead is the room on a device that is not healthy.
const dead = -1

// Site is a node with what is free on it.
type Site struct {
	Node *schedule.Node
	Pool *Pool
	part *Subset // the sites of its backend, where the pool has several
	At   int32   // place among the sites of its pool, which are sorted by name
	Fit  bool    // ready, within reach and not cordoned
	// now is what is free at once. soon is what will be when those have left who
	// were told to, less what is promised to others: what is promised is taken
	// from soon only, and nothing is taken now that is promised.
	Now, Soon View
	cap       int64 // devices, thousandths
	memory    int64 // of each device, bytes
	product   string
	mixed     bool           // devices of several products
	Migs      []string       // what is counted by name: partitions, and whatever else there is
	slices    []int64        // what one of each of migs counts for, see core.SlicesOf
	parted    bool           // some of migs are partitions
	Tags      map[string]int // tasks by their tags, for affinity
	Legacy    int            // tasks here that keep partitions from being given
	Holds     []*Hold        // that are here, in no order
	Seen      uint64         // when it was looked at last, see State.sight
	turn      uint32         // grows with every change
	windows   []int32        // that keep it, by their places
	debt      *View          // what is given beyond what there is; nil: nothing, or not known
}

// View is free room.
type View struct {
	Cpu, Mem int64
	Pods     int64
	whole    int32 // devices that are wholly free
	Sum      int64 // free thousandths of all devices
	Dev      []int32
	Mig      []int32
	parts    []int16 // by device: how many have a share of it, and not all
	Guests   guests
}

func NewSite(n *schedule.Node, p *Pool) *Site {
	s := &Site{Node: n, Pool: p, Fit: n.Ready && !n.Cordon && !n.CutOff}
	s.Now = View{Cpu: n.CPU - n.OtherCPU, Mem: n.Memory - n.OtherMem, Pods: int64(n.Pods), Dev: make([]int32, len(n.Devices)), parts: make([]int16, len(n.Devices))}
	if n.Pods == 0 {
		s.Now.Pods = 1 << 40
	}
	for d := range n.Devices {
		dev := &n.Devices[d]
		if d == 0 {
			s.memory, s.product = dev.Memory, dev.Product
		}
		s.mixed = s.mixed || dev.Product != s.product
		if !dev.Healthy {
			s.Now.Dev[d] = dead
			continue
		}
		s.cap += 1000
		free := int32(1000)
		if d < len(n.OtherMilli) {
			free = max(free-int32(n.OtherMilli[d]), 0)
		}
		s.Now.Dev[d] = free
		s.Now.Sum += int64(free)
		if free == 1000 {
			s.Now.whole++
		}
	}
	s.Migs = SortedKeys(n.MIG)
	for _, name := range s.Migs {
		s.Now.Mig = append(s.Now.Mig, int32(n.MIG[name]))
		s.slices = append(s.slices, core.SlicesOf(name))
		s.parted = s.parted || core.SlicesOf(name) > 0
	}
	s.Soon = s.Now
	s.Soon.Dev, s.Soon.Mig, s.Soon.parts = slices.Clone(s.Now.Dev), slices.Clone(s.Now.Mig), make([]int16, len(n.Devices))
	return s
}

// Milli is what a takes of each device here; more than 1000: it does not fit.
func (s *Site) Milli(a *Ask) int32 {
	if a.Need.Share == 0 {
		return int32(a.Need.Milli)
	}
	if s.memory == 0 {
		return 1001
	}
	// Rounded down to a thousandth, so that n equal shares fit n times.
	return int32(min(max(a.Need.Share*1000/s.memory, 1), 1001))
}

// Fits reports whether one task of a has room, now or soon. Rules about labels
// and the like are not asked.
func (s *Site) Fits(a *Ask, soon bool) bool {
	if !s.Soon.Fits(s, a) {
		return false
	}
	return soon || s.Now.Fits(s, a) && s.both(a)
}

func (v *View) Fits(s *Site, a *Ask) bool {
	n := &a.Need
	switch {
	case !s.Fit || n.Never || n.CPU > 0 && v.Cpu < n.CPU || n.Memory > 0 && v.Mem < n.Memory || v.Pods < 1:
		return false
	case a.Migs != nil && !v.fitsMIG(s, a):
		return false
	case !v.Guests.Admits(a.Alone()) || a.Alone() != "" && s.Foreign():
		return false
	case n.Devices == 0:
		return true
	}
	m := s.Milli(a)
	if m >= 1000 && (int(v.whole) < n.Devices || n.Type == "" || !s.mixed) {
		return m == 1000 && int(v.whole) >= n.Devices && Typed(s.product, n.Type)
	}
	return v.count(s, a, m) >= n.Devices
}

// both reports whether the same devices are free in both views. That whole
// devices are free in each is not enough where some are promised.
func (s *Site) both(a *Ask) bool {
	n := &a.Need
	if n.Devices == 0 || s.Now.Sum == s.Soon.Sum && s.Now.whole == s.Soon.whole && s.Pool.Moving == 0 {
		return true
	}
	m, k := s.Milli(a), 0
	for d := range s.Now.Dev {
		if min(s.Now.Dev[d], s.Soon.Dev[d]) >= m && s.Is(d, n.Type) {
			k++
		}
	}
	return k >= n.Devices
}

func (v *View) fitsMIG(s *Site, a *Ask) bool {
	if s.Legacy > 0 && a.Slices > 0 {
		return false
	}
	for _, w := range a.Migs {
		i := slices.Index(s.Migs, w.Name)
		if i < 0 || v.Mig[i] < w.Count {
			return false
		}
	}
	return true
}

// count is how many devices have m free.
func (v *View) count(s *Site, a *Ask, m int32) int {
	k := 0
	for d := range v.Dev {
		if v.Dev[d] >= m && s.Is(d, a.Need.Type) {
			k++
		}
	}
	return k
}

// Room is how many tasks of a have room at once, at most limit.
func (s *Site) Room(a *Ask, limit int) int {
	if !s.Soon.Fits(s, a) {
		return 0
	}
	n, v, k := &a.Need, &s.Soon, int64(limit)
	k = min(k, v.Pods)
	if a.Alone() == AloneEach {
		k = min(k, 1)
	}
	if n.CPU > 0 {
		k = min(k, v.Cpu/n.CPU)
	}
	if n.Memory > 0 {
		k = min(k, v.Mem/n.Memory)
	}
	for _, w := range a.Migs {
		k = min(k, int64(v.Mig[slices.Index(s.Migs, w.Name)]/w.Count))
	}
	if n.Devices > 0 {
		k = min(k, s.roomDevices(a))
	}
	return int(k)
}

func (s *Site) roomDevices(a *Ask) int64 {
	n, v, m := &a.Need, &s.Soon, s.Milli(a)
	if m == 1000 && !s.mixed {
		return int64(v.whole) / int64(n.Devices)
	}
	// With several devices for each task: a task takes m of n different ones, so
	// a device serves each task once at most.
	per := make([]int64, 0, 16)
	var sum int64
	for d := range v.Dev {
		if v.Dev[d] >= m && s.Is(d, n.Type) {
			per = append(per, int64(v.Dev[d]/m))
			sum += int64(v.Dev[d] / m)
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

func (s *Site) Is(d int, want string) bool {
	if !s.mixed {
		return Typed(s.product, want)
	}
	return Typed(s.Node.Devices[d].Product, want)
}

// Typed reports whether a device's product is of the wanted type.
func Typed(product, want string) bool {
	return want == "" || product == want || strings.Contains(strings.ToLower(product), strings.ToLower(want))
}

// choose returns the devices that a task of a gets, with pack the fullest that
// have room first. What is free now comes before what will be. Of a share of
// several devices each it takes the emptiest where the fullest would leave room
// for fewer of its kind than need be.
func (s *Site) choose(a *Ask, pack, soon bool) []int32 {
	out := s.pick(a, pack, soon)
	if m := s.Milli(a); !pack || a.Need.Devices < 2 || m >= 1000 || out == nil {
		return out
	}
	before := s.roomDevices(a)
	s.shift(out, -s.Milli(a))
	after := s.roomDevices(a)
	s.shift(out, s.Milli(a))
	if after < before-1 {
		return s.pick(a, false, soon)
	}
	return out
}

func (s *Site) shift(devs []int32, by int32) {
	for _, d := range devs {
		s.Soon.Dev[d] += by
	}
}

func (s *Site) pick(a *Ask, pack, soon bool) []int32 {
	n := a.Need.Devices
	if n == 0 {
		return nil
	}
	m := s.Milli(a)
	out := make([]int32, 0, n)
	for len(out) < n {
		best := int32(-1)
		var bestFree int32
		for d := range s.Soon.Dev {
			free, ready := s.Soon.Dev[d], s.Now.Dev[d] >= m
			if free < m || !soon && !ready || !s.Is(d, a.Need.Type) || slices.Contains(out, int32(d)) {
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
func (v *View) Move(h *Hold, sign int64) {
	n := &h.Ask.Need
	v.Cpu += sign * h.cpu
	v.Mem += sign * h.mem
	v.Pods += sign
	v.Guests.move(h, sign)
	for _, d := range h.Devs {
		was := v.Dev[d]
		if h.Milli < 1000 {
			v.parts[d] -= int16(sign)
		}
		v.Dev[d] += int32(sign) * h.Milli
		v.Sum += int64(max(v.Dev[d], 0) - max(was, 0)) // of what is given twice or broken, nothing
		if was == 1000 {
			v.whole--
		} else if v.Dev[d] == 1000 {
			v.whole++
		}
	}
	if n.MIG != "" {
		for _, w := range h.Ask.Migs {
			if i := slices.Index(h.Site.Migs, w.Name); i >= 0 {
				v.Mig[i] += int32(sign) * w.Count
			}
		}
	}
}

// move moves what a hold takes out of what will be free, or back into it.
func (s *Site) move(h *Hold, sign int64) {
	was := s.Soon.left()
	s.Soon.Move(h, sign)
	if s.Fit {
		s.Pool.Free = s.Pool.Free.Add(s.Soon.left()).Sub(was)
		s.Pool.Free[quota.GPU] += sign * h.Ask.Slices
	}
}

// left is what is free, partitions aside. Where more is given than there is,
// nothing is.
func (v *View) left() quota.Amounts {
	return quota.Amounts{quota.GPU: v.Sum, quota.CPU: max(v.Cpu, 0), quota.Memory: max(v.Mem, 0)}
}

// free is what will be free here.
func (s *Site) free() quota.Amounts {
	f := s.Soon.left()
	for i := range s.Soon.Mig {
		f[quota.GPU] += int64(s.Soon.Mig[i]) * s.slices[i]
	}
	return f
}

// Place is h's room as the caller knows it.
func (h *Hold) Place() schedule.Place {
	p := schedule.Place{Node: h.Site.Node.ID, CPU: h.cpu, Memory: h.mem, MIG: h.Ask.Need.MIG}
	for _, d := range h.Devs {
		dev := &h.Site.Node.Devices[d]
		p.Devices = append(p.Devices, core.Share{Device: dev.ID, Index: dev.Index, Milli: int(h.Milli)})
	}
	return p
}

// MostNews is how many changes of sites a pool remembers at least.
const MostNews = 1024

// Note tells those who remember something of s that it has changed.
func (p *Pool) Note(s *Site) {
	if !p.Watched {
		return
	}
	if n := len(p.News); n > p.Read && p.News[n-1] == s {
		return
	}
	if gone := len(p.News) - MostNews; gone == 3*MostNews {
		p.First += uint64(gone)
		p.News, p.Read = append(p.News[:0], p.News[gone:]...), max(p.Read-gone, 0)
	}
	p.News = append(p.News, s)
}

// leave takes a hold off the list of those on its site.
func (s *Site) leave(h *Hold) {
	if i := slices.Index(s.Holds, h); i >= 0 {
		last := len(s.Holds) - 1
		s.Holds[i] = s.Holds[last]
		s.Holds[last] = nil
		s.Holds = s.Holds[:last]
	}
}
