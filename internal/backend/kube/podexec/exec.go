// Package podexec runs commands in the containers of pods, attaches to them and
// dials their ports, through the API server. It is given a container and streams,
// and gives exit codes and connections; it knows nothing of tasks but their IDs.
package podexec

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/core"
)

// Client reaches the containers of tasks through the API server.
type Client struct {
	API kubernetes.Interface
	// Config is how connections that leave HTTP are made, with the credentials
	// that are in force.
	Config  func() *rest.Config
	Context context.Context //nolint:containedctx // of everything that goes on between calls
	Go      func(func())    // starts what goes on beside its caller
	Log     *slog.Logger
}

// Target is the container that the command of a task runs in.
type Target struct {
	Namespace, Pod string
	UID            types.UID // of the pod
	Container      string
	Task           core.TaskID
}

// Exec runs a command in a container. The command belongs to the container: what
// it leaves behind ends with the task at the latest. An image that has no /bin/sh
// runs it too, but there it outlives ctx, and a variable cannot be set.
func (c *Client) Exec(ctx context.Context, t Target, o backend.ExecOptions) (int, error) {
	x := &execution{c: c, t: t, o: o, token: rand.Text()}
	code, err := x.run(ctx)
	if ctx.Err() != nil {
		c.Go(x.kill)
		return 0, ctx.Err()
	}
	if err != nil && !c.Runs(ctx, t) {
		return 137, nil // it ended with the task, and nobody was left to tell how
	}
	return code, err
}

// noticeWithin is how long the end of a task may take to be known when
// something that ran in it has broken.
const noticeWithin = 5 * time.Second

