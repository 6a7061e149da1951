//go:build linux

package local

import (
	"context"
	"errors"
	"os/exec"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/container"
	"github.com/musterhq/muster/internal/backend/local/protocol"
	"github.com/musterhq/muster/internal/backend/local/taskdir"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// preparations are the tasks with an image that the supervisor does not have yet,
// or never will: their images are being pulled. They live in this process
// alone; whoever restarts it asks for them again.
type preparations struct {
	mu       sync.Mutex
	tasks    map[core.TaskID]*preparation
	watchers map[*protocol.Backlog]struct{}
	over     bool            // the backend is closed
	open     context.Context //nolint:containedctx // done then
	shut     context.CancelFunc
	running  sync.WaitGroup
	pulls    pulls
	swept    bool                 // holds of unknown tasks were released
	begun    map[core.TaskID]bool // until then: what this process has been asked for
}

// preparation is one of them. Its fields are guarded by preparations.mu.
type preparation struct {
	a       backend.Assignment // as it was asked for; it does not change
	obs     backend.Observation
	cancel  context.CancelFunc
	handing bool           // the supervisor is being told
	stop    *time.Duration // asked for while handing
}

func newPreparations() *preparations {
	open, shut := context.WithCancel(context.Background())
	return &preparations{
		open: open, shut: shut,
		tasks: map[core.TaskID]*preparation{}, begun: map[core.TaskID]bool{}, watchers: map[*protocol.Backlog]struct{}{},
		pulls: pulls{flights: map[string]*flight{}},
	}
}

// prepare begins what is not there yet.
func (p *Backend) prepare(ctx context.Context, tasks []backend.Assignment) error {
	ids := make([]core.TaskID, len(tasks))
	for i, a := range tasks {
		ids[i] = a.ID
		if err := taskdir.CheckTask(a.ID); err != nil {
			return err
		}
	}
	// What the supervisor has, of an earlier server perhaps, is left alone.
	r, err := p.call(ctx, protocol.Request{Op: protocol.OpObserve, IDs: ids}, false)
	if err != nil && !errors.Is(err, errNoSupervisor) {
		return err
	}
	there := map[core.TaskID]bool{}
	for _, o := range r.Seen {
		there[o.ID] = true
	}
	for _, a := range tasks {
		if !there[a.ID] {
			p.prepareOne(a)
		}
	}
	return nil
}

func (p *Backend) prepareOne(a backend.Assignment) {
	q := p.preps
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.tasks[a.ID] != nil || q.over {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	prep := &preparation{a: a, cancel: cancel}
	prep.obs = backend.Observation{ID: a.ID, State: core.TaskStarting, Waiting: protocol.Creating(&a), At: time.Now()}
	q.tasks[a.ID] = prep
	if !q.swept {
		q.begun[a.ID] = true
	}
	q.publish(prep.obs)
	q.running.Go(func() {
		defer cancel()
		p.bring(ctx, prep)
	})
}

// bring takes one task from its image to the supervisor.
func (p *Backend) bring(ctx context.Context, prep *preparation) {
	// 1. A machine that cannot run it need not pull.
	engine, err := p.engine()
	if err != nil {
		p.preps.fail(prep, lifecycle.ReasonContainerCannot, err.Error())
		return
	}
	// 2. The image, held before anybody can evict it.
	image, ok := p.pullImage(ctx, prep)
	if !ok {
		return
	}
	for wait := 100 * time.Millisecond; ; wait = min(wait*2, 10*time.Second) {
		// 3. The supervisor's from here on.
		err := p.handOver(ctx, prep, protocol.Container{Image: image, Engine: engine, CDI: p.opts.CDIDirs})
		if err == nil || ctx.Err() != nil {
			return
		}
		p.preps.report(prep, protocol.Creating(&prep.a), err.Error(), nil)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// engine finds what runs containers.
func (p *Backend) engine() (string, error) {
	if p.opts.Images == nil {
		return "", errors.New("this server has no container engine: it was started without a place for images; leave image out, or start it with containers")
	}
	path, err := exec.LookPath(p.opts.Engine)
	if err != nil {
		return "", errors.New("this server has no container engine: runc is not installed; install it (apt-get install runc), or leave image out to run on the machine itself")
	}
	return path, nil
}

// pullImage tries as often as the assignment says.
func (p *Backend) pullImage(ctx context.Context, prep *preparation) (container.Image, bool) {
	wait := p.opts.PullBackoff
	for try := 1; ; try++ {
		image, err := p.preps.pulls.pull(ctx, p.opts.Images, prep, func(text string, far *core.Pull) {
			p.preps.report(prep, protocol.Creating(&prep.a), text, far)
		})
		if err == nil {
			// It is here now; this holds it, or brings again what was evicted meanwhile.
			image, err = p.opts.Images.Pull(ctx, prep.a.Image, PullOptions{Owner: prep.a.ID.String(), Credentials: prep.a.Credentials}, func(PullProgress) {})
		}
		if err == nil {
			return image, true
		}
		if ctx.Err() != nil {
			return image, false
		}
		var t interface{ Temporary() bool }
		if prep.a.PullRetries >= 0 && (try > prep.a.PullRetries || !errors.As(err, &t) || !t.Temporary()) {
			p.preps.fail(prep, lifecycle.ReasonFailedImagePull, explainPull(prep.a.Image, err, try))
			return image, false
		}
		// The error first, then that it will be tried again.
		p.preps.report(prep, waitErrPull, err.Error(), nil)
		shown := min(wait/4, 2*time.Second)
		if !sleep(ctx, shown) {
			return image, false
		}
		p.preps.report(prep, waitBackoff, err.Error(), nil)
		if !sleep(ctx, wait-shown) {
			return image, false
		}
		wait = min(wait*2, 30*p.opts.PullBackoff)
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// handOver gives the task to the supervisor. An error means that the caller may try
// again.
func (p *Backend) handOver(ctx context.Context, prep *preparation, b protocol.Container) error {
	q := p.preps
	q.mu.Lock()
	if prep.obs.State.Ended() || ctx.Err() != nil {
		q.mu.Unlock()
		return nil
	}
	prep.handing = true
	q.mu.Unlock()
	a := prep.a
	a.Credentials = nil
	job, err := p.job(a, &b)
	if err == nil {
		_, err = p.call(ctx, protocol.Request{Op: protocol.OpStart, Tasks: []protocol.Job{job}}, true)
	}
	q.mu.Lock()
	prep.handing = false
	stop := prep.stop
	if err == nil {
		delete(q.tasks, a.ID)
	}
	q.mu.Unlock()
	if stop == nil {
		return err
	}
	if err != nil {
		q.fail(prep, lifecycle.ReasonKilled, "it was stopped before its container began")
		return nil
	}
	return p.about(ctx, protocol.Request{Op: protocol.OpStop, IDs: []core.TaskID{a.ID}, Grace: *stop})
}

// stopPreparing ends those of the tasks that are being prepared. The supervisor is
// told of those that it is just being given, for as long as that takes: it may
// not have heard of them yet.
func (p *Backend) stopPreparing(ids []core.TaskID, grace time.Duration) {
	for _, id := range ids {
		p.preps.mu.Lock()
		prep := p.preps.tasks[id]
		if prep != nil && prep.handing {
			if prep.stop == nil && !p.preps.over {
				handing := prep
				p.preps.running.Go(func() { p.stopHanding(handing) })
			}
			if prep.stop == nil || grace < *prep.stop {
				prep.stop = &grace
			}
			prep = nil
		}
		p.preps.mu.Unlock()
		if prep != nil {
			prep.cancel()
			p.preps.fail(prep, lifecycle.ReasonKilled, "it was stopped before its container began")
		}
	}
}

// stopHanding has the supervisor end a task as soon as it has it: before the answer,
// which comes when its command has begun.
func (p *Backend) stopHanding(prep *preparation) {
	for wait := time.Millisecond; ; wait = min(wait*2, 100*time.Millisecond) {
		p.preps.mu.Lock()
		handing, over, grace := prep.handing, p.preps.over, *prep.stop
		p.preps.mu.Unlock()
		if !handing || over {
			return // who handed it over tells the supervisor, or nobody any more
		}
		ids := []core.TaskID{prep.a.ID}
		_ = p.about(p.preps.open, protocol.Request{Op: protocol.OpStop, IDs: ids, Grace: grace})
		time.Sleep(wait)
	}
}

// publish tells all watchers; call it with mu held.
func (q *preparations) publish(o backend.Observation) {
	for w := range q.watchers {
		w.Add(o)
	}
}

// report says what a task waits for, and how far its image is while that is
// pulled.
func (q *preparations) report(prep *preparation, word, message string, far *core.Pull) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if prep.obs.State.Ended() || q.tasks[prep.a.ID] != prep {
		return
	}
	if word != prep.obs.Waiting { // another state; how far a pull is makes none
		prep.obs.At = time.Now()
	}
	prep.obs.Waiting, prep.obs.Message, prep.obs.Pull = word, message, far
	q.publish(prep.obs)
}

// fail ends a task that will not come to the supervisor. The first end counts.
func (q *preparations) fail(prep *preparation, why lifecycle.Reason, message string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if prep.obs.State.Ended() || q.over {
		return
	}
	prep.obs = backend.Observation{ID: prep.a.ID, State: core.TaskFailed, Reason: string(why), Message: message, At: time.Now()}
	q.publish(prep.obs)
}

// seen adds the preparations to what the supervisor has, which knows better.
func (q *preparations) seen(supervisors []backend.Observation) []backend.Observation {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.add(supervisors)
}

// add is seen with mu held.
func (q *preparations) add(supervisors []backend.Observation) []backend.Observation {
	if len(q.tasks) == 0 {
		return supervisors
	}
	known := make(map[core.TaskID]bool, len(supervisors))
	for _, o := range supervisors {
		known[o.ID] = true
	}
	for id, prep := range q.tasks {
		if !known[id] {
			supervisors = append(supervisors, prep.obs)
		}
	}
	return supervisors
}

// forget drops those that have ended.
func (q *preparations) forget(ids []core.TaskID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, id := range ids {
		if prep := q.tasks[id]; prep != nil && prep.obs.State.Ended() {
			delete(q.tasks, id)
		}
	}
}

// close ends all preparations, without a word: they are asked for again.
func (q *preparations) close() {
	q.mu.Lock()
	q.over = true
	q.shut()
	for _, prep := range q.tasks {
		prep.cancel()
	}
	q.mu.Unlock()
	q.running.Wait()
	q.pulls.running.Wait()
}

// watch tells of preparations until ctx is done.
func (q *preparations) watch(ctx context.Context, seen func([]backend.Observation)) {
	w := &protocol.Backlog{Wake: make(chan struct{}, 1)}
	q.mu.Lock()
	q.watchers[w] = struct{}{}
	news := q.add(nil) // with the lock held: no event is told before what it follows
	q.mu.Unlock()
	defer func() {
		q.mu.Lock()
		delete(q.watchers, w)
		q.mu.Unlock()
	}()
	for {
		if len(news) > 0 {
			seen(news)
		}
		select {
		case <-ctx.Done():
			return
		case <-w.Wake:
		}
		var over bool
		if news, over = w.Take(); over {
			news = q.seen(nil)
		}
	}
}

// release lets go of the images of forgotten tasks. Forget leaves living tasks
// alone, and these need their images.
func (p *Backend) release(ctx context.Context, ids []core.TaskID) error {
	if p.opts.Images == nil {
		return nil
	}
	r, err := p.call(ctx, protocol.Request{Op: protocol.OpObserve, IDs: ids}, false)
	if err != nil && !errors.Is(err, errNoSupervisor) {
		return err
	}
	there := map[core.TaskID]bool{}
	for _, o := range p.preps.seen(r.Seen) {
		there[o.ID] = true
	}
	var errs []error
	for _, id := range ids {
		if !there[id] {
			errs = append(errs, p.opts.Images.Release(id.String()))
		}
	}
	return errors.Join(errs...)
}

// sweep lets go, once, of images that a crash left held for nobody.
func (p *Backend) sweep(supervisors []backend.Observation) {
	if p.opts.Images == nil {
		return
	}
	q := p.preps
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.swept {
		return
	}
	q.swept = true
	known := map[string]bool{}
	for _, o := range supervisors {
		known[o.ID.String()] = true
	}
	for _, owner := range p.opts.Images.Held() {
		id, err := core.ParseTaskID(owner)
		if err == nil && !known[owner] && !q.begun[id] {
			_ = p.opts.Images.Release(owner) // if not now, then when the server starts again
		}
	}
	q.begun = nil
}
