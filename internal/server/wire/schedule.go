package wire

import (
	"cmp"
	"encoding/json"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/recurring"
)

// Schedule is the API's form of a schedule with its runs and next times.
func Schedule(s recurring.State) (api.Schedule, error) {
	t := s.Schedule
	out := api.Schedule{
		NewSchedule: api.NewSchedule{Name: s.Name}, Project: string(s.Project), User: s.User, Kind: string(s.Kind), Version: s.Template.Last().Number,
		CreatedAt: api.Time(s.CreatedAt), Last: At(t.Last), Next: []api.Time{}, Runs: []api.ScheduledRun{}, Events: []api.ScheduleEvent{}, Warnings: s.Warnings,
	}
	for _, at := range s.Next {
		out.Next = append(out.Next, api.Time(at))
	}
	for _, r := range t.Runs {
		out.Runs = append(out.Runs, api.ScheduledRun{ID: string(r.ID), Name: r.Name, Due: At(r.At), CreatedAt: api.Time(r.MadeAt), Phase: string(r.Phase), EndedAt: At(r.EndedAt)})
	}
	for _, e := range t.Events {
		out.Events = append(out.Events, api.ScheduleEvent{What: string(e.What), At: api.Time(e.At), Due: api.Time(e.Due), Count: e.Count, Message: e.Message})
	}
	var err error
	out.ScheduleSpec, err = ScheduleSpec(&s.Template)
	return out, err
}

// ScheduleSpec is what was decided about a schedule.
func ScheduleSpec(t *core.Template) (api.ScheduleSpec, error) {
	s := t.Schedule
	out := api.ScheduleSpec{
		Description: t.Description, Cron: s.Cron, TimeZone: s.TimeZone, Concurrency: string(s.Concurrency), Suspended: s.Suspended,
		KeepCompleted: &s.KeepCompleted, KeepFailed: &s.KeepFailed,
	}
	if s.Within > 0 {
		out.StartingDeadline = spec.Duration(s.Within).String()
	}
	return out, json.Unmarshal([]byte(t.Last().Document), &out.Document)
}

// What a schedule is that does not say it, as a CronJob of Kubernetes is.
const (
	keepCompleted = 3
	keepFailed    = 1
)

// DecideSchedule is an edit of what was decided, in place of all that was.
func DecideSchedule(in api.ScheduleSpec) (recurring.Edit, error) {
	e := recurring.Edit{Description: in.Description, Schedule: core.Schedule{
		Cron: in.Cron, TimeZone: cmp.Or(in.TimeZone, "UTC"), Concurrency: cmp.Or(core.Concurrency(in.Concurrency), core.ConcurrencyAllow), Suspended: in.Suspended,
		KeepCompleted: keepCompleted, KeepFailed: keepFailed,
	}}
	if in.KeepCompleted != nil {
		e.KeepCompleted = *in.KeepCompleted
	}
	if in.KeepFailed != nil {
		e.KeepFailed = *in.KeepFailed
	}
	within, err := lengthOf("startingDeadline", in.StartingDeadline, "; leave it out for none")
	if err != nil {
		return e, err
	}
	if within != nil {
		e.Within = *within
	}
	e.Document, err = json.Marshal(in.Document)
	return e, err
}
