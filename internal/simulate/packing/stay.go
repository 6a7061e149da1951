package packing

import (
	"container/heap"
	"context"
	"math"
	"math/rand/v2"
	"slices"
)

// churn is one run.
type churn struct {
	tr      *Trace
	cfg     ChurnConfig
	frag    *fragments
	books   *Cluster
	placer  Placer
	learner Learner
	out     ChurnRun

	now      float64
	running  departures
	classes  []line // what waits, by class
	waiting  int
	stuck    []bool // classes that the policy said no to at this departure
	order    int
	measured bool    // between warming up and the last arrival
	from     float64 // since when it is measured
	waits    [3]tally
	probes   int
}

// line is the tasks of one class that wait, oldest first.
type line struct {
	head int
	all  []visit
}

// visit is one stay of a task of the list.
type visit struct {
	task     *Task
	order    int // of arrival
	since    float64
	duration float64
	counts   bool // its wait is measured

	node    int
	devices []int
	ends    float64
}

type tally struct{ sum, most, n float64 }

func (t *tally) add(x float64) { t.sum, t.most, t.n = t.sum+x, max(t.most, x), t.n+1 }

func (t *tally) mean() float64 { return t.sum / max(t.n, 1) }

func newChurn(tr *Trace, p Policy, cfg ChurnConfig, frag *fragments, seed uint64) *churn {
	c := &churn{tr: tr, cfg: cfg, frag: frag, books: NewCluster(tr.Nodes), placer: p.New(tr, seed), out: ChurnRun{Seed: seed}}
	c.learner, _ = c.placer.(Learner)
	c.classes, c.stuck = make([]line, tr.Classes), make([]bool, tr.Classes)
	return c
}

// stays returns the duration of each task of the list, 0 for exponential.
func (c *churn) stays(chance *rand.Rand) []float64 {
	all := make([]float64, len(c.tr.Tasks))
	if !c.cfg.Trace {
		return all
	}
	var known []int64
	for i := range c.tr.Tasks {
		if d := c.tr.Tasks[i].Duration; d > 0 {
			known = append(known, d)
		}
	}
	for i := range all {
		d := c.tr.Tasks[i].Duration
		if d <= 0 && len(known) > 0 {
			d = known[chance.IntN(len(known))]
		}
		all[i] = float64(min(max(d, 1), c.cfg.Longest))
	}
	return all
}

// gap is the mean time between arrivals that offers the load.
func (c *churn) gap(stays []float64) float64 {
	var work float64
	for i := range stays {
		d := stays[i]
		if d == 0 {
			d = meanDuration
		}
		work += d * float64(c.tr.Tasks[i].Load()) / 1000
	}
	return work / float64(len(stays)) / (c.cfg.Load * float64(c.tr.GPUs()))
}

func (c *churn) run(ctx context.Context) error {
	// 1. Draw everything from streams of its own, so that every policy sees the
	// same tasks at the same times.
	chance := rand.New(rand.NewPCG(c.out.Seed, 2))
	stays := c.stays(chance)
	gap := c.gap(stays)
	// 2. Arrivals, each after what leaves before it.
	if err := c.fill(ctx, stays, gap, chance); err != nil {
		return err
	}
	next := 0.0
	for i := range c.cfg.Arrivals {
		if i%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		next += chance.ExpFloat64() * gap
		at := chance.IntN(len(stays))
		d := stays[at]
		if d == 0 {
			d = chance.ExpFloat64() * meanDuration
		}
		if err := c.until(next); err != nil {
			return err
		}
		if i == c.cfg.Arrivals/warmUp {
			c.measured, c.from = true, c.now
		}
		if err := c.arrive(&c.tr.Tasks[at], d); err != nil {
			return err
		}
		if c.measured && i%max(c.cfg.Arrivals/fragmentProbes, 1) == 0 {
			c.out.Fragmented += c.frag.share(c.books, c.tr.GPUs())
			c.probes++
		}
	}
	// 3. Drain.
	c.close()
	c.measured = false
	if err := c.until(math.Inf(1)); err != nil {
		return err
	}
	c.out.Never = c.waiting
	c.out.Wait = (c.waits[0].sum + c.waits[1].sum + c.waits[2].sum) / max(c.waits[0].n+c.waits[1].n+c.waits[2].n, 1)
	c.out.WaitGPU, c.out.WaitLarge, c.out.MaxLarge = c.waits[1].mean(), c.waits[2].mean(), c.waits[2].most
	return nil
}

// close turns sums over time into means.
func (c *churn) close() {
	span := c.now - c.from
	if span <= 0 {
		return
	}
	if c.out.Waiting > 0 {
		c.out.Busy /= c.out.Waiting
	}
	c.out.Allocated /= span
	c.out.Queue /= span
	c.out.Waiting *= 100 / span
	c.out.Fragmented /= float64(max(c.probes, 1))
}

