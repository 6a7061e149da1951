package sim

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine"
)

// users submit, stop, restart and delete at random.
type users struct {
	names []engine.Ref
	sent  map[string]engine.Submission // with an idempotency key, by that
	made  map[string]core.WorkloadID
	left  int // actions still to come
}

// busy lets users act n times, some seconds apart.
func (w *World) busy(n int) {
	w.users.left = n
	w.users.sent, w.users.made = map[string]engine.Submission{}, map[string]core.WorkloadID{}
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
		commands := make([]engine.Command, len(acts))
		for i, a := range acts {
			commands[i] = a.command
		}
		for i, r := range w.do(commands...) {
			w.answered(acts[i], r)
		}
		w.act()
	})
}

// act is one wish of a user.
type act struct {
	what    string
	command engine.Command
	key     string
	ref     engine.Ref
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
		r := engine.StopRequest{Ref: ref, Actor: "user:sim"}
		if w.chance.IntN(3) == 0 {
			grace := time.Duration(w.chance.IntN(40)) * time.Second
			r.Grace = &grace
		}
		return act{what: "stop " + ref.Name, command: engine.Stop(r)}
	case n < 11:
		return act{what: "restart " + ref.Name, command: engine.Restart(ref, "user:sim")}
	case n < 14:
		return act{what: "delete " + ref.Name, command: engine.Delete(ref, "user:sim")}
	case n < 19:
		return w.organiserAct()
	case n < 22:
		return w.secretAct()
	default:
		return w.verb(ref)
	}
}

// aimed is some live workload that fits, mostly; else any name.
func (w *World) aimed(otherwise engine.Ref, fits func(*core.Workload) bool) engine.Ref {
	if w.one(5) {
		return otherwise
	}
	var all []engine.Ref
	for _, e := range w.live() {
		if fits(e.Workload) {
			all = append(all, engine.Ref{Project: e.Workload.Project, Name: e.Workload.Name})
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
func (w *World) verb(ref engine.Ref) act {
	switch n := w.chance.IntN(28); {
	case n < 6:
		ref = w.aimed(ref, reviewed)
		d := engine.Decision{Ref: ref, Approve: w.chance.IntN(4) > 0, User: []string{"alice", "bob", "sim"}[w.chance.IntN(3)]}
		if w.chance.IntN(3) > 0 {
			d.Check = fmt.Sprint("c", w.chance.IntN(3))
		}
		d.Actor = "user:" + d.User
		return act{what: fmt.Sprintf("%s decides %s of %s: %v", d.User, d.Check, ref.Name, d.Approve), command: engine.Decide(d)}
	case n < 12:
		ref = w.aimed(ref, serving)
		r := engine.ScaleRequest{Ref: ref, Replicas: w.chance.IntN(6), Actor: "user:sim", Auto: w.chance.IntN(3) == 0}
		return act{what: fmt.Sprintf("scale %s to %d", ref.Name, r.Replicas), command: engine.Scale(r)}
	case n < 17:
		ref = w.aimed(ref, serving)
		doc := w.documentOf(lifecycle.Inference, ref.Name)
		return act{what: "update " + ref.Name, command: engine.Update(engine.UpdateRequest{Ref: ref, Doc: doc, Actor: "user:sim"})}
	case n < 20:
		ref = w.aimed(ref, evictable)
		return act{what: "preempt " + ref.Name, command: engine.Preempt(engine.PreemptRequest{Ref: ref, Actor: "user:sim"})}
	case n < 25:
		return w.hold(ref)
	case n < 26:
		return w.stopTasks(ref)
	default:
		ref = w.aimed(ref, evictable)
		return act{what: "move " + ref.Name, command: engine.Preempt(engine.PreemptRequest{Ref: ref, Actor: "user:sim", Move: true})}
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
		return act{what: "drop secret " + name, command: engine.DeleteSecret(core.SecretID{User: "sim", Name: name})}
	}
	sealed := "sound"
	if w.chance.IntN(8) == 0 {
		sealed = "damaged"
	}
	s := core.Secret{User: "sim", Name: name, Type: "env", Everywhere: w.chance.IntN(10) == 0, Sealed: []byte(sealed)}
	return act{what: "make secret " + name, command: engine.CreateSecret(s)}
}

func (w *World) submission() act {
	u := &w.users
	if keys := sortedKeys(u.sent); len(keys) > 0 && w.chance.IntN(15) == 0 {
		key := keys[w.chance.IntN(len(keys))]
		s := u.sent[key]
		return act{what: "submit again " + s.Doc.Name, command: engine.Submit(s), key: key}
	}
	doc := w.document(fmt.Sprintf("w%d", w.chance.IntN(60)))
	s := engine.Submission{Doc: doc, User: "sim", Actor: "user:sim"}
	a := act{ref: engine.Ref{Project: core.ProjectID(doc.Project), Name: doc.Name}}
	if w.chance.IntN(4) == 0 {
		s.Key, s.Hash = fmt.Sprint("key-", w.trace.made, "-", u.left), doc.Name
		u.sent[s.Key], a.key = s, s.Key
	}
	a.what = fmt.Sprintf("submit %s %s %s", doc.Name, doc.Kind, strings.Join(doc.Command.Argv, " "))
	a.command = engine.Submit(s)
	return a
}

// answered checks what a user was told.
func (w *World) answered(a act, r engine.Result) {
	w.trace.note(w.now, "%s: %v", a.what, r.Err)
	if r.Err != nil {
		var e *engine.Error
		if !errors.As(r.Err, &e) || e.Code == "" || e.Message == "" {
			w.fail("%s: %#v is not an error that a user can act on", a.what, r.Err)
		}
		return
	}
	if a.ref.Name != "" {
		w.users.names = append(w.users.names, a.ref)
	}
	if a.key == "" {
		return
	}
	id := r.Value.(*engine.Submitted).Workload.ID
	if was, ok := w.users.made[a.key]; ok && was != id {
		w.fail("%s: the key made %s first and then %s", a.what, was, id)
	}
	w.users.made[a.key] = id
}
