package podgroup

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/apicall"
	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/podowner"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/backend/kube/tasks"
)

// Words that the cluster's own scheduler uses, so that whoever reads pods (people,
// autoscalers) knows them.
const (
	eventFailed     = "FailedScheduling"
	eventScheduled  = "Scheduled"
	actionBinding   = "Binding"
	reasonDisrupted = "PreemptionByScheduler"
)

// reportEvery bounds how many pods are told something in a second, beyond a first
// tellBurst; what is more than that waits. It is nobody's bottleneck, and keeps
// a queue of thousands from being a storm.
const reportEvery, reportBurst = 20 * time.Millisecond, 200

// reporter writes conditions and events of pods that others made.
type reporter struct {
	p *cluster.Cluster

	mu    sync.Mutex
	next  time.Time // when the next word may be said
	muted bool      // the cluster does not let us
}

func newReporter(p *cluster.Cluster) *reporter { return &reporter{p: p} }

// turn waits until a word may be said; false: none may.
func (t *reporter) turn(ctx context.Context) bool {
	t.mu.Lock()
	now := time.Now()
	if earliest := now.Add(-reportBurst * reportEvery); t.next.Before(earliest) {
		t.next = earliest
	}
	t.next = t.next.Add(reportEvery)
	wait := t.next.Sub(now)
	t.mu.Unlock()
	if wait <= 0 {
		return ctx.Err() == nil
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(wait):
		return true
	}
}

// Explain implements backend.Claimant: a condition and an event of every pod that
// waits, where that is news. One that cannot be told keeps no other waiting; it
// fails where the API server does not answer.
func (x *Groups) Explain(ctx context.Context, words []backend.Word) error {
	if !x.p.Drives() {
		return nil // whoever does tells them
	}
	for _, w := range words {
		for _, pod := range x.unaware(w.Claim, w.Text) {
			if !x.reporter.turn(ctx) {
				return ctx.Err()
			}
			err := x.reporter.waits(ctx, pod, w.Reason, w.Text)
			if err != nil && !apicall.IsAnswered(err) {
				return err
			}
			if err != nil { // the next word may come through
				x.p.Limiter.Warn("a pod could not be told why it waits", "pod", pod.Namespace+"/"+pod.Name, "err", err)
			}
			x.aware(pod.UID, w.Text)
		}
	}
	return nil
}

// unaware are the waiting pods of a group that have not been told this.
func (x *Groups) unaware(key, text string) []*corev1.Pod {
	x.Mu.Lock()
	defer x.Mu.Unlock()
	g := x.Groups[key]
	if g == nil {
		return nil
	}
	var out []*corev1.Pod
	for uid := range g.pods {
		if o := x.Pods[uid]; o != nil && o.live() && o.Pod.Spec.NodeName == "" && o.reason != text {
			out = append(out, o.Pod)
		}
	}
	slices.SortFunc(out, func(a, b *corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return out
}

func (x *Groups) aware(uid types.UID, text string) {
	x.Mu.Lock()
	defer x.Mu.Unlock()
	if o := x.Pods[uid]; o != nil {
		o.reason = text
	}
}

// strays tells the pods of no project what would make them some project's.
func (x *Groups) strays(marked map[string]bool) {
	x.Mu.Lock()
	defer x.Mu.Unlock()
	var words []backend.Word
	for key := range marked {
		if g := x.Groups[key]; g != nil && g.Project == "" {
			words = append(words, backend.Word{Claim: key, Reason: "NoProject", Text: g.Scheduling.Bars})
		}
	}
	if len(words) == 0 {
		return
	}
	if x.Reporting { // what is marked now is told after it
		for _, w := range words {
			x.Unreported[w.Claim] = true
		}
		return
	}
	x.Reporting = true
	x.p.Running.Go(func() {
		err := x.Explain(x.p.Context, words)
		x.Mu.Lock()
		defer x.Mu.Unlock()
		maps.Copy(x.Marked, x.Unreported)
		x.Reporting, x.Unreported = false, map[string]bool{}
		ring(x.Wake)
		if err == nil || x.p.Context.Err() != nil {
			return
		}
		x.p.Limiter.Warn("pods of no project could not be told so; trying again", "err", err)
		x.after(podowner.FirstRecheck, func() {
			for _, w := range words { // those that know are passed over
				x.Marked[w.Claim] = true
			}
		})
	})
}

// waits says on a pod why it waits.
func (t *reporter) waits(ctx context.Context, pod *corev1.Pod, reason, text string) error {
	c := podstatus.Condition(pod, corev1.PodScheduled)
	if c != nil && c.Status == corev1.ConditionFalse && c.Message == text {
		return nil // a server before us has said so
	}
	err := t.condition(ctx, pod, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: text})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return nil // it has gone meanwhile
	case t.forbidden(err):
		return nil
	case err != nil:
		return err
	}
	t.event(ctx, pod, corev1.EventTypeWarning, eventFailed, text+" ("+reason+")")
	return nil
}