// Runs asks the cluster whether a task still runs, a moment after something in
// it has broken: that may be the first sign of its end.
func (c *Client) Runs(ctx context.Context, t Target) bool {
	ctx, cancel := context.WithTimeout(ctx, noticeWithin)
	defer cancel()
	for {
		pod, err := c.API.CoreV1().Pods(t.Namespace).Get(ctx, t.Pod, metav1.GetOptions{})
		switch {
		case ctx.Err() != nil:
			return true
		case apierrors.IsNotFound(err), err == nil && (pod.UID != t.UID || pod.DeletionTimestamp != nil):
			return false
		case err == nil:
			if s := podstatus.ContainerStatus(pod.Status.ContainerStatuses, t.Container); s != nil && s.State.Running == nil {
				return false
			}
		}
		select {
		case <-ctx.Done():
			return true
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// execution is one command in a container.
type execution struct {
	c     *Client
	t     Target
	o     backend.ExecOptions
	token string // finds it and what it has started
}

func (x *execution) run(ctx context.Context) (int, error) {
	pod, err := x.c.API.CoreV1().Pods(x.t.Namespace).Get(ctx, x.t.Pod, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return 0, backend.ErrNotRunning
	}
	if err != nil {
		return 0, err
	}
	w := wrapping{token: x.token, env: x.o.Env, prelude: hasPrelude(pod), tty: x.o.TTY, input: x.o.Stdin != nil}
	code, err := x.runMarked(ctx, w)
	switch {
	case err != nil && lacksShell(err) && len(x.o.Env) == 0:
		return x.c.command(ctx, x.t, x.o.Argv, x.o.TTY, x.o.Streams)
	case err == nil && code == notFound && !x.found(ctx, w):
		return 0, fmt.Errorf("%s: no such program in the container, or it cannot be run: %w", x.o.Argv[0], backend.ErrCannotRun)
	}
	return code, err
}

// drainExec is how long the end of a command waits for output from what it has
// left behind.
const drainExec = time.Second

// runMarked runs the command until it ends. Streams end only when nobody has them any
// more, which may be never: the command says itself how it ended, on both. By the
// end of its input it is told that all of it has come.
func (x *execution) runMarked(ctx context.Context, w wrapping) (int, error) {
	if x.o.TTY {
		return x.c.command(ctx, x.t, w.words(x.o.Argv), true, x.o.Streams)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in, come := io.Pipe()
	defer func() { _ = come.Close() }()
	if x.o.Stdin != nil {
		go func() {
			_, err := io.Copy(come, x.o.Stdin)
			_ = come.CloseWithError(err) // nil is the end
		}()
	}
	both := func() {
		_ = come.Close()
		time.AfterFunc(drainExec, cancel)
	}
	var n atomic.Int32
	one := func() {
		if n.Add(1) == 2 {
			both()
		}
	}
	out := &verdict{w: x.o.Stdout, mark: w.mark(), started: one}
	errs := &verdict{w: x.o.Stderr, mark: w.mark(), started: one}
	code, err := x.c.command(ctx, x.t, w.words(x.o.Argv), false, backend.Streams{Stdin: in, Stdout: out, Stderr: errs})
	out.close()
	errs.close()
	if exit, ok := out.code(); ok {
		return exit, nil
	}
	return code, err
}

// found asks whether the program is there: a program that is may say notFound
// for reasons of its own.
func (x *execution) found(ctx context.Context, w wrapping) bool {
	w.tty = true
	code, err := x.c.command(ctx, x.t, w.words([]string{"/bin/sh", "-c", `command -v "$1" >/dev/null 2>&1`, "muster", x.o.Argv[0]}), false, backend.Streams{})
	return err != nil || code == 0
}

// killWithin bounds how long the end of a cancelled command may take.
const killWithin = 20 * time.Second

// kill ends the command and all that it has started. Those who run commands in
// containers let them go on when their caller has gone.
func (x *execution) kill() {
	ctx, cancel := context.WithTimeout(context.Background(), killWithin)
	defer cancel()
	_, err := x.c.command(ctx, x.t, []string{"/bin/sh", "-c", killScript, x.token}, false, backend.Streams{})
	if err != nil && !lacksShell(err) && x.c.Context.Err() == nil && x.c.Runs(ctx, x.t) {
		x.c.Log.Warn("a command in a task could not be ended; it goes on until the task ends", "task", x.t.Task, "err", err)
	}
}

// command runs words in a task's container until they end or ctx is done.
func (c *Client) command(ctx context.Context, t Target, argv []string, tty bool, s backend.Streams) (int, error) {
	if s.Stdout == nil {
		s.Stdout = io.Discard
	}
	o := &corev1.PodExecOptions{
		Container: t.Container, Command: argv, TTY: tty, Stdin: s.Stdin != nil, Stdout: true, Stderr: s.Stderr != nil && !tty,
	}
	err := c.converse(ctx, t, "exec", o, tty, s)
	var exit exec.CodeExitError
	if errors.As(err, &exit) {
		return exit.Code, nil
	}
	return 0, err
}

// converse connects streams to a container.
func (c *Client) converse(ctx context.Context, t Target, how string, o runtime.Object, tty bool, s backend.Streams) error {
	at := c.API.CoreV1().RESTClient().Post().Resource("pods").Namespace(t.Namespace).Name(t.Pod).SubResource(how).
		VersionedParams(o, scheme.ParameterCodec).URL()
	e, err := c.executor(at)
	if err != nil {
		return err
	}
	stop := make(chan struct{})
	defer close(stop)
	stream := remotecommand.StreamOptions{Stdin: s.Stdin, Stdout: s.Stdout, Stderr: s.Stderr, Tty: tty}
	if tty {
		stream.Stderr = nil
		if s.Stdin != nil {
			stream.Stdin = &held{r: s.Stdin, stop: stop}
		}
		if s.Resize != nil {
			stream.TerminalSizeQueue = &sizes{from: s.Resize, stop: stop}
		}
	}
	return e.StreamWithContext(ctx, stream)
}

// executor speaks WebSocket, or SPDY where the API server or something before it
// does not know that.
func (c *Client) executor(at *url.URL) (remotecommand.Executor, error) {
	config := c.Config()
	modern := &socket{config: config, url: at.String(), quiet: socketQuiet, dead: socketDead}
	old, err := remotecommand.NewSPDYExecutor(config, http.MethodPost, at)
	if err != nil {
		return nil, err
	}
	return remotecommand.NewFallbackExecutor(modern, old, refusesWebSocket)
}

func refusesWebSocket(err error) bool {
	return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
}

// held is the input of a terminal: its end is not the terminal's.
type held struct {
	r    io.Reader
	stop <-chan struct{}
}

// Read implements io.Reader.
func (h *held) Read(b []byte) (int, error) {
	n, err := h.r.Read(b)
	if n == 0 && err != nil {
		<-h.stop
	}
	if n > 0 {
		return n, nil
	}
	return n, err
}

// sizes are those of a terminal. Nobody says when one is in force; so that the
// next is taken only when the one before is, most likely, some time passes.
type sizes struct {
	from <-chan backend.Size
	stop <-chan struct{}
	sent bool
}

const resizeDelay = 100 * time.Millisecond

// Next implements remotecommand.TerminalSizeQueue.
func (s *sizes) Next() *remotecommand.TerminalSize {
	if s.sent {
		select {
		case <-s.stop:
			return nil
		case <-time.After(resizeDelay):
		}
	}
	s.sent = true
	select {
	case <-s.stop:
		return nil
	case z, ok := <-s.from:
		if !ok {
			return nil
		}
		return &remotecommand.TerminalSize{Width: z.Columns, Height: z.Rows}
	}
}
