package kube

import (
	"context"
	"fmt"
	"io"
	"net"

	"k8s.io/client-go/rest"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/podexec"
	"github.com/musterhq/muster/internal/core"
)

var _ backend.Enterer = (*Backend)(nil)

// Exec implements backend.Enterer.
func (p *Backend) Exec(ctx context.Context, id core.TaskID, o backend.ExecOptions) (int, error) {
	t, err := p.enter(ctx, id)
	if err != nil {
		return 0, fmt.Errorf("exec in task %s: %w", id, err)
	}
	if len(o.Argv) == 0 {
		return 0, fmt.Errorf("exec in task %s: command is empty; give a program", id)
	}
	code, err := p.containers().Exec(ctx, t, o)
	if err != nil {
		return 0, fmt.Errorf("exec in task %s: %w", id, err)
	}
	return code, nil
}

// enter is the container of a task that runs.
func (p *Backend) enter(ctx context.Context, id core.TaskID) (podexec.Target, error) {
	if err := p.sync(ctx); err != nil {
		return podexec.Target{}, err
	}
	t, ok := p.tasks.get(id)
	if !ok || t.seen.State != core.TaskRunning || !t.there {
		return podexec.Target{}, backend.ErrNotRunning
	}
	return podexec.Target{Namespace: t.space, Pod: t.name, UID: t.uid, Container: t.runs(), Task: id}, nil
}

// Attach implements backend.Enterer. Of a task that takes input, output is what
// comes from now on; of any other it is that of the log, from the beginning of
// its unfinished line.
func (p *Backend) Attach(ctx context.Context, id core.TaskID, s backend.Streams) error {
	t, err := p.enter(ctx, id)
	if err != nil {
		return fmt.Errorf("attach to task %s: %w", id, err)
	}
	stdin, tty, err := p.containers().Input(ctx, t)
	if err != nil {
		return fmt.Errorf("attach to task %s: %w", id, err)
	}
	if !stdin {
		return p.watchOutput(ctx, id, s)
	}
	if err := p.containers().Attach(ctx, t, tty, s); err != nil {
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
	offset, err := p.logs.Line(id)
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
	t, err := p.enter(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("dial task %s: %w", id, err)
	}
	conn, err := p.containers().Dial(ctx, t, port)
	if err != nil {
		return nil, fmt.Errorf("dial task %s: %w", id, err)
	}
	return conn, nil
}

// containers is how the containers of tasks are reached.
func (p *Backend) containers() *podexec.Client {
	return &podexec.Client{API: p.client, Config: p.latest, Context: p.ctx, Go: p.wg.Go, Log: p.o.Log}
}

// latest is how the API server is reached, with the credentials that are in force.
func (p *Backend) latest() *rest.Config {
	if p.o.Latest == nil {
		return p.o.Config
	}
	return p.o.Latest()
}
