package mpi

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// greetWithin bounds the greeting, so that nobody without the token keeps a
// connection.
const greetWithin = 10 * time.Second

// AgentMain is the worker's end. It runs until it is told to end.
func AgentMain() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	tok, err := token()
	if err == nil {
		err = serve(ctx, os.Getenv(ListenVar), tok)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "muster mpi agent:", err)
		return 1
	}
	return 128 + int(syscall.SIGTERM)
}

func serve(ctx context.Context, address string, tok []byte) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return accept(ctx, l, tok)
}

func accept(ctx context.Context, l net.Listener, tok []byte) error {
	// Daemons of several workers on one machine must not share a session folder.
	own, err := os.MkdirTemp("", "mpi-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(own) }()
	var wg sync.WaitGroup
	defer wg.Wait()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		wg.Go(func() {
			defer func() { _ = conn.Close() }()
			stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
			defer stop()
			if err := answer(conn, tok, own); err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil {
				fmt.Fprintf(os.Stderr, "muster mpi agent: %s: %v\n", conn.RemoteAddr(), err)
			}
		})
	}
}

// answer runs one command. Its process group ends with the connection, but
// what it has left behind when it ended by itself stays: Open MPI's daemon
// goes into the background like this.
func answer(conn net.Conn, tok []byte, own string) error {
	if err := conn.SetDeadline(time.Now().Add(greetWithin)); err != nil {
		return err
	}
	command, err := challenge(conn, tok)
	if err != nil {
		return err
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	cmd := exec.Command("/bin/sh", "-c", command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = append(os.Environ(), "OMPI_MCA_orte_tmpdir_base="+own, "PRTE_MCA_prte_tmpdir_base="+own)
	cmd.WaitDelay = time.Second // for pipes that something in the background keeps open
	out := &frames{w: conn}
	cmd.Stdout, cmd.Stderr = frameWriter{out, frameStdout}, frameWriter{out, frameStderr}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return out.write(frameEnd, []byte(err.Error()))
	}
	var ended atomic.Bool
	go func() {
		defer func() { _ = stdin.Close() }()
		for {
			kind, data, err := readFrame(conn)
			if err != nil { // whoever asked has gone, or it is over
				if !ended.Load() { // else what is left in the group is on its way into the background
					_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
				}
				return
			}
			switch kind {
			case frameStdin:
				_, _ = stdin.Write(data) // a command that reads no more is no error
			case frameEOF:
				_ = stdin.Close()
			}
		}
	}()
	err = cmd.Wait()
	ended.Store(true)
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return out.write(frameEnd, []byte(err.Error()))
	}
	code := cmd.ProcessState.ExitCode()
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		code = 128 + int(ws.Signal())
	}
	return out.write(frameEnd, binary.BigEndian.AppendUint32(nil, uint32(code)))
}

// frames writes frames of several streams to one connection.
type frames struct {
	mu sync.Mutex
	w  io.Writer
}

func (f *frames) write(kind byte, data []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return writeFrame(f.w, kind, data)
}

type frameWriter struct {
	f    *frames
	kind byte
}

func (w frameWriter) Write(p []byte) (int, error) {
	for n := 0; n < len(p); {
		part := p[n:min(n+frameMax, len(p))]
		if err := w.f.write(w.kind, part); err != nil {
			return n, err
		}
		n += len(part)
	}
	return len(p), nil
}
