package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/musterhq/muster/api"
)

// ScheduleService is what is done with schedules, which submit workloads by the clock.
type ScheduleService struct{ c *Client }

func schedules(project string) string {
	if project == "" {
		project = AllProjects
	}
	return "/v1/projects/" + url.PathEscape(project) + "/schedules"
}

func schedulePath(project, name string) string {
	return schedules(project) + "/" + url.PathEscape(name)
}

// List returns the schedules of a project; of all where project is empty.
func (s ScheduleService) List(ctx context.Context, project string) (*api.ScheduleList, error) {
	return one[api.ScheduleList](ctx, s.c, call{method: http.MethodGet, path: schedules(project), again: true})
}

// Get returns one schedule.
func (s ScheduleService) Get(ctx context.Context, project, name string) (*api.Schedule, error) {
	return one[api.Schedule](ctx, s.c, call{method: http.MethodGet, path: schedulePath(project, name), again: true})
}

// Create makes a schedule; one that exists is a conflict. A dry run says when it would
// run, and changes nothing.
func (s ScheduleService) Create(ctx context.Context, project string, n api.NewSchedule, dry bool) (*api.Schedule, error) {
	return send[api.Schedule](ctx, s.c, http.MethodPost, schedules(project), n, dry)
}

// Replace decides everything about a schedule anew, making it where it is not there.
func (s ScheduleService) Replace(ctx context.Context, project string, n api.NewSchedule, dry bool) (*api.Schedule, error) {
	return send[api.Schedule](ctx, s.c, http.MethodPut, schedulePath(project, n.Name), n.ScheduleSpec, dry)
}

// Change changes some fields: patch is a JSON merge patch, in which nil takes a field
// away.
func (s ScheduleService) Change(ctx context.Context, project, name string, patch map[string]any, dry bool) (*api.Schedule, error) {
	return send[api.Schedule](ctx, s.c, http.MethodPatch, schedulePath(project, name), patch, dry)
}

// Suspend has a schedule start no runs by itself, or start them again.
func (s ScheduleService) Suspend(ctx context.Context, project, name string, suspended bool) (*api.Schedule, error) {
	verb := "/resume"
	if suspended {
		verb = "/suspend"
	}
	return one[api.Schedule](ctx, s.c, call{method: http.MethodPost, path: schedulePath(project, name) + verb, again: true})
}

// Run starts a run of a schedule now.
func (s ScheduleService) Run(ctx context.Context, project, name string) (*api.Workload, error) {
	return one[api.Workload](ctx, s.c, call{method: http.MethodPost, path: schedulePath(project, name) + "/run"})
}

// Delete forgets a schedule; with runs, what it has made is ended and deleted too.
func (s ScheduleService) Delete(ctx context.Context, project, name string, runs bool) error {
	k := call{method: http.MethodDelete, path: schedulePath(project, name)}
	if runs {
		k.query = url.Values{"runs": {"true"}}
	}
	return s.c.do(ctx, k, nil)
}
