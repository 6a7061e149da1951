package sim

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/submission"
)

// users submit, stop, restart and delete at random.
type users struct {
	names []draft.Ref
	sent  map[string]submission.Submission // with an idempotency key, by that
	made  map[string]core.WorkloadID
	left  int // actions still to come
}

// busy lets users act n times, some seconds apart.
func (w *World) busy(n int) {
	w.users.left = n
	w.users.sent, w.users.made = map[string]submission.Submission{}, map[string]core.WorkloadID{}
	w.act()
}

func (w *World) act() {
	w.after(time.Duration(w.chance.Int64N(int64(8*time.Second))).Truncate(time.Microsecond), func() {
		if w.users.left <= 0 {
			return
		}
		var acts []act
		for range 1 + w.chance.IntN(3) {
			w.users.left--
			acts = append(acts, w.someAct())
		}
		work := make([]draft.Work, len(acts))
		for i, a := range acts {
			work[i] = a.command
		}
		for i, err := range w.do(work...) {
			w.answered(acts[i], err)
		}
		w.act()
	})
}

// act is one wish of a user.
type act struct {
	what    string
	command draft.Work
	key     string
	made    *draft.Question[*submission.Submitted] // of a submission: the command
	ref     draft.Ref
}

var projects = []core.ProjectID{core.DefaultProject, core.DefaultProject, "a", "b", "ghost"}

func (w *World) someAct() act {
	u := &w.users
	if n := w.chance.IntN(100); n < 50 || len(u.names) == 0 {
		return w.submission()
	}
	ref := u.names[w.chance.IntN(len(u.names))]
	switch n := w.chance.IntN(44); {
	case n < 8:
		r := submission.StopRequest{Ref: ref, Actor: "user:sim"}
		if w.chance.IntN(3) == 0 {
			grace := time.Duration(w.chance.IntN(40)) * time.Second
			r.Grace = &grace
		}
		return act{what: "stop " + ref.Name, command: submission.Stop(r)}
	case n < 11:
		return act{what: "restart " + ref.Name, command: submission.Restart(ref, "user:sim")}
	case n < 14:
		return act{what: "delete " + ref.Name, command: submission.Delete(ref, "user:sim")}
	case n < 19:
		return w.organiserAct()
	case n < 22:
		return w.secretAct()
	default:
		return w.verb(ref)
	}
}

// aimed is some live workload that fits, mostly; else any name.
func (w *World) aimed(otherwise draft.Ref, fits func(*core.Workload) bool) draft.Ref {
	if w.one(5) {
		return otherwise
	}
	var all []draft.Ref
	for _, e := range w.live() {
		if fits(e.Workload) {
			all = append(all, draft.Ref{Project: e.Workload.Project, Name: e.Workload.Name})
		}
	}
	if len(all) == 0 {
		return otherwise
	}
	return all[w.chance.IntN(len(all))]
}

func reviewed(w *core.Workload) bool {
	return w.Phase == lifecycle.Reviewing || w.Phase == lifecycle.Reserved && len(w.Checks) > 0
}

func serving(w *core.Workload) bool { return w.Kind == lifecycle.Inference }

func evictable(w *core.Workload) bool { return w.Phase.Held() && w.Phase != lifecycle.Terminating }

// verb is what users ask of what is under way.
func (w *World) verb(ref draft.Ref) act {
	switch n := w.chance.IntN(28); {
	case n < 6:
		ref = w.aimed(ref, reviewed)
		d := submission.Decision{Ref: ref, Approve: w.chance.IntN(4) > 0, User: []string{"alice", "bob", "sim"}[w.chance.IntN(3)]}
		if w.chance.IntN(3) > 0 {
			d.Check = fmt.Sprint("c", w.chance.IntN(3))
		}
		d.Actor = "user:" + d.User
		return act{what: fmt.Sprintf("%s decides %s of %s: %v", d.User, d.Check, ref.Name, d.Approve), command: submission.Decide(d)}
	case n < 12:
		ref = w.aimed(ref, serving)
		r := submission.ScaleRequest{Ref: ref, Replicas: w.chance.IntN(6), Actor: "user:sim", Auto: w.chance.IntN(3) == 0}
		return act{what: fmt.Sprintf("scale %s to %d", ref.Name, r.Replicas), command: submission.Scale(r)}
	case n < 17:
		ref = w.aimed(ref, serving)
		doc := w.documentOf(lifecycle.Inference, ref.Name)
		return act{what: "update " + ref.Name, command: submission.Update(submission.UpdateRequest{Ref: ref, Doc: doc, Actor: "user:sim"})}
	case n < 20:
		ref = w.aimed(ref, evictable)
		return act{what: "preempt " + ref.Name, command: submission.Preempt(submission.PreemptRequest{Ref: ref, Actor: "user:sim"})}
	case n < 24:
		return w.hold(ref)
	case n < 26:
		return w.someTasks(ref)
	default:
		ref = w.aimed(ref, evictable)
		return act{what: "move " + ref.Name, command: submission.Preempt(submission.PreemptRequest{Ref: ref, Actor: "user:sim", Move: true})}
	}
}

