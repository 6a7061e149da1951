package telemetry

import (
	"context"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine/report"
	"github.com/musterhq/muster/internal/timeseries"
)

// Gauges are read from the control plane when Prometheus asks. What they show is
// bounded by what there is: projects, pools, nodes and GPUs, never workloads but
// those that hold a GPU at present.
type Gauges struct {
	control *control.Control
	descs   map[string]*prometheus.Desc
	order   []string
}

var _ prometheus.Collector = (*Gauges)(nil)

// freshFor is how old a sample may be that is shown.
const freshFor = 2 * time.Minute

// gauges are what they tell.
var gauges = []struct {
	name, help string
	labels     []string
}{
	{"muster_runs", "Live workloads.", []string{"project", "state"}},
	{"muster_runs_unadmitted", "Workloads that wait for resources, by the first of what keeps them.", []string{"project", "reason"}},
	{"muster_queue_gpus", "GPUs that workloads ask for which wait for resources.", []string{"project"}},
	{"muster_gpus", "GPUs by what is the case with them: free, allocated (held, and not seen idle), idle (held, and seen doing nothing), others (held by work that is not ours), drained (on a node that takes nothing), unhealthy.", []string{"node_pool", "gpu_type", "state"}},
	{"muster_project_gpu_quota", "GPUs that a project or department is guaranteed, and may never exceed.", []string{"project", "pool", "kind"}},
	{"muster_project_gpus_allocated", "GPUs that a project or department holds.", []string{"project", "pool"}},
	{"muster_project_fair_share_ratio", "GPUs that a project or department holds, as a part of its fair share at present.", []string{"project", "pool"}},
	{"muster_node_cpu_cores_used", "CPU cores in use on a node, by everything.", []string{"node"}},
	{"muster_node_memory_bytes_used", "Memory of a node that cannot be had for more.", []string{"node"}},
	{"muster_series", "Series of the built-in day of measurements.", nil},
	{"muster_series_bytes", "Memory that they take.", nil},
	{"muster_series_refused_total", "Values that were not kept for want of room; see --series-memory.", nil},
	{"DCGM_FI_DEV_GPU_UTIL", "GPU utilisation, in percent.", device},
	{"DCGM_FI_DEV_FB_USED", "GPU memory in use, in MiB.", device},
	{"DCGM_FI_DEV_FB_FREE", "GPU memory that is free, in MiB.", device},
	{"DCGM_FI_DEV_POWER_USAGE", "Power, in watts.", device},
	{"DCGM_FI_DEV_GPU_TEMP", "Temperature, in degrees Celsius.", device},
}

// device are the labels of dcgm-exporter, and whose the GPU is at present: empty
// where it is nobody's, or several have a part of it.
var device = []string{"gpu", "UUID", "modelName", "Hostname", "project", "run"}

// NewGauges returns the gauges of a control plane.
func NewGauges(c *control.Control) *Gauges {
	g := &Gauges{control: c, descs: map[string]*prometheus.Desc{}}
	for _, x := range gauges {
		g.descs[x.name] = prometheus.NewDesc(x.name, x.help, x.labels, nil)
		g.order = append(g.order, x.name)
	}
	return g
}

// Describe implements prometheus.Collector.
func (g *Gauges) Describe(ch chan<- *prometheus.Desc) {
	for _, name := range g.order {
		ch <- g.descs[name]
	}
}

// sink takes the values of one scrape.
type sink struct {
	g   *Gauges
	ch  chan<- prometheus.Metric
	now time.Time
}

func (s sink) gauge(name string, v float64, labels ...string) {
	s.ch <- prometheus.MustNewConstMetric(s.g.descs[name], prometheus.GaugeValue, v, labels...)
}

// last is the newest value of a series, if it is fresh.
func (s sink) last(of, metric string) (float64, bool) {
	return s.g.control.Series().Last(timeseries.Key{Of: of, Metric: metric}, s.now.Add(-freshFor))
}

// Collect implements prometheus.Collector.
func (g *Gauges) Collect(ch chan<- prometheus.Metric) {
	st := g.control.Series().Stats()
	s := sink{g: g, ch: ch}
	s.gauge("muster_series", float64(st.Series))
	s.gauge("muster_series_bytes", float64(st.Bytes))
	ch <- prometheus.MustNewConstMetric(g.descs["muster_series_refused_total"], prometheus.CounterValue, float64(st.Refused))
	n := g.control.Census()
	if n == nil {
		return
	}
	s.now = n.At
	s.runs(n)
	s.devices(n)
	for i := range n.Nodes {
		of := control.SeriesOfNode(n.Nodes[i].ID)
		if v, ok := s.last(of, control.CPUCores); ok {
			s.gauge("muster_node_cpu_cores_used", v, string(n.Nodes[i].ID))
		}
		if v, ok := s.last(of, control.MemoryBytes); ok {
			s.gauge("muster_node_memory_bytes_used", v, string(n.Nodes[i].ID))
		}
	}
	s.standings()
}

