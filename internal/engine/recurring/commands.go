package recurring

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/recur"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/submission"
)

// List reads the schedules of a project, or all of them where it is empty, by project
// and name.
func List(project core.ProjectID) draft.Command[[]State] {
	return func(tx *draft.Tx) ([]State, error) {
		var out []State
		for _, t := range ofProject(tx, project) {
			out = append(out, state(tx, &t))
		}
		slices.SortFunc(out, func(a, b State) int {
			return cmp.Or(cmp.Compare(a.Project, b.Project), cmp.Compare(a.Name, b.Name))
		})
		return out, nil
	}
}

// Get reads one.
func Get(id core.TemplateID) draft.Command[State] {
	return func(tx *draft.Tx) (State, error) {
		t, ok := tx.Template(id)
		if !ok {
			return State{}, missing(tx, id)
		}
		return state(tx, &t), nil
	}
}

// Suspend has a schedule start no runs by itself, or start them again: then also the
// last that was missed meanwhile, where it is not too late for that.
func Suspend(id core.TemplateID, suspended bool) draft.Command[State] {
	return func(tx *draft.Tx) (State, error) {
		t, ok := tx.Template(id)
		if !ok {
			return State{}, missing(tx, id)
		}
		if t.Schedule.Suspended != suspended {
			s := *t.Schedule
			s.Suspended = suspended
			t.Schedule = &s
			put(tx, t)
		}
		return state(tx, &t), nil
	}
}

// RunNow starts a run that no time asks for, whatever others there are.
func RunNow(id core.TemplateID, by string) draft.Command[*core.Workload] {
	return func(tx *draft.Tx) (*core.Workload, error) {
		t, ok := tx.Template(id)
		if !ok {
			return nil, missing(tx, id)
		}
		doc, err := document(tx, &t)
		if err != nil {
			return nil, below(err)
		}
		if err := rightsOf(tx, &t, doc); err != nil {
			return nil, err
		}
		doc.NamePrefix = t.Name
		r := &round{tx: tx, t: t, s: copied(t.Schedule)}
		w, err := r.submit(doc, by)
		if err != nil {
			return nil, err
		}
		r.s.Runs = append(r.s.Runs, core.ScheduledRun{ID: w.ID, Name: w.Name, MadeAt: tx.Now})
		r.write()
		return w, nil
	}
}

// Delete forgets a schedule. Its runs stay; where may is given they are ended and
// deleted too, all of them or, where may says no of one, nothing.
func Delete(id core.TemplateID, by string, may func(*core.Workload) bool) draft.Command[draft.Nothing] {
	return func(tx *draft.Tx) (draft.Nothing, error) {
		t, ok := tx.Template(id)
		if !ok {
			return nil, missing(tx, id)
		}
		if may != nil {
			if err := deleteRuns(tx, &t, by, may); err != nil {
				return nil, err
			}
		}
		tx.Templated.Drop(id)
		tx.Templated.Gone = append(tx.Templated.Gone, id)
		return nil, nil
	}
}

func deleteRuns(tx *draft.Tx, t *core.Template, by string, may func(*core.Workload) bool) error {
	var refs []draft.Ref
	for _, r := range t.Schedule.Runs {
		d, err := tx.Find(draft.Ref{ID: r.ID})
		switch {
		case draft.IsNotFound(err):
			continue // it is gone, as was asked for
		case err != nil:
			return err
		case !may(d.W): // runs belong to who said then what the schedule runs
			return &draft.Error{Code: draft.CodeForbidden, Message: fmt.Sprintf("run %s is %s's, whose workloads you may not delete", r.Name, d.W.User), Hint: "leave its runs, and delete those that you may with muster delete"}
		}
		refs = append(refs, draft.Ref{ID: r.ID})
	}
	for _, ref := range refs {
		_, err := submission.Delete(ref, by)(tx)
		var refused *draft.Error
		if err != nil && !(errors.As(err, &refused) && refused.Code == draft.CodeIllegal) { // it is being deleted
			return err
		}
	}
	return nil
}

// ofProject are the schedules of a project, or all of them, in no order.
func ofProject(tx *draft.Tx, project core.ProjectID) []core.Template {
	var out []core.Template
	for id := range tx.State.Templates {
		if id.Kind != core.TemplateSchedule || project != "" && id.Project != project {
			continue
		}
		if t, ok := tx.Template(id); ok {
			out = append(out, t)
		}
	}
	return out
}

// state is what a schedule comes to, with the phases of its runs.
func state(tx *draft.Tx, t *core.Template) State {
	out := State{Template: *t, Kind: kindOf(tx, t)}
	s := copied(t.Schedule)
	for i := range s.Runs {
		if w, _, live := tx.View(s.Runs[i].ID); live {
			s.Runs[i].Phase = w.Phase
		}
	}
	out.Schedule = &s
	e, err := recur.Parse(s.Cron)
	zone, zerr := tx.State.Agenda.Zone(s.TimeZone)
	if err == nil && zerr == nil && !s.Suspended {
		out.Next = recur.Upcoming(e, zone, tx.Now, upcoming)
	}
	return out
}

// kindOf is the kind of the workloads of a schedule. Only where another may say it are
// its assets looked at: lists have many schedules, and nobody else is served meanwhile.
func kindOf(tx *draft.Tx, t *core.Template) lifecycle.Kind {
	var doc struct {
		Kind     lifecycle.Kind `json:"kind"`
		Template string         `json:"template"`
	}
	if err := json.Unmarshal([]byte(t.Last().Document), &doc); err == nil && doc.Kind == "" && doc.Template != "" {
		if whole, err := document(tx, t); err == nil {
			return whole.Kind
		}
	}
	return cmp.Or(doc.Kind, lifecycle.Training)
}

// copied is a schedule whose lists can be changed.
func copied(s *core.Schedule) core.Schedule {
	c := *s
	c.Runs, c.Events = slices.Clone(s.Runs), slices.Clone(s.Events)
	return c
}

// put has a schedule be as it is given.
func put(tx *draft.Tx, t core.Template) {
	tx.Templated.Drop(t.ID())
	tx.Templated.Put = append(tx.Templated.Put, t)
}
