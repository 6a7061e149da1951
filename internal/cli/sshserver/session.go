package sshserver

import (
	"context"
	"fmt"
	"io"
	"sync"

	"golang.org/x/crypto/ssh"

	"github.com/musterhq/muster/internal/cli/sftp"
)

// session is one session channel: a shell, a command or a subsystem.
type session struct {
	ctx    context.Context
	task   Task
	ch     ssh.Channel
	env    []string
	tty    bool
	resize chan Size
	begun  bool
	cancel context.CancelFunc
}

// loginShell begins the best shell that a task has, as one that was logged in.
const loginShell = `if command -v bash >/dev/null 2>&1; then exec bash -l; fi; exec sh -l`

// commandShell runs $1 as the login shell of sshd would.
const commandShell = `if command -v bash >/dev/null 2>&1; then exec bash -c "$1"; fi; exec sh -c "$1"`

func serveSession(ctx context.Context, ch ssh.NewChannel, task Task) {
	c, requests, err := ch.Accept()
	if err != nil {
		return
	}
	defer func() { _ = c.Close() }()
	s := &session{task: task, ch: c, resize: make(chan Size, 1)}
	s.ctx, s.cancel = context.WithCancel(ctx)
	defer s.cancel()
	var running sync.WaitGroup
	for r := range requests {
		ok := s.request(r, &running)
		if r.WantReply {
			_ = r.Reply(ok, nil)
		}
	}
	s.cancel() // the client has gone
	running.Wait()
}

func (s *session) request(r *ssh.Request, running *sync.WaitGroup) bool {
	begin := func(run func() (int, error)) bool {
		if s.begun {
			return false // one for each session
		}
		s.begun = true
		running.Go(func() { s.end(run()) })
		return true
	}
	switch r.Type {
	case "env":
		var v struct{ Name, Value string }
		if ssh.Unmarshal(r.Payload, &v) != nil || v.Name == "" || len(s.env) > 100 {
			return false
		}
		s.env = append(s.env, v.Name+"="+v.Value)
		return true
	case "pty-req":
		var v struct {
			Term                         string
			Columns, Rows, Width, Height uint32
			Modes                        string
		}
		if ssh.Unmarshal(r.Payload, &v) != nil {
			return false
		}
		s.tty = true
		if v.Term != "" {
			s.env = append(s.env, "TERM="+v.Term)
		}
		s.resized(v.Columns, v.Rows)
		return true
	case "window-change":
		var v struct{ Columns, Rows, Width, Height uint32 }
		if ssh.Unmarshal(r.Payload, &v) != nil {
			return false
		}
		s.resized(v.Columns, v.Rows)
		return true
	case "shell":
		return begin(func() (int, error) { return s.command("sh", "-c", loginShell) })
	case "exec":
		var v struct{ Command string }
		if ssh.Unmarshal(r.Payload, &v) != nil {
			return false
		}
		return begin(func() (int, error) { return s.command("sh", "-c", commandShell, "sh", v.Command) })
	case "subsystem":
		var v struct{ Name string }
		if ssh.Unmarshal(r.Payload, &v) != nil || v.Name != "sftp" {
			return false
		}
		return begin(s.sftp)
	case "signal": // its end is all that can be asked for
		s.cancel()
		return true
	}
	return false
}

// resized keeps only the newest size.
func (s *session) resized(columns, rows uint32) {
	size := Size{Columns: uint16(min(columns, 1<<16-1)), Rows: uint16(min(rows, 1<<16-1))}
	for {
		select {
		case s.resize <- size:
			return
		default:
		}
		select {
		case <-s.resize:
		default:
		}
	}
}

func (s *session) command(argv ...string) (int, error) {
	c := Command{Argv: argv, Env: s.env, TTY: s.tty, Stdin: s.ch, Stdout: s.ch, Stderr: s.ch.Stderr()}
	if s.tty {
		c.Resize = s.resize
	}
	return s.task.Run(s.ctx, c)
}

func (s *session) sftp() (int, error) {
	f := files(s.task)
	defer f.Close()
	return 0, sftp.Serve(s.ctx, s.ch, s.ch, f)
}

// end tells how it ended. What kept it from beginning is for the user to read.
func (s *session) end(code int, err error) {
	if err != nil && s.ctx.Err() == nil {
		nl := "\n"
		if s.tty {
			nl = "\r\n"
		}
		_, _ = io.WriteString(s.ch.Stderr(), fmt.Sprintf("muster: %v%s", err, nl))
		code = 255
	}
	_ = s.ch.CloseWrite()
	_, _ = s.ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{uint32(code)}))
	_ = s.ch.Close()
}
