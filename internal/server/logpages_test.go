package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
)

const perRank = 40

// gang submits three tasks that begin to write one after another: 1, 2, 0, so long apart
// that no machine under load has two begin at once.
func (w *world) gang(name string) {
	w.t.Helper()
	args := []string{"fake", "run=100ms", "start@0=6s", "start@1=1ms", "start@2=3s"}
	for rank := range 3 {
		for n := range perRank {
			args = append(args, fmt.Sprintf("log@%d=rank %d Line %d\x1b[31m red\x1b[0m", rank, rank, n))
		}
	}
	command, err := json.Marshal(args)
	if err != nil {
		w.t.Fatal(err)
	}
	w.submit(`{"name":"` + name + `","kind":"distributed","workers":3,"resources":{"cpu":0.1},"command":` + string(command) + `}`)
}

func (w *world) logPage(name, query string) api.LogPage {
	w.t.Helper()
	var p api.LogPage
	if resp := w.call("GET", "/v1/projects/default/workloads/"+name+"/logs/merged?"+query, "", &p); resp.StatusCode != http.StatusOK {
		w.t.Fatalf("%s: %s", query, resp.Status)
	}
	return p
}

// checkGang fails unless lines are all lines of a gang in the order of time.
func checkGang(t *testing.T, lines []api.LogLine) {
	t.Helper()
	if len(lines) != 3*perRank {
		t.Fatalf("%d lines, want %d", len(lines), 3*perRank)
	}
	for i, l := range lines {
		rank := []int{1, 2, 0}[i/perRank]
		if want := fmt.Sprintf("rank %d Line %d\x1b[31m red\x1b[0m", rank, i%perRank); l.Text != want || l.Task != rank {
			t.Fatalf("line %d is %+v, want %q", i, l, want)
		}
		if i > 0 && time.Time(l.At).Before(time.Time(lines[i-1].At)) {
			t.Fatalf("line %d was written before the one before it", i)
		}
	}
}

func TestOutputsOfATeamAreReadTogetherInTheOrderOfTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.gang("gang")
	w.await("gang", "Completed")
	var back []api.LogLine
	p := w.logPage("gang", "limit=7")
	for n := 0; ; n++ {
		back = append(slices.Clone(p.Lines), back...)
		if p.Before == "" {
			break
		}
		if n > 3*perRank {
			t.Fatal("it never comes to the begin")
		}
		p = w.logPage("gang", "limit=7&before="+url.QueryEscape(p.Before))
	}
	checkGang(t, back)
	var on []api.LogLine
	for p = w.logPage("gang", "limit=11&after=0@0"); ; p = w.logPage("gang", "limit=11&after="+url.QueryEscape(p.After)) {
		if on = append(on, p.Lines...); !p.More {
			break
		}
	}
	checkGang(t, on)
	at := url.QueryEscape(time.Time(on[2*perRank].At).Format(time.RFC3339Nano))
	if p := w.logPage("gang", "at="+at); len(p.Lines) != perRank || p.Lines[0].Task != 0 || p.Before == "" {
		t.Errorf("from the time of the last rank on there are %d lines: %+v", len(p.Lines), p)
	}
	if p := w.logPage("gang", "tasks=0,2"); len(p.Lines) != 2*perRank || p.Lines[0].Task != 2 {
		t.Errorf("of two of them there are %d lines", len(p.Lines))
	}
	for query, code := range map[string]int{"tasks=x": 422, "before=1": 422, "after=a@b": 422, "attempt=3": 404, "follow=true": 422} {
		w.refused("GET", "/v1/projects/default/workloads/gang/logs/merged?"+query, "", code, map[int]string{422: "invalid", 404: "not_found"}[code])
	}
}

func TestOutputsOfATeamAreFollowedTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.gang("gang")
	w.await("gang", "Starting")
	var text string
	w.call("GET", "/v1/projects/default/workloads/gang/logs/merged?follow=true&after=0@0", "", &text) // until all have ended
	var lines []api.LogLine
	var last api.LogPage
	for line := range strings.Lines(text) {
		last = api.LogPage{}
		if err := json.Unmarshal([]byte(line), &last); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, last.Lines...)
	}
	checkGang(t, lines)
	if !last.Ended {
		t.Error("it does not say that it has ended")
	}
}

// logFollower reads the lines of a following as they come.
type logFollower struct {
	t     *testing.T
	pages *json.Decoder
	lines []api.LogLine
}

