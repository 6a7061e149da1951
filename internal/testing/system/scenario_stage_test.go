package system

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/simulate/scenario"
	"github.com/musterhq/muster/internal/testing/kubetest"
)

// theatre is a server on a cluster, on which cases are played side by side.
type theatre struct {
	*cluster
	pods corelisters.PodLister

	mu    sync.Mutex
	nodes map[string]api.Node
	asked time.Time

	refused []string // cases in which somebody was told that he would wait for ever
}

func newTheatre(tb testing.TB) *theatre {
	tb.Helper()
	k := kubetest.Start(tb, kubetest.Options{NoScheduler: true})
	k.Kwok(tb, 1, kubetest.NodeShape{Prefix: "unused"})
	f := informers.NewSharedInformerFactory(k.Client, 0)
	t := &theatre{cluster: &cluster{k: k}, pods: f.Core().V1().Pods().Lister()}
	stop := make(chan struct{})
	f.Start(stop)
	tb.Cleanup(func() { close(stop); f.Shutdown() })
	f.WaitForCacheSync(stop)
	t.server = start(tb, "--backend", "kube", "--kubeconfig", k.Kubeconfig, "--kube-mirror=false", "--move-rest", "0s", "--advertise", "http://127.0.0.1:9")
	return t
}

// node is a node as the server showed it a moment ago: all plays share the
// question, which is about all nodes.
func (t *theatre) node(ctx context.Context, name string) (api.Node, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if time.Since(t.asked) > 50*time.Millisecond {
		l, err := t.conn.Nodes.List(ctx)
		if err != nil {
			return api.Node{}, err
		}
		t.nodes = make(map[string]api.Node, len(l.Items))
		for _, n := range l.Items {
			t.nodes[n.Name] = n
		}
		t.asked = time.Now()
	}
	return t.nodes[name], nil
}

// play is one case on its way.
type play struct {
	script
	*theatre
	ctx  context.Context
	step int
	held map[string]int  // tasks on each node so far
	open map[string]bool // nodes that take something

	hopeless bool // somebody was refused who would have waited for ever
}

// perform plays a case and says how its end differs from what is expected; nil
// if it does not.
func (t *theatre) perform(ctx context.Context, prefix string, c *scenario.Case) error {
	p := &play{script: script{c, prefix}, theatre: t, ctx: ctx, held: map[string]int{}, open: map[string]bool{}}
	for _, part := range []struct {
		what string
		do   func() error
	}{{"its queues", p.organise}, {"its nodes", p.build}, {"what runs at first", p.opening}, {"what waits at first", p.crowd}} {
		if err := part.do(); err != nil {
			return fmt.Errorf("%s could not be set up: %w", part.what, err)
		}
	}
	return p.conclude()
}

func (p *play) organise() error {
	if _, err := p.conn.Pools.Create(p.ctx, p.pool()); err != nil {
		return err
	}
	for _, r := range p.queues(unbound) { // one by one: each has an age of its own
		if err := p.apply(r); err != nil {
			return err
		}
	}
	return nil
}

