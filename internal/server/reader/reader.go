// Package reader reads what answers are made of: workloads with the records that
// belong to them, of large ones no more than is asked for.
package reader

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/request"
	"github.com/musterhq/muster/internal/store"
)

// Reader reads from a control plane.
type Reader struct {
	Control *control.Control
	Store   store.Store
	Clock   func() time.Time
	Log     *slog.Logger

	counted counted
}

// New returns a reader of a control plane.
func New(c *control.Control, clock func() time.Time, log *slog.Logger) *Reader {
	return &Reader{Control: c, Store: c.Store(), Clock: clock, Log: log}
}

var idForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-hjkmnp-tv-z]{26}$`) })

// Find resolves a name or an id of a workload that who asks may see.
func (s *Reader) Find(ctx context.Context, project, name string) (*core.Workload, error) {
	if w := access.Found(ctx, project, name); w != nil {
		return w, nil
	}
	w, err := s.FindAny(ctx, project, name)
	if err == nil && !access.Sees(ctx, w) {
		return nil, Missing(project, name)
	}
	return w, err
}

// Missing says that there is no such workload, or none that who asks may see.
func Missing(project, name string) *api.Problem {
	detail := "workload " + strconv.Quote(name) + " does not exist"
	if project != request.AllProjects {
		detail += " in project " + strconv.Quote(project)
	}
	return problem.New(http.StatusNotFound, "not_found", detail, "muster get lists what there is")
}

// FindAny resolves a name or an id, whoever asks.
func (s *Reader) FindAny(ctx context.Context, project, name string) (*core.Workload, error) {
	var w *core.Workload
	err := store.ErrNotFound
	if project != request.AllProjects {
		w, err = s.Store.ByName(ctx, core.ProjectID(project), name)
	}
	if errors.Is(err, store.ErrNotFound) && idForm().MatchString(name) {
		w, err = s.Store.Workload(ctx, core.WorkloadID(name))
	}
	if errors.Is(err, store.ErrNotFound) || err == nil && project != request.AllProjects && w.Project != core.ProjectID(project) {
		return nil, Missing(project, name)
	}
	return w, err
}

// AttemptFor checks the number of an attempt; -1: the latest that has begun.
func AttemptFor(w *core.Workload, attempt int) (int, error) {
	if attempt < 0 {
		return LatestBegun(w), nil
	}
	if attempt > w.Attempt {
		return 0, problem.New(http.StatusNotFound, "not_found", fmt.Sprintf("there is no attempt %d; the latest is %d", attempt, w.Attempt), "muster describe shows every attempt")
	}
	return attempt, nil
}

// LatestBegun is the latest attempt that has had tasks.
func LatestBegun(w *core.Workload) int {
	for i := len(w.Attempts) - 1; i > 0; i-- {
		if !w.Attempts[i].StartedAt.IsZero() {
			return i
		}
	}
	return 0
}
