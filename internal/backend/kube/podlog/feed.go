package podlog

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/internal/backend/kube/apicall"
	"github.com/musterhq/muster/internal/core"
)

// feed brings the output of one pod home, container by container.
type feed struct {
	l          *Logs
	id         core.TaskID
	space, pod string
	uid        types.UID
	made       time.Time

	ctx      context.Context //nolint:containedctx // of the feed, until its log is complete or deleted
	end      context.CancelFunc
	there    chan struct{} // closed when the log's file is
	complete chan struct{} // closed when nothing is added to it any more
	wanted   chan struct{} // closed when somebody waits for it
	want     func()        // closes it

	mu       sync.Mutex
	now      podState
	node     string
	running  bool
	gone     bool
	endedAt  time.Time     // when the task was over, or its pod gone
	changed  chan struct{} // closed when something did
	troubled bool          // its streams fail
	cut      func()        // ends the stream under way
	lastRead time.Time     // when that last brought something
	readers  map[chan struct{}]struct{}
}

func newFeed(l *Logs, id core.TaskID, pod *corev1.Pod) *feed {
	f := &feed{
		l: l, id: id, space: pod.Namespace, pod: pod.Name, uid: pod.UID, made: pod.CreationTimestamp.Time, node: pod.Spec.NodeName,
		there: make(chan struct{}), complete: make(chan struct{}), changed: make(chan struct{}), readers: map[chan struct{}]struct{}{},
	}
	f.ctx, f.end = context.WithCancel(l.src.Context)
	f.wanted = make(chan struct{})
	f.want = sync.OnceFunc(func() { close(f.wanted) })
	for _, p := range stateOf(pod).parts {
		f.now.parts = append(f.now.parts, part{name: p.name})
	}
	return f
}

// learn takes over what the pod is like. With its first container begins the
// work. The lock of the logs is held.
func (f *feed) learn(s podState, node string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if node != "" {
		f.node = node
	}
	news := s.over && !f.now.over
	begun := false
	for i := range f.now.parts {
		old := &f.now.parts[i]
		for _, p := range s.parts {
			if p.name != old.name {
				continue
			}
			news = news || old.started.IsZero() && !p.started.IsZero() || p.ended && !old.ended
			if old.started.IsZero() { // once it has, no later word takes that back
				old.started = p.started
			}
			old.ended = old.ended || p.ended
		}
		begun = begun || !old.started.IsZero()
	}
	f.now.over = f.now.over || s.over
	if !news {
		return
	}
	f.note()
	if begun && !f.running && f.ctx.Err() == nil {
		f.running = true
		f.l.src.Go(f.run)
	}
}

// leave takes over that the pod is gone. It reports whether work goes on.
func (f *feed) leave() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gone = true
	f.note()
	return f.running && !f.isComplete()
}

// note tells that something has changed. The lock is held.
func (f *feed) note() {
	if f.ended() {
		if f.endedAt.IsZero() {
			f.endedAt = time.Now()
		}
		f.want()
		f.limit()
	}
	close(f.changed)
	f.changed = make(chan struct{})
}

// limit ends a stream that brings nothing although there is nothing more to
// wait for. The lock is held.
func (f *feed) limit() {
	if f.cut == nil {
		return
	}
	most := f.l.wait.silent
	if f.gone {
		most = f.l.wait.gone
	}
	cut, last := f.cut, f.lastRead
	time.AfterFunc(most, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.lastRead.After(last) {
			f.limit()
			return
		}
		cut()
	})
}

func (f *feed) began() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.running
}

// left reports whether the pod is gone.
func (f *feed) left() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.gone
}

// over reports whether nothing of the task runs any more.
func (f *feed) over() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ended()
}

func (f *feed) ended() bool {
	return f.gone || f.now.over || f.now.parts[len(f.now.parts)-1].ended
}

func (f *feed) isComplete() bool { return isClosed(f.complete) }

// failing reports whether the streams fail at this time.
func (f *feed) failing() (bool, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.troubled, f.changed
}

func (f *feed) trouble(yes bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.troubled != yes {
		f.troubled = yes
		f.note()
	}
}

func (f *feed) listen(wake chan struct{}) {
	f.want()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readers[wake] = struct{}{}
}

func (f *feed) unlisten(wake chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.readers, wake)
}

// wake tells readers that there is more, or the end.
func (f *feed) wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lastRead = time.Now()
	for wake := range f.readers {
		wakeUp(wake)
	}
}

