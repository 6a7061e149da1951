package sim

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// users submit, stop, restart and delete at random.
type users struct {
	names []control.Ref
	sent  map[string]control.Submission // with an idempotency key, by that
	made  map[string]core.WorkloadID
	left  int // actions still to come
}

// busy lets users act n times, some seconds apart.
func (w *World) busy(n int) {
	w.users.left = n
	w.users.sent, w.users.made = map[string]control.Submission{}, map[string]core.WorkloadID{}
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
		commands := make([]control.Command, len(acts))
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
	command control.Command
	key     string
	ref     control.Ref
}

var projects = []core.ProjectID{core.DefaultProject, core.DefaultProject, "a", "b", "ghost"}

func (w *World) someAct() act {
	u := &w.users
	if n := w.chance.IntN(100); n < 60 || len(u.names) == 0 {
		return w.submission()
	}
	ref := u.names[w.chance.IntN(len(u.names))]
	project := projects[w.chance.IntN(len(projects)-1)]
	switch n := w.chance.IntN(20); {
	case n < 8:
		r := control.StopRequest{Ref: ref, Actor: "user:sim"}
		if w.chance.IntN(3) == 0 {
			grace := time.Duration(w.chance.IntN(40)) * time.Second
			r.Grace = &grace
		}
		return act{what: "stop " + ref.Name, command: control.Stop(r)}
	case n < 11:
		return act{what: "restart " + ref.Name, command: control.Restart(ref, "user:sim")}
	case n < 14:
		return act{what: "delete " + ref.Name, command: control.Delete(ref, "user:sim")}
	case n < 16:
		return act{what: "create " + string(project), command: control.CreateProject(project)}
	case n < 18:
		return act{what: "stop project " + string(project), command: control.SetProject(project, true, "sim")}
	default:
		return act{what: "start project " + string(project), command: control.SetProject(project, false, "")}
	}
}

func (w *World) submission() act {
	u := &w.users
	if keys := sortedKeys(u.sent); len(keys) > 0 && w.chance.IntN(15) == 0 {
		key := keys[w.chance.IntN(len(keys))]
		s := u.sent[key]
		return act{what: "submit again " + s.Doc.Name, command: control.Submit(s), key: key}
	}
	doc := w.document(fmt.Sprintf("w%d", w.chance.IntN(60)))
	s := control.Submission{Doc: doc, User: "sim", Actor: "user:sim"}
	a := act{ref: control.Ref{Project: core.ProjectID(doc.Project), Name: doc.Name}}
	if w.chance.IntN(4) == 0 {
		s.Key, s.Hash = fmt.Sprint("key-", w.trace.made, "-", u.left), doc.Name
		u.sent[s.Key], a.key = s, s.Key
	}
	a.what = fmt.Sprintf("submit %s %s %s", doc.Name, doc.Kind, strings.Join(doc.Command.Argv, " "))
	a.command = control.Submit(s)
	return a
}

// answered checks what a user was told.
func (w *World) answered(a act, r control.Result) {
	w.trace.note(w.now, "%s: %v", a.what, r.Err)
	if r.Err != nil {
		var e *control.Error
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
	id := r.Value.(*control.Submitted).Workload.ID
	if was, ok := w.users.made[a.key]; ok && was != id {
		w.fail("%s: the key made %s first and then %s", a.what, was, id)
	}
	w.users.made[a.key] = id
}

// document is some workload.
func (w *World) document(name string) *spec.Document {
	r := w.chance
	some := func(n int) bool { return r.IntN(n) == 0 }
	seconds := func(most int) spec.Duration { return spec.Duration(time.Duration(1+r.IntN(most)) * time.Second) }
	d := &spec.Document{
		Kind: lifecycle.Training, Name: name, Project: string(projects[r.IntN(len(projects))]),
		Priority: []spec.Priority{spec.Low, spec.Medium, spec.Medium, spec.High}[r.IntN(4)],
		Resources: spec.Resources{
			CPU: spec.Quantity(500 * (1 + r.IntN(6))), Memory: spec.Quantity(r.IntN(3)) * 1000 << 30,
			GPU: spec.GPU{Count: max(0, r.IntN(6)-1)},
		},
		Retry: spec.Retry{Limit: r.IntN(3)},
	}
	if d.Resources.GPU.Count > 0 && some(6) {
		d.Resources.GPU.Type = []string{"H100", "a100"}[r.IntN(2)]
	}
	switch r.IntN(6) {
	case 0:
		d.Kind, d.Workers = lifecycle.Distributed, 1+r.IntN(4)
	case 1:
		d.Kind = lifecycle.Workspace
	case 2:
		d.Array = &spec.Array{Completions: 1 + r.IntN(10)}
		d.Array.Parallelism = r.IntN(d.Array.Completions + 1)
	}
	if some(5) {
		d.MaxDuration = seconds(60)
	}
	if some(4) {
		d.TTLAfterEnd = seconds(90)
	}
	if some(3) {
		d.GracePeriod = seconds(40)
	}
	if some(4) {
		n := r.IntN(3)
		d.Retry.System = &n
	}
	d.Command.Argv = w.script(d)
	d.Defaults()
	if errs := spec.Validate(d); len(errs) > 0 {
		w.fail("a made-up document is not valid: %w", errs)
	}
	return d
}

// script is what the tasks of a document do.
func (w *World) script(d *spec.Document) []string {
	r := w.chance
	some := func(n int) bool { return r.IntN(n) == 0 }
	argv := []string{"fake", fmt.Sprintf("start=%dms", max(0, r.IntN(7500)-2500)), fmt.Sprintf("run=%dms", 1+r.IntN(90000))}
	switch r.IntN(4) {
	case 0:
		argv = append(argv, fmt.Sprintf("exit=%d,%d,0", r.IntN(3), r.IntN(3)))
	case 1:
		argv = append(argv, fmt.Sprintf("exit@%d=1,0", r.IntN(d.Size())))
	}
	if some(8) {
		argv = append(argv, "ignore-term")
	} else if some(4) {
		argv = append(argv, fmt.Sprintf("stop=%dms", r.IntN(8000)))
	}
	switch r.IntN(40) {
	case 0:
		argv = append(argv, "never-ready")
	case 1:
		argv = append(argv, "fail=FailedImagePull", "waiting=ImagePullBackOff")
	case 2:
		argv = append(argv, fmt.Sprintf("fail@%d=ContainerCannotRun", r.IntN(d.Size())))
	case 3:
		argv = append(argv, "run=forever")
	case 4:
		argv = append(argv, "rnu=1s") // told as ContainerCannotRun
	}
	return argv
}
