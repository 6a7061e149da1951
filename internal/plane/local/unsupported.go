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

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/plane"
)

// Plane cannot be opened on this operating system.
type Plane struct{}

var errSystem = fmt.Errorf("local processes on %s: %w; use Linux, or another plane", runtime.GOOS, plane.ErrUnsupported)

// Open fails with plane.ErrUnsupported.
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

// Inventory fails with plane.ErrUnsupported.
func (*Plane) Inventory(context.Context) ([]core.Node, error) { return nil, errSystem }

// Start fails with plane.ErrUnsupported.
func (*Plane) Start(context.Context, []plane.Assignment) error { return errSystem }

// Stop fails with plane.ErrUnsupported.
func (*Plane) Stop(context.Context, []core.TaskID, time.Duration) error { return errSystem }

// Observe fails with plane.ErrUnsupported.
func (*Plane) Observe(context.Context) ([]plane.Observation, error) { return nil, errSystem }

// Watch fails with plane.ErrUnsupported.
func (*Plane) Watch(context.Context, func([]plane.Observation)) error { return errSystem }

// Forget fails with plane.ErrUnsupported.
func (*Plane) Forget(context.Context, []core.TaskID) error { return errSystem }

// Logs fails with plane.ErrUnsupported.
func (*Plane) Logs(context.Context, core.TaskID, plane.LogOptions) (io.ReadCloser, error) {
	return nil, errSystem
}

// DeleteLogs fails with plane.ErrUnsupported.
func (*Plane) DeleteLogs(context.Context, core.WorkloadID) error { return errSystem }

// Exec fails with plane.ErrUnsupported.
func (*Plane) Exec(context.Context, core.TaskID, plane.ExecOptions) (int, error) {
	return 0, errSystem
}

// Attach fails with plane.ErrUnsupported.
func (*Plane) Attach(context.Context, core.TaskID, plane.Streams) error { return errSystem }

// Dial fails with plane.ErrUnsupported.
func (*Plane) Dial(context.Context, core.TaskID, int) (net.Conn, error) { return nil, errSystem }
