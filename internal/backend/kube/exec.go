package kube

import (
	"context"
	"fmt"
	"io"
	"net"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
)

var _ backend.Enterer = (*Backend)(nil)

// Exec implements backend.Enterer.
func (p *Backend) Exec(ctx context.Context, id core.TaskID, o backend.ExecOptions) (int, error) {
	t, err := p.pods.Target(ctx, id)
	if err != nil {
		return 0, fmt.Errorf("exec in task %s: %w", id, err)
	}
	if len(o.Argv) == 0 {
		return 0, fmt.Errorf("exec in task %s: command is empty; give a program", id)
	}
	code, err := p.pods.Containers().Exec(ctx, t, o)
	if err != nil {
		return 0, fmt.Errorf("exec in task %s: %w", id, err)
	}
	return code, nil
}

// Attach implements backend.Enterer. Of a task that takes input, output is what
// comes from now on; of any other it is that of the log, from the beginning of
// its unfinished line.
func (p *Backend) Attach(ctx context.Context, id core.TaskID, s backend.Streams) error {
	t, err := p.pods.Target(ctx, id)
	if err != nil {
		return fmt.Errorf("attach to task %s: %w", id, err)
	}
	stdin, tty, err := p.pods.Containers().Input(ctx, t)
	if err != nil {
		return fmt.Errorf("attach to task %s: %w", id, err)
	}
	if !stdin {
		return p.watchOutput(ctx, id, s)
	}
	if err := p.pods.Containers().Attach(ctx, t, tty, s); err != nil {
		return fmt.Errorf("attach to task %s: %w", id, err)
	}
	return nil
}

// watchOutput follows the log of a task that takes no input.
func (p *Backend) watchOutput(ctx context.Context, id core.TaskID, s backend.Streams) error {
	out := s.Stdout
	if out == nil {
		out = s.Stderr // both are one in the log
	}
	if out == nil {
		out = io.Discard
	}
	offset, err := p.pods.Logs.Line(id)
	if err != nil {
		return err
	}
	log, err := p.Logs(ctx, id, backend.LogOptions{Follow: true, Tail: -1, Offset: offset})
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	_, err = io.Copy(out, log)
	return err
}

// Dial implements backend.Enterer. Whether something listens shows with the first
// Read.
func (p *Backend) Dial(ctx context.Context, id core.TaskID, port int) (net.Conn, error) {
	if port < 1 || port > 65535 {
		return nil, fmt.Errorf("dial task %s: port %d; allowed are 1 to 65535", id, port)
	}
	t, err := p.pods.Target(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("dial task %s: %w", id, err)
	}
	conn, err := p.pods.Containers().Dial(ctx, t, port)
	if err != nil {
		return nil, fmt.Errorf("dial task %s: %w", id, err)
	}
	return conn, nil
}
