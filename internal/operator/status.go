package operator

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// status is what an object says of its workload.
type status struct {
	ID       string          `json:"id,omitempty"`
	Phase    string          `json:"phase,omitempty"`
	Kind     string          `json:"kind,omitempty"`
	User     string          `json:"user,omitempty"`
	Reason   string          `json:"reason,omitempty"`
	Message  string          `json:"message,omitempty"`
	Since    string          `json:"since,omitempty"`
	Attempt  int             `json:"attempt"`
	GPUs     float64         `json:"gpus"`
	Where    string          `json:"where,omitempty"`
	ExitCode *int            `json:"exitCode,omitempty"`
	Tasks    *api.TaskCounts `json:"tasks,omitempty"`
	Replicas *api.Replicas   `json:"replicas,omitempty"`

	CreatedAt string `json:"createdAt,omitempty"`
	StartedAt string `json:"startedAt,omitempty"`
	EndedAt   string `json:"endedAt,omitempty"`

	ObservedGeneration int64       `json:"observedGeneration,omitempty"`
	SpecHash           string      `json:"specHash,omitempty"`
	RevisedHash        string      `json:"revisedHash,omitempty"`
	Conditions         []condition `json:"conditions,omitempty"`
}

// condition is as Kubernetes has them.
type condition struct {
	Type               string `json:"type"`
	Status             string `json:"status"` // True or False
	Reason             string `json:"reason"`
	Message            string `json:"message,omitempty"`
	LastTransitionTime string `json:"lastTransitionTime"`
	ObservedGeneration int64  `json:"observedGeneration,omitempty"`
}

const (
	yes, no = "True", "False"
	// conditionInvalid says that the object, as it is, is not what runs, and why.
	conditionInvalid = "Invalid"
	// conditionEnded holds in every phase that is an end.
	conditionEnded = "Ended"
	// phaseInvalid is shown of an object that never became a workload.
	phaseInvalid = "Invalid"
	// longest is what is kept of a message.
	longest = 1024
	// countable is how many tasks a workload may have for every change of it to
	// tell them all.
	countable = 64
)

// statusFields are the names of status's fields.
func statusFields() []string {
	var all []string
	for i := range reflect.TypeFor[status]().NumField() {
		name, _, _ := strings.Cut(reflect.TypeFor[status]().Field(i).Tag.Get("json"), ",")
		all = append(all, name)
	}
	return all
}

// statusOf is the status of a workload's object after prev. w may lack the
// tasks and the reason why it waits; then those of prev stay where they can.
func statusOf(prev status, w *api.Workload) status {
	s := status{
		ID: w.ID, Phase: w.Phase, Kind: w.Kind, User: w.User, Reason: w.Reason, Message: shorten(w.Message), Since: stamp(&w.Since),
		Attempt: w.Attempt, GPUs: w.GPUs, Replicas: w.Replicas, CreatedAt: stamp(&w.CreatedAt), StartedAt: stamp(w.StartedAt), EndedAt: stamp(w.EndedAt),
		ObservedGeneration: prev.ObservedGeneration, SpecHash: prev.SpecHash, RevisedHash: revisedHash(prev, w),
	}
	tasks := w.Tasks
	s.Tasks = &tasks
	if n := len(w.Attempts); n > 0 {
		s.ExitCode = w.Attempts[n-1].ExitCode
	}
	s.Where = where(prev, w)
	if r := waitsFor(w); r != nil {
		s.Reason, s.Message = r.Reason, shorten(r.Message)
		if s.Phase == prev.Phase && s.Reason == prev.Reason {
			s.Message = prev.Message // how many are ahead of it changes all the time
		}
	} else if s.Phase == string(lifecycle.Queued) && prev.Phase == s.Phase && prev.Attempt == s.Attempt {
		s.Reason, s.Message = cmp.Or(s.Reason, prev.Reason), cmp.Or(s.Message, prev.Message)
	}
	s.Conditions = conditionsOf(prev, &s, w)
	return s
}

// revisedHash stands for what has been changed of the document while w lived; one
// whose attempts w does not tell is as it was.
func revisedHash(prev status, w *api.Workload) string {
	if len(w.Attempts) == 0 || len(w.Attempts[len(w.Attempts)-1].Revised) == 0 {
		return prev.RevisedHash
	}
	return hashOf(map[string]any{"revised": w.Attempts[len(w.Attempts)-1].Revised})
}