// forbidden notes, once, that the cluster does not let us say anything.
func (t *reporter) forbidden(err error) bool {
	if !apierrors.IsForbidden(err) {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.muted {
		t.muted = true
		t.p.Options.Log.Warn("pods cannot be told why they wait: the server's role needs patch of pods/status and create of events", "backend", t.p.Options.Name, "err", err)
	}
	return true
}

// condition sets one of a pod.
func (t *reporter) condition(ctx context.Context, pod *corev1.Pod, c corev1.PodCondition) error {
	now := metav1.NewTime(t.p.Options.Clock())
	if was := podstatus.Condition(pod, c.Type); was == nil || was.Status != c.Status {
		c.LastTransitionTime = now
	} else {
		c.LastTransitionTime = was.LastTransitionTime
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"status":   map[string]any{"conditions": []corev1.PodCondition{c}},
	})
	if err != nil {
		return err
	}
	_, err = t.p.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: naming.Managed}, "status")
	return err
}

// placed says on a pod where it goes. That it fails keeps nobody back.
func (t *reporter) placed(pod *corev1.Pod, node string) {
	t.p.Running.Go(func() {
		if t.turn(t.p.Context) {
			t.event(t.p.Context, pod, corev1.EventTypeNormal, eventScheduled, "assigned "+pod.Namespace+"/"+pod.Name+" to "+node)
		}
	})
}

// event writes one about a pod; an event that is lost is no harm.
func (t *reporter) event(ctx context.Context, pod *corev1.Pod, kind, reason, text string) {
	const most = 1024 // bytes that the API server takes
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most-len("…")], "") + "…"
	}
	at := t.p.Options.Clock()
	e := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{GenerateName: pod.Name + ".", Namespace: pod.Namespace},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", APIVersion: "v1", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion},
		Type:           kind, Reason: reason, Message: text, Action: actionBinding, Count: 1,
		FirstTimestamp: metav1.NewTime(at), LastTimestamp: metav1.NewTime(at),
		ReportingController: naming.SchedulerName, ReportingInstance: naming.SchedulerName, Source: corev1.EventSource{Component: naming.SchedulerName},
	}
	if _, err := t.p.Client.CoreV1().Events(pod.Namespace).Create(ctx, e, metav1.CreateOptions{}); err != nil && ctx.Err() == nil && !t.forbidden(err) {
		t.p.Options.Log.Debug("an event of a pod was not taken", "backend", t.p.Options.Name, "pod", pod.Namespace+"/"+pod.Name, "err", err)
	}
}

// ReportDisruption says of a pod that is about to be ended for others' sake that it is no
// failure of its own: a Job may then leave it out of its count.
func (x *Groups) ReportDisruption(ctx context.Context, t *tasks.Task) {
	pod := x.pod(t.Claim)
	if pod == nil {
		return
	}
	err := x.reporter.condition(ctx, pod, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reasonDisrupted, Message: "muster ends it: its workload was stopped or displaced",
	})
	if err != nil && !apierrors.IsNotFound(err) && !x.reporter.forbidden(err) && ctx.Err() == nil {
		x.p.Options.Log.Warn("a pod could not be excused", "backend", x.p.Options.Name, "pod", t.Space+"/"+t.Name, "err", err)
	}
}
