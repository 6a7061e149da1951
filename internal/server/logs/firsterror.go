package logs

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/firsterror"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/reader"
	"github.com/musterhq/muster/internal/server/request"
	"github.com/musterhq/muster/internal/server/wire"
	"github.com/musterhq/muster/internal/store"
)

const (
	scannedTasks  = 256              // outputs that are searched at most
	scannedBytes  = 64 << 20         // of each
	scannedFor    = 20 * time.Second // all together
	scannedAtOnce = 8
	lastLines     = 20 // shown of what failed without an error that is known
)

func (s *routes) firstErrorRoute() {
	huma.Register(s.api, huma.Operation{
		OperationID: "first-error", Method: http.MethodGet, Path: "/v1/projects/{project}/workloads/{name}/first-error", Tags: []string{"workloads"},
		Summary: "The first thing that went wrong in an attempt, over the output of all its tasks",
	}, func(ctx context.Context, in *struct {
		request.Named
		Attempt int `query:"attempt" default:"-1" doc:"Number of the attempt; -1: the latest that has begun"`
	}) (*struct{ Body api.FirstErrorResult }, error) {
		w, err := s.Find(ctx, in.Project, in.Name)
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		attempt := in.Attempt
		if attempt < 0 {
			attempt = reader.LatestBegun(w)
		}
		if attempt > w.Attempt {
			return nil, problem.New(http.StatusNotFound, "not_found", fmt.Sprintf("there is no attempt %d; the latest is %d", attempt, w.Attempt), "muster describe shows every attempt")
		}
		tasks, err := s.suspects(ctx, w, attempt)
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		out := &struct{ Body api.FirstErrorResult }{}
		out.Body.Error, out.Body.Also = s.firstError(ctx, w.Attempts[attempt], tasks)
		return out, nil
	})
}

// suspects are the tasks of an attempt, or of a large one those that may have
// gone wrong first: as many as are looked at.
func (s *routes) suspects(ctx context.Context, w *core.Workload, attempt int) ([]core.Task, error) {
	if !reader.Many(w, reader.TasksMost) {
		return s.Store.Tasks(ctx, w.ID, attempt)
	}
	q := store.TaskQuery{Workload: w.ID, Attempt: attempt, Limit: scannedTasks, States: []core.TaskState{core.TaskFailed, core.TaskLost}}
	all, err := s.Store.FindTasks(ctx, q)
	if k := w.Attempts[attempt].Culprit; err == nil && k != nil {
		t, there, lookErr := s.OneTask(ctx, w, attempt, *k)
		if err = lookErr; there && !slices.ContainsFunc(all, func(x core.Task) bool { return x.ID == t.ID }) {
			all = append(all, t)
		}
	}
	if err != nil || len(all) >= scannedTasks {
		return all, err
	}
	q.States, q.Limit = []core.TaskState{core.TaskRunning, core.TaskStopping, core.TaskStarting, core.TaskSucceeded}, scannedTasks-len(all)
	others, err := s.Store.FindTasks(ctx, q)
	return append(all, others...), err
}

// firstError searches the outputs of an attempt; what explains the others comes
// first. Where no output tells anything, the way in which a task ended does.
func (s *routes) firstError(ctx context.Context, a core.Attempt, tasks []core.Task) (*api.FirstError, []api.FirstError) {
	tasks = bySuspicion(a, tasks)
	if e, also := s.knownError(ctx, a, tasks); e != nil {
		return e, also
	}
	return s.endOf(ctx, a, tasks), nil
}

// knownError is firstError of outputs alone; nil: none tells anything.
func (s *routes) knownError(ctx context.Context, a core.Attempt, tasks []core.Task) (*api.FirstError, []api.FirstError) {
	ctx, cancel := context.WithTimeout(ctx, scannedFor)
	defer cancel()
	all := make([]*api.FirstError, len(tasks))
	slots := make(chan struct{}, scannedAtOnce)
	var wg sync.WaitGroup
	for i := range tasks {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			all[i] = s.errorOf(ctx, &tasks[i])
		})
	}
	wg.Wait()
	found := slices.DeleteFunc(all, func(e *api.FirstError) bool { return e == nil })
	if len(found) == 0 {
		return nil, nil
	}
	firsterror.Order(found, a.Culprit, func(e *api.FirstError) (*firsterror.Finding, int, time.Time) {
		f := &firsterror.Finding{Echo: e.Echo}
		if e.At == nil {
			return f, e.Task, time.Time{}
		}
		return f, e.Task, time.Time(*e.At)
	})
	var also []api.FirstError
	for _, e := range found[1:] {
		e.Excerpt = nil
		also = append(also, *e)
	}
	return found[0], also
}

// bySuspicion are the tasks of an attempt that are looked at, in that order.
func bySuspicion(a core.Attempt, tasks []core.Task) []core.Task {
	tasks, _ = wire.Runs(tasks, a.Index)
	slices.SortStableFunc(tasks, func(x, y core.Task) int { return suspicion(a, &x) - suspicion(a, &y) })
	return tasks[:min(len(tasks), scannedTasks)]
}

