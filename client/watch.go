package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/musterhq/muster/api"
)

const (
	// silence is how long a stream may say nothing, not even a heartbeat
	// (every 15 s), before it counts as broken.
	silence = 45 * time.Second
	// longestPause bounds the wait between two attempts to reconnect.
	longestPause = 5 * time.Second
)

// WatchOptions select what to watch.
type WatchOptions struct {
	Project string // "": all
	Name    string // "": all; else a name or an id
	// After is the revision after which to begin; 0: with what comes from now on.
	After int64
	// Broken, when set, is called each time the connection is lost, before the
	// wait until the next attempt.
	Broken func(err error, wait time.Duration)
}

// WatchEvent is one thing that a watch tells.
type WatchEvent struct {
	// Workload has changed. It comes without its document; Transitions and the
	// tasks of Attempts are only those of this change.
	Workload *api.Workload
	// Synced, with no workload: all that had happened before has been told,
	// each workload once, without its transitions. It comes after every
	// connection, so also after a lost one: whoever needs what happened in
	// between reads it now.
	Synced bool
	// Revision of the last change told.
	Revision int64
}

// Watch tells changes of workloads until ctx is done or the loop is left. A
// lost connection is made again and resumes where it broke; only a refusal of
// the server ends the watch, with the problem as the last error.
func (c *Client) Watch(ctx context.Context, o WatchOptions) iter.Seq2[WatchEvent, error] {
	return func(yield func(WatchEvent, error) bool) {
		w := watch{c: c, o: o, resume: -1, last: o.After, yield: yield}
		if o.After > 0 {
			w.resume = o.After
		}
		pause := 100 * time.Millisecond
		for {
			before := w.events
			err := w.connect(ctx)
			if ctx.Err() != nil || errors.Is(err, errLeft) {
				return
			}
			if p := (*api.Problem)(nil); errors.As(err, &p) && p.Code != CodeUnreachable && p.Status < 500 {
				yield(WatchEvent{}, err)
				return
			}
			if w.events > before { // it had worked
				pause = 100 * time.Millisecond
			}
			if o.Broken != nil {
				o.Broken(err, pause)
			}
			if sleep(ctx, pause) != nil {
				return
			}
			pause = min(pause*2, longestPause)
		}
	}
}

// errLeft says that whoever ranges over the watch has left the loop.
var errLeft = errors.New("the loop was left")

type watch struct {
	c      *Client
	o      WatchOptions
	resume int64 // the revision to resume after; negative: from now on
	last   int64 // the revision of the last change told
	events int
	yield  func(WatchEvent, error) bool
}

// connect reads one connection to its end.
func (w *watch) connect(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	q := url.Values{}
	if w.o.Project != "" && w.o.Project != AllProjects {
		q.Set("project", w.o.Project)
	}
	if w.o.Name != "" {
		q.Set("name", w.o.Name)
	}
	k := call{method: http.MethodGet, path: "/v1/watch", query: q, header: http.Header{"Accept": {"text/event-stream"}}}
	if w.resume >= 0 {
		q.Set("after", strconv.FormatInt(w.resume, 10))
		k.header.Set("Last-Event-ID", strconv.FormatInt(w.resume, 10))
	}
	quiet := time.AfterFunc(silence, cancel)
	defer quiet.Stop()
	resp, err := w.c.send(ctx, k)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	r := newEventReader(&touching{resp.Body, quiet})
	for {
		e, err := r.next()
		if err != nil {
			return err
		}
		if err := w.deliver(e); err != nil {
			return err
		}
	}
}

func (w *watch) deliver(e event) error {
	if n, err := strconv.ParseInt(e.id, 10, 64); err == nil && n > w.last {
		// One revision may change many workloads, and the connection may break
		// between them: the whole revision is asked for again.
		w.last, w.resume = n, n-1
	}
	out := WatchEvent{Revision: w.last}
	switch e.name {
	case "synced":
		out.Synced = true
	case "workload":
		out.Workload = new(api.Workload)
		if err := json.Unmarshal(e.data, out.Workload); err != nil {
			return fmt.Errorf("an event is not understood: %w", err)
		}
	default:
		return nil // of a newer server
	}
	w.events++
	if !w.yield(out, nil) {
		return errLeft
	}
	return nil
}

// touching puts off a timer with everything that is read.
type touching struct {
	r     io.Reader
	timer *time.Timer
}

func (t *touching) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	if n > 0 {
		t.timer.Reset(silence)
	}
	return n, err
}