// fill begins with what would run at any moment if nothing ever waited: tasks
// in proportion to their durations, each with part of its own still to go. Long
// tasks are few and hold much; without this they would take weeks to gather.
func (c *churn) fill(ctx context.Context, stays []float64, gap float64, chance *rand.Rand) error {
	sums := make([]float64, len(stays)+1)
	for i, d := range stays {
		if d == 0 {
			d = meanDuration
		}
		sums[i+1] = sums[i] + d
	}
	all := sums[len(stays)]
	for i := range int(min(all/float64(len(stays))/gap+0.5, 1<<40)) {
		if i%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		at, _ := slices.BinarySearch(sums, chance.Float64()*all)
		at = min(max(at-1, 0), len(stays)-1)
		rest := stays[at] * chance.Float64()
		if rest == 0 {
			rest = chance.ExpFloat64() * meanDuration
		}
		if err := c.arrive(&c.tr.Tasks[at], rest); err != nil {
			return err
		}
	}
	return nil
}

// pass lets time go by.
func (c *churn) pass(to float64) {
	if c.measured {
		dt := to - c.now
		share := 100 * float64(c.books.Taken()) / float64(1000*c.tr.GPUs())
		c.out.Allocated += share * dt
		c.out.Queue += float64(c.waiting) * dt
		if c.waiting > 0 {
			c.out.Busy += share * dt
			c.out.Waiting += dt
		}
	}
	c.now = to
}

// until lets everything leave that is due, and starts what then fits.
func (c *churn) until(to float64) error {
	for len(c.running) > 0 && c.running[0].ends <= to {
		v := heap.Pop(&c.running).(*visit)
		c.pass(v.ends)
		c.books.Give(v.task, v.node, v.devices)
		c.placer.Release(v.task, v.node, v.devices)
		if err := c.refill(v.node); err != nil {
			return err
		}
	}
	if !math.IsInf(to, 1) {
		c.pass(to)
	}
	return nil
}

// refill starts the oldest of those that fit on the node, one after another:
// before it was freed nothing that waits fitted anywhere.
func (c *churn) refill(node int) error {
	clear(c.stuck)
	for c.waiting > 0 {
		oldest := -1
		for k := range c.classes {
			l := &c.classes[k]
			if l.head == len(l.all) || c.stuck[k] || oldest >= 0 && l.all[l.head].order > c.classes[oldest].all[c.classes[oldest].head].order {
				continue
			}
			if c.books.Seats[node].Fits(l.all[l.head].task) {
				oldest = k
			}
		}
		if oldest < 0 {
			return nil
		}
		l := &c.classes[oldest]
		ok, err := c.start(l.all[l.head])
		if err != nil {
			return err
		}
		if !ok {
			c.out.Missed++
			c.stuck[oldest] = true
			continue
		}
		l.head++
		c.waiting--
		if l.head > 1024 && l.head*2 > len(l.all) {
			l.all, l.head = append([]visit(nil), l.all[l.head:]...), 0
		}
	}
	return nil
}

func (c *churn) arrive(t *Task, duration float64) error {
	c.order++
	if c.learner != nil {
		c.learner.Arrive(t)
	}
	v := visit{task: t, order: c.order, since: c.now, duration: duration, counts: c.measured}
	ok, err := c.start(v)
	if err != nil || ok {
		return err
	}
	if c.books.FitsSomewhere(t) {
		c.out.Missed++
	}
	c.classes[t.Class].all = append(c.classes[t.Class].all, v)
	c.waiting++
	return nil
}

// start places a task, if the policy finds a place.
func (c *churn) start(v visit) (bool, error) {
	node, devices, ok := c.placer.Place(v.task)
	if !ok {
		return false, nil
	}
	if err := c.books.Take(v.task, node, devices); err != nil {
		return false, err
	}
	if v.counts {
		size := 1
		switch {
		case v.task.GPUs >= 8:
			size = 2
		case v.task.GPUs == 0 || v.task.GPUs > 1:
			size = 0
		}
		c.waits[size].add(c.now - v.since)
	}
	v.node, v.devices, v.ends = node, append([]int(nil), devices...), c.now+v.duration
	heap.Push(&c.running, &v)
	return true, nil
}

// departures is what runs, by end and then by arrival.
type departures []*visit

func (d departures) Len() int { return len(d) }
func (d departures) Less(i, j int) bool {
	return d[i].ends < d[j].ends || d[i].ends == d[j].ends && d[i].order < d[j].order
}
func (d departures) Swap(i, j int) { d[i], d[j] = d[j], d[i] }
func (d *departures) Push(x any)   { *d = append(*d, x.(*visit)) }
func (d *departures) Pop() any {
	last := (*d)[len(*d)-1]
	*d = (*d)[:len(*d)-1]
	return last
}
