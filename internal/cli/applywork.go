package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
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
	kind, said := item["kind"].(string)
	if !said {
		_, organised := item["kind"]
		return !organised
	}
	return slices.Contains(lifecycle.Kinds(), lifecycle.Kind(kind))
}

// readWork reads one document of a file as a workload.
func readWork(at placedRecord, text []byte) (*applyWork, error) {
	doc, err := spec.Parse(text)
	var errs spec.Errors
	switch {
	case errors.As(err, &errs):
	case err != nil:
		return nil, err
	case doc.Name == "":
		errs = spec.Errors{{Path: "name", Problem: "is missing", Hint: "apply finds a workload by its name; muster run -f makes one with a new name each time"}}
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
		return nil, badDocument(at.file, errs)
	}
	return &applyWork{place: at, doc: doc}, nil
}

// compare finds what the documents would change.
func (s *session) compare(ctx context.Context, c *client.Client, all []*applyWork) error {
	for _, a := range all {
		project := a.doc.Project
		if project == "" {
			project = s.setting("MUSTER_PROJECT")
		}
		if project == "" {
			project = defaultProject
		}
		a.doc.Project = project
		var err error
		if a.doc, err = s.whole(ctx, c, a.doc); err != nil {
			return source{file: a.place.file}.problem(err)
		}
		w, err := c.Workload(ctx, project, a.doc.Name)
		if isNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		if a.revision, err = revisionOf(w, a.doc, s.local()); err != nil {
			return source{file: a.place.file}.refuse(err)
		}
		if err := a.revision.refused(); err != nil {
			var f *failure
			if errors.As(err, &f) {
				f.file = a.place.file
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
func (s *session) describeWork(a *applyWork, terminal, dry bool) string {
	action := actionOf(a.revision)
	if dry && action != "unchanged" {
		action = "would be " + action
	}
	line := fmt.Sprintf("workload %s %s\n", a.doc.Name, action)
	if a.revision != nil {
		line += s.revisionLines(terminal, a.revision)
	}
	return line
}

// carryOutWork does what compare has found.
func (s *session) carryOutWork(ctx context.Context, c *client.Client, a *applyWork) error {
	if a.revision != nil {
		if a.revision.effect == "" {
			return nil
		}
		_, err := s.carryOut(ctx, c, a.revision)
		return err
	}
	data, err := s.submission(a)
	if err == nil {
		_, err = c.Submit(ctx, data, client.SubmitOptions{})
	}
	return source{file: a.place.file}.problem(err)
}

// submission is the document of a workload that is new, as it is sent.
func (s *session) submission(a *applyWork) (json.RawMessage, error) {
	doc := a.doc.Clone()
	if err := settleWorkdir(doc, s.local()); err != nil {
		return nil, err
	}
	s.carryEnvironment(doc, s.local())
	return encode(doc)
}

// foresee asks the server whether it would take the workloads, before anything is
// changed: all but those that may need a record which changes with them.
func (s *session) foresee(ctx context.Context, c *client.Client, all []*applyWork, items []api.AppliedItem) error {
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
				return source{file: a.place.file}.problem(err)
			}
			continue
		}
		data, err := s.submission(a)
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
func (s *session) agreed(about string, ending []string) error {
	if s.io.InTerminal {
		ok, err := s.ask(strings.TrimRight(about, "\n"))
		if err == nil && !ok {
			err = silent(exitInternal)
		}
		return err
	}
	if len(ending) > 0 {
		return needsFlag("ending "+strings.Join(ending, ", ")+" for a new attempt", "--yes")
	}
	return nil
}

// planOf is what an apply comes to, in words.
func (s *session) planOf(items []api.AppliedItem, works []*applyWork) (about string, ending []string, any bool) {
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
			b.WriteString(s.describeWork(a, s.io.ErrTerminal, true))
		}
		if a.revision != nil && a.revision.ends() {
			ending = append(ending, a.doc.Name)
		}
	}
	return b.String(), ending, any
}
