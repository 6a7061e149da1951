// Package podlog brings the output of pods home while they run, and keeps it in
// files. It is told what becomes of pods and opens logs for readers; of the cluster
// it knows the API of pod logs only.
package podlog

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/logfile"
	"github.com/musterhq/muster/internal/core"
)

// patience is how long the logs wait for what.
type patience struct {
	silent   time.Duration // a node may be before the rest of an ended task's output is given up
	gone     time.Duration // a stream may go on after its pod is gone
	first    time.Duration // before a stream that failed is tried again; doubles up to most
	most     time.Duration
	urgent   time.Duration // the most between two tries while someone waits for the end of a log
	afterEnd time.Duration // a reader waits for the rest of the output of a task that has ended
	yield    time.Duration // the output of a task that has begun waits for pods that are being started
}

var patient = patience{
	silent: time.Minute, gone: 10 * time.Second, first: time.Second, most: 5 * time.Minute, urgent: 15 * time.Second, afterEnd: 30 * time.Second,
	yield: 5 * time.Second,
}

// Logs brings the output of pods home while they run: a cluster keeps it only
// as long as the pod, and of that only the last part. Each pod has a feed.
type Logs struct {
	src   Source
	dir   logfile.Dir
	space *logfile.Space
	wait  patience
	gates *gates

	mu    sync.Mutex
	feeds map[core.TaskID]*feed
}

// Source is the cluster whose output is brought home.
type Source struct {
	API     kubernetes.Interface
	Context context.Context //nolint:containedctx // of everything that goes on between calls
	Go      func(func())    // starts what goes on beside its caller
	Log     *slog.Logger
	// Seen reports whether everything in the cluster has been seen once, and
	// AwaitSeen waits for it.
	Seen      func() bool
	AwaitSeen func(ctx context.Context) error
	Reach     func(ctx context.Context) error // asks the API server for a sign of life
	Starting  func() bool                     // pods are being started
	Task      func(id core.TaskID) (s TaskState, known bool)
}

// TaskState is what is known of a task.
type TaskState struct {
	State core.TaskState
	Pod   bool // its pod is there
}

// New keeps logs in a directory.
func New(dir string, src Source) *Logs {
	l := &Logs{src: src, dir: logfile.Dir(dir), wait: patient, feeds: map[core.TaskID]*feed{}}
	l.space = logfile.NewSpace(dir, 0)
	l.gates = newGates(l)
	return l
}

// PodSeen is told whenever something of a pod of ours is news. It must not block.
func (l *Logs) PodSeen(id core.TaskID, pod *corev1.Pod) {
	if logfile.CheckTask(id) != nil {
		return // not a task that we started
	}
	s := stateOf(pod)
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.feeds[id]
	switch {
	case f == nil || f.uid != pod.UID && !pod.CreationTimestamp.Time.Before(f.made) && f.left():
		f = newFeed(l, id, pod)
		l.feeds[id] = f
	case f.uid != pod.UID:
		return // a late word of a pod that has been replaced
	}
	f.learn(s, pod.Spec.NodeName)
}

// PodGone is told when a pod of ours is not there any more.
func (l *Logs) PodGone(id core.TaskID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f := l.feeds[id]; f != nil && !f.leave() {
		delete(l.feeds, id)
	}
}

func (l *Logs) feed(id core.TaskID) *feed {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.feeds[id]
}

// done forgets a feed that nothing comes of any more.
func (l *Logs) done(f *feed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.feeds[f.id] == f && f.left() {
		delete(l.feeds, f.id)
	}
}

// AwaitComplete waits until what a task wrote, that has ended, is here, or cannot be
// had any more.
func (l *Logs) AwaitComplete(ctx context.Context, id core.TaskID) {
	f := l.feed(id)
	if f == nil || !f.began() {
		return
	}
	select {
	case <-f.complete:
	case <-ctx.Done():
	}
}

// Open opens the log of a task. That of a task that has ended is whole, unless its
// node does not answer.
func (l *Logs) Open(ctx context.Context, id core.TaskID, o backend.LogOptions) (io.ReadCloser, error) {
	l.arrive(ctx, id, o.Follow)
	return l.dir.Open(ctx, id, o, func() logfile.News { return l.follow(id) })
}

// Line is where the unfinished line of a log begins.
func (l *Logs) Line(id core.TaskID) (int64, error) { return l.dir.Line(id) }

