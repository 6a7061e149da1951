//go:build !linux

package local

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
)

// Plane cannot be opened on this operating system.
type Plane struct{}

var errSystem = fmt.Errorf("local processes on %s: %w; use Linux, or another plane", runtime.GOOS, backend.ErrUnsupported)

// Open fails with backend.ErrUnsupported.
func Open(Options) (*Plane, error) { return nil, errSystem }

// KeeperMain says that there are no keepers on this system and returns 1.
func KeeperMain([]string) int {
	fmt.Fprintln(os.Stderr, errSystem)
	return 1
}

// Name is the plane's name.
func (*Plane) Name() string { return PlaneName }

// Close does nothing.
func (*Plane) Close() error { return nil }

// Inventory fails with backend.ErrUnsupported.
func (*Plane) Inventory(context.Context) ([]core.Node, error) { return nil, errSystem }

// Start fails with backend.ErrUnsupported.
func (*Plane) Start(context.Context, []backend.Assignment) error { return errSystem }

// Stop fails with backend.ErrUnsupported.
func (*Plane) Stop(context.Context, []core.TaskID, time.Duration) error { return errSystem }

// Observe fails with backend.ErrUnsupported.
func (*Plane) Observe(context.Context) ([]backend.Observation, error) { return nil, errSystem }

// Watch fails with backend.ErrUnsupported.
func (*Plane) Watch(context.Context, func([]backend.Observation)) error { return errSystem }

// Forget fails with backend.ErrUnsupported.
func (*Plane) Forget(context.Context, []core.TaskID) error { return errSystem }

// Logs fails with backend.ErrUnsupported.
func (*Plane) Logs(context.Context, core.TaskID, backend.LogOptions) (io.ReadCloser, error) {
	return nil, errSystem
}

// DeleteLogs fails with backend.ErrUnsupported.
func (*Plane) DeleteLogs(context.Context, core.WorkloadID) error { return errSystem }

// Exec fails with backend.ErrUnsupported.
func (*Plane) Exec(context.Context, core.TaskID, backend.ExecOptions) (int, error) {
	return 0, errSystem
}

// Attach fails with backend.ErrUnsupported.
func (*Plane) Attach(context.Context, core.TaskID, backend.Streams) error { return errSystem }

// Dial fails with backend.ErrUnsupported.
func (*Plane) Dial(context.Context, core.TaskID, int) (net.Conn, error) { return nil, errSystem }
