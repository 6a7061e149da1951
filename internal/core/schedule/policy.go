package schedule

import (
	"cmp"
	"time"
)

// Policy is how a whole server schedules: how its cycles plan, how it uses its
// pools, and what the course of a workload means for its turn. NewPolicy makes
// it, and nothing else makes a Config or a Pool: what a server does, what is
// simulated and what is measured are one and the same.
type Policy struct {
	Config
	// First is how long anyone waits before those leave who have had the most, if
	// nothing else helps, and Again how long one waits that had to leave; negative:
	// for ever.
	First, Again time.Duration
	// Passing is how many times its expected length later than it was submitted a
	// job stands in line, among those of its queue and priority; 0: all stand in
	// the order of their submission.
	Passing int
	// Reserve is how many gangs of each pool that do not fit are given a time to
	// start, of whose way others keep out.
	Reserve int
	// MinRuntime is for how long nobody is displaced after a start in a pool that
	// says nothing of it.
	MinRuntime time.Duration

	made bool
}

// Option is something in which a policy differs from the usual one.
type Option func(*Policy)

// NewPolicy is the policy of a server that is told nothing else, but for the
// options: a gang may be below its minimum for a minute, a consolidation moves 16
// tasks at most, none within ten minutes of its start, nobody who has run for less
// than an hour makes room for those who have waited too long, and in a queue the
// shorter goes first of what was submitted within ten times its length.
func NewPolicy(options ...Option) Policy {
	p := Policy{
		Config: Config{StaleGrace: time.Minute.Milliseconds(), MaxMoves: 16, MoveRest: (10 * time.Minute).Milliseconds(), Quantum: time.Hour.Milliseconds()},
		First:  12 * time.Hour, Again: 96 * time.Hour,
		Passing: 10,
		Reserve: 4,
		made:    true,
	}
	for _, o := range options {
		o(&p)
	}
	return p
}

// Simple is the policy less all that makes somebody leave or gives a time: only
// what fits is placed.
func (p *Policy) Simple() Policy {
	q := *p
	q.Actions, q.Quantum, q.Reserve = []Action{Allocate}, 0, 0
	return q
}

// Made reports whether NewPolicy has made the policy.
func (p *Policy) Made() bool { return p.made }

// PastWeight is how much past use counts in fair shares; 0: not at all.
func PastWeight(k float64) Option { return func(p *Policy) { p.K = k } }

// MoveRest is how long work has run at least before it is moved for others' sake.
func MoveRest(d time.Duration) Option { return func(p *Policy) { p.MoveRest = d.Milliseconds() } }

// MaxMoves is how many running tasks one consolidation may move; 0: none,
// negative: any number.
func MaxMoves(n int) Option { return func(p *Policy) { p.MaxMoves = n } }

// Patience is how long anyone waits before those leave who have had the most: of
// what has not run yet, of what had to leave before, and what everyone has at
// least before that. 0 is what is usual, a negative length has no end.
func Patience(first, again, quantum time.Duration) Option {
	return func(p *Policy) {
		p.First, p.Again = cmp.Or(first, p.First), cmp.Or(again, p.Again)
		if quantum > 0 {
			p.Quantum = quantum.Milliseconds()
		}
	}
}

// InOrder keeps those of one queue and priority in the order of their submission,
// however long they probably take.
func InOrder() Option { return func(p *Policy) { p.Passing = 0 } }

// NoPatience lets everyone wait for as long as it takes.
func NoPatience() Option { return func(p *Policy) { p.Quantum = 0 } }

// MinRuntime is for how long nobody is displaced after a start in a pool that
// says nothing of it.
func MinRuntime(d time.Duration) Option { return func(p *Policy) { p.MinRuntime = d } }

// Bookings is how many gangs of each pool are given a time to start.
func Bookings(n int) Option { return func(p *Policy) { p.Reserve = n } }

// StaleGrace is for how long a gang may be below its minimum; negative: for ever.
func StaleGrace(d time.Duration) Option { return func(p *Policy) { p.StaleGrace = d.Milliseconds() } }

// Only has cycles do these actions, in their order, and no others.
func Only(actions ...Action) Option { return func(p *Policy) { p.Actions = actions } }

// KeepLent does not take back what a project holds above its due.
func KeepLent() Option { return Only(Allocate, Consolidate, Preempt, StaleGang) }

// Without switches parts off, for data that were made without them.
func Without(parts ...Part) Option {
	return func(p *Policy) {
		for _, x := range parts {
			*x.of(&p.Config) = true
		}
	}
}

// Part is something that a cycle goes by and can do without.
type Part int

// The parts that Without switches off.
const (
	Quotas       Part = iota // quotas, limits and fair shares
	Availability             // preference for nodes that are free now
	Sharing                  // preference for devices that are shared already
	Elastic                  // order by minimum of gangs
	Priority                 // order by priority
	Filters                  // node labels, taints, MIG strategy
	Runtime                  // protection of what has just started
)

func (x Part) of(c *Config) *bool {
	return []*bool{&c.NoQuota, &c.NoAvailability, &c.NoSharing, &c.NoElastic, &c.NoPriority, &c.NoFilters, &c.NoRuntime}[x]
}

// Pool is how the policy uses a pool of that name, with strategies for tasks with
// GPUs and without; a least run time of 0 is the policy's own.
func (p *Policy) Pool(name string, gpu, cpu Strategy, least time.Duration) Pool {
	devices := BinPack
	if gpu == Spread { // also over the devices of a node
		devices = Spread
	}
	return Pool{Name: name, GPU: gpu, CPU: cpu, Devices: devices, MinRuntime: cmp.Or(least, p.MinRuntime).Milliseconds(), Reserve: p.Reserve}
}

// Course is what has become of a workload so far.
type Course struct {
	Submitted int64 // unix ms
	Queued    int64 // unix ms since when it waits, or waited before its start; 0: unknown
	Attained  int64 // ms that it has had in earlier attempts
	Displaced bool  // its last attempt ended because it had to leave for others
	Times     int   // how many have ended so
	Unsaved   bool  // it is not known to make checkpoints
	Expected  int64 // ms that it probably still takes, once it runs; 0: unknown
}

// starved is how many times as long as anyone waits a job may wait for those who
// have had less than it probably takes.
const starved = 20

// leastPatience is how long anyone waits at least before others leave for that.
const leastPatience = 10 * time.Minute

// Take gives a job its turn: what its course means for it. In line it stands as if
// it had been submitted later by several times what it probably takes: the short
// pass the long, and nobody is passed by what comes more than so much later. It
// waits for as long as it probably takes, but no longer than anyone, before others
// leave for it.
func (p *Policy) Take(j *Job, c Course) {
	j.Attained, j.Due, j.Since, j.Unsaved, j.Expected, j.Displaced, j.Turn = c.Attained, 0, c.Queued, c.Unsaved, c.Expected, c.Times, 0
	if p.Passing > 0 {
		j.Turn = c.Submitted + int64(p.Passing)*c.Expected
	}
	wait := p.First
	if c.Displaced {
		wait = p.Again
	}
	if own := max(time.Duration(c.Expected)*time.Millisecond, leastPatience); c.Expected > 0 && wait > 0 {
		wait = min(wait, own)
	}
	j.Starved = 0
	if c.Queued != 0 && wait > 0 && p.Quantum > 0 {
		j.Due = c.Queued + wait.Milliseconds()
		j.Starved = c.Queued + starved*p.First.Milliseconds()
	}
}
