// Package recurring has the use cases of schedules, which submit workloads again and
// again by the clock, and what becomes of them in each round.
package recurring

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/nearest"
	"github.com/musterhq/muster/internal/core/recur"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/submission"
)

const (
	// schedulesMost bounds those of one project.
	schedulesMost = 1000
	// keptMost bounds how many ended runs of a schedule are kept, of either sort.
	keptMost = 1000
	// liveMost is how many runs of a schedule may be there that have not ended.
	liveMost = 1000
	// upcoming is how many of its next times are told.
	upcoming = 3
	// descriptionLongest is in characters.
	descriptionLongest = 1000
)

// ID names a schedule.
func ID(project core.ProjectID, name string) core.TemplateID {
	return core.TemplateID{Project: project, Kind: core.TemplateSchedule, Name: name}
}

// State is a schedule with what it comes to at present.
type State struct {
	core.Template
	Kind     lifecycle.Kind // of the workloads that it makes
	Next     []time.Time    // its next times; none: it is suspended
	Warnings []string       // of an edit: what is allowed and perhaps not meant
	Whole    *spec.Document // of an edit: of a run that were started now
}

// Edit makes a schedule, or has one be another.
type Edit struct {
	Project       core.ProjectID
	Name          string
	Description   string
	core.Schedule        // what was said of it, without what has become of it
	Document      []byte // of its workloads, as JSON
	User          string // who says so: whose document it is becomes the owner of its runs
	Owner         bool   // the server is theirs: no access rule binds them
	Must          organisation.Existence
	DryRun        bool
}

// Put makes or changes a schedule. Other times, and another zone, count from now on.
func Put(e Edit) draft.Command[State] {
	return func(tx *draft.Tx) (State, error) {
		id := ID(e.Project, e.Name)
		was, there := tx.Template(id)
		if err := possible(tx, e, there); err != nil {
			return State{}, err
		}
		doc, err := spec.Parse(e.Document)
		if err != nil {
			return State{}, below(err)
		}
		if err := runnable(doc, e.Project); err != nil {
			return State{}, err
		}
		text, err := json.Marshal(doc)
		if err != nil {
			return State{}, invalid("document", err.Error(), "write it as a workload document")
		}
		t := core.Template{Project: e.Project, Kind: core.TemplateSchedule, Name: e.Name, Description: e.Description, User: e.User, CreatedAt: tx.Now}
		s := e.Schedule
		s.From, s.ByOwner = tx.Now, e.Owner
		if there {
			old := was.Schedule
			t.CreatedAt = was.CreatedAt
			s.Last, s.Runs, s.Events = old.Last, old.Runs, old.Events
			if old.Cron == s.Cron && old.TimeZone == s.TimeZone {
				s.From = old.From
			}
			t.Versions = was.Versions
			if was.Last().Document == string(text) {
				t.User, s.ByOwner, s.As, s.ByMachine = was.User, old.ByOwner, old.As, old.ByMachine
			}
		}
		t.Revise(string(text), e.User, tx.Now, 1)
		t.Schedule = &s
		whole, err := document(tx, &t)
		if err != nil {
			return State{}, below(err)
		}
		if err := rightsOf(tx, &t, whole); err != nil {
			return State{}, err
		}
		out := state(tx, &t)
		out.Whole, out.Warnings = whole, refusals(tx, &t, whole)
		if !e.DryRun {
			put(tx, t)
		}
		return out, nil
	}
}