// look is what is known of a container at this moment.
type look struct {
	started time.Time
	later   bool      // one after it has started
	ended   bool      // it, or the whole pod
	gone    bool      // the pod
	since   time.Time // when the task ended; zero: it has not
	node    string
	changed <-chan struct{}
}

func (f *feed) look(i int) look {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.now.parts[i]
	x := look{started: p.started, ended: p.ended || f.now.over || f.gone, gone: f.gone, since: f.endedAt, node: f.node, changed: f.changed}
	for _, next := range f.now.parts[i+1:] {
		x.later = x.later || !next.started.IsZero()
	}
	return x
}

// run is the work of a feed.
func (f *feed) run() {
	f.giveWay()
	t := &tape{f: f}
	remark := f.copyAll(t)
	t.close(remark)
	close(f.complete)
	f.end()
	f.wake()
	f.mu.Lock()
	f.note()
	f.mu.Unlock()
	f.l.done(f)
}

// giveWay lets pods that are being started go first: a stream costs the API
// server and the node as much as a pod does, and what it brings is not lost for
// coming a little later. It waits for no more than a moment, and for nothing
// where somebody wants the log.
func (f *feed) giveWay() {
	for end := time.Now().Add(f.l.wait.yield); time.Now().Before(end) && f.l.src.Starting(); {
		if isClosed(f.wanted) || !f.pause(apicall.StartingPasses/2, f.wanted) {
			return
		}
	}
}

// isClosed reports whether a channel has been closed.
func isClosed(event <-chan struct{}) bool {
	select {
	case <-event:
		return true
	default:
		return false
	}
}

// copyAll brings everything home. What it returns is why something is missing.
func (f *feed) copyAll(t *tape) (remark string) {
	before := false
	for wait := f.l.wait.first; ; wait = min(2*wait, f.l.wait.most) {
		var err error
		if before, err = f.l.claim(f.id, f.uid); err == nil {
			break
		}
		f.l.src.Log.Warn("the log of a task cannot be made; trying again", "task", f.id, "err", err)
		if !f.pause(wait, nil) {
			return ""
		}
	}
	f.wake()
	close(f.there)
	if before && t.load() {
		return "" // it has been given up before
	}
	for i := range f.now.parts { // their number and order stay
		for {
			x := f.look(i)
			if !x.started.IsZero() {
				if remark, ok := f.copy(t, i); !ok || remark != "" {
					return remark
				}
				if t.word != "" {
					t.say(givenUp + t.word)
				}
				t.next()
				break
			}
			if x.ended || x.later {
				break // it never came to be
			}
			if !f.pause(time.Hour, x.changed) {
				return ""
			}
		}
	}
	return ""
}

// pause waits for so long, or for changed. It reports whether to go on.
func (f *feed) pause(d time.Duration, changed <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-changed:
	case <-f.ctx.Done():
	}
	return f.ctx.Err() == nil
}

// copy brings home the output of a container that has started. It is whole when
// a stream that was opened after the container had ended came to its end: one
// that was open before may end early. ok is false when there is nobody to bring
// it to any more.
func (f *feed) copy(t *tape, i int) (remark string, ok bool) {
	s := streak{f: f, name: f.now.parts[i].name}
	for {
		x := f.look(i)
		if x.gone {
			return s.lost(), true
		}
		if s.hopeless(x.since) {
			return s.remark(), true
		}
		if may, ok := s.admitted(x); !ok {
			return "", false
		} else if !may {
			continue
		}
		err := f.stream(t, s.name)
		if f.ctx.Err() != nil {
			return "", false
		}
		if err == nil && x.ended {
			f.trouble(false)
			return "", true
		}
		if !s.after(err, x, t.got) {
			return "", false
		}
	}
}

// stream copies what a container has written and writes until that ends.
func (f *feed) stream(t *tape, name string) error {
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	f.mu.Lock()
	f.cut, f.lastRead = cancel, time.Now()
	if f.ended() {
		f.limit()
	}
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.cut = nil
		f.mu.Unlock()
	}()
	t.got = false
	free, err := f.l.gates.slot(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", errBroke, err)
	}
	defer free()
	o := &corev1.PodLogOptions{Container: name, Follow: true, Timestamps: true}
	if since := t.resume(); !since.IsZero() {
		o.SinceTime = &metav1.Time{Time: since}
	}
	body, err := f.l.src.API.CoreV1().Pods(f.space).GetLogs(f.pod, o).MaxRetries(0).Stream(ctx)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", errBroke, err) // cut by us: it says nothing of the node
	}
	if err != nil {
		return err
	}
	free()
	f.trouble(false)
	defer func() { _ = body.Close() }()
	return t.copy(body)
}
