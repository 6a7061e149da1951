package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
)

// follower reads a stream.
type follower struct {
	t  *testing.T
	sc *bufio.Scanner
}

func (w *world) follow(last string) *follower { return w.followAs("", last) }

// followAs follows with a query.
func (w *world) followAs(query, last string) *follower {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	w.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, "GET", "http://muster/v1/stream"+query, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := w.http.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		w.t.Fatalf("%s %v", resp.Status, resp.Header)
	}
	sc := bufio.NewScanner(resp.Body)
	sc.Buffer(nil, 16<<20)
	return &follower{w.t, sc}
}

// next is the next event of a name that fits, and its id.
func (f *follower) next(name string, fits func(data string) bool) string {
	f.t.Helper()
	id, event := "", ""
	for f.sc.Scan() {
		line := f.sc.Text()
		switch {
		case line == "":
			id, event = "", ""
		case strings.HasPrefix(line, "id: "):
			id = line[4:]
		case strings.HasPrefix(line, "event: "):
			event = line[7:]
		case strings.HasPrefix(line, "data: ") && event == name && fits(line[6:]):
			return id
		}
	}
	f.t.Fatalf("the stream ended before %s came: %v", name, f.sc.Err())
	return ""
}

// rows finds a row of a name in a phase.
func rows(t *testing.T, name, phase string) func(string) bool {
	return func(data string) bool {
		var all []api.Row
		if err := json.Unmarshal([]byte(data), &all); err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(all, func(r api.Row) bool { return r.Name == name && r.Phase == phase })
	}
}

func always(string) bool { return true }

func TestAStreamTellsWhatChanges(t *testing.T) {
	w := newWorld(t)
	f := w.follow("")
	f.next("greeting", always)
	f.next("overview", func(data string) bool {
		var s api.Overview
		if err := json.Unmarshal([]byte(data), &s); err != nil {
			t.Fatal(err)
		}
		return len(s.Cluster.Nodes) == 1 && s.Waits != nil
	})
	w.submit(`{"name":"a","command":["fake","run=forever"],"resources":{"gpu":2}}`)
	f.next("rows", rows(t, "a", "Running"))
	w.submit(`{"name":"b","command":["fake","run=forever"],"resources":{"gpu":2}}`)
	f.next("overview", func(data string) bool {
		var s api.Overview
		if err := json.Unmarshal([]byte(data), &s); err != nil {
			t.Fatal(err)
		}
		return s.Phases["Queued"] == 1 && len(s.Waits) == 1 && s.Waits[0].Position == 1 && s.Waits[0].Message != "" && s.Cluster.Nodes[0].GPU.Used == 2000
	})
}

// A page is told what of an overview has become another: who waits first, then the
// cluster, and of that no more nodes than have changed.
func TestAStreamTellsOfOverviewsWhatHasChanged(t *testing.T) {
	w := newWorld(t)
	f := w.followAs("?changes=true", "")
	next := func(fits func(c api.OverviewChange) bool) {
		t.Helper()
		f.next("overview", func(data string) bool {
			var c api.OverviewChange
			if err := json.Unmarshal([]byte(data), &c); err != nil {
				t.Fatal(err)
			}
			return fits(c)
		})
	}
	first := true
	next(func(c api.OverviewChange) bool {
		if first && (c.Waits == nil || c.Cluster != nil) {
			t.Errorf("the first part is %+v", c)
		}
		first = false
		return c.Cluster != nil && len(c.Cluster.Nodes) == 1
	})
	w.submit(`{"name":"a","command":["fake","run=forever"],"resources":{"gpu":2}}`)
	next(func(c api.OverviewChange) bool {
		return c.Cluster != nil && len(c.Cluster.Nodes) == 1 && c.Cluster.Nodes[0].GPU.Used == 2000
	})
	w.submit(`{"name":"b","command":["fake","run=forever"],"resources":{"gpu":2}}`)
	next(func(c api.OverviewChange) bool {
		if c.Cluster != nil && len(c.Cluster.Nodes) > 0 {
			t.Errorf("a node is told that nothing happened to: %+v", c.Cluster.Nodes)
		}
		return c.Phases["Queued"] == 1 && c.Waits != nil && len(*c.Waits) == 1
	})
}

