package replay_test

import (
	"cmp"
	"container/heap"
	"slices"
	"testing"

	"github.com/musterhq/muster/internal/simulate/replay"
)

// patient is a study of what the product's own policy could be. It knows
// nothing of how long jobs will run.
//
// Jobs start when they fit, least attained service first. One that has waited
// for patience seconds may displace running ones that have had quantum
// seconds, most attained service first, if they are of its own project or of
// one above its quota at that moment. A displaced job may do the same after
// again seconds.
type patient struct {
	patience, again, quantum int64
	quota                    map[string]int // nil: anyone may be displaced

	attained []int64 // seconds that a job has run
	limit    []int64 // when a waiting job's patience ends
	waiting  []bool
	project  []int // by job
	mine     []int // quota by project
	used     []int // GPUs by project
	would    []int
	failed   map[[2]int]bool // project and GPUs that cannot be placed in this pass
	bySize   map[int]*keyed  // waiting, by (attained, id)
	sizes    []int
	losing   keyed // waiting, by (end of patience, id)
}

type key struct {
	at int64
	id int
}

type keyed []key

func (k keyed) Len() int           { return len(k) }
func (k keyed) Swap(i, j int)      { k[i], k[j] = k[j], k[i] }
func (k keyed) Less(i, j int) bool { return less(k[i], k[j]) }
func (k *keyed) Push(x any)        { *k = append(*k, x.(key)) }
func (k *keyed) Pop() any {
	last := (*k)[len(*k)-1]
	*k = (*k)[:len(*k)-1]
	return last
}

func less(a, b key) bool { return a.at < b.at || a.at == b.at && a.id < b.id }

func (p *patient) Begin(e *replay.Engine) {
	n := len(e.Jobs)
	p.attained, p.limit, p.waiting = make([]int64, n), make([]int64, n), make([]bool, n)
	p.bySize, p.failed = map[int]*keyed{}, map[[2]int]bool{}
	number := map[string]int{}
	for _, j := range e.Jobs {
		if _, ok := number[j.Project]; !ok {
			number[j.Project] = len(number)
			p.mine = append(p.mine, p.quota[j.Project])
		}
		p.project = append(p.project, number[j.Project])
		if p.bySize[j.GPUs] == nil {
			p.bySize[j.GPUs] = &keyed{}
			p.sizes = append(p.sizes, j.GPUs)
		}
	}
	p.used = make([]int, len(number))
}

func (p *patient) Arrive(e *replay.Engine, id int) { p.wait(e, id, p.patience) }
func (p *patient) Alarm(*replay.Engine, int)       {}
func (p *patient) End(e *replay.Engine, id int)    { p.used[p.project[id]] -= e.Jobs[id].GPUs }

func (p *patient) wait(e *replay.Engine, id int, patience int64) {
	p.waiting[id] = true
	p.limit[id] = e.Now() + patience
	heap.Push(p.bySize[e.Jobs[id].GPUs], key{p.attained[id], id})
	heap.Push(&p.losing, key{p.limit[id], id})
	e.SetAlarm(id, p.limit[id])
}

func (p *patient) start(e *replay.Engine, id int) bool {
	if !e.Start(id) {
		return false
	}
	p.waiting[id] = false
	p.used[p.project[id]] += e.Jobs[id].GPUs
	return true
}

func (p *patient) Pass(e *replay.Engine) {
	var still []key
	clear(p.failed)
	for len(p.losing) > 0 && p.losing[0].at <= e.Now() {
		k := heap.Pop(&p.losing).(key)
		if p.waiting[k.id] && p.limit[k.id] == k.at && !p.start(e, k.id) && !p.displace(e, k.id) {
			still = append(still, k)
		}
	}
	for _, k := range still {
		heap.Push(&p.losing, k)
	}
	for id, ok := p.next(e); ok; id, ok = p.next(e) {
		p.start(e, id)
	}
}

