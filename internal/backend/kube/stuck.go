package kube

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/apicall"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// A kubelet that cannot mount a volume, or make the sandbox of a pod, says so in
// events only: the pod just stays as it is. Of pods of ours that do not get on,
// and of no others, events are looked for, with pauses that grow.

const (
	// lookEvery is how often it is looked whether something does not get on.
	lookEvery = 2 * time.Second
	// lookAfter is for how long a pod may stay as it is before it is asked why.
	lookAfter = 5 * time.Second
	// lookMost bounds the questions of one round.
	lookMost = 20
	// longestPause is more than a kubelet waits between two tries to pull an
	// image: it may have been told to make many.
	longestPause = 6 * time.Minute
	// longestWord bounds what is taken over of an event, in bytes.
	longestWord = 1 << 10
)

// waits notes since when a task waits for what it waits for. blank: nothing of
// its pod has started.
func (t *task) waits(o *backend.Observation, blank bool, now time.Time) {
	switch {
	case o.State != core.TaskStarting:
		t.word, t.blank, t.trouble = "", false, time.Time{}
		return
	case o.Waiting != t.word || blank != t.blank:
		t.word, t.blank, t.since, t.asked, t.trouble = o.Waiting, blank, now, now, time.Time{}
	}
	switch {
	case o.Message == "" && t.blank:
		o.Message = t.seen.Message // what events have said
	case podstatus.CannotBeCreated(podstatus.TrimInit(o.Waiting)) && t.trouble.IsZero():
		t.trouble = now // or refused would have ended it
	}
}

// look goes on looking at what does not get on until ctx is done.
func (p *Backend) look(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, id := range p.tasks.late(p.o.Clock(), lookMost) {
			p.lookAt(ctx, id)
		}
	}
}

// late are tasks that have waited for the same for long, at most so many. Each
// is asked about again when it has waited half as long again.
func (t *tasks) late(now time.Time, most int) []core.TaskID {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []core.TaskID
	for id, x := range t.known {
		if len(out) == most {
			break
		}
		if !x.there || x.seen.State != core.TaskStarting || !x.blank && x.trouble.IsZero() && !podstatus.PullFails(x.word) {
			continue
		}
		if pause := max(lookAfter, min(x.asked.Sub(x.since)/2, time.Minute)); now.Sub(x.asked) >= pause {
			x.asked = now
			out = append(out, id)
		}
	}
	return out
}

// lookAt takes over what events say of a task, and ends it where it has been in
// trouble for longer than anyone should wait.
func (p *Backend) lookAt(ctx context.Context, id core.TaskID) {
	t, ok := p.tasks.get(id)
	if !ok || !t.there {
		return
	}
	var said *corev1.Event
	if t.blank {
		said = p.event(ctx, &t)
	}
	now, over := p.o.Clock(), false
	p.tasks.edit(id, false, func(x *task) {
		if x.uid != t.uid || x.seen.State != core.TaskStarting || x.word != t.word {
			return
		}
		reason := x.troubled(said, now)
		patience := p.o.Patience
		if reason == lifecycle.ReasonFailedImagePull {
			patience = max(patience, longestPause)
		}
		if reason == lifecycle.ReasonFailedImagePull && x.endless {
			return // it is tried for as long as it takes
		}
		if reason == lifecycle.ReasonNone || now.Sub(x.trouble) < patience && !podstatus.CannotPass(x.seen.Message) {
			return
		}
		over = true
		x.seen = backend.Observation{ID: id, State: core.TaskFailed, Reason: string(reason), Message: x.seen.Message, At: now}
	})
	if over {
		p.wg.Go(func() { p.discard(ctx, id) }) // what cannot be removed keeps nobody else waiting
	}
}

// troubled takes over what an event says; it returns the reason that the task
// fails for when it stays so.
func (t *task) troubled(said *corev1.Event, now time.Time) lifecycle.Reason {
	switch {
	case !t.blank && podstatus.PullFails(t.word): // a kubelet that does not even try again
		if t.trouble.IsZero() {
			t.trouble = t.since
		}
		return lifecycle.ReasonFailedImagePull
	case !t.blank:
		return lifecycle.ReasonContainerCannot
	case said == nil:
		t.trouble = time.Time{}
		return lifecycle.ReasonNone
	}
	words := strings.TrimSpace(said.Message)
	if len(words) > longestWord {
		words = strings.ToValidUTF8(words[:longestWord], "")
	}
	reason := podstatus.ReasonOfEvent(said.Reason)
	switch {
	case said.Reason == "Pulling":
		t.seen.Message, t.trouble = "pulling "+strings.Trim(strings.TrimPrefix(words, "Pulling image "), `"`), time.Time{}
		return lifecycle.ReasonNone
	case reason == lifecycle.ReasonNone:
		return reason
	}
	t.seen.Message = words
	if t.trouble.IsZero() {
		t.trouble = now
	}
	return reason
}

// event is the last that is said of a pod and is about what it waits for; nil:
// nothing is.
func (p *Backend) event(ctx context.Context, t *task) *corev1.Event {
	ctx, cancel := context.WithTimeout(ctx, apicall.Timeout)
	defer cancel()
	all, err := p.client.CoreV1().Events(t.space).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.uid=" + string(t.uid), Limit: 100})
	if err != nil {
		if apierrors.IsForbidden(err) && !p.deaf.Swap(true) {
			p.o.Log.Warn("events may not be read: why a pod does not start may stay unknown", "backend", p.o.Name, "err", err)
		}
		return nil
	}
	var last *corev1.Event
	for i := range all.Items {
		e := &all.Items[i]
		if (e.Reason == "Pulling" || e.Reason == "Pulled" || podstatus.ReasonOfEvent(e.Reason) != lifecycle.ReasonNone) && (last == nil || !podstatus.EventTime(e).Before(podstatus.EventTime(last))) {
			last = e
		}
	}
	return last
}
