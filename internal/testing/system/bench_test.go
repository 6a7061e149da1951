package system

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
)

// clients is how many submit at once.
const clients = 64

// BenchmarkSubmit measures durable single submissions over the unix socket by
// 64 clients, while the machine is full: each is checked, stored, queued and
// looked at by the scheduler before it is answered.
func BenchmarkSubmit(b *testing.B) {
	s := start(b)
	fill(b, s)
	b.ResetTimer()
	s.submit(b, b.N, clients, `{"name":"s-%d","command":["true"],"resources":{"cpu":"100m"}}`)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "submissions/s")
}

// BenchmarkSubmitAudited is BenchmarkSubmit with the audit log on: each submission
// is an entry in the commit that stores it.
func BenchmarkSubmitAudited(b *testing.B) {
	s := start(b)
	if _, err := s.conn.Access.SwitchAudit(context.Background(), true); err != nil {
		b.Fatal(err)
	}
	fill(b, s)
	b.ResetTimer()
	s.submit(b, b.N, clients, `{"name":"s-%d","command":["true"],"resources":{"cpu":"100m"}}`)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "submissions/s")
}

// fill takes the whole machine.
func fill(tb testing.TB, s *server) {
	tb.Helper()
	ctx := context.Background()
	c, err := s.conn.Cluster(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	doc := fmt.Sprintf(`{"name":"full","kind":"workspace","command":["sleep","100000"],"resources":{"cpu":"%dm"},"gracePeriod":"1s"}`, c.Nodes[0].CPU.Total)
	if _, err := s.conn.Submit(ctx, []byte(doc), client.SubmitOptions{}); err != nil {
		tb.Fatal(err)
	}
	s.await(tb, "full", "Running")
	tb.Cleanup(func() {
		if _, err := s.conn.Stop(ctx, "default", "full", api.StopOptions{}); err == nil {
			s.await(tb, "full", "Stopped")
		}
	})
}

func (s *server) await(tb testing.TB, name, phase string) *api.Workload {
	tb.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		w, err := s.conn.Workload(context.Background(), "default", name)
		if err == nil && w.Phase == phase {
			return w
		}
		if time.Now().After(deadline) {
			tb.Fatalf("%s did not become %s: %+v, %v", name, phase, w, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// submit sends n documents, made of a pattern with their number, by some
// clients at once.
func (s *server) submit(tb testing.TB, n, clients int, pattern string) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for {
				i := int(next.Add(1))
				if i > n {
					return
				}
				if _, err := s.conn.Submit(context.Background(), fmt.Appendf(nil, pattern, i), client.SubmitOptions{}); err != nil {
					tb.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkStart measures submit → command running on an idle machine, one
// workload after another; each op is one workload until it has ended.
func BenchmarkStart(b *testing.B) {
	s := start(b)
	s.submit(b, 1, 1, `{"name":"warm-%d","command":["true"]}`) // brings the supervisor up
	s.await(b, "warm-1", "Completed")
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		name := fmt.Sprintf("l-%d", i)
		s.submit(b, 1, 1, `{"name":"`+name+`","command":["true"],"retry":{"limit":%d}}`)
		w := s.await(b, name, "Completed")
		took = append(took, time.Time(*w.Attempts[0].Tasks[0].StartedAt).Sub(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// BenchmarkTrue measures `true` from submit to Completed, sustained: each op is
// one workload, 16 clients submit, and the time runs until the last has ended.
func BenchmarkTrue(b *testing.B) {
	for _, cpu := range []string{"1", "100m"} {
		b.Run("cpu="+cpu, func(b *testing.B) {
			s := start(b)
			s.submit(b, 1, 1, `{"name":"warm-%d","command":["true"]}`)
			s.await(b, "warm-1", "Completed")
			b.ResetTimer()
			s.submit(b, b.N, 16, `{"name":"t-%d","command":["true"],"resources":{"cpu":"`+cpu+`"}}`)
			s.drained(b)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "workloads/s")
		})
	}
}

// drained waits until nothing lives any more.
func (s *server) drained(tb testing.TB) {
	deadline := time.Now().Add(10 * time.Minute)
	for {
		page, err := s.conn.Workloads(context.Background(), client.ListOptions{Live: true, Limit: 1, Summary: true})
		if err == nil && len(page.Items) == 0 {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("workloads remain: %v", err)
		}
		time.Sleep(50 * time.Millisecond) // rarely: looking costs the server too
	}
}

// BenchmarkRest reports the memory of a server at rest that has run a hundred
// workloads, and of it and its supervisor together.
func BenchmarkRest(b *testing.B) {
	s := start(b)
	s.submit(b, 100, 8, `{"name":"r-%d","command":["true"],"resources":{"cpu":"100m"}}`)
	s.drained(b)
	for b.Loop() {
		time.Sleep(10 * time.Millisecond)
	}
	rss, pss, err := resident(s.cmd.Process.Pid)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(rss)/(1<<20), "MiB-RSS")
	b.ReportMetric(float64(pss)/(1<<20), "MiB-PSS")
}
