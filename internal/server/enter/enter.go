// Package enter serves who enters a task: commands beside it, its own streams, and
// its ports, over web sockets.
package enter

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/reader"
	"github.com/musterhq/muster/internal/server/wire"
	"github.com/musterhq/muster/internal/store"
)

// routes serve exec, attach and port-forward.
type routes struct {
	*reader.Reader
	api     huma.API
	mux     *access.Mux
	closing <-chan struct{}
}

// Register adds the routes of those who enter to an API and its router; what is
// open ends with closing.
func Register(r *reader.Reader, a huma.API, mux *access.Mux, closing <-chan struct{}) {
	(&routes{r, a, mux, closing}).routes()
}

// pingEvery keeps idle sockets from being taken for dead ones.
const pingEvery = 15 * time.Second

// messageMax bounds one message of an entered task's streams, in bytes.
const messageMax = 1 << 20

// routes serves exec, attach and port-forward: web sockets whose binary
// messages begin with the number of a channel (package api).
func (s *routes) routes() {
	const path = "/v1/projects/{project}/workloads/{name}/"
	s.mux.HandleFunc("GET "+path+"exec", s.exec)
	s.mux.HandleFunc("GET "+path+"attach", s.attach)
	s.mux.HandleFunc("GET "+path+"portforward", s.portForward)
	s.describeSocket("exec", path+"exec", "Run a command beside a task (web socket)", "command: one argument each, in order; tty; task: index, default the first that runs")
	s.describeSocket("attach", path+"attach", "Connect to a task's own terminal or streams (web socket)", "task: index; stdin: whether to send")
	s.describeSocket("port-forward", path+"portforward", "Connect to a port of a task (web socket)", "port; task: index")
}

func (s *routes) describeSocket(id, path, summary, detail string) {
	s.api.OpenAPI().AddOperation(&huma.Operation{
		OperationID: id, Method: http.MethodGet, Path: path, Summary: summary, Description: "Query: " + detail + ". Binary messages: first byte 0 stdin, 1 stdout, 2 stderr, 3 end (JSON), 4 terminal size (JSON), 5 end of stdin.", Tags: []string{"workloads"},
		Parameters: []*huma.Param{
			{Name: "project", In: "path", Required: true, Schema: &huma.Schema{Type: "string"}},
			{Name: "name", In: "path", Required: true, Schema: &huma.Schema{Type: "string"}},
		},
		Responses: map[string]*huma.Response{"101": {Description: "A web socket"}, "default": problem.Response(s.api)},
	})
}

// entry finds the task that a request means and the backend that can enter it.
func (s *routes) entry(r *http.Request) (backend.Enterer, core.TaskID, error) {
	w, err := s.Find(r.Context(), r.PathValue("project"), r.PathValue("name"))
	if err != nil {
		return nil, core.TaskID{}, err
	}
	if err := access.ActsAs(r.Context(), w, "enter them"); err != nil {
		return nil, core.TaskID{}, err
	}
	index := -1
	if text := r.URL.Query().Get("task"); text != "" {
		if index, err = strconv.Atoi(text); err != nil || index < 0 {
			return nil, core.TaskID{}, problem.BadValue("task", text, "is not the index of a task", "muster describe lists the tasks")
		}
	}
	q := store.TaskQuery{Workload: w.ID, Attempt: w.Attempt, States: []core.TaskState{core.TaskRunning}, Limit: 1}
	if index >= 0 {
		q.States, q.From, q.To = nil, index, index+1
	}
	found, err := s.Store.FindTasks(r.Context(), q)
	if err != nil {
		return nil, core.TaskID{}, err
	}
	present, _ := wire.Runs(found, w.Attempt)
	if len(present) > 0 {
		t := present[0]
		if t.State != core.TaskRunning {
			return nil, t.ID, problem.New(http.StatusConflict, "illegal_phase", "task "+strconv.Itoa(t.ID.Index)+" of "+w.Name+" is "+string(t.State)+"; only a running one can be entered", "muster describe "+w.Name+" shows its tasks")
		}
		for _, p := range s.Control.Backends() {
			if e, ok := p.(backend.Enterer); ok && p.Name() == t.Backend {
				return e, t.ID, nil
			}
		}
		return nil, t.ID, problem.New(http.StatusUnprocessableEntity, "unsupported", "backend "+t.Backend+" cannot enter its tasks", "use its own tools")
	}
	if index >= 0 {
		return nil, core.TaskID{}, problem.New(http.StatusNotFound, "not_found", w.Name+" has no task "+strconv.Itoa(index)+" in its present attempt", "muster describe "+w.Name+" lists its tasks")
	}
	hint := "muster why " + w.Name + " says what it waits for"
	if w.Phase.End() || w.Phase == lifecycle.Terminating {
		hint = "muster restart " + w.Name + " runs it again"
	}
	return nil, core.TaskID{}, problem.New(http.StatusConflict, "illegal_phase", w.Name+" is "+string(w.Phase)+"; no task of it runs", hint)
}

func (s *routes) exec(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if len(q["command"]) == 0 || q["command"][0] == "" {
		problem.Write(w, problem.BadRequest("command", "is missing", "send command=PROGRAM&command=ARGUMENT…"))
		return
	}
	s.enter(w, r, func(ctx context.Context, e backend.Enterer, id core.TaskID, c *channels) (int, error) {
		return e.Exec(ctx, id, backend.ExecOptions{Argv: q["command"], Env: q["env"], TTY: q.Get("tty") == "true", Streams: c.streams(q.Get("stdin") == "true")})
	})
}

