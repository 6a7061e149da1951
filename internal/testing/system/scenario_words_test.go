package system

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/simulate/scenario"
	"github.com/musterhq/muster/internal/testing/kubetest"
)

// script is a case in the words of users and clusters. Everything of it has a
// prefix, by which cases side by side do not meet: nodes in a pool of its own,
// and queues that use only that pool.
type script struct {
	*scenario.Case
	prefix string // s12
}

// labelScenario is on the nodes and workloads of a case, labelStep on nodes that
// were changed, with a number that the server shows once it knows of the change.
const labelScenario, labelStep = "scenario", "scenario-step"

func (s *script) own(name string) string {
	return s.prefix + "-" + strings.ToLower(strings.ReplaceAll(name, "_", "-"))
}

// machine is a node that takes nothing yet.
func (s *script) machine(n *scenario.Node) *corev1.Node {
	room := corev1.ResourceList{}
	put := func(name corev1.ResourceName, q *resource.Quantity) { room[name] = *q }
	put(corev1.ResourceCPU, resource.NewMilliQuantity(n.CPUMillis, resource.DecimalSI))
	put(corev1.ResourceMemory, resource.NewQuantity(n.MemBytes, resource.DecimalSI))
	put(corev1.ResourcePods, resource.NewQuantity(int64(n.MaxPods), resource.DecimalSI))
	labels := map[string]string{labelScenario: s.prefix, "nvidia.com/gpu.memory": fmt.Sprint(n.GPUMemMiB), corev1.LabelOSStable: "linux"}
	maps.Copy(labels, n.Labels)
	labels[corev1.LabelHostname] = s.own(n.Name)
	if n.MIG != nil {
		labels["nvidia.com/mig.strategy"] = n.MIG.Strategy
		for name, count := range n.MIG.Instances {
			put(corev1.ResourceName(name), resource.NewQuantity(int64(count), resource.DecimalSI))
		}
	}
	if n.GPUs > 0 && (n.MIG == nil || n.MIG.Strategy != "mixed") {
		put(kubetest.GPU, resource.NewQuantity(int64(n.GPUs), resource.DecimalSI))
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: s.own(n.Name), Labels: labels, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"}},
		Spec:       corev1.NodeSpec{Unschedulable: true},
		Status:     corev1.NodeStatus{Capacity: room, Allocatable: room},
	}
}

func (s *script) pool() api.NewPool {
	p := api.NewPool{Name: s.prefix}
	p.Selector = labelScenario + "=" + s.prefix
	p.Placement = &api.PoolPlacement{GPU: "binpack", CPU: "binpack"}
	if s.Config.NodePlacement == "spread" {
		p.Placement = &api.PoolPlacement{GPU: "spread", CPU: "spread"}
	}
	if len(s.Topologies) > 0 {
		p.Topology = s.Topologies[0].Levels
	}
	return p
}

// The states of queues.
const (
	unbound = "unbound" // anything may start: cases may begin where nobody gets by himself
	stopped = "hold"
	started = ""
)

// queues are the projects and departments as records, the older first and
// nobody before who is above it.
func (s *script) queues(state string) (records []map[string]any) {
	waiting := slices.Clone(s.Queues)
	slices.SortStableFunc(waiting, func(a, b scenario.Queue) int { return int(a.CreatedOrder - b.CreatedOrder) })
	known := map[string]bool{"": true}
	for len(waiting) > 0 {
		i := slices.IndexFunc(waiting, func(q scenario.Queue) bool { return known[q.Parent] })
		q := waiting[max(i, 0)]
		waiting = slices.Delete(waiting, max(i, 0), max(i, 0)+1)
		known[q.Name] = true
		records = append(records, s.queue(&q, state))
	}
	return records
}

