package workloads

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/reader"
	"github.com/musterhq/muster/internal/server/request"
	"github.com/musterhq/muster/internal/server/wire"
	"github.com/musterhq/muster/internal/store"
)

type tasksInput struct {
	request.Named
	Attempt int      `query:"attempt" default:"-1" doc:"Number of the attempt; -1: the latest that has begun"`
	State   []string `query:"state" doc:"Any of these states, separated by commas"`
	Sort    string   `query:"sort" default:"task" enum:"task,-task,state,-state,node,-node,exit,-exit,ran,-ran,started,-started" doc:"By what they are ordered; -: the other way round"`
	Limit   int      `query:"limit" minimum:"1" maximum:"5000" default:"500"`
	Cursor  int      `query:"cursor" minimum:"0" doc:"next of the page before; in the order of task, the least index"`
}

type taskStatesInput struct {
	request.Named
	Attempt int `query:"attempt" default:"-1" doc:"Number of the attempt; -1: the latest that has begun"`
}

func (s *routes) taskPageRoute() {
	huma.Register(s.api, huma.Operation{
		OperationID: "list-tasks", Method: http.MethodGet, Path: "/v1/projects/{project}/workloads/{name}/tasks", Tags: []string{"workloads"},
		Summary: "Tasks of an attempt, page by page, with how many are in which state",
	}, func(ctx context.Context, in *tasksInput) (*struct{ Body api.TaskPage }, error) {
		page, err := s.taskPage(ctx, in)
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		return &struct{ Body api.TaskPage }{page}, nil
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "task-states", Method: http.MethodGet, Path: "/v1/projects/{project}/workloads/{name}/task-states", Tags: []string{"workloads"},
		Summary: "The state of every task of an attempt, in a letter each",
	}, func(ctx context.Context, in *taskStatesInput) (*struct{ Body api.TaskStates }, error) {
		states, err := s.taskStatesOf(ctx, in)
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		return &struct{ Body api.TaskStates }{states}, nil
	})
}

// letters are the states of tasks as one character each.
var letters = map[core.TaskState]byte{
	core.TaskPending: 'p', core.TaskStarting: 's', core.TaskRunning: 'r', core.TaskStopping: 'e', core.TaskSucceeded: 'd', core.TaskFailed: 'f', core.TaskLost: 'l',
}

// taskStatesOf is the state of every task of an attempt by its index, a letter each.
func (s *routes) taskStatesOf(ctx context.Context, in *taskStatesInput) (api.TaskStates, error) {
	var out api.TaskStates
	w, err := s.Find(ctx, in.Project, in.Name)
	if err != nil {
		return out, err
	}
	if out.Attempt, err = reader.AttemptFor(w, in.Attempt); err != nil {
		return out, err
	}
	var all []byte
	q := store.TaskQuery{Workload: w.ID, Attempt: out.Attempt, Limit: 5 * reader.TasksMost}
	for {
		some, err := s.Store.FindTasks(ctx, q)
		if err != nil {
			return out, err
		}
		now, _ := wire.Runs(some, q.Attempt)
		for i := range now {
			for len(all) <= now[i].ID.Index {
				all = append(all, '-')
			}
			all[now[i].ID.Index] = letters[now[i].State]
		}
		if len(some) < q.Limit {
			out.States = string(all)
			return out, nil
		}
		q.From = some[len(some)-1].ID.Index + 1
	}
}