// waitsFor is the first reason why a workload waits, where w knows it.
func waitsFor(w *api.Workload) *api.Condition {
	i := slices.IndexFunc(w.Conditions, func(c api.Condition) bool { return c.Type == string(lifecycle.Unschedulable) })
	if i < 0 {
		return nil
	}
	return &w.Conditions[i]
}

// where names the nodes of the present attempt.
func where(prev status, w *api.Workload) string {
	if len(w.Attempts) == 0 {
		return ""
	}
	a := w.Attempts[len(w.Attempts)-1]
	same := prev.ID == w.ID && prev.Attempt == w.Attempt
	if len(a.Tasks) < w.Tasks.Total && w.Tasks.Total > countable && same {
		return prev.Where
	}
	var nodes []string
	for _, t := range a.Tasks {
		if t.Node != "" && !t.Leaving {
			nodes = append(nodes, t.Node)
		}
	}
	slices.Sort(nodes)
	nodes = slices.Compact(nodes)
	switch {
	case len(nodes) == 0 && same:
		return prev.Where
	case len(nodes) <= 2:
		return strings.Join(nodes, ",")
	default:
		return fmt.Sprintf("%d nodes", len(nodes))
	}
}

// conditionsOf says the phases that a workload is and was in as conditions,
// beside whatever else holds. kubectl wait needs no more.
func conditionsOf(prev status, s *status, w *api.Workload) []condition {
	hold := map[string]condition{}
	add := func(kind, reason, message, since string) {
		hold[kind] = condition{Type: kind, Status: yes, Reason: cmp.Or(reason, kind), Message: message, LastTransitionTime: since}
	}
	for _, c := range w.Conditions {
		message := c.Message
		if c.Type == string(lifecycle.Unschedulable) {
			message = s.Message
		}
		add(c.Type, c.Reason, shorten(message), stamp(&c.Since))
	}
	add(s.Phase, s.Reason, s.Message, s.Since)
	if lifecycle.Phase(s.Phase).End() {
		add(conditionEnded, s.Phase, s.Message, s.Since)
	}
	var out []condition
	for _, was := range prev.Conditions {
		now, holds := hold[was.Type]
		switch {
		case was.Type == conditionInvalid:
			out = append(out, was) // what the object says does not change with the workload
			continue
		case !holds && was.Status == yes:
			was.Status, was.Reason, was.Message, was.LastTransitionTime = no, s.Phase, "", s.Since
			now = was
		case !holds:
			now = was
		}
		out = append(out, now)
		delete(hold, was.Type)
	}
	for _, kind := range []string{string(lifecycle.Completed), string(lifecycle.Failed), conditionEnded} {
		if _, holds := hold[kind]; !holds && !slices.ContainsFunc(out, func(c condition) bool { return c.Type == kind }) {
			out = append(out, condition{Type: kind, Status: no, Reason: s.Phase, LastTransitionTime: s.Since})
		}
	}
	for _, c := range hold {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b condition) int { return cmp.Compare(a.Type, b.Type) })
	return out
}

// judged returns s with what was found of a generation of the object: nothing
// wrong when reason is empty.
func judged(s status, generation int64, reason, message string, at time.Time) status {
	s.ObservedGeneration = generation
	c := condition{Type: conditionInvalid, Status: yes, Reason: reason, Message: shorten(message), LastTransitionTime: at.UTC().Format(time.RFC3339), ObservedGeneration: generation}
	if reason == "" {
		c.Status, c.Reason = no, "Accepted"
	}
	all := slices.Clone(s.Conditions)
	i := slices.IndexFunc(all, func(c condition) bool { return c.Type == conditionInvalid })
	switch {
	case i < 0 && reason == "":
		return s
	case i < 0:
		all = append(all, c)
		slices.SortFunc(all, func(a, b condition) int { return cmp.Compare(a.Type, b.Type) })
	default:
		if all[i].Status == c.Status {
			c.LastTransitionTime = all[i].LastTransitionTime
		}
		all[i] = c
	}
	s.Conditions = all
	return s
}

// invalid is what was found wrong with the object; empty: nothing.
func (s *status) invalid() string {
	for _, c := range s.Conditions {
		if c.Type == conditionInvalid && c.Status == yes {
			return c.Reason
		}
	}
	return ""
}

func shorten(message string) string {
	if len(message) <= longest {
		return message
	}
	return strings.ToValidUTF8(message[:longest], "") + "…"
}

// stamp writes an instant as Kubernetes does, in whole seconds.
func stamp(t *api.Time) string {
	if t == nil || time.Time(*t).IsZero() {
		return ""
	}
	return time.Time(*t).UTC().Format(time.RFC3339)
}
