// Package usage asks the kubelets of a cluster what our tasks use.
package usage

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/backend/kube/tasks"
	"github.com/musterhq/muster/internal/core"
)

const (
	// kubeletsAtOnce and kubeletsMost bound what one look costs the cluster: so
	// many are asked at a time, and so many at all; the others have their turn.
	kubeletsAtOnce = 8
	kubeletsMost   = 64
	kubeletWait    = 5 * time.Second
	// barredFor is for how long nobody is asked after the API server has said
	// that we may not.
	barredFor = 10 * time.Minute
	// trafficEvery is how often a kubelet is asked what went over the network of its
	// pods: that answer is long, since it tells of disks and containers as well.
	trafficEvery = 30 * time.Second
)

// spent is the processor time of a pod or node, or what went over its network, at a
// time of its kubelet's clock.
type spent struct {
	sum float64 // seconds, or bytes
	at  int64   // milliseconds
}

// rate is how much was spent in a second since before; Unknown where nothing can be
// said: it began anew, or was not looked at since.
func (now spent) rate(before spent) float64 {
	if now.sum < before.sum || now.at <= before.at {
		return backend.Unknown
	}
	return (now.sum - before.sum) / (float64(now.at-before.at) / 1000)
}

// readings are what samples are compared with.
type readings struct {
	mu       sync.Mutex
	last     map[string]spent     // processor time, by node, and by namespace/pod
	sent     map[string]spent     // what went over the network, by namespace/pod
	networks map[string]time.Time // when each kubelet was last asked about networks
	asked    map[string]int       // in which look each kubelet was last asked
	look     int
	barred   time.Time // until then nobody is asked
	why      string
}

// Sampler asks kubelets, and compares with what they said before.
type Sampler struct {
	cluster  *cluster.Cluster
	tasks    *tasks.Table
	readings readings
}

// New has asked nobody yet.
func New(c *cluster.Cluster, t *tasks.Table) *Sampler { return &Sampler{cluster: c, tasks: t} }

// Sample asks the kubelets of nodes on which tasks
// run, through the API server. What GPUs do they do not say.
func (p *Sampler) Sample(ctx context.Context) (backend.Reading, error) {
	var r backend.Reading
	pods, nodes := map[string]core.TaskID{}, map[string]bool{}
	for _, o := range p.tasks.All() {
		if t, ok := p.tasks.Get(o.ID); ok && o.State == core.TaskRunning && t.Node != "" {
			pods[t.Space+"/"+t.Name], nodes[p.cluster.NodeName(core.NodeID(t.Node))] = o.ID, true
		}
	}
	s := &p.readings
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(pods) == 0 {
		s.last, s.sent, s.networks = nil, nil, nil
		return r, nil
	}
	r.Missing = []string{"what GPUs of cluster " + p.cluster.Options.Name + " do is not known here: kubelets do not tell; dcgm-exporter tells Prometheus"}
	if p.cluster.Options.Clock().Before(s.barred) {
		r.Missing = append(r.Missing, s.why)
		return r, nil
	}
	answers, failed := p.askKubelets(ctx, s.turn(nodes))
	for _, err := range failed {
		if apierrors.IsForbidden(err) {
			s.barred = p.cluster.Options.Clock().Add(barredFor)
			s.why = "what tasks of cluster " + p.cluster.Options.Name + " use is not known: the server may not ask kubelets; metrics.kubelets=true of the chart gives it the right (get nodes/proxy)"
			r.Missing = append(r.Missing, s.why)
			return r, nil
		}
	}
	if len(failed) > 0 {
		r.Missing = append(r.Missing, fmt.Sprintf("%d of the kubelets of cluster %s did not answer: %v", len(failed), p.cluster.Options.Name, failed[0]))
	}
	next, sent := make(map[string]spent, len(s.last)), make(map[string]spent, len(s.sent))
	for node, a := range answers {
		s.read(&r, core.NodeID(p.cluster.Options.Prefix+node), a, pods, next, sent)
	}
	used := map[string]bool{}
	for n := range nodes {
		used[nodeKey(core.NodeID(p.cluster.Options.Prefix+n))] = true
	}
	for k, v := range s.last { // those whose kubelet was not asked this time
		if _, ok := next[k]; !ok && (pods[k] != core.TaskID{} || used[k]) {
			next[k] = v
		}
	}
	s.last = next
	for k, v := range s.sent {
		if _, ok := sent[k]; !ok && pods[k] != (core.TaskID{}) {
			sent[k] = v
		}
	}
	s.sent = sent
	return r, nil
}

