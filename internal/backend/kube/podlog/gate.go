package podlog

import (
	"context"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	// opening is how many streams are being opened at the same time.
	opening = 32
	// openingFor is how long one counts as being opened. A kubelet does not
	// answer before a container writes: many are silent, and would be in the way
	// of all others.
	openingFor = 100 * time.Millisecond
)

// gates keep the feeds from asking nodes that do not answer. While a node does
// not, one feed at a time asks for all that wait, ever less often.
type gates struct {
	wait  patience
	now   func() time.Time
	slots chan struct{}

	mu    sync.Mutex
	nodes map[string]*gate // of those that do not answer; "" is the API server
}

// gate is shut.
type gate struct {
	fails   int
	tried   time.Time
	probing bool
	hurry   bool // someone waits for the end of a log
	err     error
	changed chan struct{} // closed when something did
}

func newGates(l *Logs) *gates {
	return &gates{wait: l.wait, now: time.Now, slots: make(chan struct{}, opening), nodes: map[string]*gate{}}
}

// turn is what a feed may do about a node now.
type turn struct {
	open  bool            // its streams may be opened
	probe bool            // it asks for all, and tells with pass or fail
	wait  time.Duration   // otherwise: look again then
	news  <-chan struct{} // or when this is closed
	err   error           // what was wrong at last
}

// ask says whether a node may be asked. hurry: the task has ended.
func (g *gates) ask(node string, hurry bool) turn {
	g.mu.Lock()
	defer g.mu.Unlock()
	x := g.nodes[node]
	if x == nil {
		return turn{open: true}
	}
	x.hurry = x.hurry || hurry
	if x.probing {
		return turn{wait: time.Hour, news: x.changed, err: x.err}
	}
	pause := backoff(g.wait, x.fails)
	if x.hurry {
		pause = min(pause, g.wait.urgent)
	}
	if left := x.tried.Add(pause).Sub(g.now()); left > 0 {
		return turn{wait: left, news: x.changed, err: x.err}
	}
	x.probing, x.hurry = true, false
	return turn{probe: true, err: x.err}
}

// fail shuts the gate of a node.
func (g *gates) fail(node string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	x := g.nodes[node]
	if x == nil {
		x = &gate{changed: make(chan struct{})}
		g.nodes[node] = x
	} else if !x.probing {
		return // of a stream that was opened before it was shut
	}
	x.fails, x.tried, x.probing, x.err = x.fails+1, g.now(), false, err
	close(x.changed)
	x.changed = make(chan struct{})
}

// pass opens it.
func (g *gates) pass(node string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if x := g.nodes[node]; x != nil {
		delete(g.nodes, node)
		close(x.changed)
	}
}

// slot waits until one stream more may be opened; free ends that.
func (g *gates) slot(ctx context.Context) (free func(), err error) {
	select {
	case g.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var once sync.Once
	free = func() { once.Do(func() { <-g.slots }) }
	time.AfterFunc(openingFor, free)
	return free, nil
}

// backoff is the pause after so many failures, the first of which is 1.
func backoff(w patience, fails int) time.Duration {
	return min(w.first<<min(fails-1, 30), w.most)
}

// probe asks a node for the output of a container, and takes none of it: a
// stream of a silent one would not tell whether the node is there.
func (f *feed) probe(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	none := int64(0)
	o := &corev1.PodLogOptions{Container: name, TailLines: &none}
	body, err := f.l.src.API.CoreV1().Pods(f.space).GetLogs(f.pod, o).MaxRetries(0).Stream(ctx)
	if err != nil {
		return err
	}
	return body.Close()
}

// blame is whom an error of a stream speaks of: the API server, the node, or
// the container alone.
type blame int

const (
	ofContainer blame = iota
	ofNode
	ofServer
)

func blameFor(err error) blame {
	var status apierrors.APIStatus
	switch {
	case !errors.As(err, &status), apierrors.IsTooManyRequests(err):
		return ofServer
	case status.Status().Code >= 500:
		return ofNode
	case apierrors.IsNotFound(err) && status.Status().Details != nil && status.Status().Details.Kind == "nodes":
		return ofNode
	}
	return ofContainer
}
