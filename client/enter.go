package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/coder/websocket"

	"github.com/musterhq/muster/api"
)

// EnterOptions say which task is entered, and with what.
type EnterOptions struct {
	Task    int // index; negative: the first that runs
	Command []string
	Env     []string // KEY=value, on top of the task's own; of Exec
	TTY     bool
	Stdin   io.Reader // nil: none
	Stdout  io.Writer
	Stderr  io.Writer
	Resize  <-chan api.TerminalSize
}

// Exec runs a command beside a task and returns its exit code.
func (c *Client) Exec(ctx context.Context, project, name string, o EnterOptions) (int, error) {
	q := url.Values{"command": o.Command}
	if len(o.Env) > 0 {
		q["env"] = o.Env
	}
	if o.TTY {
		q.Set("tty", "true")
	}
	return c.enter(ctx, project, name, "exec", q, o)
}

// Attach connects to a task's own streams until it ends or ctx is done.
func (c *Client) Attach(ctx context.Context, project, name string, o EnterOptions) error {
	_, err := c.enter(ctx, project, name, "attach", url.Values{}, o)
	return err
}

// PortForward carries one connection to a port of a task, until either side
// closes it. It closes conn.
func (c *Client) PortForward(ctx context.Context, project, name string, task, port int, conn net.Conn) error {
	defer func() { _ = conn.Close() }()
	q := url.Values{"port": {strconv.Itoa(port)}}
	_, err := c.enter(ctx, project, name, "portforward", q, EnterOptions{Task: task, Stdin: conn, Stdout: conn})
	return err
}

func (c *Client) enter(ctx context.Context, project, name, what string, q url.Values, o EnterOptions) (int, error) {
	if o.Task >= 0 {
		q.Set("task", strconv.Itoa(o.Task))
	}
	if o.Stdin != nil {
		q.Set("stdin", "true")
	}
	h := http.Header{"User-Agent": {c.agent}}
	if c.token != "" {
		h.Set("Authorization", "Bearer "+c.token)
	}
	ws, resp, err := websocket.Dial(ctx, c.base+workload(project, name)+"/"+what+"?"+q.Encode(), &websocket.DialOptions{HTTPClient: c.http, HTTPHeader: h})
	if err != nil {
		return 0, c.refusedEntry(ctx, resp, err)
	}
	defer func() { _ = ws.CloseNow() }()
	ws.SetReadLimit(2 << 20)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	e := &entered{ws: ws, ctx: ctx}
	if o.Stdin != nil {
		go e.send(o.Stdin)
	}
	if o.Resize != nil {
		go e.sendSizes(o.Resize)
	}
	return e.receive(o)
}

// refusedEntry is what a server has said instead of opening a web socket.
func (c *Client) refusedEntry(ctx context.Context, resp *http.Response, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if resp != nil && resp.StatusCode >= 400 {
		defer func() { _ = resp.Body.Close() }()
		var p api.Problem
		if data, rerr := io.ReadAll(io.LimitReader(resp.Body, 1<<20)); rerr == nil && strings.Contains(resp.Header.Get("Content-Type"), "problem+json") && json.Unmarshal(data, &p) == nil {
			return &p
		}
		return &api.Problem{Title: resp.Status, Status: resp.StatusCode, Code: "internal", Detail: "the server answered " + resp.Status}
	}
	return c.failed(ctx, err)
}

// entered is an open connection.
type entered struct {
	ctx context.Context
	ws  *websocket.Conn
	mu  sync.Mutex
}

func (e *entered) write(channel byte, data []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ws.Write(e.ctx, websocket.MessageBinary, append([]byte{channel}, data...))
}

func (e *entered) send(r io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 && e.write(api.ChannelStdin, buf[:n]) != nil {
			return
		}
		if err != nil {
			_ = e.write(api.ChannelEOF, nil)
			return
		}
	}
}

func (e *entered) sendSizes(sizes <-chan api.TerminalSize) {
	for {
		select {
		case size, ok := <-sizes:
			if !ok {
				return
			}
			data, _ := json.Marshal(size) // of plain fields
			if e.write(api.ChannelResize, data) != nil {
				return
			}
		case <-e.ctx.Done():
			return
		}
	}
}

// receive takes the server's messages until the last.
func (e *entered) receive(o EnterOptions) (int, error) {
	for {
		_, data, err := e.ws.Read(e.ctx)
		if err != nil {
			if e.ctx.Err() != nil {
				return 0, e.ctx.Err()
			}
			if errors.Is(err, io.EOF) || websocket.CloseStatus(err) != -1 {
				err = io.ErrUnexpectedEOF
			}
			return 0, &api.Problem{Title: "Connection lost", Code: CodeUnreachable, Detail: "the connection to the task broke: " + err.Error(), Hint: "try again"}
		}
		if len(data) == 0 {
			continue
		}
		switch out := data[1:]; data[0] {
		case api.ChannelStdout:
			if o.Stdout != nil {
				if _, err := o.Stdout.Write(out); err != nil {
					return 0, err
				}
			}
		case api.ChannelStderr:
			if o.Stderr != nil {
				if _, err := o.Stderr.Write(out); err != nil {
					return 0, err
				}
			}
		case api.ChannelEnd:
			var end api.ExecEnd
			if err := json.Unmarshal(out, &end); err != nil {
				return 0, fmt.Errorf("the end of the connection cannot be read: %w", err)
			}
			if end.Problem != nil {
				return end.ExitCode, end.Problem
			}
			return end.ExitCode, nil
		}
	}
}
