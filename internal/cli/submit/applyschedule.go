package submit

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/document"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// scheduleKind is what a manifest calls a schedule.
const scheduleKind = "Schedule"

// answered are fields of a schedule's record that nobody decides: a record that was
// shown can be applied as it is.
var answered = []string{"user", "workloadKind", "version", "createdAt", "last", "next", "runs", "events", "warnings"}

// applySchedule is one schedule of a file.
type applySchedule struct {
	place   placedRecord
	project string
	in      api.NewSchedule
	item    api.AppliedItem
}

// readSchedule reads one record of a file as a schedule.
func readSchedule(at placedRecord, item map[string]any) (*applySchedule, error) {
	rest := maps.Clone(item)
	delete(rest, "kind")
	for _, name := range answered {
		delete(rest, name)
	}
	a := &applySchedule{place: at}
	bad := func(path, problem, hint string) error {
		return session.BadDocument(at.file, codec.Errors{{Path: path, Problem: problem, Hint: hint, Line: at.Line(path)}})
	}
	if project, given := rest["project"]; given {
		var ok bool
		if a.project, ok = project.(string); !ok {
			return nil, bad("project", "is not a name", "write the name of a project")
		}
		delete(rest, "project")
	}
	if _, given := rest["document"].(map[string]any); !given {
		return nil, bad("document", "is missing", "write the workload document of its runs below document")
	}
	data, err := json.Marshal(rest)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(data))
		d.DisallowUnknownFields()
		err = d.Decode(&a.in)
	}
	switch {
	case err != nil:
		return nil, bad("", "it is not read as a schedule: "+err.Error(), "its fields are name, project, description, cron, timeZone, concurrency, suspended, startingDeadline, keepCompleted, keepFailed and document")
	case a.in.Name == "":
		return nil, bad("name", "is missing", "apply finds a schedule by its name")
	}
	return a, nil
}

// compareSchedules finds what the schedules of a manifest would change, and asks the
// server whether it takes them.
func compareSchedules(ctx context.Context, s *session.Session, c *client.Client, all []*applySchedule) error {
	for _, a := range all {
		a.project = cmp.Or(a.project, document.TemplateProject(s.Setting("MUSTER_PROJECT")))
		was, err := c.Schedules.Get(ctx, a.project, a.in.Name)
		if err != nil && !session.IsNotFound(err) {
			return err
		}
		if err != nil {
			was = nil
		}
		if err := a.complete(s, was); err != nil {
			return err
		}
		a.item = api.AppliedItem{Kind: scheduleKind, Name: a.in.Name, Action: "created"}
		if was != nil {
			a.item.Action = "unchanged"
			if a.item.Changes, err = differences(was.ScheduleSpec, a.in.ScheduleSpec); err != nil {
				return err
			}
			if len(a.item.Changes) > 0 {
				a.item.Action = "updated"
			}
		}
	}
	return nil
}

// complete fills in what a document has of where it is submitted, as muster run does; of
// a schedule that is there it stays as it was.
func (a *applySchedule) complete(s *session.Session, was *api.Schedule) error {
	data, err := json.Marshal(a.in.Document)
	if err != nil {
		return err
	}
	doc, err := spec.Parse(data)
	if err != nil {
		return document.Source{File: a.place.file}.Refuse(err)
	}
	local := document.Local(s)
	if err := document.ResolveWorkdir(doc, local); err != nil {
		return err
	}
	if was != nil {
		old, err := documentOf(was)
		if err != nil {
			return err
		}
		for _, name := range document.Carried {
			if value, there := old.Env[name]; there && local && doc.Image == "" {
				if _, given := doc.Env[name]; !given {
					doc.Env = maps.Clone(doc.Env)
					if doc.Env == nil {
						doc.Env = map[string]string{}
					}
					doc.Env[name] = value
				}
			}
		}
	} else {
		document.CarryEnvironment(s, doc, local)
	}
	a.in.Document, err = fieldsOf(doc)
	return err
}

// documentOf is the document of a schedule.
func documentOf(r *api.Schedule) (*spec.Document, error) {
	data, err := json.Marshal(r.Document)
	if err != nil {
		return nil, err
	}
	return spec.Parse(data)
}

// differences are the fields of a schedule that are to change.
func differences(was, is api.ScheduleSpec) ([]api.FieldChange, error) {
	is.TimeZone, is.Concurrency = cmp.Or(is.TimeZone, "UTC"), cmp.Or(is.Concurrency, "allow")
	if is.KeepCompleted == nil {
		is.KeepCompleted = new(3)
	}
	if is.KeepFailed == nil {
		is.KeepFailed = new(1)
	}
	flat := func(r api.ScheduleSpec) (map[string]json.RawMessage, error) {
		out := map[string]json.RawMessage{}
		data, err := json.Marshal(&r)
		if err == nil {
			err = json.Unmarshal(data, &out)
		}
		delete(out, "document")
		for name, value := range r.Document {
			var b bytes.Buffer
			if err := json.Compact(&b, value); err != nil {
				return nil, err
			}
			out["document."+name] = b.Bytes()
		}
		return out, err
	}
	old, err := flat(was)
	if err != nil {
		return nil, err
	}
	now, err := flat(is)
	if err != nil {
		return nil, err
	}
	var out []api.FieldChange
	names := slices.Collect(maps.Keys(old))
	names = append(names, slices.Collect(maps.Keys(now))...)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if !bytes.Equal(old[name], now[name]) {
			out = append(out, api.FieldChange{Path: name, From: old[name], To: now[name]})
		}
	}
	return out, nil
}

// applySchedules makes schedules what a manifest says, or asks whether that could be.
func applySchedules(ctx context.Context, s *session.Session, c *client.Client, all []*applySchedule, dry bool) error {
	for _, a := range all {
		if a.item.Action == "unchanged" {
			continue
		}
		made, err := c.Schedules.Replace(ctx, a.project, a.in, dry)
		if err != nil {
			return placedProblem(err, []placedRecord{a.place})
		}
		if a.item.Warnings = nil; !dry {
			a.item.Warnings = made.Warnings
		}
	}
	return nil
}

// scheduleItems are what has become of schedules.
func scheduleItems(all []*applySchedule) []api.AppliedItem {
	out := make([]api.AppliedItem, len(all))
	for i, a := range all {
		out[i] = a.item
	}
	return out
}

// twiceScheduled refuses a schedule that stands in a manifest twice.
func twiceScheduled(all []*applySchedule) error {
	seen := map[string]bool{}
	for _, a := range all {
		key := a.project + "/" + a.in.Name
		if seen[key] {
			return session.UsageError(fmt.Sprintf("schedule %s stands there twice", a.in.Name), "write each record once")
		}
		seen[key] = true
	}
	return nil
}