// Delete deletes the logs of a workload.
func (l *Logs) Delete(ctx context.Context, w core.WorkloadID) error {
	if err := logfile.CheckWorkload(w); err != nil {
		return err
	}
	l.mu.Lock()
	var all []*feed
	for id, f := range l.feeds {
		if id.Workload == w {
			all = append(all, f)
		}
	}
	l.mu.Unlock()
	for _, f := range all {
		f.end()
		if !f.began() {
			continue
		}
		select { // or it would make the file again
		case <-f.complete:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return os.RemoveAll(l.dir.Workload(w))
}

// syncWithin bounds how long logs, which are here, wait for the cluster.
const syncWithin = 5 * time.Second

// arrive waits until the log of a task is there, where it comes to be at this
// moment, and for the rest of one that has ended, unless it is followed.
func (l *Logs) arrive(ctx context.Context, id core.TaskID, follow bool) {
	if !l.src.Seen() {
		ctx, cancel := context.WithTimeout(ctx, syncWithin)
		_ = l.src.AwaitSeen(ctx)
		cancel()
	}
	t, known := l.src.Task(id)
	if !known || t.State == core.TaskStarting {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, l.wait.afterEnd)
	defer cancel()
	f := l.caughtUp(ctx, id, t)
	if f == nil {
		return
	}
	f.want()
	select {
	case <-f.there:
	case <-f.complete:
	case <-ctx.Done():
	}
	if follow || !t.State.Ended() {
		return
	}
	for {
		failing, changed := f.failing()
		if failing {
			return // it may take a minute, or for ever
		}
		select {
		case <-f.complete:
			return
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// caughtUp returns the feed of a task, where it has one that runs. What is known
// of tasks is so a moment before their logs hear of it.
func (l *Logs) caughtUp(ctx context.Context, id core.TaskID, t TaskState) *feed {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for {
		f := l.feed(id)
		if !t.Pod || f != nil && (!t.State.Ended() && f.began() || f.over()) {
			if f == nil || !f.began() {
				return nil
			}
			return f
		}
		select {
		case <-ctx.Done():
			if f == nil || !f.began() {
				return nil
			}
			return f
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// follow is how a reader learns that there is more of a task's output.
func (l *Logs) follow(id core.TaskID) logfile.News {
	wake := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(l.src.Context)
	f := l.feed(id)
	if f == nil && !l.src.Seen() {
		l.src.Go(func() { // the pod, if there is one, is not known yet
			if l.src.AwaitSeen(ctx) == nil {
				if f := l.feed(id); f != nil {
					f.listen(wake)
					defer f.unlisten(wake)
				}
				wakeUp(wake)
				<-ctx.Done()
			}
		})
	}
	if f != nil {
		f.listen(wake)
	}
	return logfile.News{
		Wake: wake,
		Complete: func() bool {
			if f := l.feed(id); f != nil {
				return f.isComplete() && l.src.Context.Err() == nil
			}
			return l.src.Seen() && l.src.Context.Err() == nil
		},
		Done: func() {
			cancel()
			if f != nil {
				f.unlisten(wake)
			}
		},
	}
}

// wakeUp lets a reader know that there is something.
func wakeUp(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// claim makes the log of a task that has begun, which is silent so far, and notes
// beside it which pod's output it gets. It reports whether that was noted before:
// what the log has is then this pod's. The times of lines do not tell: a container
// may print before the second in which it is said to have started.
func (l *Logs) claim(id core.TaskID, uid types.UID) (before bool, err error) {
	if err := l.touch(id); err != nil {
		return false, err
	}
	note := strings.TrimSuffix(l.dir.Log(id), ".log") + ".pod"
	if noted, err := os.ReadFile(note); err == nil && string(noted) == string(uid) {
		return true, nil
	}
	return false, os.WriteFile(note, []byte(uid), 0o600)
}

func (l *Logs) touch(id core.TaskID) error {
	f, err := os.OpenFile(l.dir.Log(id), os.O_WRONLY|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(l.dir.Workload(id.Workload), 0o700); err == nil {
			f, err = os.OpenFile(l.dir.Log(id), os.O_WRONLY|os.O_CREATE, 0o600)
		}
	}
	if err == nil {
		err = f.Close()
	}
	return err
}
