package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/engine/workload"
)

// verb does what users ask beside submitting and stopping; false: it is none of
// that.
func (s *story) verb(words []string, ref draft.Ref) bool {
	p := pairs(words[min(2, len(words)):])
	switch words[0] {
	case "approve", "reject":
		by := or(p["by"], "u")
		s.command(words, submission.Decide(submission.Decision{Ref: ref, Check: p["check"], Approve: words[0] == "approve", User: by, Actor: "user:" + by, Message: p["message"]}))
	case "scale":
		n, err := strconv.Atoi(words[2])
		s.must(err)
		s.command(words, submission.Scale(submission.ScaleRequest{Ref: ref, Replicas: n, Actor: "user:u"}))
	case "update":
		s.command(words, submission.Update(submission.UpdateRequest{Ref: ref, Doc: s.document(ref.Name, words[2:]), Actor: "user:u"}))
	case "preempt", "move":
		s.command(words, submission.Preempt(submission.PreemptRequest{Ref: ref, Actor: "user:u", Move: words[0] == "move"}))
	case "rules":
		s.rules(words, p)
	case "secret":
		if words[1] == "make" {
			s.command(words, organisation.CreateSecret(core.Secret{User: "u", Name: words[2], Type: "env", Sealed: []byte("sound")}))
		} else {
			s.command(words, organisation.DeleteSecret(core.SecretID{User: "u", Name: words[2]}))
		}
	case "hands":
		for k, v := range pairs(words[1:]) {
			s.answers[k] = v
		}
	default:
		return s.signal(words[0], ref.Name)
	}
	return true
}

func (s *story) rules(words []string, p map[string]string) {
	r := core.Rules{TimeLimit: map[lifecycle.Kind]time.Duration{}, IdleLimit: map[lifecycle.Kind]time.Duration{}}
	for k, v := range p {
		which, kind, _ := strings.Cut(k, ".")
		d, err := time.ParseDuration(v)
		s.must(err)
		switch which {
		case "time":
			r.TimeLimit[lifecycle.Kind(kind)] = d
		case "idle":
			r.IdleLimit[lifecycle.Kind(kind)] = d
		default:
			s.t.Fatalf("%s\n    %q is no rule", s.line, k)
		}
	}
	s.command(words, organisation.SetRules(core.ProjectID(words[1]), r))
}

// signal is what the control plane learns beside observations.
func (s *story) signal(verb, name string) bool {
	forever := s.w.now.Add(1000 * time.Hour)
	switch verb {
	case "silence", "speak":
		for _, l := range s.w.links {
			if l != s.w.linkOf(core.NodeID(name)) {
				continue
			}
			if verb == "silence" {
				l.fallSilent(core.NodeID(name), 1000*time.Hour)
			} else {
				l.speak(core.NodeID(name))
			}
		}
	case "cut", "join":
		for _, l := range s.w.links {
			if l.backend.Name() != name {
				continue
			}
			if verb == "cut" {
				l.cutOff(1000 * time.Hour)
			} else {
				l.reconnect()
			}
		}
	case "idle":
		s.w.signals.idle[s.workload(name).ID] = forever
	case "busy":
		delete(s.w.signals.idle, s.workload(name).ID)
	case "sick", "well":
		w := s.workload(name)
		id := core.TaskID{Workload: w.ID, Attempt: w.Attempt}
		s.w.signals.sick[id] = map[bool]time.Time{true: forever}[verb == "sick"]
	default:
		return false
	}
	return true
}

// operation answers as the story says.
func (s *story) operation(c draft.Operation) (draft.Work, time.Duration, bool) {
	in, err := time.ParseDuration(s.answers["in"])
	s.must(err)
	w := c.Workload
	word := s.answers[map[draft.OperationKind]string{
		draft.OperationAsk: "ask", draft.OperationBuild: "build", draft.OperationPublish: "publish", draft.OperationFollow: "follow",
	}[c.Kind]]
	var failure error
	switch word {
	case "never":
		return nil, 0, true
	case "fail":
		failure = errors.New("it failed")
	}
	switch c.Kind {
	case draft.OperationAsk:
		a := submission.Answer{Verdict: core.CheckApproved}
		switch word {
		case "reject":
			a.Verdict = core.CheckRejected
		case "wait", "retry":
			a = submission.Answer{Verdict: core.CheckWaiting, Retry: word == "retry"}
		}
		return submission.Answered(w.ID, w.Attempt, c.Check.Name, a, failure), in, true
	case draft.OperationBuild:
		return submission.Built(w.ID, w.Attempt, "registry.sim/"+w.Name, failure), in, true
	case draft.OperationPublish:
		return submission.Published(w.ID, w.Attempt, core.Published{Ref: "registry.sim/models/" + w.Name}, serves(w), failure), in, true
	default:
		return submission.Deployed(w.ID, w.Attempt, failure), in, true
	}
}

// service is what can be expected of replicas, checks and conditions.
func service(w *core.Workload, tasks []core.Task, key string) string {
	ready, here := 0, 0
	for i := range tasks {
		ready += bit(tasks[i].Ready)
		here += bit(counted(&tasks[i]))
	}
	switch key {
	case "ready":
		return strconv.Itoa(ready)
	case "replicas":
		return fmt.Sprintf("%d/%d", here, w.Replicas)
	case "generation":
		return strconv.Itoa(w.Generation)
	case "service":
		if w.Published == nil {
			return "none"
		}
		return w.Published.Service
	case "check":
		var all []string
		for _, c := range w.Checks {
			all = append(all, c.Name+":"+string(c.Verdict))
		}
		return strings.Join(all, ",")
	default:
		var all []string
		for _, c := range w.Conditions {
			all = append(all, string(c.Type))
		}
		slices.Sort(all)
		return strings.Join(all, ",")
	}
}

func (s *story) word(w *core.Workload, tasks []core.Task, d lifecycle.Dialect) string {
	steps, err := s.w.memory.Transitions(context.Background(), w.ID, 0, 0)
	s.must(err)
	return lifecycle.Say(d, workload.View(w, tasks, steps)).Status
}