// possible refuses a schedule for what is said of it beside its document.
func possible(tx *draft.Tx, e Edit, there bool) error {
	if most := recur.LongestName(spec.MaxName); !spec.Named(e.Name) || len(e.Name) > most {
		return invalid("name", fmt.Sprintf("%.60q is not the name of a schedule", e.Name), fmt.Sprintf("use lower-case letters, digits and '-', at most %d characters: its runs are called NAME-202612312359", most))
	}
	p, known := tx.Project(e.Project)
	switch {
	case !known:
		return &draft.Error{Code: draft.CodeNotFound, Field: "project", Message: fmt.Sprintf("project %q does not exist", e.Project), Hint: "muster project list shows what there is"}
	case p.Department:
		return invalid("project", fmt.Sprintf("%q is a department, and only projects take workloads", e.Project), "name one of its projects")
	case there && e.Must == organisation.MustBeNew:
		return &draft.Error{Code: draft.CodeConflict, Field: "name", Message: fmt.Sprintf("project %s has schedule %q already", e.Project, e.Name), Hint: "muster schedule update " + e.Name + " changes it"}
	case !there && e.Must == organisation.MustExist:
		return missing(tx, ID(e.Project, e.Name))
	}
	if err := tx.Roomy(); err != nil {
		return err
	}
	_, err := recur.Parse(e.Cron)
	var bad *recur.Problem
	if errors.As(err, &bad) {
		return invalid("cron", bad.Message, bad.Hint)
	}
	if _, err := tx.State.Agenda.Zone(e.TimeZone); err != nil || e.TimeZone == "Local" || e.TimeZone == "" {
		return invalid("timeZone", fmt.Sprintf("%.60q is not a time zone that is known here", e.TimeZone), "write one of the IANA list, such as Europe/Berlin, or UTC")
	}
	switch n := len([]rune(e.Description)); {
	case n > descriptionLongest:
		return invalid("description", fmt.Sprintf("has %d characters, more than %d", n, descriptionLongest), "shorten it")
	case !slices.Contains([]core.Concurrency{core.ConcurrencyAllow, core.ConcurrencyForbid, core.ConcurrencyReplace}, e.Concurrency):
		return invalid("concurrency", fmt.Sprintf("%.60q is not known", e.Concurrency), "allowed are allow, forbid and replace")
	case e.Within < 0 || e.Within > 0 && e.Within < time.Second:
		return invalid("startingDeadline", fmt.Sprintf("%v is too short", e.Within), "write at least 1s, or leave it out: runs then start however late it is")
	case e.KeepCompleted < 0 || e.KeepCompleted > keptMost:
		return invalid("keepCompleted", fmt.Sprintf("%d is not a number of runs that are kept", e.KeepCompleted), fmt.Sprintf("write 0 to %d", keptMost))
	case e.KeepFailed < 0 || e.KeepFailed > keptMost:
		return invalid("keepFailed", fmt.Sprintf("%d is not a number of runs that are kept", e.KeepFailed), fmt.Sprintf("write 0 to %d", keptMost))
	case !there && len(ofProject(tx, e.Project)) >= schedulesMost:
		return invalid("", fmt.Sprintf("project %s has %d schedules, the most there may be", e.Project, schedulesMost), "muster schedule delete NAME makes room")
	}
	return nil
}

// runnable refuses a document that can be of one workload alone.
func runnable(doc *spec.Document, project core.ProjectID) error {
	switch {
	case doc.Name != "" || doc.NamePrefix != "":
		return invalid("document.name", "a run has a name of its own each time", "leave it out: runs are called as the schedule, with their time")
	case doc.Project != "" && doc.Project != string(project):
		return invalid("document.project", fmt.Sprintf("is %.60q, and the schedule is in %q", doc.Project, project), "leave it out")
	case doc.NotBefore != "":
		return invalid("document.notBefore", "the schedule says when it runs", "leave it out")
	}
	return nil
}

// refusals are why a run would be refused if it were started now.
func refusals(tx *draft.Tx, t *core.Template, doc *spec.Document) []string {
	_, err := submission.Submit(submission.Submission{Doc: doc, User: t.User, As: asOf(tx, t), Actor: actor(t), DryRun: true})(tx)
	if err == nil {
		return nil
	}
	return []string{"at present a run would be refused: " + sentence(err)}
}

// sentence is an error with what to do.
func sentence(err error) string {
	var refused *draft.Error
	if errors.As(err, &refused) && refused.Hint != "" {
		return refused.Error() + "; " + refused.Hint
	}
	return err.Error()
}

// below puts what is wrong with a document below its field.
func below(err error) error {
	var errs codec.Errors
	if !errors.As(err, &errs) {
		return err
	}
	errs = slices.Clone(errs)
	for i := range errs {
		errs[i].Path, errs[i].Line = strings.TrimSuffix("document."+errs[i].Path, "."), 0
	}
	return errs
}

func invalid(field, message, hint string) error {
	return &draft.Error{Code: draft.CodeInvalid, Field: field, Message: message, Hint: hint}
}

// missing is that there is no such schedule.
func missing(tx *draft.Tx, id core.TemplateID) error {
	e := &draft.Error{Code: draft.CodeNotFound, Message: fmt.Sprintf("project %s has no schedule %q", id.Project, id.Name), Hint: "muster schedule list shows what there is"}
	var names []string
	for _, t := range ofProject(tx, id.Project) {
		names = append(names, t.Name)
	}
	if near := nearest.Word(id.Name, names); near != "" {
		e.Hint = "did you mean " + near + "?"
	}
	return e
}

// actor is who acts where a schedule does.
func actor(t *core.Template) string { return "schedule:" + t.Name }
