// Package session is one command line while it is carried out. It is given the
// streams, the environment and the program around it; it finds the server, or
// starts it, finds what a name means, and prints tables, documents and errors.
// It knows no command: the packages beside it are these.
package session

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/terminal"
)

// Program is what a session knows of the program that it is part of.
type Program struct {
	// Name is what people write to run this program; empty: muster.
	Name string
	// Version of this program.
	Version api.Version
	// StartServer starts a server on dataDir as a process of its own that
	// outlives this one, with args after `muster server --data-dir DIR`. It may
	// return as soon as the process is there; an error says that no server will
	// come of it. It may also stay until ctx is done and report a process that
	// ended before: whoever calls it asks /readyz meanwhile.
	StartServer func(ctx context.Context, dataDir string, args ...string) error
}

// Session is one command line while it is carried out: its streams, its global
// flags and its connection.
type Session struct {
	IO      terminal.Streams
	Program Program
	Env     func(string) string
	// environ is all of env; nil: nothing is given to batch scripts.
	Environ func() []string
	Now     func() time.Time

	Server, DataDir      string
	NoAutostart, NoColor bool
	Output               string

	Color bool
	Conn  *client.Client

	// words puts what muster says into the words of the tool that this program is
	// called as; nil: they are muster's own.
	Words func(string) string

	Config    map[string]string // of the configuration file; nil: not read yet
	badConfig error
}

// NewSession is a session of this process.
func NewSession(streams terminal.Streams, program Program) *Session {
	return &Session{IO: streams, Program: program, Env: os.Getenv, Environ: os.Environ, Now: time.Now}
}

// Begin checks the global flags before any command runs.
func (s *Session) Begin(cmd *cobra.Command) error {
	if err := checkFormat(s.Output); err != nil {
		return err
	}
	if err := unitless(cmd); err != nil {
		return err
	}
	if s.configure(); s.badConfig != nil {
		return s.badConfig
	}
	s.chooseServer()
	force := s.on("CLICOLOR_FORCE") || s.on("MUSTER_FORCE_TTY")
	s.Color = force || s.Env("NO_COLOR") == "" && s.Env("TERM") != "dumb"
	if s.NoColor {
		s.Color = false
	}
	if s.on("MUSTER_FORCE_TTY") {
		s.IO.OutTerminal, s.IO.ErrTerminal = true, true
	} else if force {
		s.forced()
	}
	return nil
}

// chooseServer takes the server that the environment names, or the file; the
// file's only where nobody has named a data directory, which means a local one.
func (s *Session) chooseServer() {
	if s.Server != "" {
		return
	}
	if s.Server = s.Env("MUSTER_SERVER"); s.Server == "" && s.DataDir == "" && s.Env("MUSTER_DATA_DIR") == "" {
		s.Server = s.Setting("MUSTER_SERVER")
	}
}

// forced keeps colours where there is no terminal.
func (s *Session) forced() { s.IO.ColorAnyway = true }

// on reports whether a variable is set to something that means yes.
func (s *Session) on(name string) bool {
	switch strings.ToLower(s.Setting(name)) {
	case "", "0", "false", "no", "off":
		return false
	default:
		return true
	}
}

// Close ends the connection to the server, if there is one.
func (s *Session) Close() {
	if s.Conn != nil {
		s.Conn.Close()
	}
}

// Say writes a line for people to standard error.
func (s *Session) Say(format string, args ...any) {
	fmt.Fprintln(s.IO.Err, s.Called(fmt.Sprintf(format, args...)))
}

// Me is the user's name as a server on this machine sees it; "" for a server
// elsewhere, which knows a token and no name.
func (s *Session) Me() string {
	if s.Conn != nil {
		if _, local := client.SocketPath(s.Conn.Address()); !local {
			return ""
		}
	}
	uid := strconv.Itoa(os.Getuid())
	if u, err := user.LookupId(uid); err == nil {
		return u.Username
	}
	return uid
}

// Clock is the present, in one place so that a table is of one moment.
func (s *Session) Clock() time.Time { return s.Now() }

// Connect returns the connection to the server, starting a local one when none
// runs and nobody forbids it.
func (s *Session) Connect(ctx context.Context) (*client.Client, error) {
	return s.dial(ctx, !s.NoAutostart && !s.on("MUSTER_NO_AUTOSTART"))
}

// ConnectOnly is connect for commands that are about the server itself: it
// never starts one.
func (s *Session) ConnectOnly(ctx context.Context) (*client.Client, error) {
	return s.dial(ctx, false)
}
