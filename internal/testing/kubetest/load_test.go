package kubetest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"

	"github.com/musterhq/muster/internal/testing/kubetest"
)

// BenchmarkBareLoad is the yardstick of what we do with pods: how fast they run
// when a program that does nothing else creates and binds them. 1,000 pods of
// one GPU each, 32 at once, on 50 fake nodes; clocks stop when an informer has
// seen all of them run. An iteration is all 1,000: run it with -benchtime 3x.
//
// What the API server and the nodes do for a pod grows with what is written in
// it: "as ours" are pods that say as much as ours (labels, annotations, and the
// environment of a task), "smallest" are such that say nothing.
func BenchmarkBareLoad(b *testing.B) {
	b.Run("as-ours", func(b *testing.B) { bareLoad(b, asOurs) })
	b.Run("smallest", func(b *testing.B) { bareLoad(b, func(*corev1.Pod) {}) })
}

// asOurs makes a pod say what the backend's say of a task of one GPU.
func asOurs(p *corev1.Pod) {
	const id = "06gzzjhew6ax2zrszn4c8hxbvm"
	p.Labels = map[string]string{
		"app.kubernetes.io/managed-by": "bare", "bare.dev/attempt": "0", "bare.dev/kind": "training", "bare.dev/name": p.Name,
		"bare.dev/project": "default", "bare.dev/role": "task", "bare.dev/task": "0", "bare.dev/workload": id,
	}
	p.Annotations = map[string]string{"bare.dev/asked": "1/0", "bare.dev/devices": "0", "bare.dev/pull-retries": "4", "bare.dev/task-id": id + "/0/0", "bare.dev/user": "root"}
	c := &p.Spec.Containers[0]
	for i, value := range []string{id + "/0/0", p.Name, p.Name, id, "1", "true", "0", "node-0", "default", "1", "0", "task", "0", p.Name, id, "0", "1", "0", id + "/0/0", "1", "0", p.Name, "default", p.Name} {
		c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("BARE_VALUE_%d", i), Value: value})
	}
	c.Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("1")}
	p.Spec.Hostname = "task-0"
	p.Spec.ShareProcessNamespace, p.Spec.AutomountServiceAccountToken, p.Spec.EnableServiceLinks = new(true), new(false), new(false)
}

func bareLoad(b *testing.B, fill func(*corev1.Pod)) {
	const pods, clients = 1000, 32
	c := kubetest.Start(b, kubetest.Options{})
	nodes := c.Kwok(b, 50, kubetest.NodeShape{GPUs: 20})
	var bound, ran time.Duration
	for b.Loop() {
		b.StopTimer()
		ns := c.Namespace(b)
		running := watch(b, c, ns, pods)
		b.StartTimer()
		start := time.Now()
		createAndBind(b, c, ns, nodes, pods, clients, fill)
		bound += time.Since(start)
		select {
		case <-running:
		case <-time.After(10 * time.Minute):
			b.Fatal("not all pods run after 10 minutes")
		}
		ran += time.Since(start)
		b.StopTimer()
		empty(b, c, ns)
		b.StartTimer()
	}
	b.ReportMetric(float64(pods*b.N)/bound.Seconds(), "bound/s")
	b.ReportMetric(float64(pods*b.N)/ran.Seconds(), "pods/s")
}

// watch returns what closes when n pods have been seen to run.
func watch(b *testing.B, c *kubetest.Cluster, ns string, n int) <-chan struct{} {
	b.Helper()
	running, stop := make(chan struct{}), make(chan struct{})
	b.Cleanup(func() { close(stop) })
	seen := map[string]bool{} // by the informer's goroutine only
	look := func(o any) {
		p, ok := o.(*corev1.Pod)
		if !ok || p.Status.Phase != corev1.PodRunning || seen[p.Name] {
			return
		}
		if seen[p.Name] = true; len(seen) == n {
			close(running)
		}
	}
	pods := cache.NewListWatchFromClient(c.Client.CoreV1().RESTClient(), "pods", ns, fields.Everything())
	i := cache.NewSharedInformer(pods, &corev1.Pod{}, 0)
	if _, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: look, UpdateFunc: func(_, o any) { look(o) }}); err != nil {
		b.Fatal(err)
	}
	go i.Run(stop)
	if !cache.WaitForCacheSync(stop, i.HasSynced) {
		b.Fatal("the informer does not begin")
	}
	return running
}

func createAndBind(b *testing.B, c *kubetest.Cluster, ns string, nodes []string, pods, clients int, fill func(*corev1.Pod)) {
	b.Helper()
	ctx := context.Background()
	next := make(chan int)
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for i := range next {
				p := kubetest.Pod(fmt.Sprint("p-", i), "any", 1)
				p.Spec.SchedulerName = "nobody"
				fill(p)
				if _, err := c.Client.CoreV1().Pods(ns).Create(ctx, p, metav1.CreateOptions{}); err != nil {
					b.Error(err)
					continue
				}
				to := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: ns}, Target: corev1.ObjectReference{Kind: "Node", Name: nodes[i%len(nodes)]}}
				if err := c.Client.CoreV1().Pods(ns).Bind(ctx, to, metav1.CreateOptions{}); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for i := range pods {
		next <- i
	}
	close(next)
	all.Wait()
	if b.Failed() {
		b.FailNow()
	}
}

// empty deletes all pods and waits until they are gone.
func empty(b *testing.B, c *kubetest.Cluster, ns string) {
	b.Helper()
	ctx := context.Background()
	if err := c.Client.CoreV1().Pods(ns).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		b.Fatal(err)
	}
	kubetest.Eventually(b, "all pods gone", func() error {
		l, err := c.Client.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{Limit: 1})
		if err == nil && len(l.Items) > 0 {
			err = errStill
		}
		return err
	})
}