func (p *play) build() error {
	for i := range p.Nodes {
		if _, err := p.k.Client.CoreV1().Nodes().Create(p.ctx, p.machine(&p.Nodes[i]), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	for i := range p.Nodes {
		if err := p.shown(p.own(p.Nodes[i].Name)); err != nil {
			return err
		}
	}
	return nil
}

// shown waits until the server has a node as it is now.
func (p *play) shown(node string) error {
	want := ""
	if p.step > 0 {
		want = strconv.Itoa(p.step)
	}
	return p.until(func() error {
		n, err := p.theatre.node(p.ctx, node)
		if err == nil && (!n.Ready || n.Pool != p.prefix || n.Labels[labelStep] != want) {
			err = fmt.Errorf("node %s is shown as %+v", node, n)
		}
		return err
	})
}

// change changes nodes and waits until the server has taken note.
func (p *play) change(nodes []string, patch func(name string) map[string]any) error {
	p.step++
	for _, name := range nodes {
		all := patch(name)
		all["metadata"] = map[string]any{"labels": map[string]string{labelStep: strconv.Itoa(p.step)}}
		text, err := json.Marshal(all)
		if err == nil {
			_, err = p.k.Client.CoreV1().Nodes().Patch(p.ctx, name, types.MergePatchType, text, metav1.PatchOptions{})
		}
		if err != nil {
			return err
		}
	}
	for _, name := range nodes {
		if err := p.shown(name); err != nil {
			return err
		}
	}
	return nil
}

// admit lets each node take so many more tasks, and none without a number.
func (p *play) admit(more map[string]int) error {
	var changed []string
	for i := range p.Nodes {
		name := p.own(p.Nodes[i].Name)
		if more[name] == 0 && !p.open[name] {
			continue
		}
		changed = append(changed, name)
		p.open[name] = more[name] > 0
		if more[name] == 0 {
			continue
		}
		room := strconv.Itoa(p.held[name] + p.beside(name) + more[name])
		patch := `{"status":{"allocatable":{"pods":"` + room + `"}}}`
		if _, err := p.k.Client.CoreV1().Nodes().Patch(p.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status"); err != nil {
			return err
		}
	}
	return p.change(changed, func(name string) map[string]any {
		return map[string]any{"spec": map[string]any{"unschedulable": !p.open[name]}}
	})
}

// beside counts the pods of a node that hold shared devices for others.
func (p *play) beside(node string) (n int) {
	all, _ := p.pods.Pods("muster-reservations").List(labels.Everything()) // of a cache: it cannot fail
	for _, pod := range all {
		if pod.Spec.NodeName == node {
			n++
		}
	}
	return n
}

// opening has everything running that runs at first, each on its node: no other
// takes anything meanwhile, and that one no more. Who runs with less than all
// of its tasks comes last, when others leave it no room.
func (p *play) opening() error {
	var jobs []*scenario.Job
	for i := range p.Jobs {
		if count(&p.Jobs[i], scenario.Running) > 0 {
			jobs = append(jobs, &p.Jobs[i])
		}
	}
	slices.SortStableFunc(jobs, func(a, b *scenario.Job) int {
		return cmp.Or(cmp.Compare(min(count(a, scenario.Pending), 1), min(count(b, scenario.Pending), 1)), cmp.Compare(a.CreatedOrder, b.CreatedOrder))
	})
	for _, j := range jobs {
		more := map[string]int{}
		for i := range j.Tasks {
			if j.Tasks[i].State == scenario.Running {
				more[p.own(j.Tasks[i].Node)]++
			}
		}
		err := p.admit(more)
		if err == nil {
			_, err = p.conn.Submit(p.ctx, p.document(j), client.SubmitOptions{})
		}
		if err == nil {
			err = p.until(func() error { return p.stands(j, more) })
		}
		if err == nil {
			err = p.saves(j)
		}
		if err != nil {
			return fmt.Errorf("job %s: %w", j.Name, err)
		}
		for name, n := range more {
			p.held[name] += n
		}
	}
	return nil
}

// saves tells of a checkpoint of a job, as its task would. In the cases nobody is
// left alone because much would be lost; here those are who have told of none, from
// some seconds on, which are sooner over where the machine is slow.
func (p *play) saves(j *scenario.Job) error {
	of := labels.Set{"muster.dev/name": p.own(j.Name)}
	all, err := p.k.Client.CoreV1().Secrets("muster-"+p.own(j.Queue)).List(p.ctx, metav1.ListOptions{LabelSelector: of.String()})
	if err != nil {
		return err
	}
	for i := range all.Items {
		for _, token := range all.Items[i].Data {
			if bytes.HasPrefix(token, []byte("muster_task_")) {
				return p.server.saved(p.ctx, string(token))
			}
		}
	}
	return fmt.Errorf("%d secrets of %s, and none has its token", len(all.Items), p.own(j.Name))
}

func count(j *scenario.Job, s scenario.Status) (n int) {
	for i := range j.Tasks {
		if j.Tasks[i].State == s {
			n++
		}
	}
	return n
}

// stands says how the tasks of a job are not as many on each node as wanted.
func (p *play) stands(j *scenario.Job, want map[string]int) error {
	v, err := p.look()
	if err == nil && v.moving != "" {
		err = errors.New(v.moving)
	}
	if err != nil {
		return err
	}
	got := map[string]int{}
	for _, n := range v.nodes[p.own(j.Name)] {
		got[n]++
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return fmt.Errorf("it runs on %v, want %v", got, want)
	}
	return nil
}

// crowd has everybody else come at one instant: their queues are stopped until
// all are there and the nodes are open.
func (p *play) crowd() error {
	if err := p.apply(p.queues(stopped)...); err != nil {
		return err
	}
	all := map[string]int{}
	for i := range p.Nodes {
		name := p.own(p.Nodes[i].Name)
		all[name] = max(p.Nodes[i].MaxPods-p.held[name], 1)
	}
	if err := p.admit(all); err != nil {
		return err
	}
	var jobs []*scenario.Job
	for i := range p.Jobs {
		if count(&p.Jobs[i], scenario.Running) == 0 {
			jobs = append(jobs, &p.Jobs[i])
		}
	}
	slices.SortStableFunc(jobs, func(a, b *scenario.Job) int { return cmp.Compare(a.CreatedOrder, b.CreatedOrder) })
	for _, j := range jobs {
		_, err := p.conn.Submit(p.ctx, p.document(j), client.SubmitOptions{})
		switch {
		case err != nil && hopeless(err.Error()):
			p.hopeless = true
		case err != nil:
			return fmt.Errorf("job %s: %w", j.Name, err)
		}
	}
	return p.apply(p.queues(started)...)
}

func (p *play) apply(records ...map[string]any) error {
	_, err := p.conn.Apply(p.ctx, api.Manifest{Items: records}, false)
	return err
}

// conclude waits until nothing changes any more, though the scheduler is made to
// look again and again, and compares.
func (p *play) conclude() error {
	last, calm := "", 0
	return p.until(func() error {
		v, err := p.look()
		switch {
		case err != nil:
			return err
		case v.moving != "":
			calm = 0
			return errors.New(v.moving)
		case v.text != last:
			last, calm = v.text, 0
		}
		if calm < 3 {
			calm++
			name := p.own(p.Nodes[0].Name)
			if err := p.change([]string{name}, func(string) map[string]any { return map[string]any{} }); err != nil {
				return err
			}
			return errors.New("it does not come to rest: " + v.text)
		}
		if differ := p.compare(v); len(differ) > 0 {
			return final{errors.New(strings.Join(differ, "; "))}
		}
		if p.hopeless || v.hopeless {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.refused = append(p.refused, p.ID())
		}
		return nil
	})
}

// final is an error that waiting does not help against.
type final struct{ error }

func (p *play) until(check func() error) error {
	for begun := time.Now(); ; {
		err := check()
		var end final
		if err == nil || errors.As(err, &end) {
			return err
		}
		if time.Since(begun) > patience/2 || p.ctx.Err() != nil {
			return fmt.Errorf("after %s: %w", time.Since(begun).Truncate(time.Second), err)
		}
		select {
		case <-p.ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}