func (s *routes) attach(w http.ResponseWriter, r *http.Request) {
	stdin := r.URL.Query().Get("stdin") == "true"
	s.enter(w, r, func(ctx context.Context, e backend.Enterer, id core.TaskID, c *channels) (int, error) {
		return 0, e.Attach(ctx, id, c.streams(stdin))
	})
}

func (s *routes) portForward(w http.ResponseWriter, r *http.Request) {
	port, err := strconv.Atoi(r.URL.Query().Get("port"))
	if err != nil || port < 1 || port > 65535 {
		problem.Write(w, problem.BadValue("port", r.URL.Query().Get("port"), "is not a port", "write a number from 1 to 65535"))
		return
	}
	s.enter(w, r, func(ctx context.Context, e backend.Enterer, id core.TaskID, c *channels) (int, error) {
		conn, err := e.Dial(ctx, id, port)
		if err != nil {
			return 0, problem.New(http.StatusBadGateway, "unavailable", "nothing answers on port "+strconv.Itoa(port)+" of the task: "+err.Error(), "check that it listens there, on 127.0.0.1 or on every address")
		}
		defer func() { _ = conn.Close() }()
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		defer stop()
		go func() {
			_, _ = io.Copy(conn, c.stdin) // its end is told by the other direction
			if half, ok := conn.(interface{ CloseWrite() error }); ok {
				_ = half.CloseWrite()
			}
		}()
		_, err = io.Copy(c.writer(api.ChannelStdout), conn)
		if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
			err = nil
		}
		return 0, err
	})
}

// enter upgrades a request and runs fn over its channels. What is wrong before
// the upgrade is a plain problem; what is wrong later comes in the last message.
func (s *routes) enter(w http.ResponseWriter, r *http.Request, fn func(context.Context, backend.Enterer, core.TaskID, *channels) (int, error)) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "websocket")
		problem.Write(w, problem.New(http.StatusUpgradeRequired, "invalid", "this is a web socket, and the request does not ask for one", "muster exec and muster attach open it; /docs says how others do"))
		return
	}
	e, id, err := s.entry(r)
	if err != nil {
		problem.Write(w, problem.Of(s.Log, err))
		return
	}
	ws, err := websocket.Accept(&problem.Refuser{ResponseWriter: w, Hint: "muster exec and muster attach open it; /docs says how others do"}, r, nil) // only from this server's own pages
	if err != nil {
		return // it has answered
	}
	defer func() { _ = ws.CloseNow() }()
	ws.SetReadLimit(messageMax + 1)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	go func() {
		select {
		case <-s.closing:
			cancel()
		case <-ctx.Done():
		}
	}()
	c := newChannels(ctx, ws)
	go func() { c.read(); cancel() }() // whoever has gone needs nothing more
	go c.keepAlive()
	code, err := fn(ctx, e, id, c)
	end := api.ExecEnd{ExitCode: code}
	if err != nil && ctx.Err() == nil {
		end.Problem = problem.Of(s.Log, err)
	}
	data, _ := json.Marshal(end) // of plain fields
	if _, err := c.writer(api.ChannelEnd).Write(data); err == nil {
		_ = ws.Close(websocket.StatusNormalClosure, "")
	}
}

// channels are the streams inside one web socket.
type channels struct {
	ctx    context.Context
	ws     *websocket.Conn
	mu     sync.Mutex // of writing
	stdin  *io.PipeReader
	in     *io.PipeWriter
	resize chan backend.Size
}

func newChannels(ctx context.Context, ws *websocket.Conn) *channels {
	c := &channels{ctx: ctx, ws: ws, resize: make(chan backend.Size, 1)}
	c.stdin, c.in = io.Pipe()
	return c
}

func (c *channels) streams(stdin bool) backend.Streams {
	st := backend.Streams{Stdout: c.writer(api.ChannelStdout), Stderr: c.writer(api.ChannelStderr), Resize: c.resize}
	if stdin {
		st.Stdin = c.stdin
	} else {
		_ = c.stdin.Close()
	}
	return st
}

// read takes the client's messages apart until it has gone.
func (c *channels) read() {
	defer func() { _ = c.in.Close() }()
	for {
		kind, data, err := c.ws.Read(c.ctx)
		if err != nil {
			return
		}
		if kind != websocket.MessageBinary || len(data) == 0 {
			continue
		}
		switch data[0] {
		case api.ChannelStdin:
			_, _ = c.in.Write(data[1:]) // a command that reads no more is no error
		case api.ChannelEOF:
			_ = c.in.Close()
		case api.ChannelResize:
			var size api.TerminalSize
			if json.Unmarshal(data[1:], &size) == nil {
				c.resized(backend.Size{Columns: size.Columns, Rows: size.Rows})
			}
		}
	}
}

// resized keeps only the newest size.
func (c *channels) resized(size backend.Size) {
	for {
		select {
		case c.resize <- size:
			return
		default:
		}
		select {
		case <-c.resize:
		default:
		}
	}
}

// keepAlive keeps an idle socket from being taken for a dead one.
func (c *channels) keepAlive() {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if c.ws.Ping(c.ctx) != nil {
				return
			}
		case <-c.ctx.Done():
			return
		}
	}
}

type channelWriter struct {
	c       *channels
	channel byte
}

func (c *channels) writer(channel byte) io.Writer { return channelWriter{c, channel} }

// Write implements io.Writer.
func (w channelWriter) Write(p []byte) (int, error) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	for n := 0; n < len(p); {
		part := p[n:min(n+messageMax, len(p))]
		if err := w.c.ws.Write(w.c.ctx, websocket.MessageBinary, append([]byte{w.channel}, part...)); err != nil {
			return n, err
		}
		n += len(part)
	}
	return len(p), nil
}