func TestAStreamIsResumed(t *testing.T) {
	w := newWorld(t)
	var list api.RowList
	w.ok("GET", "/v1/projects/-/rows", "", http.StatusOK, &list)
	w.submit(`{"name":"missed","command":["fake","run=forever"]}`)
	w.await("missed", "Running")
	f := w.follow(fmt.Sprint(list.Revision))
	// Who is cut off before the rows have come must not take them for seen.
	if id := f.next("greeting", always); id != "" {
		t.Errorf("the greeting has the id %s though rows were missed", id)
	}
	last := f.next("rows", rows(t, "missed", "Running"))
	w.submit(`{"name":"later","command":["fake","run=forever"]}`)
	w.await("later", "Running")
	if id := w.follow("").next("greeting", always); id == "" {
		t.Error("the greeting of who has missed nothing says not from where to resume")
	}
	again := w.follow(last)
	again.next("rows", rows(t, "later", "Running"))
	w.refused("GET", "/v1/stream", "", http.StatusGone, "gone", "Last-Event-ID", "999999999")
	w.refused("GET", "/v1/stream", "", http.StatusUnprocessableEntity, "invalid", "Last-Event-ID", "yesterday")
}

func TestRowsAreWhatListsShow(t *testing.T) {
	w := newWorld(t)
	w.submit(`{"name":"gang","kind":"distributed","workers":2,"command":["fake","run=forever"],"resources":{"gpu":1},"labels":{"team":"a"}}`)
	w.await("gang", "Running")
	var list api.RowList
	w.ok("GET", "/v1/projects/-/rows?phase=running", "", http.StatusOK, &list)
	if len(list.Items) != 1 {
		t.Fatalf("%+v", list)
	}
	r := list.Items[0]
	if r.Name != "gang" || r.GPUs != 2 || r.Tasks.Running != 2 || !slices.Equal(r.Nodes, []string{"node-1"}) || r.NodeCount != 1 || r.Words["mcli"] != "RUNNING" || r.Labels["team"] != "a" || !slices.Contains(r.AllowedActions, "stop") {
		t.Errorf("%+v", r)
	}
	if age := time.Since(time.Time(r.Since)); age < 0 || age > patience {
		t.Errorf("since %v", time.Time(r.Since))
	}
}

// TestAChangeOfFewOfManyTasksSaysSo: where all are is not in it.
func TestAChangeOfFewOfManyTasksSaysSo(t *testing.T) {
	w := newWorld(t)
	f := w.follow("")
	w.submit(`{"name":"wide","array":{"completions":80},"command":["fake","run=forever","run@3=300ms"],"resources":{"cpu":0.01}}`)
	all := false
	f.next("rows", func(data string) bool {
		var rows []api.Row
		if err := json.Unmarshal([]byte(data), &rows); err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			switch {
			case r.Partial:
				if len(r.Nodes) > 0 || !all {
					t.Errorf("a part says where all are, or comes first: %+v", r)
				}
				return true
			case r.Phase == "Starting" || r.Phase == "Running":
				if all = true; !slices.Equal(r.Nodes, []string{"node-1"}) || r.NodeCount != 1 {
					t.Errorf("all tasks are at %v", r.Nodes)
				}
			}
		}
		return false
	})
}

// However many wait, it is the head of each queue that is explained: with the
// newest alone nobody would see who is next, or that anybody waits for a GPU.
func TestTheHeadOfALongQueueIsExplained(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.submit(`{"name":"runs","command":["fake","run=forever"],"resources":{"gpu":2}}`)
	w.await("runs", "Running")
	const long = 1200
	var docs []string
	for i := range long {
		docs = append(docs, fmt.Sprintf(`{"name":"w%d","command":["fake","run=forever"],"resources":{"gpu":1}}`, i))
	}
	var r api.BulkResult
	w.call("POST", "/v1/workloads:bulk", "["+strings.Join(docs, ",")+"]", &r)
	f := w.follow("")
	f.next("overview", func(data string) bool {
		var s api.Overview
		if err := json.Unmarshal([]byte(data), &s); err != nil {
			t.Fatal(err)
		}
		if s.Phases["Queued"] != long {
			return false
		}
		places := map[int]bool{}
		for _, x := range s.Waits {
			places[x.Position] = true
		}
		for i := 1; i <= 700; i++ {
			if !places[i] {
				t.Logf("place %d of the queue is not among %d that are explained", i, len(s.Waits))
				return false
			}
		}
		return len(s.Waits) <= 1000
	})
	var rows api.RowList
	w.call("GET", "/v1/projects/-/rows?explained=true", "", &rows)
	if len(rows.Items) < 700 || !slices.ContainsFunc(rows.Items, func(r api.Row) bool { return r.Name == "w0" }) {
		t.Errorf("%d rows of those that are explained, and not of the first", len(rows.Items))
	}
}
