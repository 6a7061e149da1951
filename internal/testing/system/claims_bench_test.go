package system

import (
	"context"
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/testing/kubetest"
)

// BenchmarkKubeClaims measures from the creation of 1,000 pods by someone else,
// who leaves their places to us, until all of them run: of one maker, and of a
// maker each. BenchmarkBareLoad of internal/testing/kubetest is what the same API server
// gives whoever creates and binds them himself.
func BenchmarkKubeClaims(b *testing.B) {
	for _, makers := range []int{1, 1000} {
		b.Run(fmt.Sprintf("makers=%d", makers), func(b *testing.B) {
			const n = 1000
			k := kubetest.Start(b, kubetest.Options{NoScheduler: true, NoControllers: true})
			k.Kwok(b, 50, kubetest.NodeShape{Prefix: "node", GPUs: 32})
			c := &cluster{start(b, "--backend", "kube", "--kubeconfig", k.Kubeconfig), k}
			k.Kubectl(b, "create", "namespace", "ml")
			k.Kubectl(b, "label", "namespace", "ml", "muster.dev/project=default")
			runs := c.running(b, "ml")
			b.ResetTimer()
			for i := range b.N {
				before := runs()
				b.StopTimer()
				refs := c.makers(b, fmt.Sprintf("m-%d", i), makers)
				b.StartTimer()
				c.crowd(b, fmt.Sprintf("p-%d", i), n, refs)
				await(b, "all pods run", func() bool { return runs() >= before+n })
				b.StopTimer()
				if err := k.Client.CoreV1().Pods("ml").DeleteCollection(context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
					b.Fatal(err)
				}
				kubetest.Eventually(b, "the pods are gone", func() error {
					l, err := k.Client.CoreV1().Pods("ml").List(context.Background(), metav1.ListOptions{Limit: 1})
					if err == nil && len(l.Items) > 0 {
						err = fmt.Errorf("%s is there", l.Items[0].Name)
					}
					return err
				})
				b.StartTimer()
			}
			b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "pods/s")
		})
	}
}

// makers are objects that pods can belong to.
func (c *cluster) makers(tb testing.TB, name string, n int) []metav1.OwnerReference {
	tb.Helper()
	out := make([]metav1.OwnerReference, n)
	each(tb, n, func(i int) error {
		m, err := c.k.Client.CoreV1().ConfigMaps("ml").Create(context.Background(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", name, i)}}, metav1.CreateOptions{})
		if err == nil {
			yes := true
			out[i] = metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: m.Name, UID: m.UID, Controller: &yes}
		}
		return err
	})
	return out
}

// crowd makes n pods of these makers, 32 at once.
func (c *cluster) crowd(tb testing.TB, name string, n int, makers []metav1.OwnerReference) {
	tb.Helper()
	each(tb, n, func(i int) error {
		p := kubetest.Pod(fmt.Sprintf("%s-%d", name, i), "sim:1", 1)
		p.Spec.SchedulerName = "muster"
		p.OwnerReferences = makers[i%len(makers) : i%len(makers)+1]
		_, err := c.k.Client.CoreV1().Pods("ml").Create(context.Background(), p, metav1.CreateOptions{})
		return err
	})
}

func each(tb testing.TB, n int, do func(int) error) {
	tb.Helper()
	next := make(chan int)
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			for i := range next {
				if err := do(i); err != nil {
					tb.Error(err)
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
}
