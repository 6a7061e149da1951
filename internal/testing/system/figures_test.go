package system

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/testing/ocitest"
)

// needContainers skips where containers cannot run.
func needContainers(tb testing.TB) {
	tb.Helper()
	if os.Geteuid() != 0 {
		tb.Skip("this takes root: runc makes containers for root only")
	}
	if _, err := exec.LookPath("runc"); err != nil {
		tb.Skip("this takes runc: apt-get install runc")
	}
}

// BenchmarkContainer measures submit → command running in a container whose
// image is cached, one after another.
func BenchmarkContainer(b *testing.B) {
	needContainers(b)
	reg := ocitest.New(b)
	reg.Push(b, "busybox:1", ocitest.Image(b, v1.Config{Env: []string{"PATH=/bin"}}, ocitest.Busybox(b)))
	s := start(b)
	image := `"image":"` + reg.Ref("busybox:1") + `"`
	s.submit(b, 1, 1, `{"name":"warm-%d","command":["true"],`+image+`}`)
	s.await(b, "warm-1", "Completed")
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		name := "c-" + time.Duration(i).String()
		s.submit(b, 1, 1, `{"name":"`+name+`","command":["true"],`+image+`,"retry":{"limit":%d}}`)
		w := s.await(b, name, "Completed")
		took = append(took, time.Time(*w.Attempts[0].Tasks[0].StartedAt).Sub(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// BenchmarkArray measures the submission of an array of 10,000 tasks, and what
// it adds to the server's memory while it waits and runs.
func BenchmarkArray(b *testing.B) {
	s := start(b)
	fill(b, s)
	before, _, err := resident(s.cmd.Process.Pid)
	if err != nil {
		b.Fatal(err)
	}
	var took time.Duration
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		if _, err := s.conn.Submit(context.Background(), []byte(`{"namePrefix":"array","command":["true"],"resources":{"cpu":"1m"},"array":{"completions":10000}}`), client.SubmitOptions{}); err != nil {
			b.Fatal(err)
		}
		took += time.Since(began)
	}
	after, _, err := resident(s.cmd.Process.Pid)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(took.Microseconds())/1000/float64(b.N), "ms/submission")
	b.ReportMetric(float64(after-before)/(1<<20)/float64(b.N), "MiB-more")
}

// TestSurvivorsEndSoon: when a rank fails, the others are told to end within a
// second of its exit. What is measured is from the culprit's end to the
// survivor's, which ends as soon as it is told.
func TestSurvivorsEndSoon(t *testing.T) {
	s := start(t)
	doc := `{"name":"gang","kind":"distributed","workers":2,"resources":{"cpu":"100m"},"command":"[ $RANK = 1 ] && { sleep 0.3; exit 3; }; exec sleep 100000"}`
	if _, err := s.conn.Submit(context.Background(), []byte(doc), client.SubmitOptions{}); err != nil {
		t.Fatal(err)
	}
	w := s.await(t, "gang", "Failed")
	a := w.Attempts[0]
	if a.Culprit == nil || *a.Culprit != 1 || a.ExitCode == nil || *a.ExitCode != 3 {
		t.Errorf("culprit %v with code %v, want 1 with 3", a.Culprit, a.ExitCode)
	}
	gap := time.Time(*a.Tasks[0].EndedAt).Sub(time.Time(*a.Tasks[1].EndedAt))
	t.Logf("the survivor ended %v after the rank that failed", gap)
	// The bound is for a machine under any load; docs/benchmarks.md has the figure.
	if gap < 0 || gap > 20*time.Second {
		t.Errorf("the survivor ended %v after the rank that failed", gap)
	}
}

// BenchmarkArrayRun runs an array of 10,000 tasks to its end and reports the
// memory of the server afterwards and how many tasks ended in a second.
func BenchmarkArrayRun(b *testing.B) {
	s := start(b)
	s.submit(b, 1, 1, `{"name":"warm-%d","command":["true"]}`)
	s.await(b, "warm-1", "Completed")
	before, _, err := resident(s.cmd.Process.Pid)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.conn.Submit(context.Background(), []byte(`{"namePrefix":"array","command":["true"],"resources":{"cpu":"50m"},"array":{"completions":10000}}`), client.SubmitOptions{}); err != nil {
			b.Fatal(err)
		}
		s.drained(b)
	}
	after, _, err := resident(s.cmd.Process.Pid)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(after-before)/(1<<20), "MiB-more")
	b.ReportMetric(10000*float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
}
