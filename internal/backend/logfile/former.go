package logfile

import (
	"context"
	"io"
	"os"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
)

// Former is the output of tasks of a backend that the server has no more: nothing is
// added to it.
type Former Dir

// Logs implements backend.Output.
func (d Former) Logs(ctx context.Context, id core.TaskID, o backend.LogOptions) (io.ReadCloser, error) {
	o.Follow = false
	return Dir(d).Open(ctx, id, o, nil)
}

// DeleteLogs implements backend.Output.
func (d Former) DeleteLogs(_ context.Context, id core.WorkloadID) error {
	if err := CheckWorkload(id); err != nil {
		return err
	}
	return os.RemoveAll(Dir(d).Workload(id))
}
