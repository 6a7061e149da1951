//go:build linux

// Package protocol is what the server and the supervisor of a data directory say
// to one another over a unix socket: requests, replies, and the descriptors that
// travel with them.
//
// Both sides import it, and it imports neither.
package protocol

import (
	"net"
	"os"
	"strconv"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
)

// Version grows with every change that an older supervisor or client would
// misunderstand. A client that meets another number has the supervisor replace itself.
const Version = 4

// SocketName is the name of the socket in the data directory.
const SocketName = "supervisor.sock"

// The operations of the socket: JSON values one after another, both ways.
const (
	OpHello   = "hello"   // the first request of every connection
	OpStart   = "start"   // Tasks
	OpStop    = "stop"    // IDs, Grace
	OpObserve = "observe" // answers with Seen, of IDs only where there are some
	OpWatch   = "watch"   // answers with Seen again and again, first with everything
	OpForget  = "forget"  // IDs
	OpRetire  = "retire"  // exit as soon as there is no task
	OpReplace = "replace" // become Argv in place, keeping all tasks
	OpExec    = "exec"    // Exec beside IDs[0]; answers once with the descriptors of its streams, then with Exit
	OpInput   = "input"   // answers with the descriptor of the terminal or standard input of IDs[0]
	OpEOF     = "eof"     // the standard input of IDs[0] ends
)

// Request is what the server asks. Each operation says which fields it reads.
type Request struct {
	Serial  uint64        `json:"n"`
	Op      string        `json:"op"`
	Version int           `json:"version,omitempty"`
	Tasks   []Job         `json:"tasks,omitempty"`
	IDs     []core.TaskID `json:"ids,omitempty"`
	Grace   time.Duration `json:"grace,omitempty"`
	Argv    []string      `json:"argv,omitempty"`
	Exec    *Exec         `json:"exec,omitempty"`
}

// Exec is a command to be run beside a task. The connection that asks is
// its life: the command is ended when it breaks.
type Exec struct {
	Argv   []string      `json:"argv"`
	Env    []string      `json:"env,omitempty"`
	TTY    bool          `json:"tty,omitempty"`
	Stdin  bool          `json:"stdin,omitempty"`  // else it is empty
	Stderr bool          `json:"stderr,omitempty"` // apart from stdout
	Size   *backend.Size `json:"size,omitempty"`
}

// Reply answers the request with the same serial number.
type Reply struct {
	Serial  uint64                `json:"n"`
	Err     string                `json:"err,omitempty"`
	Version int                   `json:"version,omitempty"`
	PID     int                   `json:"pid,omitempty"`
	Seen    []backend.Observation `json:"seen,omitempty"`
	Gone    bool                  `json:"gone,omitempty"`   // with Err: the task does not run
	NotRun  bool                  `json:"notRun,omitempty"` // with Err: the command cannot be run
	TTY     bool                  `json:"tty,omitempty"`    // the descriptor is that of a terminal
	Exit    *int                  `json:"exit,omitempty"`
}

// atDir calls fn with a short name of dir: socket addresses end after 108
// bytes, data directories do not.
func atDir(dir string, fn func(short string) error) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	return fn("/proc/self/fd/" + strconv.Itoa(int(d.Fd())))
}

// Dial connects to the supervisor of a data directory.
func Dial(dir string) (conn net.Conn, err error) {
	err = atDir(dir, func(short string) error {
		conn, err = net.Dial("unix", short+"/"+SocketName)
		return err
	})
	return conn, err
}

// Listen makes the socket of a data directory.
func Listen(dir string) (l *net.UnixListener, err error) {
	err = atDir(dir, func(short string) error {
		l, err = net.ListenUnix("unix", &net.UnixAddr{Name: short + "/" + SocketName, Net: "unix"})
		if err == nil {
			l.SetUnlinkOnClose(false) // the short name means another file by then
		}
		return err
	})
	return l, err
}

// SupervisorEnv marks a process that was started to be a supervisor.
const SupervisorEnv = "MUSTER_SUPERVISOR"

// Words that a supervisor says to who started it.
const (
	Ready = "ready"
	Busy  = "busy" // another one has the lock
)