func (s *script) queue(q *scenario.Queue, state string) map[string]any {
	gpu := func(t scenario.Terms, unit float64) map[string]any {
		out := map[string]any{"weight": t.Weight}
		if t.Quota != nil {
			out["quota"] = *t.Quota / unit
		}
		if t.Limit != nil {
			out["limit"] = *t.Limit / unit
		}
		return out
	}
	memory := map[string]any{"weight": q.MemBytes.Weight}
	if x := q.MemBytes.Quota; x != nil {
		memory["quota"] = fmt.Sprint(int64(*x))
	}
	if x := q.MemBytes.Limit; x != nil {
		memory["limit"] = fmt.Sprint(int64(*x))
	}
	out := map[string]any{
		"kind": "Project", "name": s.own(q.Name), "priority": q.Priority, "stopMode": state,
		"pools": map[string]any{s.prefix: map[string]any{"gpu": gpu(q.GPU, 1), "cpu": gpu(q.CPUMillis, 1000), "memory": memory}},
	}
	if state == unbound {
		out["stopMode"] = ""
		delete(out, "pools")
	}
	if q.Parent != "" {
		out["parent"] = s.own(q.Parent)
	}
	if q.MinRuntime > 0 {
		out["reclaimMinRuntime"] = fmt.Sprint(q.MinRuntime, "s")
	}
	switch {
	case slices.ContainsFunc(s.Queues, func(x scenario.Queue) bool { return x.Parent == q.Name }) || !slices.ContainsFunc(s.Jobs, func(j scenario.Job) bool { return j.Queue == q.Name }) && q.Parent == "":
		out["kind"] = "Department"
	default:
		out["poolOrder"] = []string{s.prefix}
	}
	return out
}

// document is a job as its user submits it.
func (s *script) document(j *scenario.Job) json.RawMessage {
	first := &j.Tasks[0]
	doc := map[string]any{
		"name": s.own(j.Name), "project": s.own(j.Queue), "labels": map[string]string{labelScenario: s.prefix}, "image": "sim:1", "command": []string{"sleep"},
		"priority": j.Priority, "preemptible": j.Preemptible, "pools": []string{s.prefix}, "gracePeriod": "1s",
		"resources": s.resources(j, &j.Tasks[len(j.Tasks)-1]),
	}
	if len(first.NodeAffinityIn) > 0 {
		doc["nodeAffinity"] = []any{map[string]any{"key": "node-type", "op": "In", "values": first.NodeAffinityIn}}
	}
	if d := j.PreemptionDelaySeconds; d != nil && *d > j.AgeMinutes*60 {
		doc["patience"] = fmt.Sprint(int(*d-j.AgeMinutes*60), "s")
	}
	if t := j.TopologyConstraint; len(j.Tasks) > 1 || t != nil {
		doc["kind"], doc["workers"] = "distributed", len(j.Tasks)
		if t != nil {
			doc["topology"] = map[string]any{"required": t.Required, "preferred": t.Preferred}
		}
		if n := least(j); n < len(j.Tasks) {
			doc["minWorkers"], doc["resize"] = n, "live"
		}
		if len(j.Tasks) > 1 && wholeOf(j, first) != wholeOf(j, &j.Tasks[1]) {
			doc["master"] = map[string]any{"resources": s.resources(j, first)}
		}
	}
	text, err := json.Marshal(doc)
	if err != nil {
		panic(err) // of values made above
	}
	return text
}

func (s *script) resources(j *scenario.Job, t *scenario.Task) map[string]any {
	out := map[string]any{"cpu": fmt.Sprint(j.CPUMillis, "m")}
	if j.MemBytes > 0 {
		out["memory"] = fmt.Sprint(j.MemBytes)
	}
	devices := max(j.Devices, 1)
	switch {
	case len(t.MIG) > 0:
		mig := map[string]int{}
		for name, n := range t.MIG {
			mig[strings.TrimPrefix(name, "nvidia.com/mig-")] = n
		}
		out["gpu"] = map[string]any{"mig": mig}
	case j.GPUMemMiB > 0:
		out["gpu"] = map[string]any{"count": devices, "memory": fmt.Sprint(j.GPUMemMiB, "Mi")}
	case j.GPUFraction > 0:
		out["gpu"] = map[string]any{"count": devices, "share": j.GPUFraction}
	case wholeOf(j, t) > 0:
		out["gpu"] = wholeOf(j, t)
	}
	return out
}
