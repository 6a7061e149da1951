//go:build linux

package local

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/oci"
	"github.com/musterhq/muster/internal/testing/backendtest"
	"github.com/musterhq/muster/internal/testing/ocitest"
)

// passing is a failure of a pull that may pass.
type passing struct{ text string }

func (e passing) Error() string   { return e.text }
func (e passing) Temporary() bool { return true }

// anyEngine makes do with what is there: what is tested ends before
// an engine is used.
var anyEngine = "true"

// words collects what tasks wait with and since when, in order, without
// repetition.
type words struct {
	mu       sync.Mutex
	waiting  map[core.TaskID][]string
	since    map[core.TaskID][]time.Time
	messages map[core.TaskID][]string
}

func watchWords(t *testing.T, p *Backend) *words {
	t.Helper()
	w := &words{waiting: map[core.TaskID][]string{}, since: map[core.TaskID][]time.Time{}, messages: map[core.TaskID][]string{}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = p.Watch(ctx, func(seen []backend.Observation) {
			w.mu.Lock()
			defer w.mu.Unlock()
			for _, o := range seen {
				word := o.Waiting
				if o.State != core.TaskStarting {
					word = string(o.State)
				}
				if all := w.waiting[o.ID]; len(all) == 0 || all[len(all)-1] != word {
					w.waiting[o.ID] = append(all, word)
				}
				if all := w.since[o.ID]; len(all) == 0 || !all[len(all)-1].Equal(o.At) {
					w.since[o.ID] = append(all, o.At)
				}
				w.messages[o.ID] = append(w.messages[o.ID], o.Message)
			}
		})
	}()
	t.Cleanup(func() { cancel(); <-done })
	until(t, "the watch listens", func() bool {
		p.preps.mu.Lock()
		defer p.preps.mu.Unlock()
		return len(p.preps.watchers) > 0
	})
	return w
}

func (w *words) of(id core.TaskID) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.waiting[id])
}

// checkTimes wants each word to have a time of its own, and progress none.
func (w *words) checkTimes(t *testing.T, id core.TaskID) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if said, since := w.waiting[id], w.since[id]; len(since) != len(said) || !slices.IsSortedFunc(since, time.Time.Compare) {
		t.Errorf("it waited with %q since %v", said, since)
	}
}

func TestPullIsTriedAgain(t *testing.T) {
	s := &shelf{pull: func(_ context.Context, try int, progress func(PullProgress)) error {
		if try == 1 {
			progress(PullProgress{Layers: 2, Done: 1})
		}
		return passing{"the registry is away"}
	}}
	p := open(t, Options{Images: s, Engine: anyEngine, PullBackoff: 20 * time.Millisecond})
	w := watchWords(t, p)
	a := boxed("retry", 0, "true")
	a.PullRetries = 2
	start(t, p, a, a) // asked for twice
	o := end(t, p, a.ID)
	if o.State != core.TaskFailed || o.Reason != "FailedImagePull" || o.ExitCode != nil {
		t.Errorf("%+v, want failed, FailedImagePull, no exit code", o)
	}
	for _, say := range []string{"busybox", "after 3 tries", "the registry is away", "secret of type docker"} {
		if !strings.Contains(o.Message, say) {
			t.Errorf("message %q does not say %q", o.Message, say)
		}
	}
	want := []string{"ContainerCreating", "ErrImagePull", "ImagePullBackOff", "ErrImagePull", "ImagePullBackOff", "failed"}
	until(t, "the watch tells the end", func() bool { return slices.Contains(w.of(a.ID), "failed") })
	if got := w.of(a.ID); !slices.Equal(got, want) {
		t.Errorf("it waited with %q, want %q", got, want)
	}
	w.checkTimes(t, a.ID)
	start(t, p, a) // ended is ended
	if again := observe(t, p, a.ID); !again.At.Equal(o.At) {
		t.Errorf("a second start changed %+v to %+v", o, again)
	}
	if err := p.Forget(t.Context(), []core.TaskID{a.ID}); err != nil {
		t.Fatal(err)
	}
	if o := observe(t, p, a.ID); o.State != "" {
		t.Errorf("after Forget: %+v", o)
	}
	if _, err := p.Logs(t.Context(), a.ID, backend.LogOptions{Tail: -1}); !errors.Is(err, backend.ErrNoLogs) {
		t.Errorf("Logs: %v, want ErrNoLogs", err)
	}
}

