package replay_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/musterhq/muster/internal/simulate/replay"
	"github.com/musterhq/muster/internal/simulate/trace"
)

// recorded is a run told by hand: 4 GPUs; a's job 0 holds all, is preempted at
// 20 for b's job 1, and goes on at 30.
func recorded(t *testing.T, weights map[string]int) replay.Result {
	t.Helper()
	var r replay.Recorder
	r.Submitted(trace.Job{ID: 0, Duration: 30, GPUs: 4, Project: "a"})
	r.Started(0, 0)
	r.Submitted(trace.Job{ID: 1, Submit: 10, Duration: 10, GPUs: 4, Project: "b"})
	r.Preempted(0, 20, 5)
	r.Started(1, 20)
	r.Finished(1, 30)
	r.Started(0, 30)
	r.Finished(0, 45)
	got, err := r.Result(replay.Measure{Name: "by <hand>", Cluster: replay.Cluster{Nodes: 1, GPUsPerNode: 4}, Weights: weights, Buckets: 5})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestRecorderSumsUp(t *testing.T) {
	t.Parallel()
	got := recorded(t, map[string]int{"a": 1, "b": 3})
	want := replay.Result{
		Name: "by <hand>", Cluster: replay.Cluster{Nodes: 1, GPUsPerNode: 4}, Jobs: 2, WorkGPUSeconds: 160,
		UtilisationPercent: 100, UtilisationWhileWaitingPercent: 100,
		Times: replay.Times{
			Wait:       replay.Spread{MeanSeconds: 5, P50Seconds: 0, P90Seconds: 10, P99Seconds: 10, MaxSeconds: 10},
			Completion: replay.Spread{MeanSeconds: 32.5, P50Seconds: 20, P90Seconds: 45, P99Seconds: 45, MaxSeconds: 45},
			TotalWait:  replay.Spread{MeanSeconds: 12.5, P50Seconds: 10, P90Seconds: 15, P99Seconds: 15, MaxSeconds: 15},
			Slowdown:   replay.Ratios{Mean: 1.75, P50: 1.5, P90: 2, P99: 2, Max: 2}, Starts: replay.Ratios{Mean: 1.5, P50: 1, P90: 2, P99: 2, Max: 2},
			LostGPUSeconds: 20,
		},
		Preemptions: 1, WastedGPUSeconds: 20, MakespanSeconds: 45, LongestRestartSeconds: 10, BucketSeconds: 9,
	}
	ignore := cmpopts.IgnoreFields(replay.Result{}, "Check", "BySize", "ByProject", "WaitPercentilesSeconds", "Buckets")
	if d := cmp.Diff(want, got, ignore); d != "" {
		t.Error(d)
	}
	if len(got.Check) != 8 || len(got.WaitPercentilesSeconds) != 101 {
		t.Errorf("check %q, %d percentiles; want 8 digits and 101", got.Check, len(got.WaitPercentilesSeconds))
	}
	if d := cmp.Diff([]int{0, 2, 0, 0, 0, 0}, []int{got.BySize[0].Jobs, got.BySize[1].Jobs, got.BySize[2].Jobs, got.BySize[3].Jobs, got.BySize[4].Jobs, got.BySize[5].Jobs}); d != "" {
		t.Errorf("jobs by size: %s", d)
	}
}

func TestFairnessIsOverTime(t *testing.T) {
	t.Parallel()
	got := recorded(t, map[string]int{"a": 1, "b": 3})
	// Buckets of 9 s: [0, 9) only a wants; [9, 18) both want from 10 on, a holds.
	if f := got.Buckets[0].Fairness; f != 1 {
		t.Errorf("fairness while only one wants: %g, want 1", f)
	}
	// b wants 4 GPUs for 8 of 9 s and is due 3/4 of 4; a holds all.
	a, b := got.ByProject[0], got.ByProject[1]
	if a.Name != "a" || math.Abs(a.EntitledGPUs[1]-1) > 1e-9 || math.Abs(b.EntitledGPUs[1]-3) > 1e-9 || math.Abs(a.HeldGPUs[1]-4) > 1e-9 || b.HeldGPUs[1] != 0 {
		t.Errorf("second bucket: a %s holds %v of %v, b %v of %v; want 4 of 1, 0 of 3", a.Name, a.HeldGPUs[1], a.EntitledGPUs[1], b.HeldGPUs[1], b.EntitledGPUs[1])
	}
	if f := got.Buckets[1].Fairness; math.Abs(f-0.5) > 1e-9 {
		t.Errorf("fairness when one of two has all: %g, want 0.5", f)
	}
	if w := got.Buckets[1].WaitingGPUs; math.Abs(w-4*8.0/9) > 1e-9 {
		t.Errorf("GPUs waited for in the second bucket: %g, want 4 for 8 of 9 s", w)
	}
}

func TestUnfinishedRunsHaveNoResult(t *testing.T) {
	t.Parallel()
	var r replay.Recorder
	if _, err := r.Result(replay.Measure{}); err == nil {
		t.Error("nothing recorded, but a result")
	}
	r.Submitted(trace.Job{Duration: 1, GPUs: 1})
	if _, err := r.Result(replay.Measure{}); err == nil || !strings.Contains(err.Error(), "job 0 has not finished") {
		t.Errorf("error %v, want one naming job 0", err)
	}
}

func TestReportsAreComplete(t *testing.T) {
	t.Parallel()
	report := replay.Report{Title: "Two <runs> & more", Notes: []string{"of \"a trace\""}}
	report.Runs = append(report.Runs, recorded(t, nil), recorded(t, map[string]int{"b": 1}))
	var text, data, page bytes.Buffer
	if err := errors.Join(report.WriteText(&text), report.WriteJSON(&data), report.WriteHTML(&page)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"by <hand>", "mean wait to the first start by project", "12.50", report.Runs[0].Check} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("text lacks %q:\n%s", want, text.String())
		}
	}
	var back replay.Report
	if err := json.Unmarshal(data.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(report, back); d != "" {
		t.Errorf("JSON does not come back: %s", d)
	}
	if strings.Contains(page.String(), "<hand>") || strings.Contains(page.String(), "<script") || strings.Contains(page.String(), "ZgotmplZ") || strings.Contains(page.String(), "http") {
		t.Error("the page has unescaped text, a script, a link, or something the template refused")
	}
	if n := strings.Count(page.String(), "<svg"); n != 8 {
		t.Errorf("%d plots, want 8", n)
	}
	wellFormed(t, page.String())
}

func TestEmptyReportIsWritten(t *testing.T) {
	t.Parallel()
	var page bytes.Buffer
	if err := errors.Join(replay.Report{Title: "none"}.WriteText(&page), replay.Report{Title: "none"}.WriteHTML(&page)); err != nil {
		t.Fatal(err)
	}
}

// wellFormed checks every plot with a strict parser, and that every number in
// it is one.
func wellFormed(t *testing.T, page string) {
	t.Helper()
	for part := range strings.SplitSeq(page, "<svg") {
		body, _, ok := strings.Cut(part, "</svg>")
		if !ok {
			continue
		}
		d := xml.NewDecoder(strings.NewReader("<svg" + body + "</svg>"))
		for {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("a plot is not well formed: %v\n<svg%s", err, body)
			}
		}
		if strings.Contains(body, "NaN") || strings.Contains(body, "Inf") {
			t.Errorf("a plot has no number where one is needed:\n<svg%s", body)
		}
	}
}
