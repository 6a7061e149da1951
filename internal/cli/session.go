package cli

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

// session is one command line while it is carried out: its streams, its global
// flags and its connection.
type session struct {
	io      Streams
	program Program
	env     func(string) string
	// environ is all of env; nil: nothing is given to batch scripts.
	environ func() []string
	now     func() time.Time

	server, dataDir      string
	noAutostart, noColor bool
	output               string

	color bool
	conn  *client.Client

	// words puts what muster says into the words of the tool that this program is
	// called as; nil: they are muster's own.
	words func(string) string

	config    map[string]string // of the configuration file; nil: not read yet
	badConfig error
}

// newSession is a session of this process.
func newSession(streams Streams, program Program) *session {
	return &session{io: streams, program: program, env: os.Getenv, environ: os.Environ, now: time.Now}
}

// begin checks the global flags before any command runs.
func (s *session) begin(*cobra.Command) error {
	if err := checkFormat(s.output); err != nil {
		return err
	}
	if s.configure(); s.badConfig != nil {
		return s.badConfig
	}
	s.chooseServer()
	force := s.on("CLICOLOR_FORCE") || s.on("MUSTER_FORCE_TTY")
	s.color = force || s.env("NO_COLOR") == "" && s.env("TERM") != "dumb"
	if s.noColor {
		s.color = false
	}
	if s.on("MUSTER_FORCE_TTY") {
		s.io.OutTerminal, s.io.ErrTerminal = true, true
	} else if force {
		s.forced()
	}
	return nil
}

// chooseServer takes the server that the environment names, or the file; the
// file's only where nobody has named a data directory, which means a local one.
func (s *session) chooseServer() {
	if s.server != "" {
		return
	}
	if s.server = s.env("MUSTER_SERVER"); s.server == "" && s.dataDir == "" && s.env("MUSTER_DATA_DIR") == "" {
		s.server = s.setting("MUSTER_SERVER")
	}
}

// forced keeps colours where there is no terminal.
func (s *session) forced() { s.io.colorAnyway = true }

// on reports whether a variable is set to something that means yes.
func (s *session) on(name string) bool {
	switch strings.ToLower(s.setting(name)) {
	case "", "0", "false", "no", "off":
		return false
	default:
		return true
	}
}

func (s *session) close() {
	if s.conn != nil {
		s.conn.Close()
	}
}

// say writes a line for people to standard error.
func (s *session) say(format string, args ...any) {
	fmt.Fprintln(s.io.Err, s.called(fmt.Sprintf(format, args...)))
}

// me is the user's name as a server on this machine sees it; "" for a server
// elsewhere, which knows a token and no name.
func (s *session) me() string {
	if s.conn != nil {
		if _, local := client.SocketPath(s.conn.Address()); !local {
			return ""
		}
	}
	uid := strconv.Itoa(os.Getuid())
	if u, err := user.LookupId(uid); err == nil {
		return u.Username
	}
	return uid
}

// clock is the present, in one place so that a table is of one moment.
func (s *session) clock() time.Time { return s.now() }

// connect returns the connection to the server, starting a local one when none
// runs and nobody forbids it.
func (s *session) connect(ctx context.Context) (*client.Client, error) {
	return s.dial(ctx, !s.noAutostart && !s.on("MUSTER_NO_AUTOSTART"))
}

// connectOnly is connect for commands that are about the server itself: it
// never starts one.
func (s *session) connectOnly(ctx context.Context) (*client.Client, error) {
	return s.dial(ctx, false)
}
