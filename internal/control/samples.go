package control

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/engine/report"
	"github.com/musterhq/muster/internal/nodepast"
	"github.com/musterhq/muster/internal/timeseries"
	"github.com/musterhq/muster/internal/waited"
)

// What is measured; the last word is the unit.
const (
	CPUCores       = "cpu_cores"                 // of tasks and nodes
	MemoryBytes    = "memory_bytes"              // of tasks and nodes
	NetworkBytes   = "network_bytes_per_second"  // of tasks that have a network of their own: received and sent
	GPUBusy        = "gpu_utilization_ratio"     // of devices
	GPUMemory      = "gpu_memory_bytes"          // of devices
	GPUMemoryTotal = "gpu_memory_total_bytes"    // of devices
	GPUPower       = "gpu_power_watts"           // of devices
	GPUTemperature = "gpu_temperature_celsius"   // of devices
	GPUs           = "gpus"                      // of the cluster
	GPUsAllocated  = "gpus_allocated"            // of the cluster and of projects
	GPUsBusy       = "gpus_busy"                 // of the cluster: allocated, and seen at work
	GPUsIdle       = "gpus_idle_allocated"       // of the cluster: allocated, and seen at rest
	GPUsWanted     = "gpus_waited_for"           // of the cluster and of projects
	Running        = "workloads_running"         // of the cluster
	Waiting        = "workloads_waiting"         // of the cluster and of projects
	RequestRate    = "requests_per_second"       // of services
	RequestErrors  = "request_errors_per_second" // of services: no answer, or one of 500 and above
	RequestMedian  = "request_median_seconds"    // of services: until the answer began
	RequestP95     = "request_p95_seconds"       // of services: of 95 in 100 at most
)

// SeriesOfTask, SeriesOfDevice, SeriesOfNode and SeriesOfProject name what
// series are of, in series.Key.
func SeriesOfTask(id core.TaskID) string { return "task:" + id.String() }

// SeriesOfDevice is the name of a device of a node.
func SeriesOfDevice(n core.NodeID, id string) string { return "device:" + string(n) + "/" + id }

// SeriesOfNode is the name of a node.
func SeriesOfNode(n core.NodeID) string { return "node:" + string(n) }

// SeriesOfProject is the name of a project.
func SeriesOfProject(id core.ProjectID) string { return "project:" + string(id) }

// SeriesOfWorkload is the name of a service, whatever its replicas.
func SeriesOfWorkload(id core.WorkloadID) string { return "workload:" + string(id) }

// SeriesOfCluster is the name of everything together.
const SeriesOfCluster = "cluster"

// projectsMost bounds how many projects have series of their own: those with the
// most that is held or waited for.
const projectsMost = 200

// samples are what is known of what is used.
type samples struct {
	every  time.Duration
	series *timeseries.Store
	waited *waited.Ledger
	nodes  *nodepast.Ledger
	mu     sync.Mutex
	// missing is what a backend says that it cannot look at, by backend.
	missing map[string][]string
	census  *report.Census // of the last beat
}

func newSamples(d Options) *samples {
	s := &samples{every: d.SampleEvery, series: d.Series, waited: d.Waited, nodes: d.NodePast, missing: map[string][]string{}}
	if s.every <= 0 {
		s.every = sampleEvery
	}
	if s.series == nil {
		s.series = timeseries.New(timeseries.Options{Step: s.every})
	}
	if s.waited == nil {
		s.waited = waited.New("")
	}
	if s.nodes == nil {
		s.nodes = nodepast.New("")
	}
	return s
}

// Waited is for how long workloads have waited, by what for.
func (c *Control) Waited() *waited.Ledger { return c.samples.waited }

// NodePast is how well nodes were in the last day.
func (c *Control) NodePast() *nodepast.Ledger { return c.samples.nodes }

// Series is what has been measured in the last day, see SeriesOfTask.
func (c *Control) Series() *timeseries.Store { return c.samples.series }

// Missing is what backends say that they cannot look at, a sentence each. Backends
// that look at nothing are named.
func (c *Control) Missing() []string {
	c.samples.mu.Lock()
	defer c.samples.mu.Unlock()
	var all []string
	for _, name := range slices.Sorted(maps.Keys(c.backends)) {
		if _, ok := c.backends[name].backend.(backend.Sampler); !ok {
			all = append(all, "cluster "+name+" does not tell what its tasks use")
		}
		all = append(all, c.samples.missing[name]...)
	}
	return all
}

// Census is what was counted at the last beat; nil: nothing yet.
func (c *Control) Census() *report.Census {
	c.samples.mu.Lock()
	defer c.samples.mu.Unlock()
	return c.samples.census
}

// mostWarnings bounds how many errors of samplers are logged.
const mostWarnings = 100

// sample tells now and then what is used.
func (a *actuator) sample(ctx context.Context, s backend.Sampler) {
	tick := time.NewTicker(a.ctl.samples.every)
	defer tick.Stop()
	warned := map[string]bool{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		r, err := s.Sample(ctx)
		if err != nil {
			r.Missing = append(r.Missing, "cluster "+a.backend.Name()+" cannot be looked at: "+err.Error())
		}
		for _, text := range r.Missing {
			if !warned[text] && len(warned) < mostWarnings && ctx.Err() == nil {
				a.log.Warn("not everything could be sampled", "what", text)
				warned[text] = true // once, however often it fails the same way
			}
		}
		a.ctl.samples.record(a.backend.Name(), a.ctl.clock(), r)
		if slices.ContainsFunc(r.Tasks, func(t backend.Sample) bool { return t.Busy >= 0 }) {
			a.ctl.Apply(ctx, engine.Activity(r.Tasks)) //nolint:errcheck // the next sample tells again
		}
	}
}

