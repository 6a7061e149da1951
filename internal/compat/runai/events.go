package runai

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// event is a line of those that describe shows, as Kubernetes tells them: of
// the job what happened to it, of its pods where they were put, what their
// start waited for, and how they failed.
type event struct {
	at           time.Time
	source, kind string
	why, text    string
}

const (
	normal  = "Normal"
	warning = "Warning"
)

// podsMost is how many pods of an attempt are told of one by one; of more, only
// those whose start or end was not as usual.
const podsMost = 20

func events(c *compat.Call, w *api.Workload) error {
	all := happened(w)
	if len(all) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(c.Out(), "\nEvents:"); err != nil {
		return err
	}
	var rows [][]string
	for _, e := range all {
		rows = append(rows, []string{e.source, e.kind, cli.Age(c.Now().Sub(e.at)), "[" + e.why + "] " + c.Reword(e.text)})
	}
	return c.Table([]string{"SOURCE", "TYPE", "AGE", "MESSAGE"}, rows)
}

// happened is what is known of a workload and its pods, in the order of time.
func happened(w *api.Workload) []event {
	var all []event
	for _, t := range w.Transitions {
		e := event{at: time.Time(t.At), kind: normal, text: wordOf(w, &t), why: cmp.Or(t.Reason, t.Event)}
		switch lifecycle.Phase(t.To) {
		case lifecycle.Failed, lifecycle.Lost, lifecycle.TimedOut, lifecycle.Preempted, lifecycle.Backoff, lifecycle.Inadmissible:
			e.kind = warning
		}
		if t.Message != "" {
			e.text += ": " + t.Message
		}
		e.source, _, _ = strings.Cut(t.Actor, ":")
		all = append(all, e)
	}
	for i := range w.Attempts {
		a := &w.Attempts[i]
		for j := range a.Tasks {
			t := &a.Tasks[j]
			if len(a.Tasks) <= podsMost || len(t.Stages) > 0 || t.State == "failed" || t.State == "lost" {
				all = append(all, ofPod(podOf(w, t, a.Index), w.Project, t)...)
			}
		}
	}
	if p := w.Pending; p != nil {
		for _, r := range p.Reasons {
			all = append(all, event{time.Time(p.EvaluatedAt), "scheduler", warning, "Unschedulable", r.Message})
		}
	}
	slices.SortStableFunc(all, func(a, b event) int { return a.at.Compare(b.at) })
	return all
}

// wordOf is what a job became with a step of its life, in the platform's words.
func wordOf(w *api.Workload, t *api.Transition) string {
	to := lifecycle.State{Phase: lifecycle.Phase(t.To), Reason: lifecycle.Reason(t.Reason), Attempt: t.Attempt}
	return lifecycle.Say(lifecycle.RunaiJob, lifecycle.View{Kind: lifecycle.Kind(w.Kind), State: to}).Status
}

// ofPod is what happened to one pod.
func ofPod(name, project string, t *api.Task) []event {
	var all []event
	if t.PlacedAt != nil && t.Node != "" {
		all = append(all, event{compat.At(t.PlacedAt), "scheduler", normal, "Scheduled", fmt.Sprintf("assigned runai-%s/%s to %s", project, name, t.Node)})
	}
	for _, s := range t.Stages {
		e := event{at: time.Time(s.Last), source: "kubelet", kind: normal, why: s.Word, text: name}
		if !strings.HasPrefix(s.Word, "Init:") && s.Word != "PodInitializing" || s.Word == "Init:Error" || s.Word == "Init:CrashLoopBackOff" {
			e.kind = warning
		}
		if s.Message != "" {
			e.text += ": " + s.Message
		}
		if s.Count > 1 {
			e.text += fmt.Sprintf(" (x%d over %s)", s.Count, cli.Age(time.Time(s.Last).Sub(time.Time(s.At))))
		}
		all = append(all, e)
	}
	if t.StartedAt != nil {
		all = append(all, event{compat.At(t.StartedAt), "kubelet", normal, "Started", name + " runs"})
	}
	if t.State != "failed" && t.State != "lost" {
		return all
	}
	e := event{compat.At(t.EndedAt), "kubelet", warning, cmp.Or(t.Reason, "Failed"), name + " failed"}
	switch {
	case t.Message != "":
		e.text += ": " + t.Message
	case t.ExitCode != nil:
		e.text += fmt.Sprintf(" with exit code %d", *t.ExitCode)
	}
	return append(all, e)
}

// failedPods is how many pods failed, in all attempts: a pod of Kubernetes is
// one try. Those that were told to end did not.
func failedPods(w *api.Workload) int {
	n := 0
	for i := range w.Attempts {
		for _, t := range slices.Concat(w.Attempts[i].Former, w.Attempts[i].Tasks) {
			if t.State == "failed" && t.Reason != string(lifecycle.ReasonKilled) {
				n++
			}
		}
	}
	return n
}
