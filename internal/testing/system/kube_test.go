package system

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/testing/kubetest"
)

// cluster is a server on a cluster of its own whose nodes are not there.
type cluster struct {
	*server
	k *kubetest.Cluster
}

// startCluster starts n nodes with so many GPUs each, and a server on them.
func startCluster(tb testing.TB, n, gpus int) *cluster {
	tb.Helper()
	k := kubetest.Start(tb, kubetest.Options{NoScheduler: true})
	k.Kwok(tb, n, kubetest.NodeShape{Prefix: "node", GPUs: gpus})
	s := start(tb, "--backend", "kube", "--kubeconfig", k.Kubeconfig)
	return &cluster{s, k}
}

// first runs one workload, for which its project's namespace is made.
func (c *cluster) first(tb testing.TB) {
	tb.Helper()
	c.submitJSON(tb, map[string]any{"name": "first", "image": "sim:1", "command": []string{"sleep"}, "resources": map[string]any{"gpu": 1}})
	c.await(tb, "first", "Running")
}

// submitJSON submits one document.
func (c *cluster) submitJSON(tb testing.TB, doc map[string]any) {
	tb.Helper()
	text, err := json.Marshal(doc)
	if err == nil {
		_, err = c.conn.Submit(context.Background(), text, client.SubmitOptions{})
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// patience bounds how long a cluster may take for anything.
const patience = 5 * time.Minute

// settle waits until none of the workloads is in one of the phases.
func (c *cluster) settle(tb testing.TB, phases ...string) {
	tb.Helper()
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		l, err := c.conn.Workloads(context.Background(), client.ListOptions{Phases: phases, Limit: 1, Summary: true})
		if err != nil {
			tb.Fatal(err)
		}
		if len(l.Items) == 0 {
			return
		}
		if time.Since(begun) > patience {
			tb.Fatalf("%s is still %s", l.Items[0].Name, l.Items[0].Phase)
		}
	}
}

// running counts the pods that run or have run, as the cluster tells it.
func (c *cluster) running(tb testing.TB, space string) (count func() int) {
	tb.Helper()
	f := informers.NewSharedInformerFactoryWithOptions(c.k.Client, 0, informers.WithNamespace(space))
	pods := f.Core().V1().Pods()
	seen := make(chan string, 1<<16)
	note := func(o any) {
		if p := o.(*corev1.Pod); p.Status.Phase == corev1.PodRunning {
			seen <- p.Name
		}
	}
	if _, err := pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: note, UpdateFunc: func(_, o any) { note(o) }}); err != nil {
		tb.Fatal(err)
	}
	stop := make(chan struct{})
	f.Start(stop)
	tb.Cleanup(func() { close(stop); f.Shutdown() })
	f.WaitForCacheSync(stop)
	names := map[string]bool{}
	return func() int {
		for {
			select {
			case n := <-seen:
				names[n] = true
				continue
			default:
			}
			return len(names)
		}
	}
}

func await(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	for begun := time.Now(); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > patience {
			tb.Fatalf("after %s still not: %s", patience, what)
		}
	}
}

// BenchmarkKubeWorkloads submits 1,000 workloads of one GPU on 50 nodes and
// measures until all of their pods run. BenchmarkBareLoad of internal/testing/kubetest
// is what the same API server gives without us.
func BenchmarkKubeWorkloads(b *testing.B) {
	const n = 1000
	c := startCluster(b, 50, 32)
	c.first(b)
	runs := c.running(b, "muster-default")
	b.ResetTimer()
	for i := range b.N {
		before := runs()
		c.submit(b, n, clients, fmt.Sprintf(`{"name":"w%d-%%d","image":"sim:1","command":["sleep"],"resources":{"gpu":1}}`, i))
		await(b, "all pods run", func() bool { return runs() >= before+n })
		b.StopTimer()
		c.stopAll(b)
		b.StartTimer()
	}
	b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "pods/s")
}

