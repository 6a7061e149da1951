package logs

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/server/problem"
)

// buildPoll is how often a build log that is followed is looked at.
const buildPoll = 200 * time.Millisecond

// buildLog answers with the log of the last build of w's image.
func (s *routes) buildLog(w *core.Workload, follow bool) (*huma.StreamResponse, error) {
	f, err := os.Open(filepath.Join(s.builds, string(w.ID)+".log"))
	if errors.Is(err, os.ErrNotExist) || s.builds == "" {
		return nil, problem.New(http.StatusNotFound, "no_logs", "there is no build log: no image was built for "+w.Name, "only workloads with build have one")
	}
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		defer f.Close()
		r, rw := humago.Unwrap(hc)
		rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
		rw.Header().Set("X-Content-Type-Options", "nosniff")
		flush := http.NewResponseController(rw)
		for {
			building := follow && s.building(r.Context(), w.ID) // asked first: what is written until then is read below
			if _, err := io.Copy(rw, f); err != nil {
				panic(http.ErrAbortHandler) // a part must not look like the whole
			}
			if flush.Flush() != nil || !building {
				return
			}
			select {
			case <-r.Context().Done():
				return
			case <-s.closing:
				return
			case <-time.After(buildPoll):
			}
		}
	}}, nil
}

func (s *routes) building(ctx context.Context, id core.WorkloadID) bool {
	w, err := s.Store.Workload(ctx, id)
	return err == nil && w.Phase == lifecycle.Building
}