// someRules is what a project may demand.
func (w *World) someRules() core.Rules {
	var r core.Rules
	kinds := []lifecycle.Kind{lifecycle.Training, lifecycle.Distributed, lifecycle.Workspace, lifecycle.Inference}
	if w.chance.IntN(2) == 0 {
		r.TimeLimit = map[lifecycle.Kind]time.Duration{kinds[w.chance.IntN(4)]: time.Duration(10+w.chance.IntN(300)) * time.Second}
	}
	if w.chance.IntN(3) == 0 {
		r.IdleLimit = map[lifecycle.Kind]time.Duration{kinds[w.chance.IntN(4)]: time.Duration(10+w.chance.IntN(120)) * time.Second}
	}
	if w.chance.IntN(6) == 0 {
		r.Budget, r.Period = 1000, time.Hour
	}
	if w.chance.IntN(5) == 0 {
		r.Checks = w.someChecks()
	}
	return r
}

// secretAct makes or drops a secret; some are damaged.
func (w *World) secretAct() act {
	name := fmt.Sprint("s", w.chance.IntN(3))
	if w.chance.IntN(3) == 0 {
		return act{what: "drop secret " + name, command: organisation.DeleteSecret(core.SecretID{User: "sim", Name: name})}
	}
	sealed := "sound"
	if w.chance.IntN(8) == 0 {
		sealed = "damaged"
	}
	s := core.Secret{User: "sim", Name: name, Type: "env", Everywhere: w.chance.IntN(10) == 0, Sealed: []byte(sealed)}
	return act{what: "make secret " + name, command: organisation.CreateSecret(s)}
}

func (w *World) submission() act {
	u := &w.users
	if keys := sortedKeys(u.sent); len(keys) > 0 && w.chance.IntN(15) == 0 {
		key := keys[w.chance.IntN(len(keys))]
		s := u.sent[key]
		again := &draft.Question[*submission.Submitted]{Command: submission.Submit(s)}
		return act{what: "submit again " + s.Doc.Name, command: again, made: again, key: key}
	}
	doc := w.document(fmt.Sprintf("w%d", w.chance.IntN(60)))
	s := submission.Submission{Doc: doc, User: "sim", Actor: "user:sim"}
	a := act{ref: draft.Ref{Project: core.ProjectID(doc.Project), Name: doc.Name}}
	if w.chance.IntN(4) == 0 {
		s.Key, s.Hash = fmt.Sprint("key-", w.trace.made, "-", u.left), doc.Name
		u.sent[s.Key], a.key = s, s.Key
	}
	a.what = fmt.Sprintf("submit %s %s %s", doc.Name, doc.Kind, strings.Join(doc.Command.Argv, " "))
	a.made = &draft.Question[*submission.Submitted]{Command: submission.Submit(s)}
	a.command = a.made
	return a
}

// answered checks what a user was told.
func (w *World) answered(a act, err error) {
	w.trace.note(w.now, "%s: %v", a.what, err)
	if err != nil {
		var e *draft.Error
		if !errors.As(err, &e) || e.Code == "" || e.Message == "" {
			w.fail("%s: %#v is not an error that a user can act on", a.what, err)
		}
		return
	}
	if a.ref.Name != "" {
		w.users.names = append(w.users.names, a.ref)
	}
	if a.key == "" {
		return
	}
	id := a.made.Answer.Workload.ID
	if was, ok := w.users.made[a.key]; ok && was != id {
		w.fail("%s: the key made %s first and then %s", a.what, was, id)
	}
	w.users.made[a.key] = id
}