func TestPullThatCannotSucceedFailsAtOnce(t *testing.T) {
	s := &shelf{pull: func(context.Context, int, func(PullProgress)) error { return errors.New("bad name") }}
	p := open(t, Options{Images: s, Engine: anyEngine, PullBackoff: time.Hour})
	a := boxed("atonce", 0, "true")
	a.PullRetries = 5
	start(t, p, a)
	if o := end(t, p, a.ID); o.Reason != "FailedImagePull" || !strings.Contains(o.Message, "bad name") || s.tries != 1 {
		t.Errorf("%+v after %d tries, want FailedImagePull after 1", o, s.tries)
	}
}

// TestPullWithoutEnd: what waits for its image for as long as it takes does not
// fail, whatever the registry says, and runs once the image is there.
func TestPullWithoutEnd(t *testing.T) {
	const tries = 12 // more than anything else is granted by default
	s := &shelf{pull: func(_ context.Context, try int, _ func(PullProgress)) error {
		if try < tries {
			return errors.New("no such image")
		}
		return nil
	}}
	p := open(t, Options{Images: s, Engine: anyEngine, PullBackoff: time.Millisecond})
	w := watchWords(t, p)
	a := boxed("endless", 0, "true")
	a.PullRetries = -1
	start(t, p, a)
	until(t, "the image is there", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.tries >= tries })
	if said := w.of(a.ID); !slices.Contains(said, "ImagePullBackOff") {
		t.Errorf("it waited with %q", said)
	}
}

func TestPullIsSharedAndTellsProgress(t *testing.T) {
	needBoxes(t)
	s := newShelf(t)
	let := make(chan struct{})
	s.pull = func(ctx context.Context, _ int, progress func(PullProgress)) error {
		progress(PullProgress{Layers: 10, Done: 3, Bytes: 412e6, Total: 1024e6})
		select {
		case <-let:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	p := open(t, Options{Images: s})
	a, b, c := boxed("shared", 0, "exit 1"), boxed("shared", 1, "exit 2"), boxed("shared", 2, "exit 3")
	start(t, p, a, b, c)
	for _, who := range []backend.Assignment{a, b, c} { // all have joined before it ends: who comes later asks anew
		until(t, "progress is told to "+who.ID.String(), func() bool {
			o := observe(t, p, who.ID)
			return o.Waiting == "ContainerCreating" && o.Message == "pulling busybox: 3 of 10 layers, 412 of 1024 MB" &&
				o.Pull != nil && *o.Pull == core.Pull{Layers: 10, Done: 3, Bytes: 412e6, Total: 1024e6}
		})
	}
	// One gives up; the others' pull goes on.
	if err := p.Stop(t.Context(), []core.TaskID{b.ID}, backendtest.Within); err != nil {
		t.Fatal(err)
	}
	o := observe(t, p, b.ID)
	if o.State != core.TaskFailed || o.Reason != "Killed" || o.Message == "" {
		t.Errorf("stopped while its image was pulled: %+v, want failed, Killed at once", o)
	}
	close(let)
	wantCode(t, end(t, p, a.ID), 1)
	wantCode(t, end(t, p, c.ID), 3)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tries != 1 {
		t.Errorf("the image was pulled %d times, want once", s.tries)
	}
}

func TestAbandonedPullEnds(t *testing.T) {
	ended := make(chan struct{})
	var once sync.Once
	s := &shelf{pull: func(ctx context.Context, _ int, _ func(PullProgress)) error {
		<-ctx.Done()
		once.Do(func() { close(ended) })
		return ctx.Err()
	}}
	p := open(t, Options{Images: s, Engine: anyEngine})
	a, b := boxed("abandoned", 0, "true"), boxed("abandoned", 1, "true")
	start(t, p, a, b)
	until(t, "the pull is under way", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.tries > 0 })
	if err := p.Stop(t.Context(), []core.TaskID{a.ID, b.ID}, 0); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(backendtest.Within):
		t.Error("the pull goes on though nobody waits for it")
	}
}