// runs tells of workloads. Projects beyond the bound are told together.
func (s sink) runs(n *report.Census) {
	type key struct{ project, other string }
	states, reasons, gpus := map[key]int{}, map[key]int{}, map[string]int{}
	named := names{}
	for _, p := range n.Projects { // those with the most first
		project := named.of(string(p.Project))
		for state, c := range p.States {
			states[key{project, string(state)}] += c
		}
		gpus[project] += p.WaitingGPUs
	}
	for _, u := range n.Unadmitted {
		reasons[key{named.of(string(u.Project)), u.Reason}] += u.Count
	}
	for k, c := range states {
		s.gauge("muster_runs", float64(c), k.project, k.other)
	}
	for k, c := range reasons {
		s.gauge("muster_runs_unadmitted", float64(c), k.project, k.other)
	}
	for project, c := range gpus {
		s.gauge("muster_queue_gpus", float64(c), project)
	}
}

// holder is whose a device is.
type holder struct {
	idle, busy   int // thousandths
	project, run string
	shared       bool
}

// devices tells of GPUs.
func (s sink) devices(n *report.Census) {
	type key struct{ pool, product, state string }
	held := map[[2]string]*holder{}
	for _, h := range n.Holdings {
		k := [2]string{string(h.Node), h.Device}
		x := held[k]
		if x == nil {
			x = &holder{project: string(h.Project), run: h.Name}
			held[k] = x
		}
		x.shared = x.shared || x.run != h.Name || x.project != string(h.Project)
		if h.Use == report.UseIdle {
			x.idle += h.Milli
		} else {
			x.busy += h.Milli
		}
	}
	counts := map[key]int{}
	for i := range n.Nodes {
		node := &n.Nodes[i]
		pool := node.Pool
		if pool == "" {
			pool = core.DefaultPool
		}
		for j := range node.Devices {
			d := &node.Devices[j]
			x := held[[2]string{string(node.ID), d.ID}]
			if x == nil {
				x = &holder{}
			}
			others := 0
			if j < len(node.Others.Milli) {
				others = node.Others.Milli[j]
			}
			left := "free"
			switch {
			case !d.Healthy:
				left = "unhealthy"
			case !node.Ready || node.Cordon || node.Drain || node.CutOff:
				left = "drained"
			}
			for state, milli := range map[string]int{"allocated": x.busy, "idle": x.idle, "others": others, left: max(1000-x.busy-x.idle-others, 0)} {
				counts[key{pool, d.Product, state}] += milli
			}
			if x.shared {
				x.project, x.run = "", ""
			}
			s.device(node, d, x)
		}
	}
	for k, milli := range counts {
		s.gauge("muster_gpus", float64(milli)/1000, k.pool, k.product, k.state)
	}
}

// device passes on how a GPU fares, under the names that dcgm-exporter has made
// common.
func (s sink) device(node *report.NodeState, d *core.Device, x *holder) {
	of := control.SeriesOfDevice(node.ID, d.ID)
	labels := []string{strconv.Itoa(d.Index), d.ID, d.Product, string(node.ID), x.project, x.run}
	show := func(name, metric string, unit float64) (float64, bool) {
		v, ok := s.last(of, metric)
		if ok {
			s.gauge(name, v/unit, labels...)
		}
		return v, ok
	}
	show("DCGM_FI_DEV_GPU_UTIL", control.GPUBusy, 0.01)
	used, known := show("DCGM_FI_DEV_FB_USED", control.GPUMemory, 1<<20)
	if total, ok := s.last(of, control.GPUMemoryTotal); ok && known {
		s.gauge("DCGM_FI_DEV_FB_FREE", max(total-used, 0)/(1<<20), labels...)
	}
	show("DCGM_FI_DEV_POWER_USAGE", control.GPUPower, 1)
	show("DCGM_FI_DEV_GPU_TEMP", control.GPUTemperature, 1)
}

// standings tells how projects stand. Beyond the bound they are not told.
func (s sink) standings() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	all, err := control.Do(ctx, s.g.control, report.Standings())
	if err != nil {
		return
	}
	for i, x := range all {
		if i == LabelsMost {
			return
		}
		project, used := string(x.Project.ID), x.Used[core.GPU]
		if q := x.Quota.GPU.Quota; q != nil {
			s.gauge("muster_project_gpu_quota", *q, project, x.Pool, "guaranteed")
		}
		if q := x.Quota.GPU.Limit; q != nil {
			s.gauge("muster_project_gpu_quota", *q, project, x.Pool, "limit")
		}
		s.gauge("muster_project_gpus_allocated", used, project, x.Pool)
		if fair := x.Fair[core.GPU]; fair > 0 {
			s.gauge("muster_project_fair_share_ratio", used/fair, project, x.Pool)
		}
	}
}