// suspicion orders tasks: who failed first is looked at first.
func suspicion(a core.Attempt, t *core.Task) int {
	switch {
	case a.Culprit != nil && t.ID.Index == *a.Culprit:
		return 0
	case t.State == core.TaskFailed || t.State == core.TaskLost:
		return 1
	default:
		return 2
	}
}

// errorOf is the first error in the output of a task; nil: there is none.
func (s *routes) errorOf(ctx context.Context, t *core.Task) *api.FirstError {
	body, err := s.openLogs(ctx, t.ID, backend.LogOptions{Tail: -1, Times: true})
	if err != nil {
		return killedFor(t)
	}
	defer body.Close()
	stop := context.AfterFunc(ctx, func() { body.Close() })
	defer stop()
	var scan firsterror.Scanner
	var begun string
	r := bufio.NewReaderSize(io.LimitReader(body, scannedBytes), lineBytes)
	for !scan.Done() {
		line, err := lineOf(r)
		if len(line) >= api.LogTimeWidth {
			before := scan.Found()
			scan.Line(strings.TrimRight(line[api.LogTimeWidth:], "\r\n"))
			if scan.Found() && !before {
				begun = line[:api.LogTimeWidth]
			}
		}
		if err != nil {
			break
		}
	}
	f := scan.Finish()
	if f == nil {
		return killedFor(t)
	}
	e := fromFailure(t, string(f.Kind), f.Title, f.Kind.Hint())
	e.Excerpt, e.Line, e.Echo = f.Excerpt, f.Line, f.Echo
	if at, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(begun)); err == nil && at.Year() > 1 {
		v := api.Time(at)
		e.At = &v
	}
	return e
}

// lineBytes is how much is kept of a line: a program may write gigabytes without
// an end of one.
const lineBytes = 64 << 10

// lineOf reads a line, and returns its beginning where it is longer than the
// reader's buffer.
func lineOf(r *bufio.Reader) (string, error) {
	part, err := r.ReadSlice('\n')
	line := string(part)
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = r.ReadSlice('\n')
	}
	return line, err
}

// killedFor is what no output tells: that a task was killed for its memory.
func killedFor(t *core.Task) *api.FirstError {
	if t.Reason != "OutOfMemory" {
		return nil
	}
	return fromFailure(t, string(firsterror.OutOfMemory), cmp.Or(t.Message, "it used more memory than it may"), firsterror.OutOfMemory.Hint())
}

func fromFailure(t *core.Task, kind, title, hint string) *api.FirstError {
	shown := wire.Task(t)
	return &api.FirstError{
		Kind: kind, Title: title, Hint: hint, Excerpt: []string{}, Attempt: t.ID.Attempt, Task: t.ID.Index, Role: t.Role, Node: string(t.Node),
		Devices: shown.Devices, ExitCode: t.ExitCode, At: shown.EndedAt,
	}
}

// ends are reasons that speak for themselves.
var ends = map[string]struct{ kind, hint string }{
	"FailedImagePull":    {"image", "check the image's name and tag, and that a docker secret opens its registry"},
	"ContainerCannotRun": {"container", "check the command, and that the image has it"},
	"MountFailed":        {"volume", "check the volumes' paths on the node"},
	"NodeLost":           {"node lost", "the node did not answer any more; its work is tried again elsewhere where retry.system allows it"},
}

// endOf tells of a task that failed without an error that is known in its output.
func (s *routes) endOf(ctx context.Context, a core.Attempt, tasks []core.Task) *api.FirstError {
	for i := range tasks {
		t := &tasks[i]
		if t.State != core.TaskFailed && t.State != core.TaskLost {
			continue
		}
		if e, ok := ends[t.Reason]; ok {
			return fromFailure(t, e.kind, cmp.Or(t.Message, a.Message, t.Reason), e.hint)
		}
		var out *api.FirstError
		switch {
		case t.Signal > 0:
			out = fromFailure(t, string(firsterror.Signal), fmt.Sprintf("signal %d ended it", t.Signal), firsterror.Signal.Hint())
		case t.ExitCode != nil:
			out = fromFailure(t, "exit code", fmt.Sprintf("its command ended with exit code %d", *t.ExitCode), "its last lines may tell why")
		default:
			out = fromFailure(t, cmp.Or(t.Reason, "failed"), cmp.Or(t.Message, a.Message, "it failed"), "")
		}
		out.Excerpt = s.lastOf(ctx, t)
		if strings.Contains(strings.ToLower(strings.Join(out.Excerpt, "\n")), "no space left on device") {
			out.Kind, out.Hint = "disk", "the disk of the node, or what is mounted there, is full"
		}
		return out
	}
	return nil
}

// lastOf are the last lines of a task's output.
func (s *routes) lastOf(ctx context.Context, t *core.Task) []string {
	body, err := s.openLogs(ctx, t.ID, backend.LogOptions{Tail: lastLines})
	if err != nil {
		return []string{}
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, 64<<10))
	if err != nil && !errors.Is(err, io.EOF) || len(text) == 0 {
		return []string{}
	}
	return strings.Split(strings.TrimRight(strings.ToValidUTF8(string(text), "\uFFFD"), "\n"), "\n")
}