// next is the waiting job with the least attained service that fits.
func (p *patient) next(e *replay.Engine) (id int, ok bool) {
	var best *keyed
	for _, g := range p.sizes {
		q := p.bySize[g]
		for len(*q) > 0 && !p.waiting[(*q)[0].id] {
			heap.Pop(q)
		}
		if len(*q) > 0 && e.Fits(g) && (best == nil || less((*q)[0], (*best)[0])) {
			best = q
		}
	}
	if best == nil {
		return 0, false
	}
	return heap.Pop(best).(key).id, true
}

func (p *patient) displace(e *replay.Engine, id int) bool {
	same := [2]int{p.project[id], e.Jobs[id].GPUs}
	if p.failed[same] {
		return false
	}
	victims := e.Victims(e.Jobs[id].GPUs, func(yield func(int) bool) { p.displaceable(e, id, yield) })
	if victims == nil {
		p.failed[same] = true
		return false
	}
	clear(p.failed)
	for _, v := range victims {
		p.attained[v] += e.Elapsed(v)
		p.used[p.project[v]] -= e.Jobs[v].GPUs
		e.Preempt(v, min(e.Elapsed(v), 60))
		p.wait(e, v, p.again)
	}
	return p.start(e, id)
}

func (p *patient) displaceable(e *replay.Engine, by int, yield func(int) bool) {
	running := slices.Clone(e.Running())
	// They are listed by start: those who have not had their quantum are last.
	for len(running) > 0 && e.Elapsed(running[len(running)-1]) < p.quantum {
		running = running[:len(running)-1]
	}
	had := func(id int) int64 { return p.attained[id] + e.Elapsed(id) }
	slices.SortStableFunc(running, func(a, b int) int { return cmp.Compare(had(b), had(a)) })
	p.would = append(p.would[:0], p.used...)
	for _, id := range running {
		of := p.project[id]
		if p.quota != nil && p.would[of] <= p.mine[of] && of != p.project[by] {
			continue
		}
		p.would[of] -= e.Jobs[id].GPUs
		if !yield(id) {
			return
		}
	}
}

// TestPatienceBeatsForesight holds the study to what was asked of it: without
// knowing run times, mean wait at most 45,000 s, that of jobs above 8 GPUs at
// most 440,000 s and no wait above 1,000,000 s.
func TestPatienceBeatsForesight(t *testing.T) {
	t.Parallel()
	jobs := philly(t)
	const hour = 3600
	for name, p := range map[string]*patient{
		"anyone, 6 h": {patience: 6 * hour, again: 144 * hour, quantum: hour},
		"quota, 6 h":  {patience: 6 * hour, again: 144 * hour, quantum: hour, quota: phillyQuota},
		"quota, 24 h": {patience: 24 * hour, again: 96 * hour, quantum: hour, quota: phillyQuota},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r replay.Recorder
			if err := replay.Run(jobs, phillyCluster, p, &r); err != nil {
				t.Fatal(err)
			}
			got, err := r.Result(replay.Measure{Name: name, Cluster: phillyCluster, Weights: phillyQuota})
			if err != nil {
				t.Fatal(err)
			}
			big := got.BySize[3].Wait.MeanSeconds
			wasted := float64(got.WastedGPUSeconds) / float64(got.WorkGPUSeconds)
			t.Logf("wait %.0f, above 8 GPUs %.0f, longest %d, to the end %.0f, preempted %d, wasted %.4f, longest restart %d",
				got.Wait.MeanSeconds, big, got.Wait.MaxSeconds, got.Completion.MeanSeconds, got.Preemptions, wasted, got.LongestRestartSeconds)
			if got.Wait.MeanSeconds > 45_000 || big > 440_000 || got.Wait.MaxSeconds > 1_000_000 {
				t.Errorf("mean wait %.0f, above 8 GPUs %.0f, longest %d s; want at most 45000, 440000, 1000000", got.Wait.MeanSeconds, big, got.Wait.MaxSeconds)
			}
			if got.Completion.MeanSeconds > 45_000 || wasted > 0.001 {
				t.Errorf("mean time to the end %.0f s, %.4f of the work wasted; want at most 45000 and 0.001", got.Completion.MeanSeconds, wasted)
			}
		})
	}
}
