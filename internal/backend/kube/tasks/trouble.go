package tasks

import (
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// Pulls counts the tries to pull an image, and ends them where they are enough.
func (t *Task) Pulls(o *backend.Observation, pod *corev1.Pod) {
	if o.State != core.TaskStarting || !podstatus.PullFails(o.Waiting) {
		return
	}
	if !podstatus.PullFails(t.Seen.Waiting) || podstatus.IsPullAttempt(o.Waiting) && !podstatus.IsPullAttempt(t.Seen.Waiting) {
		t.tries++
	}
	most, err := strconv.Atoi(pod.Annotations[naming.NotePulls])
	if err != nil {
		most = 0
	}
	if t.Endless = most < 0; t.tries > most && !t.Endless {
		o.State, o.Reason = core.TaskFailed, string(lifecycle.ReasonFailedImagePull)
		o.Waiting = ""
	}
}

// Explain adds to what a pod says what is known from elsewhere.
func (t *Task) Explain(o *backend.Observation) {
	switch {
	case o.State == core.TaskRunning && t.Stuck != "":
		o.Message = t.Stuck
	case o.Reason == string(podstatus.ReasonSystem) && t.Changed != "":
		o.Message += "; the cluster had changed its pod when it was made: " + t.Changed
	}
}

// lookAfter is for how long a pod may stay as it is before it is asked why.
const lookAfter = 5 * time.Second

// longestWord bounds what is taken over of an event, in bytes.
const longestWord = 1 << 10

// Waits notes since when a task waits for what it waits for. blank: nothing of
// its pod has started.
func (t *Task) Waits(o *backend.Observation, blank bool, now time.Time) {
	switch {
	case o.State != core.TaskStarting:
		t.Word, t.Blank, t.Trouble = "", false, time.Time{}
		return
	case o.Waiting != t.Word || blank != t.Blank:
		t.Word, t.Blank, t.since, t.asked, t.Trouble = o.Waiting, blank, now, now, time.Time{}
	}
	switch {
	case o.Message == "" && t.Blank:
		o.Message = t.Seen.Message // what events have said
	case podstatus.CannotBeCreated(podstatus.TrimInit(o.Waiting)) && t.Trouble.IsZero():
		t.Trouble = now // or refused would have ended it
	}
}

// Late are tasks that have waited for the same for long, at most so many. Each
// is asked about again when it has waited half as long again.
func (t *Table) Late(now time.Time, most int) []core.TaskID {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []core.TaskID
	for id, x := range t.known {
		if len(out) == most {
			break
		}
		if !x.There || x.Seen.State != core.TaskStarting || !x.Blank && x.Trouble.IsZero() && !podstatus.PullFails(x.Word) {
			continue
		}
		if pause := max(lookAfter, min(x.asked.Sub(x.since)/2, time.Minute)); now.Sub(x.asked) >= pause {
			x.asked = now
			out = append(out, id)
		}
	}
	return out
}

// Troubled takes over what an event says; it returns the reason that the task
// fails for when it stays so.
func (t *Task) Troubled(event *corev1.Event, now time.Time) lifecycle.Reason {
	switch {
	case !t.Blank && podstatus.PullFails(t.Word): // a kubelet that does not even try again
		if t.Trouble.IsZero() {
			t.Trouble = t.since
		}
		return lifecycle.ReasonFailedImagePull
	case !t.Blank && t.Trouble.IsZero(): // it has gone on since it was found to be late
		return lifecycle.ReasonNone
	case !t.Blank:
		return lifecycle.ReasonContainerCannot
	case event == nil:
		t.Trouble = time.Time{}
		return lifecycle.ReasonNone
	}
	words := strings.TrimSpace(event.Message)
	if len(words) > longestWord {
		words = strings.ToValidUTF8(words[:longestWord], "")
	}
	reason := podstatus.ReasonOfEvent(event.Reason)
	switch {
	case event.Reason == "Pulling":
		t.Seen.Message, t.Trouble = "pulling "+strings.Trim(strings.TrimPrefix(words, "Pulling image "), `"`), time.Time{}
		return lifecycle.ReasonNone
	case reason == lifecycle.ReasonNone:
		return reason
	}
	t.Seen.Message = words
	if t.Trouble.IsZero() {
		t.Trouble = now
	}
	return reason
}
