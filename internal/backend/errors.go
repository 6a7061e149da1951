package backend

import "errors"

// Errors that callers tell apart.
var (
	ErrNoLogs      = errors.New("the task never started")
	ErrNotRunning  = errors.New("the task does not run")
	ErrUnsupported = errors.New("not supported by this backend")
	// ErrCannotRun is of a command for Exec that is not there or cannot be run.
	ErrCannotRun   = errors.New("the command cannot be run")
	ErrUnreachable = errors.New("the backend cannot be reached")
)