// record stores the measurements of a backend.
func (s *samples) record(backendName string, now time.Time, r backend.Reading) {
	points := make([]timeseries.Point, 0, 3*len(r.Tasks)+5*len(r.Devices)+2*len(r.Nodes))
	add := func(of, metric string, v float64, slow bool) {
		points = append(points, timeseries.Point{Key: timeseries.Key{Of: of, Metric: metric}, Value: v, Slow: slow})
	}
	for _, t := range r.Tasks {
		of := SeriesOfTask(t.Task)
		add(of, CPUCores, t.CPU, false)
		add(of, MemoryBytes, t.Memory, false)
		add(of, NetworkBytes, t.Network, true)
	}
	for _, d := range r.Devices {
		of := SeriesOfDevice(d.Node, d.Device)
		add(of, GPUBusy, d.Busy, false)
		add(of, GPUMemory, d.MemoryUsed, false)
		add(of, GPUMemoryTotal, d.MemoryTotal, true)
		add(of, GPUPower, d.Power, true)
		add(of, GPUTemperature, d.Temperature, true)
	}
	for _, n := range r.Nodes {
		of := SeriesOfNode(n.Node)
		add(of, CPUCores, n.CPU, false)
		add(of, MemoryBytes, n.Memory, false)
	}
	s.series.Add(now, points...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.missing[backendName] = r.Missing
}

// spanMost is for how many beats one count may stand, where others are missing.
const spanMost = 6

// beat samples the totals of the cluster at intervals, for its charts.
func (c *Control) beat(ctx context.Context) {
	tick := time.NewTicker(c.samples.every)
	defer tick.Stop()
	var last time.Time
	for {
		if n, err := Do(ctx, c, report.TakeCensus()); err == nil {
			c.samples.count(n)
			c.samples.nodes.Look(n.At, spanMost*c.samples.every, healthOf(n.Nodes))
			if !last.IsZero() {
				span := min(max(n.At.Sub(last), 0), spanMost*c.samples.every) // this process may have stood still
				if m, counts := c.engine.D.Meter.(report.Counter); counts {
					m.Counted(n, span)
				}
				for _, u := range n.Unadmitted {
					c.samples.waited.Add(waited.Key{Project: string(u.Project), User: u.User, Reason: u.Reason}, u.Count, span, n.At)
				}
			}
			last = n.At
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// healthOf is how well nodes are.
func healthOf(nodes []report.NodeState) map[string]nodepast.Health {
	out := make(map[string]nodepast.Health, len(nodes))
	for i := range nodes {
		n := &nodes[i]
		h := nodepast.Health{NotReady: !n.Ready, CutOff: n.CutOff, Cordoned: n.Cordon, Draining: n.Drain}
		for _, d := range n.Devices {
			if !d.Healthy {
				h.Broken = append(h.Broken, d.ID)
			}
		}
		out[string(n.ID)] = h
	}
	return out
}

// count keeps a census, and says what its devices do.
func (s *samples) count(n *report.Census) {
	fresh := n.At.Add(-3 * s.every)
	busy, idle, allocated := 0.0, 0.0, 0.0
	held := map[core.ProjectID]float64{}
	for i := range n.Holdings {
		h := &n.Holdings[i]
		part := float64(h.Milli) / 1000
		allocated += part
		held[h.Project] += part
		v, ok := s.series.Last(timeseries.Key{Of: SeriesOfDevice(h.Node, h.Device), Metric: GPUBusy}, fresh)
		switch {
		case !ok:
			h.Use = report.UseUnknown
		case v > 0:
			h.Use = report.UseBusy
			busy += part
		default:
			h.Use = report.UseIdle
			idle += part
		}
	}
	total := 0
	for i := range n.Nodes {
		total += len(n.Nodes[i].Devices)
	}
	points := []timeseries.Point{}
	add := func(of, metric string, v float64) {
		points = append(points, timeseries.Point{Key: timeseries.Key{Of: of, Metric: metric}, Value: v})
	}
	add(SeriesOfCluster, GPUs, float64(total))
	add(SeriesOfCluster, GPUsAllocated, allocated)
	add(SeriesOfCluster, GPUsBusy, busy)
	add(SeriesOfCluster, GPUsIdle, idle)
	wanted, waiting, running := 0, 0, 0
	for _, p := range n.Projects {
		wanted, waiting, running = wanted+p.WaitingGPUs, waiting+p.Waiting, running+p.States[lifecycle.Running]
	}
	add(SeriesOfCluster, GPUsWanted, float64(wanted))
	add(SeriesOfCluster, Waiting, float64(waiting))
	add(SeriesOfCluster, Running, float64(running))
	for i, p := range n.Projects {
		if i == projectsMost {
			break
		}
		of := SeriesOfProject(p.Project)
		add(of, Waiting, float64(p.Waiting))
		add(of, GPUsWanted, float64(p.WaitingGPUs))
		add(of, GPUsAllocated, held[p.Project])
	}
	s.series.Add(n.At, points...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.census = n
}
