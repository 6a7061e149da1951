package mpi

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// reachWithin is how long a worker may take to come up: the launcher often
// starts a moment before its workers.
const reachWithin = 2 * time.Minute

// dialWithin bounds one try: a name may have been that of a pod which is gone,
// whose address swallows everything.
const dialWithin = 10 * time.Second

// ShellMain is the launcher's end, called as rsh is: HOST COMMAND…
func ShellMain(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer stop()
	code, err := shell(ctx, args, os.Stdin, os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "muster mpi shell:", err)
		return 255 // as ssh
	}
	return code
}

func shell(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		args = args[1:] // options of ssh that mpirun may give
	}
	if len(args) < 2 {
		return 0, errors.New("usage: HOST COMMAND…")
	}
	tok, err := token()
	if err != nil {
		return 0, err
	}
	host := args[0]
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	known := workers(os.Getenv(WorkersVar))
	at, ok := known[host]
	if !ok {
		return 0, fmt.Errorf("%q is not a worker of this workload; it has %s", host, os.Getenv(WorkersVar))
	}
	conn, err := reach(ctx, at)
	if err != nil {
		return 0, fmt.Errorf("worker %s at %s cannot be reached: %w", host, at, err)
	}
	defer func() { _ = conn.Close() }()
	unhook := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer unhook()
	return carry(conn, tok, strings.Join(args[1:], " "), stdin, stdout, stderr)
}

// carry sends one command and follows it to its end.
func carry(conn net.Conn, tok []byte, command string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	if err := greet(conn, tok, command); err != nil {
		return 0, err
	}
	go forward(conn, stdin)
	return follow(conn, stdout, stderr)
}

// Run has the agent of the worker of that name run a command for sh -c, and
// returns its exit code. It waits for a worker that is not up yet. When ctx is
// done the command is ended.
func Run(ctx context.Context, worker, command string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	tok, err := token()
	if err != nil {
		return 0, err
	}
	at, ok := workers(os.Getenv(WorkersVar))[worker]
	if !ok {
		return 0, fmt.Errorf("%q is not a worker of this workload; it has %s", worker, os.Getenv(WorkersVar))
	}
	conn, err := reach(ctx, at)
	if err != nil {
		return 0, fmt.Errorf("worker %s at %s cannot be reached: %w", worker, at, err)
	}
	defer func() { _ = conn.Close() }()
	unhook := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer unhook()
	return carry(conn, tok, command, stdin, stdout, stderr)
}

func reach(ctx context.Context, at string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	d := net.Dialer{Timeout: dialWithin}
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		conn, err := d.DialContext(ctx, "tcp", at)
		if err == nil {
			return conn, nil
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(wait):
		}
	}
}

// forward sends stdin until it ends.
func forward(conn io.Writer, stdin io.Reader) {
	buf := make([]byte, frameMax)
	for {
		n, err := stdin.Read(buf)
		if n > 0 && writeFrame(conn, frameStdin, buf[:n]) != nil {
			return
		}
		if err != nil {
			_ = writeFrame(conn, frameEOF, nil)
			return
		}
	}
}

// follow takes what the agent sends until the command has ended.
func follow(conn io.Reader, stdout, stderr io.Writer) (int, error) {
	for {
		kind, data, err := readFrame(conn)
		if err != nil {
			return 0, fmt.Errorf("the worker has gone: %w", err)
		}
		switch kind {
		case frameStdout:
			_, err = stdout.Write(data)
		case frameStderr:
			_, err = stderr.Write(data)
		case frameEnd:
			if len(data) != 4 {
				return 0, errors.New(string(data))
			}
			return int(binary.BigEndian.Uint32(data)), nil
		}
		if err != nil {
			return 0, err
		}
	}
}
