package replay

// area adds up a quantity that changes in steps, apart for each bucket.
type area struct {
	width int64
	since int64
	value float64
	sums  []float64 // quantity × seconds, by bucket
}

func newArea(width int64, buckets int) *area {
	return &area{width: width, sums: make([]float64, buckets)}
}

// change lets the quantity grow from an instant on.
func (a *area) change(at int64, by float64) {
	for a.value != 0 && a.since < at {
		bucket := a.since / a.width
		if bucket >= int64(len(a.sums)) {
			break
		}
		end := min((bucket+1)*a.width, at)
		a.sums[bucket] += a.value * float64(end-a.since)
		a.since = end
	}
	a.since = at
	a.value += by
}

// mean of each bucket, of which the last ends at an instant.
func (a *area) mean(end int64) []float64 {
	a.change(end, 0)
	out := make([]float64, len(a.sums))
	for i, s := range a.sums {
		if span := min(int64(i+1)*a.width, end) - int64(i)*a.width; span > 0 {
			out[i] = s / float64(span)
		}
	}
	return out
}

// curves are the areas of one run.
type curves struct {
	held, waitingJobs, waitingGPUs *area
	heldBy, wantedBy               []*area // by project; wanted is held and waiting
}

// utilisation adds up GPU-seconds held: all while there are still jobs to
// come, and at any time while a job waits.
type utilisation struct {
	last                   int64 // submission
	since                  int64
	held, waiting          int
	all, busy, busySeconds int64
}

func (u *utilisation) change(at int64, held, waiting int) {
	if span := min(at, u.last) - u.since; span > 0 {
		u.all += span * int64(u.held)
	}
	if u.waiting > 0 {
		u.busy += (at - u.since) * int64(u.held)
		u.busySeconds += at - u.since
	}
	u.since = at
	u.held += held
	u.waiting += waiting
}

// overTime fills in what a Result says of spans of time.
func (r *Recorder) overTime(m Measure, out *Result) {
	buckets := int64(m.Buckets)
	if buckets <= 0 {
		buckets = 200
	}
	origin := r.jobs[0].Submit
	end := out.MakespanSeconds
	width := max((end+buckets-1)/buckets, 1)
	n := int((end + width - 1) / width)
	c := curves{held: newArea(width, n), waitingJobs: newArea(width, n), waitingGPUs: newArea(width, n)}
	number := map[string]int{}
	for i, p := range out.ByProject {
		number[p.Name] = i
		c.heldBy = append(c.heldBy, newArea(width, n))
		c.wantedBy = append(c.wantedBy, newArea(width, n))
	}
	u := utilisation{last: r.jobs[len(r.jobs)-1].Submit - origin}
	for _, ev := range r.events {
		j := r.jobs[ev.id]
		c.add(ev, ev.at-origin, number[j.Project], float64(j.GPUs))
		switch ev.kind {
		case submitted:
			u.change(ev.at-origin, 0, 1)
		case started:
			u.change(ev.at-origin, j.GPUs, -1)
		case preempted:
			u.change(ev.at-origin, -j.GPUs, 1)
		case finished:
			u.change(ev.at-origin, -j.GPUs, 0)
		}
	}
	gpus := int64(m.Cluster.GPUs())
	if u.last > 0 && gpus > 0 {
		out.UtilisationPercent = 100 * float64(u.all) / float64(gpus*u.last)
	}
	if u.busySeconds > 0 && gpus > 0 {
		out.UtilisationWhileWaitingPercent = 100 * float64(u.busy) / float64(gpus*u.busySeconds)
	}
	out.BucketSeconds = width
	c.fill(out, end, float64(gpus))
}

func (c *curves) add(ev event, at int64, project int, gpus float64) {
	switch ev.kind {
	case submitted:
		c.waitingJobs.change(at, 1)
		c.waitingGPUs.change(at, gpus)
		c.wantedBy[project].change(at, gpus)
	case started:
		c.waitingJobs.change(at, -1)
		c.waitingGPUs.change(at, -gpus)
		c.held.change(at, gpus)
		c.heldBy[project].change(at, gpus)
	case preempted:
		c.waitingJobs.change(at, 1)
		c.waitingGPUs.change(at, gpus)
		c.held.change(at, -gpus)
		c.heldBy[project].change(at, -gpus)
	case finished:
		c.held.change(at, -gpus)
		c.heldBy[project].change(at, -gpus)
		c.wantedBy[project].change(at, -gpus)
	}
}

func (c *curves) fill(out *Result, end int64, gpus float64) {
	held, jobs, waiting := c.held.mean(end), c.waitingJobs.mean(end), c.waitingGPUs.mean(end)
	var heldBy, wantedBy [][]float64
	weights := make([]float64, len(out.ByProject))
	for i, p := range out.ByProject {
		weights[i] = p.Weight
		heldBy = append(heldBy, c.heldBy[i].mean(end))
		wantedBy = append(wantedBy, c.wantedBy[i].mean(end))
		if i < seriesOf {
			out.ByProject[i].HeldGPUs = heldBy[i]
			out.ByProject[i].EntitledGPUs = make([]float64, len(held))
		}
	}
	have, want := make([]float64, len(weights)), make([]float64, len(weights))
	for b := range held {
		for i := range weights {
			have[i], want[i] = heldBy[i][b], wantedBy[i][b]
		}
		due := entitled(gpus, weights, want)
		for i := range min(len(due), seriesOf) {
			out.ByProject[i].EntitledGPUs[b] = due[i]
		}
		out.Buckets = append(out.Buckets, Bucket{HeldGPUs: held[b], WaitingJobs: jobs[b], WaitingGPUs: waiting[b], Fairness: jain(have, due)})
	}
}
