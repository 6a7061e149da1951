// Package sshserver speaks SSH over one connection, for a task that has no SSH
// server of its own: shells and commands begin beside the task, files are
// reached through its shell, and connections go to its ports.
package sshserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"

	"github.com/musterhq/muster/internal/cli/sftp"
)

// Size is that of a terminal, in characters.
type Size struct{ Columns, Rows uint16 }

// Command is what is run beside the task.
type Command struct {
	Argv           []string
	Env            []string // NAME=value, on top of the task's own
	TTY            bool
	Stdin          io.Reader // nil: none
	Stdout, Stderr io.Writer
	Resize         <-chan Size
}

// Task is what a connection reaches.
type Task interface {
	// Run runs a command until it ends or ctx is done, and returns its exit code.
	Run(ctx context.Context, c Command) (int, error)
	// Dial carries a connection to a port of the task, until either side ends
	// it, and closes conn.
	Dial(ctx context.Context, port int, conn net.Conn) error
}

// Keys are those of both ends.
type Keys struct {
	Host ssh.Signer    // the server's own
	User ssh.PublicKey // the one that is let in
}

// Serve serves one connection until it ends or ctx is done. It closes conn.
func Serve(ctx context.Context, conn net.Conn, keys Keys, task Task) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	defer func() { _ = conn.Close() }()
	config := &ssh.ServerConfig{
		ServerVersion: "SSH-2.0-Muster",
		PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if string(key.Marshal()) != string(keys.User.Marshal()) {
				return nil, errors.New("another key is let in: that of muster ssh-config")
			}
			return nil, nil
		},
	}
	config.AddHostKey(keys.Host)
	sc, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return err
	}
	defer func() { _ = sc.Close() }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go answerGlobal(requests)
	var all sync.WaitGroup
	for ch := range channels {
		switch ch.ChannelType() {
		case "session":
			all.Go(func() { serveSession(ctx, ch, task) })
		case "direct-tcpip":
			all.Go(func() { serveForward(ctx, ch, task) })
		default:
			_ = ch.Reject(ssh.UnknownChannelType, "only sessions and forwarded ports are served")
		}
	}
	cancel() // whoever has gone needs nothing more
	all.Wait()
	return nil
}

// answerGlobal keeps connections alive; ports of this machine are not opened to
// the task.
func answerGlobal(requests <-chan *ssh.Request) {
	for r := range requests {
		if r.WantReply {
			_ = r.Reply(strings.HasPrefix(r.Type, "keepalive@"), nil)
		}
	}
}

// serveForward carries one connection to a port of the task itself.
func serveForward(ctx context.Context, ch ssh.NewChannel, task Task) {
	var to struct {
		Host       string
		Port       uint32
		OriginHost string
		OriginPort uint32
	}
	if ssh.Unmarshal(ch.ExtraData(), &to) != nil || to.Port == 0 || to.Port > 65535 {
		_ = ch.Reject(ssh.ConnectionFailed, "the port cannot be read")
		return
	}
	switch to.Host {
	case "localhost", "127.0.0.1", "::1", "0.0.0.0", "":
	default:
		_ = ch.Reject(ssh.Prohibited, fmt.Sprintf("only ports of the task itself are reached: localhost, not %s", to.Host))
		return
	}
	c, requests, err := ch.Accept()
	if err != nil {
		return
	}
	defer func() { _ = c.Close() }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		ssh.DiscardRequests(requests)
		cancel() // both directions are closed; whoever has only said all goes on to read
	}()
	_ = task.Dial(ctx, int(to.Port), NewStdio(c, c)) // its end says all that the protocol has words for
}

// files are those of a task, for sftp.
func files(task Task) *sftp.Shell {
	return sftp.NewShell(func(ctx context.Context, argv []string, in io.Reader, out, complaint io.Writer) (int, error) {
		return task.Run(ctx, Command{Argv: argv, Stdin: in, Stdout: out, Stderr: complaint})
	})
}
