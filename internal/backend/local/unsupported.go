//go:build !linux

package local

import (
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
)

// Backend cannot be opened on this operating system.
type Backend struct{}

var errSystem = fmt.Errorf("local processes on %s: %w; use Linux, or another backend", runtime.GOOS, backend.ErrUnsupported)

// Open fails with backend.ErrUnsupported.
func Open(Options) (*Backend, error) { return nil, errSystem }

// Name is the backend's name.
func (*Backend) Name() string { return BackendName }

// Close does nothing.
func (*Backend) Close() error { return nil }

// Inventory fails with backend.ErrUnsupported.
func (*Backend) Inventory(context.Context) ([]core.Node, error) { return nil, errSystem }

// Start fails with backend.ErrUnsupported.
func (*Backend) Start(context.Context, []backend.Assignment) error { return errSystem }

// Stop fails with backend.ErrUnsupported.
func (*Backend) Stop(context.Context, []core.TaskID, time.Duration) error { return errSystem }

// Observe fails with backend.ErrUnsupported.
func (*Backend) Observe(context.Context) ([]backend.Observation, error) { return nil, errSystem }

// Watch fails with backend.ErrUnsupported.
func (*Backend) Watch(context.Context, func([]backend.Observation)) error { return errSystem }

// Forget fails with backend.ErrUnsupported.
func (*Backend) Forget(context.Context, []core.TaskID) error { return errSystem }

// Logs fails with backend.ErrUnsupported.
func (*Backend) Logs(context.Context, core.TaskID, backend.LogOptions) (io.ReadCloser, error) {
	return nil, errSystem
}

// DeleteLogs fails with backend.ErrUnsupported.
func (*Backend) DeleteLogs(context.Context, core.WorkloadID) error { return errSystem }

// Exec fails with backend.ErrUnsupported.
func (*Backend) Exec(context.Context, core.TaskID, backend.ExecOptions) (int, error) {
	return 0, errSystem
}

// Attach fails with backend.ErrUnsupported.
func (*Backend) Attach(context.Context, core.TaskID, backend.Streams) error { return errSystem }

// Dial fails with backend.ErrUnsupported.
func (*Backend) Dial(context.Context, core.TaskID, int) (net.Conn, error) { return nil, errSystem }
