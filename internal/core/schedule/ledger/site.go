package ledger

import (
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/spec"
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
	Summed    uint64         // when sum was begun, likewise
	Sum       int64          // of devices, thousandths: what is free, and what those have who were looked at
	turn      uint32         // grows with every change
	Windows   []int32        // that keep it, by their places
	Debt      *View          // what is given beyond what there is; nil: nothing, or not known
}

// NewSite is a node of a pool with nothing of ours on it.
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
		s.mixed = s.mixed || dev.Product != s.product || dev.Memory != s.memory
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
	if a.Need.GPUMemory == 0 {
		return int32(a.Need.Milli)
	}
	if s.memory == 0 {
		return 1001
	}
	// Rounded down to a thousandth, so that n equal shares fit n times.
	return int32(min(max(a.Need.GPUMemory*1000/s.memory, 1), 1001))
}

// Fits reports whether one task of a has room, now or soon. Rules about labels
// and the like are not asked.
func (s *Site) Fits(a *Ask, soon bool) bool {
	if !s.Soon.Fits(s, a) {
		return false
	}
	return soon || s.Now.Fits(s, a) && s.both(a)
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

// Parted reports whether there may be partitions of devices.
func (s *Site) Parted() bool { return s.parted }

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

// Is reports whether a device of s is of the wanted type.
func (s *Site) Is(d int, want string) bool {
	if !s.mixed {
		return spec.OfType(s.product, s.memory, want)
	}
	dev := &s.Node.Devices[d]
	return spec.OfType(dev.Product, dev.Memory, want)
}

// Move moves what a hold takes out of what will be free, or back into it.
func (s *Site) Move(h *Hold, sign int64) {
	was := s.Soon.left()
	s.Soon.Move(h, sign)
	if s.Fit {
		s.Pool.Free = s.Pool.Free.Add(s.Soon.left()).Sub(was)
		s.Pool.Free[quota.GPU] += sign * h.Ask.Slices
	}
}

// free is what will be free here.
func (s *Site) free() quota.Amounts {
	f := s.Soon.left()
	for i := range s.Soon.Mig {
		f[quota.GPU] += int64(s.Soon.Mig[i]) * s.slices[i]
	}
	return f
}

// Leave takes a hold off the list of those on its site.
func (s *Site) Leave(h *Hold) {
	if i := slices.Index(s.Holds, h); i >= 0 {
		last := len(s.Holds) - 1
		s.Holds[i] = s.Holds[last]
		s.Holds[last] = nil
		s.Holds = s.Holds[:last]
	}
}

// Tag counts a hold by what others say of its company (sign 1), or not any more
// (-1).
func (s *Site) Tag(h *Hold, sign int) {
	if h.Ask.Need.Never {
		s.Legacy += sign
	}
	if h.Ask.Rule == nil || h.Ask.Rule.Tags == "" {
		return
	}
	if s.Tags == nil {
		s.Tags = map[string]int{}
	}
	s.Tags[h.Ask.Rule.Tags] += sign
}

// Changed tells the rankings of the site's pool that it is not as it was.
func (s *Site) Changed() {
	s.turn++
	s.Pool.Whole.Changed(s)
	if s.part != nil {
		s.part.Changed(s)
	}
}

// Owe notes what the site has given beyond what it has: a device has failed
// under its task, or others came. Whoever is there may go on being there.
func (s *Site) Owe() {
	v := &s.Soon
	if s.Debt != nil || v.Cpu >= 0 && v.Mem >= 0 && v.Pods >= 0 && !slices.ContainsFunc(v.Dev, negative) && !slices.ContainsFunc(v.Mig, negative) {
		return
	}
	d := *v
	d.Dev, d.Mig = slices.Clone(v.Dev), slices.Clone(v.Mig)
	s.Debt = &d
}

func negative(n int32) bool { return n < 0 }
