package submit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/document"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// workloadKind is what -o json calls the record of a workload.
const workloadKind = "Workload"

// appliedWork is what has become of one workload.
type appliedWork struct {
	Kind    string    `json:"kind"`
	Name    string    `json:"name"`
	Project string    `json:"project,omitempty"`
	Action  string    `json:"action"` // created, updated, restarted, unchanged
	Changes []revised `json:"changes,omitempty"`
}

// applyWork is one workload of a file.
type applyWork struct {
	place    placedRecord
	doc      *spec.Document
	revision *revision // nil: it is new
}

// isWork reports whether a record of a manifest is a workload: those have kinds
// of their own, or none.
func isWork(item map[string]any) bool {
	kind, given := item["kind"].(string)
	if !given {
		_, organised := item["kind"]
		return !organised
	}
	return slices.Contains(lifecycle.Kinds(), lifecycle.Kind(kind))
}

// readWork reads one document of a file as a workload.
func readWork(at placedRecord, text []byte) (*applyWork, error) {
	doc, err := spec.Parse(text)
	var errs codec.Errors
	switch {
	case errors.As(err, &errs):
	case err != nil:
		return nil, err
	case doc.Name == "":
		errs = codec.Errors{{Path: "name", Problem: "is missing", Hint: "apply finds a workload by its name; muster run -f makes one with a new name each time"}}
	default:
		errs = spec.Validate(spec.WithDefaults(doc))
	}
	if len(errs) > 0 {
		errs = slices.Clone(errs)
		for i := range errs {
			if errs[i].Line > 0 {
				errs[i].Line += at.before
			}
		}
		return nil, session.BadDocument(at.file, errs)
	}
	return &applyWork{place: at, doc: doc}, nil
}

// compare finds what the documents would change.
func compare(ctx context.Context, s *session.Session, c *client.Client, all []*applyWork) error {
	for _, a := range all {
		project := a.doc.Project
		if project == "" {
			project = s.Setting("MUSTER_PROJECT")
		}
		if project == "" {
			project = session.DefaultProject
		}
		a.doc.Project = project
		var err error
		if a.doc, err = document.Whole(ctx, s, c, a.doc); err != nil {
			return document.Source{File: a.place.file}.Problem(err)
		}
		w, err := c.Workload(ctx, project, a.doc.Name)
		if session.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		if a.revision, err = revisionOf(w, a.doc, document.Local(s)); err != nil {
			return document.Source{File: a.place.file}.Refuse(err)
		}
		if err := a.revision.refused(); err != nil {
			var f *session.Failure
			if errors.As(err, &f) {
				f.File = a.place.file
			}
			return err
		}
	}
	return nil
}

func actionOf(r *revision) string {
	switch {
	case r == nil:
		return "created"
	case r.effect == "":
		return "unchanged"
	case r.effect == spec.EffectAttempt:
		return "restarted"
	default:
		return "updated"
	}
}

func (a *applyWork) result() appliedWork {
	out := appliedWork{Kind: workloadKind, Name: a.doc.Name, Project: a.doc.Project, Action: actionOf(a.revision)}
	if a.revision != nil {
		out.Changes = a.revision.changes
	}
	return out
}

// describeWork is what a workload is to become, for people.
func describeWork(s *session.Session, a *applyWork, terminal, dry bool) string {
	action := actionOf(a.revision)
	if dry && action != "unchanged" {
		action = "would be " + action
	}
	line := fmt.Sprintf("workload %s %s\n", a.doc.Name, action)
	if a.revision != nil {
		line += revisionLines(s, terminal, a.revision)
	}
	return line
}

// carryOutWork does what compare has found.
func carryOutWork(ctx context.Context, s *session.Session, c *client.Client, a *applyWork) error {
	if a.revision != nil {
		if a.revision.effect == "" {
			return nil
		}
		_, err := carryOut(ctx, s, c, a.revision)
		return err
	}
	data, err := submission(s, a)
	if err == nil {
		_, err = c.Submit(ctx, data, client.SubmitOptions{})
	}
	return document.Source{File: a.place.file}.Problem(err)
}

// submission is the document of a workload that is new, as it is sent.
func submission(s *session.Session, a *applyWork) (json.RawMessage, error) {
	doc := a.doc.Clone()
	if err := document.ResolveWorkdir(doc, document.Local(s)); err != nil {
		return nil, err
	}
	document.CarryEnvironment(s, doc, document.Local(s))
	return document.Encode(doc)
}

// foresee asks the server whether it would take the workloads, before anything is
// changed: all but those that may need a record which changes with them.
func foresee(ctx context.Context, s *session.Session, c *client.Client, all []*applyWork, items []api.AppliedItem) error {
	var docs []json.RawMessage
	var places []placedRecord
	for _, a := range all {
		if slices.ContainsFunc(items, func(i api.AppliedItem) bool {
			return i.Action != "unchanged" && (i.Kind != "Project" || i.Name == a.doc.Project)
		}) {
			continue
		}
		if a.revision != nil {
			if err := a.revision.possible(ctx, c); err != nil {
				return document.Source{File: a.place.file}.Problem(err)
			}
			continue
		}
		data, err := submission(s, a)
		if err != nil {
			return err
		}
		docs, places = append(docs, data), append(places, a.place)
	}
	if len(docs) == 0 {
		return nil
	}
	docs = docs[:min(len(docs), 1000)] // as many as the server looks at together
	_, err := c.Together(ctx, docs, client.SubmitOptions{DryRun: true})
	return placedProblem(err, places)
}

// agreed asks where there is somebody to ask, and where work would be ended also
// where there is not.
func agreed(s *session.Session, about string, ending []string) error {
	if s.IO.InTerminal {
		ok, err := s.Ask(strings.TrimRight(about, "\n"))
		if err == nil && !ok {
			err = session.ExitCode(session.ExitInternal)
		}
		return err
	}
	if len(ending) > 0 {
		return session.NeedsFlagError("ending "+strings.Join(ending, ", ")+" for a new attempt", "--yes")
	}
	return nil
}

// planOf is what an apply comes to, in words.
func planOf(s *session.Session, items []api.AppliedItem, works []*applyWork) (about string, ending []string, any bool) {
	var b strings.Builder
	b.WriteString("About to apply:\n")
	for _, item := range items {
		if item.Action != "unchanged" {
			any = true
			b.WriteString(itemLines(item, true))
		}
	}
	for _, a := range works {
		if actionOf(a.revision) != "unchanged" {
			any = true
			b.WriteString(describeWork(s, a, s.IO.ErrTerminal, true))
		}
		if a.revision != nil && a.revision.ends() {
			ending = append(ending, a.doc.Name)
		}
	}
	return b.String(), ending, any
}
