package ledger

import (
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
)

// split makes the parts of a pool, one for each backend, if there are several. A
// gang never spans two: its tasks could not reach one another, and nobody could
// start them together.
func (p *Pool) split() {
	p.Parts = nil
	byBackend := map[string]*Subset{}
	for _, s := range p.Sites {
		part := byBackend[s.Node.Backend]
		if part == nil {
			part = &Subset{Pool: p, Ranks: map[*Ask]*Ranking{}}
			byBackend[s.Node.Backend] = part
		}
		part.Sites = append(part.Sites, s)
		s.part = part
	}
	if len(byBackend) < 2 {
		for _, s := range p.Sites {
			s.part = nil
		}
		return
	}
	for _, name := range SortedKeys(byBackend) {
		p.Parts = append(p.Parts, byBackend[name])
	}
}

// PartsFor are the parts of p that j may use.
func (p *Pool) PartsFor(j *Job) []*Subset {
	if len(p.Parts) == 0 {
		return []*Subset{p.Whole}
	}
	for _, h := range j.Holds {
		if h.Site.Pool == p && h.Site.part != nil {
			return []*Subset{h.Site.part}
		}
	}
	return p.Parts
}

// Reshaped forgets what depends on the set of sites.
func (p *Pool) Reshaped() {
	p.Dirty = false
	p.Shape++
	p.Unfair = true
	was := p.memory
	p.Total, p.memory, p.Free = quota.Amounts{}, 0, quota.Amounts{}
	for i, s := range p.Sites {
		s.At = int32(i)
		if !s.Fit {
			continue
		}
		p.Total[quota.GPU] += s.cap
		for m, name := range s.Migs {
			p.Total[quota.GPU] += s.slices[m] * int64(s.Node.MIG[name])
		}
		p.Free = p.Free.Add(s.free())
		p.Total[quota.CPU] += s.Node.CPU
		p.Total[quota.Memory] += s.Node.Memory
		if s.memory > 0 && (p.memory == 0 || s.memory < p.memory) {
			p.memory = s.memory
		}
	}
	if p.memory != was {
		p.Remade = true
	}
	clear(p.Trees)
	p.Whole.Sites = p.Sites
	p.Whole.Forget()
	p.Forecasts = nil
	p.split()
}

// Outdate tells the forecasts of the pool that a site is not as it was.
func (p *Pool) Outdate(s *Site) {
	if len(p.Forecasts) == 0 {
		return
	}
	if p.outdated = append(p.outdated, s); len(p.outdated) > 2*len(p.Sites)+1024 {
		p.outdatedBase += len(p.outdated)
		p.outdated = p.outdated[:0]
	}
}

// Pool is the sites of one pool, and what each queue has there.
type Pool struct {
	schedule.Pool
	Sites       []*Site // sorted by node ID
	Total       quota.Amounts
	Free        quota.Amounts // soon, on all sites that are fit
	memory      int64         // of the smallest device
	Moving      int           // holds that leave or are promised
	Leaving     []*Hold
	Q           []Account // by queue index
	Withholders []int32   // queues that do not lend all of their quota, children first
	Spare       []quota.Amounts
	Whole       *Subset
	Parts       []*Subset // one for each backend, where there are several
	Trees       map[string]*Domains
	Dirty       bool   // sites came or went
	Shape       uint64 // grows when they did, or the pool is used in another way
	Remade      bool   // what it counts for has changed
	Unfair      bool   // what its queues are due may be otherwise than it was
	Watched     bool   // somebody remembers something of its sites
	News        News
	// What bookings go by: when there will be room, and the sites that have
	// changed since. outdatedBase is how many were dropped from the front.
	Forecasts    map[*Ask]*forecast
	outdated     []*Site
	outdatedBase int
}

// Forget makes all rankings anew.
func (p *Pool) Forget() {
	p.Forecasts = nil
	p.Whole.Forget()
	for _, part := range p.Parts {
		part.Forget()
	}
}

// Amount is what one task of a counts for in a pool's quotas before it has a
// place.
func (p *Pool) Amount(a *Ask) quota.Amounts {
	n := &a.Need
	milli := int64(n.Milli)
	if n.GPUMemory > 0 && p.memory > 0 {
		milli = max(n.GPUMemory*1000/p.memory, 1)
	}
	return quota.Amounts{quota.GPU: int64(n.Devices)*milli + a.Slices, quota.CPU: n.CPU, quota.Memory: n.Memory}
}

// Domains is the tree of a pool's sites by ordered labels.
type Domains struct {
	Levels []string
	Of     []map[*Site]string // per level, the path to the site's domain
	Sites  []map[string][]*Site
	Paths  [][]string // per level, the domains
	At     [][]int32  // per level and site (by its place in the pool), its domain's place in paths; negative: none
}

// forecast is how many tasks of one ask will have room in a pool, and from when,
// if nobody comes and all end whose end is known. It is kept between cycles: of
// what has changed only the sites are looked at again.
type forecast struct {
	ask   *Ask
	steps steps    // in order of time
	of    [][]step // by the place of a site in the pool
	total int      // of all steps
	seen  int      // how many of the sites that are outdated it has seen
	ops   uint64   // of the state's journal, when it was last brought up to date
	trial []*Site  // that were looked at while the journal had to do with them
	marks []uint64 // by site: in which round it was last looked at
	round uint64
}

// step is room for so many tasks more on a site, from an instant on (unix ms; 0:
// at once). One without room marks an expected end after which all has to be
// looked at again: it was only likely.
type step struct {
	at   int64
	site int32
	room int32
}

// steps are the steps of all sites, in order of time, some hundred together, so
// that one more or less moves only those it is with.
type steps struct {
	chunks []chunk
	len    int
}

// chunk is steps that follow one another, with the room of all of them.
type chunk struct {
	list []step
	room int
}

// News are the sites that have changed, the last ones, for those who remember
// something of them.
type News struct {
	sites []*Site
	read  int    // how many of them somebody has seen
	first uint64 // how many there were before them
}
