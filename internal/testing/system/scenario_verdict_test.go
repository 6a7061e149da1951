package system

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/simulate/scenario"
)

// view is where everybody stands, as server and cluster agree.
type view struct {
	text   string              // all of it
	moving string              // who is on the way, or seen differently; empty: nobody
	nodes  map[string][]string // by workload: where its tasks run

	hopeless bool // somebody failed who would have waited for ever
}

// hopeless reports whether somebody is told at once that he would wait for ever,
// which in the cases he does.
func hopeless(message string) bool { return strings.Contains(message, "never fits") }

// resting are phases that somebody may stay in.
var resting = []string{"Running", "Queued", "Inadmissible"}

func (p *play) look() (*view, error) {
	l, err := p.conn.Workloads(p.ctx, client.ListOptions{Labels: map[string]string{labelScenario: p.prefix}, Limit: 500})
	if err != nil {
		return nil, err
	}
	v := &view{nodes: map[string][]string{}}
	var lines []string
	for i := range l.Items {
		w := &l.Items[i]
		at := w.Attempts[len(w.Attempts)-1]
		line := fmt.Sprintf("%s %s attempt %d", w.Name, w.Phase, w.Attempt)
		switch {
		case slices.Contains(resting, w.Phase):
		case w.Phase == "Failed" && hopeless(w.Message):
			v.hopeless = true
		default:
			v.moving = w.Name + " is " + w.Phase + ": " + w.Message
		}
		for _, t := range at.Tasks {
			switch t.State {
			case "running":
				v.nodes[w.Name] = append(v.nodes[w.Name], t.Node)
				line += fmt.Sprintf(" %d/%d on %s", t.Index, t.Run, t.Node)
			case "starting", "stopping", "pending":
				v.moving = fmt.Sprintf("task %d of %s is %s: %s", t.Index, w.Name, t.State, t.Message)
			}
		}
		slices.Sort(v.nodes[w.Name])
		lines = append(lines, line)
		pods, moving := p.podsOf(w.Project, w.Name)
		if moving != "" {
			v.moving = moving
		} else if !slices.Equal(pods, v.nodes[w.Name]) {
			v.moving = fmt.Sprintf("%s has pods on %v and tasks on %v", w.Name, pods, v.nodes[w.Name])
		}
	}
	slices.Sort(lines)
	v.text = strings.Join(lines, "; ")
	return v, nil
}

// podsOf are the nodes on which pods of a workload run, as the cluster says.
func (p *play) podsOf(project, name string) (nodes []string, moving string) {
	all, _ := p.pods.Pods("muster-" + project).List(labels.SelectorFromSet(labels.Set{"muster.dev/name": name}))
	for _, pod := range all {
		if pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodRunning {
			moving = fmt.Sprintf("pod %s is %s", pod.Name, pod.Status.Phase)
		}
		nodes = append(nodes, pod.Spec.NodeName)
	}
	slices.Sort(nodes)
	return nodes, moving
}

// compare says how where everybody stands differs from what is expected. Who of
// a job's tasks is which is not told: after an eviction others have their
// numbers. So somebody must be where each of them is expected.
func (p *play) compare(v *view) (differ []string) {
	for i := range p.Jobs {
		j := &p.Jobs[i]
		var some []string // nodes on which somebody must run
		anywhere, waiting, free := 0, 0, 0
		for k := range j.Tasks {
			x, judged := p.expected(j, &j.Tasks[k])
			switch {
			case !judged:
				free++
			case x.Status == scenario.Pending:
				waiting++
			case x.Node != "":
				some = append(some, p.own(x.Node))
			default:
				anywhere++
			}
		}
		are := slices.Clone(v.nodes[p.own(j.Name)])
		slices.Sort(some)
		ok := true
		for _, n := range some {
			at := slices.Index(are, n)
			if ok = ok && at >= 0; at >= 0 {
				are = slices.Delete(are, at, at+1)
			}
		}
		if !ok || len(are) < anywhere || len(are)-anywhere > free {
			differ = append(differ, fmt.Sprintf("%s runs on %v; want %v, %d elsewhere and %d waiting, %d anyhow", j.Name, v.nodes[p.own(j.Name)], some, anywhere, waiting, free))
		}
	}
	return differ
}

// expected is what is to become of a task, and whether anything is.
func (p *play) expected(j *scenario.Job, t *scenario.Task) (scenario.Expect, bool) {
	if x, ok := p.Expected.Tasks[t.Name]; ok && !x.Vacuous {
		return x, true
	}
	x, ok := p.Expected.Jobs[j.Name]
	return x, ok && !x.Vacuous
}

// TestVerdictsOnScenarios: who is not where he is expected is named.
func TestVerdictsOnScenarios(t *testing.T) {
	job := func(name string, tasks int) scenario.Job {
		j := scenario.Job{Name: name}
		for i := range tasks {
			j.Tasks = append(j.Tasks, scenario.Task{Name: fmt.Sprint(name, "-", i)})
		}
		return j
	}
	p := &play{script: script{prefix: "s", Case: &scenario.Case{
		Jobs: []scenario.Job{job("any", 2), job("on", 1), job("waits", 1), job("split", 3), job("free", 2)},
		Expected: scenario.Expected{
			Jobs: map[string]scenario.Expect{"any": {Status: scenario.Running}, "on": {Status: scenario.Running, Node: "a"}, "waits": {Status: scenario.Pending}},
			Tasks: map[string]scenario.Expect{
				"split-0": {Status: scenario.Running, Node: "b"}, "split-1": {Status: scenario.Pending}, "split-2": {Status: scenario.Running},
				"free-0": {Status: scenario.Running}, "free": {Status: scenario.Pending, Vacuous: true},
			},
		},
	}}}
	right := map[string][]string{"s-any": {"s-a", "s-b"}, "s-on": {"s-a"}, "s-split": {"s-a", "s-b"}, "s-free": {"s-b"}}
	if differ := p.compare(&view{nodes: right}); len(differ) > 0 {
		t.Errorf("what is as expected differs: %q", differ)
	}
	for name, nodes := range map[string][]string{"any": {"s-a"}, "on": {"s-b"}, "waits": {"s-a"}, "split": {"s-a", "s-b", "s-b"}, "free": {}} {
		wrong := map[string][]string{"s-" + name: nodes}
		for k, v := range right {
			if k != "s-"+name {
				wrong[k] = v
			}
		}
		if differ := p.compare(&view{nodes: wrong}); len(differ) != 1 || !strings.HasPrefix(differ[0], name+" runs on") {
			t.Errorf("with %s on %v the verdict is %q", name, nodes, differ)
		}
	}
}
