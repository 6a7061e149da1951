package backend

import (
	"context"
	"io"
	"net"

	"github.com/musterhq/muster/internal/core"
)

// Enterer is a backend whose running tasks can be entered.
type Enterer interface {
	// Exec runs a command beside a running task: in its container or, of a
	// process, with its environment, directory and limits. It returns the exit
	// code, 128+signal when a signal ended it. It ends the command when ctx is
	// done. ErrNotRunning: the task does not run. ErrCannotRun: there is no such
	// program, or it cannot be run.
	Exec(ctx context.Context, id core.TaskID, o ExecOptions) (int, error)

	// Attach connects to the standard streams of the task itself, until the
	// task ends, ctx is done or, without a terminal, Stdin has ended and no
	// output is wanted. What the task writes goes to the log as before.
	// Several may be attached at once. Stdin reaches a task only when its
	// assignment has TTY or Stdin.
	Attach(ctx context.Context, id core.TaskID, s Streams) error

	// Dial connects to a port on which the task listens.
	Dial(ctx context.Context, id core.TaskID, port int) (net.Conn, error)
}

// ExecOptions is a command that is run beside a task.
type ExecOptions struct {
	Argv []string
	Env  []string // on top of the task's own
	TTY  bool     // its streams are a terminal; Stderr is then unused
	Streams
}

// Streams are the ends that a caller holds. Nil ones are empty or dropped.
type Streams struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Resize brings the size of the caller's terminal, at first and whenever it
	// changes.
	Resize <-chan Size
}

// Size is that of a terminal, in characters.
type Size struct {
	Columns uint16 `json:"columns"`
	Rows    uint16 `json:"rows"`
}
