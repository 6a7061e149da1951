package server

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/engine/report"
	"github.com/musterhq/muster/internal/server/wire"
)

// metrics is what Prometheus scrapes. Gauges are read from the control plane
// when asked, so that an idle server does nothing.
type metrics struct {
	registry *prometheus.Registry
	server   *Server
	panics   prometheus.Counter

	workloads, gpuTotal, gpuUsed, cpuTotal, cpuUsed, memoryTotal, memoryUsed, nodes, commits, committed, transitions, estimates *prometheus.Desc
}

func newMetrics(s *Server) *metrics {
	d := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("muster_"+name, help, labels, nil)
	}
	m := &metrics{
		registry: prometheus.NewRegistry(), server: s,
		panics:      prometheus.NewCounter(prometheus.CounterOpts{Name: "muster_request_panics_total", Help: "Requests at which the server failed by a mistake of its own; its log has the stack."}),
		workloads:   d("workloads", "Live workloads by phase.", "phase"),
		gpuTotal:    d("node_gpus", "GPUs of a node.", "node"),
		gpuUsed:     d("node_gpus_allocated", "GPUs of a node that are held.", "node"),
		cpuTotal:    d("node_cpu_cores", "Allocatable CPU cores of a node.", "node"),
		cpuUsed:     d("node_cpu_cores_allocated", "CPU cores of a node that are held.", "node"),
		memoryTotal: d("node_memory_bytes", "Allocatable memory of a node.", "node"),
		memoryUsed:  d("node_memory_bytes_allocated", "Memory of a node that is held.", "node"),
		nodes:       d("node_ready", "1 where a node takes work.", "node"),
		commits:     d("commits_total", "Durable commits."),
		committed:   d("commit_seconds_total", "Time spent in durable commits."),
		transitions: d("transitions_total", "Transitions of workloads by the phase they led to.", "to"),
		estimates:   d("start_estimates_total", "Estimates of starts by how they compare with what came.", "result"),
	}
	m.registry.MustRegister(m, m.panics, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.workloads, m.gpuTotal, m.gpuUsed, m.cpuTotal, m.cpuUsed, m.memoryTotal, m.memoryUsed, m.nodes, m.commits, m.committed, m.transitions, m.estimates} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	st, err := control.Do(ctx, m.server.Control, report.Cluster())
	if err != nil {
		return
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for phase, n := range st.Phases {
		gauge(m.workloads, float64(n), string(phase))
	}
	for _, n := range st.Nodes {
		a := wire.Node(n)
		gauge(m.gpuTotal, float64(a.GPU.Total)/1000, a.Name)
		gauge(m.gpuUsed, float64(a.GPU.Used)/1000, a.Name)
		gauge(m.cpuTotal, float64(a.CPU.Total)/1000, a.Name)
		gauge(m.cpuUsed, float64(a.CPU.Used)/1000, a.Name)
		gauge(m.memoryTotal, float64(a.Memory.Total), a.Name)
		gauge(m.memoryUsed, float64(a.Memory.Used), a.Name)
		ready := 0.0
		if a.Ready && !a.Cordoned {
			ready = 1
		}
		gauge(m.nodes, ready, a.Name)
	}
	ch <- prometheus.MustNewConstMetric(m.commits, prometheus.CounterValue, float64(st.Commits))
	ch <- prometheus.MustNewConstMetric(m.committed, prometheus.CounterValue, st.CommitTime.Seconds())
	score := m.server.Control.Estimates()
	for result, n := range map[string]int{"inside": score.Inside, "early": score.Early, "late": score.Late} {
		ch <- prometheus.MustNewConstMetric(m.estimates, prometheus.CounterValue, float64(n), result)
	}
	for to, n := range st.Entered {
		ch <- prometheus.MustNewConstMetric(m.transitions, prometheus.CounterValue, float64(n), string(to))
	}
}
