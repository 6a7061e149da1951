package accounting

import (
	"time"

	"github.com/musterhq/muster/client"
)

// usage is what was sampled while a job ran.
type usage struct {
	node     string // where the most memory was, and in which task
	task     int
	most     float64 // bytes, of one task
	mean     float64 // bytes, of all tasks
	tasks    int     // that were sampled
	cores    float64 // over all tasks
	cpuKnown bool
	seconds  float64
}

func (u *usage) memoryMost() int64 { return int64(u.most) }
func (u *usage) memoryMean() int64 { return int64(u.mean / float64(max(u.tasks, 1))) }

// cpu is the CPU time of all tasks.
func (u *usage) cpu() time.Duration {
	return time.Duration(u.cores * u.seconds * float64(time.Second))
}

func (u *usage) cpuMean() time.Duration { return u.cpu() / time.Duration(max(u.tasks, 1)) }

// usage asks what was sampled of an entry, once; nil: nobody looked. A server
// that cannot say is no reason to tell nothing of the job.
func (e *entry) usage() *usage {
	if e.used != nil || e.start.IsZero() {
		return e.known()
	}
	e.used = &usage{}
	conn, err := e.Call.Connect(e.Call.Context)
	if err != nil {
		return nil
	}
	o := client.MetricsOptions{Attempt: e.attempt, Since: e.start.UTC().Format(time.RFC3339Nano)}
	if !e.end.IsZero() {
		o.Until = e.end.UTC().Format(time.RFC3339Nano)
	}
	if e.Task >= 0 {
		o.Tasks = []int{e.Task}
	}
	m, err := conn.WorkloadMetrics(e.Call.Context, e.Workload.Project, e.Workload.ID, o)
	if err != nil {
		return nil
	}
	end := e.end
	if end.IsZero() {
		end = e.Call.Now()
	}
	e.used.seconds = end.Sub(e.start).Seconds()
	for _, s := range m.Series {
		switch {
		case s.Metric == "memory_bytes" && s.Max != nil && s.Mean != nil:
			e.used.tasks++
			e.used.mean += *s.Mean
			if *s.Max > e.used.most {
				e.used.most, e.used.node = *s.Max, s.Node
				if s.Task != nil {
					e.used.task = *s.Task
				}
			}
		case s.Metric == "cpu_cores" && s.Mean != nil:
			e.used.cores += *s.Mean
			e.used.cpuKnown = true
		}
	}
	return e.known()
}

func (e *entry) known() *usage {
	if e.used == nil || e.used.tasks == 0 { // CPU time is known later than memory
		return nil
	}
	return e.used
}