func (s *routes) taskPage(ctx context.Context, in *tasksInput) (api.TaskPage, error) {
	out := api.TaskPage{Items: []api.Task{}, Counts: map[string]int{}}
	for _, state := range in.State {
		if !slices.Contains(taskStates, core.TaskState(state)) {
			return out, problem.OneOf("state", state, "pending", "starting", "running", "stopping", "succeeded", "failed", "lost")
		}
	}
	w, err := s.Find(ctx, in.Project, in.Name)
	if err != nil {
		return out, err
	}
	attempt, err := reader.AttemptFor(w, in.Attempt)
	if err != nil {
		return out, err
	}
	counts, err := s.CountTasks(ctx, w, attempt)
	if err != nil {
		return out, err
	}
	for state, n := range counts {
		if out.Counts[string(state)] = n; len(in.State) == 0 || slices.Contains(in.State, string(state)) {
			out.Total += n
		}
	}
	q := store.TaskQuery{Workload: w.ID, Attempt: attempt}
	for _, state := range in.State {
		q.States = append(q.States, core.TaskState(state))
	}
	byIndex := in.Sort == "task"
	var found []core.Task
	if byIndex { // one more says where the next page begins
		q.From, q.Limit = in.Cursor, in.Limit+1
		found, err = s.Store.FindTasks(ctx, q)
		found, _ = wire.Runs(found, attempt)
	} else {
		found, err = s.sortedPage(ctx, q, in)
	}
	if err != nil {
		return out, err
	}
	if len(found) > in.Limit {
		if out.Next = strconv.Itoa(in.Cursor + in.Limit); byIndex {
			out.Next = strconv.Itoa(found[in.Limit].ID.Index)
		}
		found = found[:in.Limit]
	}
	for i := range found {
		out.Items = append(out.Items, wire.Task(&found[i]))
	}
	return out, nil
}

// sortedPage is the page that begins at a place in another order than that of
// their indexes, and one more. It reads all, a part at a time, and keeps those that
// come first.
func (s *routes) sortedPage(ctx context.Context, q store.TaskQuery, in *tasksInput) ([]core.Task, error) {
	by, down := strings.CutPrefix(in.Sort, "-")
	order := func(a, b core.Task) int {
		n := compareTasks(by, &a, &b)
		if down {
			n = -n
		}
		return cmp.Or(n, a.ID.Index-b.ID.Index)
	}
	var first []core.Task
	for q.Limit = 5 * reader.TasksMost; ; {
		some, err := s.Store.FindTasks(ctx, q)
		if err != nil {
			return nil, err
		}
		now, _ := wire.Runs(some, q.Attempt)
		first = append(first, now...)
		slices.SortFunc(first, order)
		first = slices.Clone(first[:min(len(first), in.Cursor+in.Limit+1)])
		if len(some) < q.Limit {
			return first[min(in.Cursor, len(first)):], nil
		}
		q.From = some[len(some)-1].ID.Index + 1
	}
}

// taskStates are all states of tasks, what asks for a look first.
var taskStates = []core.TaskState{core.TaskFailed, core.TaskLost, core.TaskStopping, core.TaskRunning, core.TaskStarting, core.TaskPending, core.TaskSucceeded}

func compareTasks(by string, a, b *core.Task) int {
	switch by {
	case "state":
		return slices.Index(taskStates, a.State) - slices.Index(taskStates, b.State)
	case "node":
		return cmp.Compare(a.Node, b.Node)
	case "exit":
		code := func(t *core.Task) int {
			if t.ExitCode == nil {
				return -1
			}
			return *t.ExitCode
		}
		return code(a) - code(b)
	case "started":
		return a.StartedAt.Compare(b.StartedAt)
	case "ran": // of those that have not ended the one that began first ran longest
		if a.EndedAt.IsZero() || b.EndedAt.IsZero() {
			if a.EndedAt.IsZero() != b.EndedAt.IsZero() {
				return map[bool]int{true: 1, false: -1}[a.EndedAt.IsZero()]
			}
			return b.StartedAt.Compare(a.StartedAt)
		}
		return cmp.Compare(a.EndedAt.Sub(a.StartedAt), b.EndedAt.Sub(b.StartedAt))
	}
	return a.ID.Index - b.ID.Index
}

// cutTasks leaves of each attempt's tasks the first, the one that failed first,
// and says how many are missing.
func cutTasks(w *api.Workload, most int) {
	for i := range w.Attempts {
		a := &w.Attempts[i]
		a.Former = a.Former[:min(len(a.Former), most)]
		if len(a.Tasks) <= most {
			continue
		}
		kept := a.Tasks[:most:most]
		if a.Culprit != nil && !slices.ContainsFunc(kept, func(t api.Task) bool { return t.Index == *a.Culprit }) {
			if c := slices.IndexFunc(a.Tasks, func(t api.Task) bool { return t.Index == *a.Culprit }); c >= 0 {
				kept = append(kept, a.Tasks[c])
			}
		}
		a.TasksLeft, a.Tasks = len(a.Tasks)-len(kept), kept
	}
}