// stopAll ends whatever runs.
func (c *cluster) stopAll(tb testing.TB) {
	tb.Helper()
	for {
		l, err := c.conn.Workloads(context.Background(), client.ListOptions{Phases: []string{"Queued", "Starting", "Running"}, Limit: 200, Summary: true})
		if err != nil {
			tb.Fatal(err)
		}
		for _, w := range l.Items {
			if _, err := c.conn.Stop(context.Background(), w.Project, w.Name, api.StopOptions{}); err != nil {
				tb.Log(err)
			}
		}
		if len(l.Items) == 0 {
			break
		}
	}
	c.settle(tb, "Terminating")
	kubetest.Eventually(tb, "the pods are gone", func() error {
		l, err := c.k.Client.CoreV1().Pods("muster-default").List(context.Background(), metav1.ListOptions{Limit: 1})
		if err == nil && len(l.Items) > 0 {
			return fmt.Errorf("%s is there", l.Items[0].Name)
		}
		return err
	})
}

// BenchmarkKubeGang measures a gang of 512 tasks on 512 nodes from its
// submission until all of its pods run.
func BenchmarkKubeGang(b *testing.B) {
	const n = 512
	c := startCluster(b, n, 8)
	c.first(b)
	c.stopAll(b)
	runs := c.running(b, "muster-default")
	b.ResetTimer()
	for i := range b.N {
		before := runs()
		c.submitJSON(b, map[string]any{"name": fmt.Sprintf("gang-%d", i), "kind": "distributed", "workers": n, "image": "sim:1", "command": []string{"sleep"}, "resources": map[string]any{"gpu": 8}})
		await(b, "all ranks run", func() bool { return runs() >= before+n })
		c.await(b, fmt.Sprintf("gang-%d", i), "Running")
		b.StopTimer()
		c.stopAll(b)
		b.StartTimer()
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/gang")
}

// BenchmarkKubeReclaim measures how long an owner waits for one GPU of its quota
// on 500 nodes whose GPUs, one each, are all lent out: each takes one back.
func BenchmarkKubeReclaim(b *testing.B) {
	const n = 500
	c := startCluster(b, n, 1)
	for name, quota := range map[string]int{"owner": n, "borrower": 0} {
		c.project(b, name, quota)
	}
	c.submitJSON(b, map[string]any{"name": "crowd", "project": "borrower", "image": "sim:1", "command": []string{"sleep"}, "resources": map[string]any{"gpu": 1, "cpu": "1"}, "array": map[string]any{"completions": n}, "gracePeriod": "1s"})
	borrowed, owned := c.running(b, "muster-borrower"), c.running(b, "muster-owner")
	await(b, "the crowd runs", func() bool { return borrowed() >= n })
	b.ResetTimer()
	for i := range b.N {
		before := owned()
		c.submitJSON(b, map[string]any{"name": fmt.Sprintf("own-%d", i), "project": "owner", "image": "sim:1", "command": []string{"sleep"}, "resources": map[string]any{"gpu": 1, "cpu": "1"}})
		await(b, "the owner's pod runs", func() bool { return owned() > before })
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/reclaim")
}

// project makes a project with so many guaranteed GPUs.
func (c *cluster) project(tb testing.TB, name string, gpus int) {
	tb.Helper()
	out, err := exec.Command(binary, "--data-dir", c.dir, "project", "create", name, "--quota", fmt.Sprintf("gpu=%d", gpus)).CombinedOutput()
	if err != nil {
		tb.Fatalf("project %s: %v\n%s", name, err, out)
	}
}

// BenchmarkKubeHopeless measures from the submission of a gang that has no room
// until it is known why.
func BenchmarkKubeHopeless(b *testing.B) {
	const n = 500
	c := startCluster(b, n, 8)
	c.submitJSON(b, map[string]any{"name": "crowd", "preemptible": false, "priority": 200, "image": "sim:1", "command": []string{"sleep"}, "resources": map[string]any{"gpu": 8, "cpu": "1"}, "array": map[string]any{"completions": n - 1}})
	runs := c.running(b, "muster-default")
	await(b, "the crowd runs", func() bool { return runs() >= n-1 })
	b.ResetTimer()
	for i := range b.N {
		name := fmt.Sprintf("hopeless-%d", i)
		c.submitJSON(b, map[string]any{"name": name, "kind": "distributed", "workers": 64, "image": "sim:1", "command": []string{"sleep"}, "resources": map[string]any{"gpu": 8, "cpu": "1"}})
		await(b, "it is explained", func() bool {
			w, err := c.conn.Workload(context.Background(), "default", name)
			return err == nil && w.Pending != nil && len(w.Pending.Reasons) > 0
		})
		b.StopTimer()
		if _, err := c.conn.Stop(context.Background(), "default", name, api.StopOptions{}); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// TestAThousandPods sees a crowd of workloads through a cluster: all run, none
// twice, what is stopped leaves nothing behind.
func TestAThousandPods(t *testing.T) {
	const n = 1000
	c := startCluster(t, 50, 20)
	runs := c.running(t, "muster-default")
	c.submitMany(t, n)
	await(t, "all pods run", func() bool { return runs() >= n })
	c.settle(t, "Submitted", "Queued", "Starting")
	pods, err := c.k.Client.CoreV1().Pods("muster-default").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	held := map[string]int{}
	for _, p := range pods.Items {
		held[p.Spec.NodeName]++
		if p.Spec.SchedulerName != "muster" {
			t.Errorf("%s was left to scheduler %q", p.Name, p.Spec.SchedulerName)
		}
	}
	if len(pods.Items) != n {
		t.Errorf("there are %d pods, want %d", len(pods.Items), n)
	}
	for node, pods := range held {
		if pods != 20 {
			t.Errorf("node %s holds %d pods of one GPU, and has 20", node, pods)
		}
	}
	c.stopAll(t)
}

// submitMany submits n workloads of one GPU in one request.
func (c *cluster) submitMany(tb testing.TB, n int) {
	tb.Helper()
	docs := make([]json.RawMessage, n)
	for i := range docs {
		docs[i] = json.RawMessage(fmt.Sprintf(`{"name":"many-%d","image":"sim:1","command":["sleep"],"resources":{"gpu":1}}`, i))
	}
	out, err := c.conn.Bulk(context.Background(), docs)
	if err != nil {
		tb.Fatal(err)
	}
	for _, r := range out.Items {
		if r.Problem != nil {
			tb.Fatalf("a workload was refused: %+v", r.Problem)
		}
	}
}

// BenchmarkKubeMemory measures what a server needs that knows 5,000 nodes and
// 50,000 pods of others.
func BenchmarkKubeMemory(b *testing.B) {
	const nodes, pods = 5000, 50_000
	k := kubetest.Start(b, kubetest.Options{NoScheduler: true, NoControllers: true})
	ctx := context.Background()
	many(b, nodes, func(i int) error {
		room := corev1.ResourceList{"cpu": resource.MustParse("64"), "memory": resource.MustParse("512Gi"), "pods": resource.MustParse("250"), kubetest.GPU: resource.MustParse("8")}
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i), Labels: map[string]string{"rack": fmt.Sprint(i / 40), corev1.LabelHostname: fmt.Sprintf("node-%d", i)}}}
		n.Status = corev1.NodeStatus{Capacity: room, Allocatable: room, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}}}
		_, err := k.Client.CoreV1().Nodes().Create(ctx, n, metav1.CreateOptions{})
		return err
	})
	space := k.Namespace(b)
	many(b, pods, func(i int) error {
		p := kubetest.Pod(fmt.Sprintf("other-%d", i), "any", i%10/9)
		p.Spec.NodeName = fmt.Sprintf("node-%d", i%nodes)
		p.Labels = map[string]string{"app": "other", "pod-template-hash": fmt.Sprint(i % 1000)}
		_, err := k.Client.CoreV1().Pods(space).Create(ctx, p, metav1.CreateOptions{})
		return err
	})
	s := start(b, "--backend", "kube", "--kubeconfig", k.Kubeconfig)
	await(b, "all nodes are known", func() bool {
		c, err := s.conn.Cluster(ctx)
		return err == nil && len(c.Nodes) == nodes
	})
	for b.Loop() {
		time.Sleep(time.Second)
	}
	rss, pss, err := resident(s.cmd.Process.Pid)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(rss)/(1<<20), "MiB-RSS")
	b.ReportMetric(float64(pss)/(1<<20), "MiB-PSS")
}

// many does f for 0 to n-1, 32 at once.
func many(tb testing.TB, n int, f func(int) error) {
	tb.Helper()
	next, failed := make(chan int), make(chan error, 32)
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			for i := range next {
				if err := f(i); err != nil {
					select {
					case failed <- err:
					default:
					}
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
	select {
	case err := <-failed:
		tb.Fatal(err)
	default:
	}
}
