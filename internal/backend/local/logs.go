//go:build linux

package local

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/taskdir"
	"github.com/musterhq/muster/internal/backend/logfile"
	"github.com/musterhq/muster/internal/core"
)

// Logs implements backend.Backend. It needs no supervisor: logs are files.
func (p *Backend) Logs(ctx context.Context, id core.TaskID, opts backend.LogOptions) (io.ReadCloser, error) {
	return p.paths.Out().Open(ctx, id, opts, func() logfile.News {
		// The FIFO is removed when the log is complete, so its directory tells the end.
		wake, done := p.notifier.listen(p.paths.Log(id), p.paths.Task(id))
		return logfile.News{Complete: func() bool { return !taskdir.Exists(filepath.Join(p.paths.Task(id), taskdir.FifoFile)) }, Wake: wake, Done: done}
	})
}

// DeleteLogs implements backend.Backend.
func (p *Backend) DeleteLogs(_ context.Context, id core.WorkloadID) error {
	if err := logfile.CheckWorkload(id); err != nil {
		return err
	}
	return os.RemoveAll(p.paths.LogsOf(id))
}