func (w *world) followLogs(name, query string) *logFollower {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	w.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://muster/v1/projects/default/workloads/"+name+"/logs/merged?follow=true&"+query, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	resp, err := w.http.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { resp.Body.Close() })
	return &logFollower{t: w.t, pages: json.NewDecoder(resp.Body)}
}

// until waits until what came fits.
func (f *logFollower) until(what string, fits func([]api.LogLine) bool) {
	f.t.Helper()
	for !fits(f.lines) {
		var p api.LogPage
		if err := f.pages.Decode(&p); err != nil {
			f.t.Fatalf("waiting for %s after %+v: %v", what, f.lines, err)
		}
		f.lines = append(f.lines, p.Lines...)
	}
}

// TestAFollowingGoesOnWithReplicas follows a replica that is started again in
// place, and those that take its place: their number stays the same.
func TestAFollowingGoesOnWithReplicas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.submit(`{"name":"serves","kind":"inference","replicas":1,"resources":{"cpu":0.1},"command":["fake","run=100ms,forever","exit=1","log=hello"]}`)
	w.await("serves", "Starting") // nobody asks here whether it is ready
	f := w.followLogs("serves", "after=0@0")
	of := func(lines []api.LogLine, replica int) (n int) {
		for _, l := range lines {
			if l.Task == replica {
				n++
			}
		}
		return n
	}
	f.until("what it says started again in place", func(lines []api.LogLine) bool { return of(lines, 0) == 2 })
	if again := f.lines[1]; again.Offset != int64(len("hello\n")) || again.Text != "hello" {
		t.Errorf("it went on with %+v", again)
	}
	w.ok("POST", "/v1/projects/default/workloads/serves:update", `{"kind":"inference","replicas":1,"resources":{"cpu":0.1},"command":["fake","run=forever","log=another"]}`, http.StatusOK, nil)
	f.until("the replica that took its place", func(lines []api.LogLine) bool { return of(lines, 1) == 1 })
	if len(f.lines) != 3 {
		t.Errorf("%+v", f.lines)
	}
}

// TestAFollowingOfAnArrayHearsEachTaskOnce follows more tasks than run at a time.
func TestAFollowingOfAnArrayHearsEachTaskOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.submit(`{"name":"many","array":{"completions":40,"parallelism":4},"resources":{"cpu":0.1},"command":["fake","run=200ms","log=hello"]}`)
	f := w.followLogs("many", "after=0@0")
	heard := map[int]int{}
	f.until("all of them", func(lines []api.LogLine) bool { return len(lines) >= 40 })
	var p api.LogPage
	for !p.Ended {
		p = api.LogPage{}
		if err := f.pages.Decode(&p); err != nil {
			t.Fatal(err)
		}
		f.lines = append(f.lines, p.Lines...)
	}
	for _, l := range f.lines {
		heard[l.Task]++
	}
	if len(heard) != 40 || len(f.lines) != 40 {
		t.Errorf("%d lines of %d tasks: %v", len(f.lines), len(heard), heard)
	}
}

func TestAPageOfLongLinesIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	args := []string{"fake"}
	for range 10 {
		args = append(args, "log="+strings.Repeat("x", 60_000))
	}
	command, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	w.submit(`{"name":"wide","kind":"distributed","workers":8,"resources":{"cpu":0.1},"command":` + string(command) + `}`)
	w.await("wide", "Completed")
	lines, pages := 0, 0
	for p := (api.LogPage{After: "0@0", More: true}); p.More; pages++ {
		p = w.logPage("wide", "limit=5000&after="+url.QueryEscape(p.After))
		size := 0
		for _, l := range p.Lines {
			size += len(l.Text)
		}
		if lines += len(p.Lines); size > 4<<20+60_000 || len(p.Lines) == 0 {
			t.Fatalf("a page has %d lines and %d bytes", len(p.Lines), size)
		}
	}
	if lines != 80 || pages != 2 {
		t.Errorf("%d lines in %d pages, want 80 in 2", lines, pages)
	}
}

func TestLogsAreSearchedWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.gang("gang")
	w.await("gang", "Completed")
	search := func(query string) (api.LogHits, int) {
		t.Helper()
		var all, p api.LogHits
		for n := 1; ; n++ {
			if resp := w.call("GET", "/v1/projects/default/workloads/gang/logs/search?"+query+"&after="+url.QueryEscape(p.Next), "", &p); resp.StatusCode != http.StatusOK {
				t.Fatal(resp.Status)
			}
			if all.Hits = append(all.Hits, p.Hits...); p.Next == "" {
				all.Scanned, all.Total = p.Scanned, p.Total
				return all, n
			}
			p = api.LogHits{Next: p.Next}
		}
	}
	for query, want := range map[string]int{"q=line+7": 3, "q=LINE": 120, "q=7+red": 12, "q=31m": 0, "q=rank+1&tasks=0": 0, "q=%5Erank+%5B02%5D.*9+red$&regexp=true": 8} {
		if got, _ := search(query); len(got.Hits) != want || got.Scanned != got.Total || got.Total == 0 {
			t.Errorf("%s finds %d, want %d; %d of %d bytes were searched", query, len(got.Hits), want, got.Scanned, got.Total)
		}
	}
	got, pages := search("q=line&limit=50")
	if len(got.Hits) != 120 || pages != 3 {
		t.Errorf("%d lines in %d pages", len(got.Hits), pages)
	}
	one := got.Hits[41]
	var text string
	w.call("GET", fmt.Sprintf("/v1/projects/default/workloads/gang/logs?task=%d&offset=%d", one.Task, one.Offset), "", &text)
	if !strings.HasPrefix(text, one.Text+"\n") {
		t.Errorf("at byte %d of task %d is %.40q, not %q", one.Offset, one.Task, text, one.Text)
	}
	w.refused("GET", "/v1/projects/default/workloads/gang/logs/search?q=%5B&regexp=true", "", http.StatusUnprocessableEntity, "invalid")
}

func TestTasksAreReadPageByPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.submit(`{"name":"many","array":{"completions":60},"resources":{"cpu":0.1,"gpu":0.1},"retry":{"limit":0},"command":["fake","exit@41=3","run@41=300ms"]}`)
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		var whole api.Workload
		w.call("GET", "/v1/projects/default/workloads/many", "", &whole)
		if whole.EndedAt != nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(whole.Phase)
		}
	}
	page := func(query string) (p api.TaskPage) {
		t.Helper()
		if resp := w.call("GET", "/v1/projects/default/workloads/many/tasks?"+query, "", &p); resp.StatusCode != http.StatusOK {
			t.Fatal(query, resp.Status)
		}
		return p
	}
	first := page("limit=25")
	if len(first.Items) != 25 || first.Next != "25" || first.Counts["failed"] != 1 {
		t.Errorf("%d tasks, next %q, %v", len(first.Items), first.Next, first.Counts)
	}
	if p := page("limit=25&cursor=" + first.Next); p.Items[0].Index != 25 {
		t.Errorf("the next page begins with %d", p.Items[0].Index)
	}
	if p := page("state=failed"); p.Total != 1 || p.Items[0].Index != 41 || p.Next != "" {
		t.Errorf("%+v", p)
	}
	if p := page("sort=-exit&limit=2"); p.Items[0].Index != 41 || p.Items[1].Index != 0 || p.Next != "2" {
		t.Errorf("%+v", p)
	}
	if p := page("sort=-task&limit=1"); p.Items[0].Index != first.Counts["succeeded"]+first.Counts["failed"]-1 {
		t.Errorf("%+v", p)
	}
	var cut api.Workload
	w.call("GET", "/v1/projects/default/workloads/many?tasks=10", "", &cut)
	if a := cut.Attempts[0]; len(a.Tasks) != 11 || a.TasksLeft != 49 || a.Tasks[10].Index != 41 {
		t.Errorf("%d tasks of %d", len(a.Tasks), len(a.Tasks)+a.TasksLeft)
	}
	var whole api.Workload
	w.call("GET", "/v1/projects/default/workloads/many?tasks=-1", "", &whole)
	if a, b := whole.Attempts[0].Lost, cut.Attempts[0].Lost; a == nil || b == nil || *a != *b || a.GPUSeconds <= 0 || whole.GPUSeconds != cut.GPUSeconds {
		t.Errorf("with all its tasks it lost %+v of %v, with some %+v of %v", a, whole.GPUSeconds, b, cut.GPUSeconds)
	}
	p := page("state=succeeded&limit=30")
	if n := len(p.Items); n != 30 || p.Next != strconv.Itoa(p.Items[29].Index+1) {
		t.Errorf("%d that succeeded, next %q", n, p.Next)
	}
	w.refused("GET", "/v1/projects/default/workloads/many/tasks?state=asleep", "", http.StatusUnprocessableEntity, "invalid")
}
