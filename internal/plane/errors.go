package plane

import "errors"

// Errors that callers tell apart.
var (
	ErrNoLogs      = errors.New("the task never started")
	ErrNotRunning  = errors.New("the task does not run")
	ErrUnsupported = errors.New("not supported by this plane")
	ErrUnreachable = errors.New("the plane cannot be reached")
)