// turn are the nodes that are asked now: those that were asked longest ago.
func (s *readings) turn(nodes map[string]bool) []string {
	s.look++
	asked := make(map[string]int, len(nodes))
	all := make([]string, 0, len(nodes))
	for n := range nodes {
		all, asked[n] = append(all, n), s.asked[n]
	}
	slices.SortFunc(all, func(a, b string) int {
		if asked[a] != asked[b] {
			return asked[a] - asked[b]
		}
		return strings.Compare(a, b)
	})
	all = all[:min(len(all), kubeletsMost)]
	for _, n := range all {
		asked[n] = s.look
	}
	s.asked = asked
	return all
}

// answer is what a kubelet has told.
type answer struct {
	families map[string]*dto.MetricFamily
	traffic  map[string]spent // bytes of each pod with a network of its own, by namespace/pod; nil: it was not asked, or does not tell
}

// askKubelets asks each for what its pods use.
func (p *Sampler) askKubelets(ctx context.Context, nodes []string) (answers map[string]answer, failed []error) {
	answers = map[string]answer{}
	due := p.readings.due(nodes, p.cluster.Options.Clock())
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, kubeletsAtOnce)
	for _, n := range nodes {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeout(ctx, kubeletWait)
			defer cancel()
			data, err := p.cluster.Client.CoreV1().RESTClient().Get().Resource("nodes").Name(n).SubResource("proxy").Suffix("metrics/resource").
				SetHeader("Accept", "text/plain").DoRaw(ctx)
			var families map[string]*dto.MetricFamily
			if err == nil {
				parser := expfmt.NewTextParser(model.UTF8Validation)
				families, err = parser.TextToMetricFamilies(bytes.NewReader(data))
			}
			var traffic map[string]spent
			if err == nil && due[n] {
				traffic = p.askTraffic(ctx, n)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = append(failed, err)
				return
			}
			answers[n] = answer{families, traffic}
		})
	}
	wg.Wait()
	return answers, failed
}

// read takes over what a kubelet has told.
func (s *readings) read(r *backend.Reading, node core.NodeID, a answer, pods map[string]core.TaskID, next, sent map[string]spent) {
	families := a.families
	cores := func(key string, m *dto.Metric) float64 {
		now := spent{m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetUntyped().GetValue(), m.GetTimestampMs()}
		return since(s.last, next, key, now)
	}
	memory := map[string]float64{}
	for _, m := range families["pod_memory_working_set_bytes"].GetMetric() {
		memory[podNamed(m)] = m.GetGauge().GetValue()
	}
	for _, m := range families["pod_cpu_usage_seconds_total"].GetMetric() {
		key := podNamed(m)
		id, ours := pods[key]
		if !ours {
			continue
		}
		t := backend.Sample{Task: id, Busy: backend.Unknown, CPU: cores(key, m), Memory: backend.Unknown, Network: backend.Unknown}
		if v, ok := memory[key]; ok {
			t.Memory = v
		}
		if v, ok := a.traffic[key]; ok {
			t.Network = since(s.sent, sent, key, v)
		}
		r.Tasks = append(r.Tasks, t)
	}
	n := backend.NodeSample{Node: node, CPU: backend.Unknown, Memory: backend.Unknown}
	for _, m := range families["node_cpu_usage_seconds_total"].GetMetric() {
		n.CPU = cores(nodeKey(node), m)
	}
	for _, m := range families["node_memory_working_set_bytes"].GetMetric() {
		n.Memory = m.GetGauge().GetValue()
	}
	r.Nodes = append(r.Nodes, n)
}

// since is what was spent in a second since the look before, and keeps what the next
// one is compared with.
func since(last, next map[string]spent, key string, now spent) float64 {
	before, ok := last[key]
	if next[key] = now; !ok {
		return backend.Unknown
	}
	if now.at <= before.at { // it has not looked again since
		next[key] = before
	}
	return now.rate(before)
}

// nodeKey is how a node stands beside pods, which have a slash in their names.
func nodeKey(n core.NodeID) string { return strings.ReplaceAll(string(n), "/", " ") }

func podNamed(m *dto.Metric) string {
	space, name := "", ""
	for _, l := range m.GetLabel() {
		switch l.GetName() {
		case "namespace":
			space = l.GetValue()
		case "pod":
			name = l.GetValue()
		}
	}
	return space + "/" + name
}