// TestRestartedServerPreparesAgain restarts the backend in the middle of a pull.
func TestRestartedServerPreparesAgain(t *testing.T) {
	needBoxes(t)
	s := newShelf(t)
	s.held["gone/0/0"] = true // of a task that was never handed over
	s.pull = func(ctx context.Context, try int, _ func(PullProgress)) error {
		if try == 1 {
			<-ctx.Done()
		}
		return ctx.Err()
	}
	p := open(t, Options{Images: s})
	a, b := boxed("restart", 0, "exit 4"), boxed("restart", 1, "true")
	start(t, p, a)
	q := reopen(t, p)
	if o := observe(t, q, a.ID); o.State != "" {
		t.Errorf("after a restart: %+v, want nothing: control asks again", o)
	}
	if got := s.Held(); len(got) != 0 {
		t.Errorf("held are %q, want what nobody needs released", got)
	}
	start(t, q, a, b)
	wantCode(t, end(t, q, a.ID), 4)
	wantCode(t, end(t, q, b.ID), 0)
	// What the supervisor has is left alone, whatever became of the image.
	s.mu.Lock()
	s.pull = func(context.Context, int, func(PullProgress)) error { return errors.New("gone") }
	s.mu.Unlock()
	r := reopen(t, q)
	start(t, r, a)
	wantCode(t, observe(t, r, a.ID), 4)
	if got := s.Held(); !slices.Equal(got, []string{"restart/0/0", "restart/0/1"}) {
		t.Errorf("held are %q, want those of both tasks until they are forgotten", got)
	}
}

func TestPullFromRegistry(t *testing.T) {
	needBoxes(t)
	reg := ocitest.New(t, ocitest.Basic("user", "geheim"))
	reg.Push(t, "team/tool:v1", ocitest.Image(t, v1.Config{
		Env: []string{"PATH=/bin", "FROM=registry"}, Entrypoint: []string{"/bin/busybox", "sh", "-c"}, Cmd: []string{"echo $FROM; exit 3"},
	}, ocitest.Busybox(t)))
	store, err := oci.Open(oci.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	p := open(t, Options{Images: FromStore(store, nil), PullBackoff: time.Millisecond})
	a := backend.Assignment{ID: core.TaskID{Workload: "registry"}, Image: reg.Ref("team/tool:v1")}
	a.Credentials = []backend.Credential{{Server: reg.Host, User: "user", Password: "geheim"}}
	o, out := ran(t, p, a)
	wantCode(t, o, 3)
	if out != "registry\n" {
		t.Errorf("output %q", out)
	}
	if held := store.Held(); len(held) != 1 || len(held["registry/0/0"]) == 0 {
		t.Errorf("held: %v", held)
	}
	for i, c := range []struct {
		image string
		creds []backend.Credential
		says  string
	}{
		{reg.Ref("team/tool:v1"), []backend.Credential{{Server: reg.Host, User: "user", Password: "falsch"}}, "user"},
		{reg.Ref("team/tool:v2"), a.Credentials, "team/tool:v2"},
		{"UPPER/case", nil, "UPPER/case"},
		{"has space", nil, "has space"},
	} {
		b := backend.Assignment{ID: core.TaskID{Workload: "refused", Index: i}, Image: c.image, Credentials: c.creds, Pull: backend.PullAlways, PullRetries: 3}
		o, _ := ran(t, p, b)
		if o.Reason != "FailedImagePull" || !strings.Contains(o.Message, c.says) || strings.Contains(o.Message, "falsch") {
			t.Errorf("%s: %+v, want FailedImagePull that says %q and no password", c.image, o, c.says)
		}
	}
	if err := p.Forget(t.Context(), []core.TaskID{a.ID}); err != nil {
		t.Fatal(err)
	}
	if held := store.Held(); len(held) != 0 {
		t.Errorf("held after all is forgotten: %v", held)
	}
}
