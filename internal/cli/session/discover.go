package session

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/systemd"
)

const (
	// socketName and addressName are what a server leaves in its data directory.
	socketName  = "muster.sock"
	AddressName = "muster.addr"
	LogName     = "server.log"

	// startLimit is how long a server that was just started may take until it
	// is ready.
	startLimit = 20 * time.Second
	// rivalLimit is how long to wait, after the server that was just started has
	// died, for one that somebody else started at the same time.
	rivalLimit = 2 * time.Second
)

// Dir is the data directory of the local server.
func (s *Session) Dir() (string, error) {
	dir := s.DataDir
	if dir == "" {
		dir = s.Setting("MUSTER_DATA_DIR")
	}
	if dir == "" {
		base := s.Env("XDG_DATA_HOME")
		if base == "" {
			home, err := os.UserHomeDir()
			if err != nil {
				return "", UsageError("no place for the state of a local server: "+err.Error(), "give one with --data-dir or MUSTER_DATA_DIR")
			}
			base = filepath.Join(home, ".local", "share")
		}
		dir = filepath.Join(base, "muster")
	}
	return filepath.Abs(dir)
}

// Address is where the server of a data directory listens. The pointer file
// comes first: the socket is elsewhere when its path would be too long. In a copy
// of a data directory it names the socket of the original, which is not meant.
func Address(dir string) string {
	if data, err := os.ReadFile(filepath.Join(dir, AddressName)); err == nil {
		if a := strings.TrimSpace(string(data)); a != "" && !copied(dir, a) {
			return a
		}
	}
	return "unix://" + filepath.Join(dir, socketName)
}

// copied reports whether an address is the socket in another data directory. The
// directory of a socket whose path would be too long holds nothing else.
func copied(dir, address string) bool {
	path, unix := strings.CutPrefix(address, "unix://")
	if !unix {
		return false
	}
	there := filepath.Dir(path)
	if _, err := os.Stat(filepath.Join(there, AddressName)); err != nil {
		return false
	}
	a, errA := os.Stat(dir)
	b, errB := os.Stat(there)
	return errA == nil && errB == nil && !os.SameFile(a, b)
}

// ClientOnly is what to do with a program that has no server.
const ClientOnly = "servers run on Linux: name one with --server or MUSTER_SERVER"

// clientGC is by how many percent the heap of a client grows between two
// collections.
const clientGC = 800

func (s *Session) dial(ctx context.Context, start bool) (*client.Client, error) {
	if s.Conn != nil {
		return s.Conn, nil
	}
	// What asks a server lives shortly: memory is cheaper than collecting it.
	debug.SetGCPercent(clientGC)
	var err error
	if s.Server != "" {
		s.Conn, err = s.client(s.Server)
		return s.Conn, err
	}
	dir, err := s.Dir()
	if err != nil {
		return nil, err
	}
	if !answers(Address(dir)) {
		// Who has none of their own uses the one of the machine, if they may.
		if s.DataDir == "" && s.Setting("MUSTER_DATA_DIR") == "" && answers("unix://"+systemd.SystemSocket) {
			s.Conn, err = s.client("unix://" + systemd.SystemSocket)
			return s.Conn, err
		}
		if !start || s.Program.StartServer == nil {
			hint := "start one with muster server, leave out --no-autostart, or name one with --server"
			if s.Program.StartServer == nil {
				hint = ClientOnly
			}
			return nil, &Failure{Code: ExitUnreachable, Problem: &api.Problem{
				Title: "No server", Code: client.CodeUnreachable, Detail: "no server runs on " + dir, Hint: hint,
			}}
		}
		if err := s.autostart(ctx, dir); err != nil {
			return nil, err
		}
	}
	s.Conn, err = s.client(Address(dir))
	return s.Conn, err
}

func (s *Session) client(address string) (*client.Client, error) { return s.clientTrying(address, 0) }

func (s *Session) clientTrying(address string, retries int) (*client.Client, error) {
	return client.New(client.Options{Address: address, Token: s.TokenFor(address), UserAgent: "muster/" + s.Program.Version.Version, Retries: retries})
}

// answers reports whether anyone listens at a local address. One that is not
// local is taken at its word.
func answers(address string) bool {
	path, local := client.SocketPath(address)
	if !local {
		return true
	}
	c, err := net.DialTimeout("unix", path, 5*time.Second)
	if err != nil {
		return false
	}
	return c.Close() == nil
}

// autostart starts a local server and waits until it is ready.
func (s *Session) autostart(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	died := make(chan error, 1)
	go func() {
		if err := s.Program.StartServer(ctx, dir); err != nil {
			died <- err
		}
	}()
	var last, failure error
	var rival <-chan time.Time
	for {
		if c, err := s.clientTrying(Address(dir), -1); err != nil {
			last = err
		} else if last = c.Ready(ctx); last == nil {
			c.Close()
			s.Say("muster: started a local server (data in %s; muster server stop ends it)", dir)
			return nil
		}
		select {
		case failure = <-died:
			// Another command may have been faster, and its server may still
			// be on its way up.
			rival = time.After(rivalLimit)
		case <-rival:
			return notStarted(dir, failure)
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return ctx.Err()
			}
			return notStarted(dir, last)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func notStarted(dir string, err error) error {
	detail := fmt.Sprintf("a local server on %s did not start: %v", dir, err)
	if line := lastLine(filepath.Join(dir, LogName)); line != "" && !strings.Contains(detail, line) {
		detail += "\n  its log ends: " + line
	}
	return &Failure{Code: ExitUnreachable, Problem: &api.Problem{
		Title: "Server did not start", Code: client.CodeUnreachable, Detail: detail,
		Hint: "muster server --data-dir " + dir + " runs it in the foreground and says what is wrong",
	}}
}

// lastLine is the last line of a log; "" when there is none.
func lastLine(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.Size() > 64<<10 {
		if _, err := f.Seek(-64<<10, 2); err != nil {
			return ""
		}
	}
	line := ""
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if t := strings.TrimSpace(sc.Text()); t != "" {
			line = t
		}
	}
	return line
}
