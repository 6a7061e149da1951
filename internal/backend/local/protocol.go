//go:build linux

package local

import (
	"net"
	"os"
	"strconv"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
)

// protocolVersion grows with every change that an older supervisor or client would
// misunderstand. A client that meets another number has the supervisor replace itself.
const protocolVersion = 3

const socketName = "supervisor.sock"

// The operations of the socket: JSON values one after another, both ways.
const (
	opHello   = "hello"   // the first request of every connection
	opStart   = "start"   // Tasks
	opStop    = "stop"    // IDs, Grace
	opObserve = "observe" // answers with Seen, of IDs only where there are some
	opWatch   = "watch"   // answers with Seen again and again, first with everything
	opForget  = "forget"  // IDs
	opRetire  = "retire"  // exit as soon as there is no task
	opReplace = "replace" // become Argv in place, keeping all tasks
	opExec    = "exec"    // Exec beside IDs[0]; answers once with the descriptors of its streams, then with Exit
	opInput   = "input"   // answers with the descriptor of the terminal or standard input of IDs[0]
	opEOF     = "eof"     // the standard input of IDs[0] ends
)

type request struct {
	Serial  uint64        `json:"n"`
	Op      string        `json:"op"`
	Version int           `json:"version,omitempty"`
	Tasks   []job         `json:"tasks,omitempty"`
	IDs     []core.TaskID `json:"ids,omitempty"`
	Grace   time.Duration `json:"grace,omitempty"`
	Argv    []string      `json:"argv,omitempty"`
	Exec    *execRequest  `json:"exec,omitempty"`
}

// execRequest is a command to be run beside a task. The connection that asks is
// its life: the command is ended when it breaks.
type execRequest struct {
	Argv   []string      `json:"argv"`
	Env    []string      `json:"env,omitempty"`
	TTY    bool          `json:"tty,omitempty"`
	Stdin  bool          `json:"stdin,omitempty"`  // else it is empty
	Stderr bool          `json:"stderr,omitempty"` // apart from stdout
	Size   *backend.Size `json:"size,omitempty"`
}

type reply struct {
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

func dialSupervisor(dir string) (conn net.Conn, err error) {
	err = atDir(dir, func(short string) error {
		conn, err = net.Dial("unix", short+"/"+socketName)
		return err
	})
	return conn, err
}

func listenSupervisor(dir string) (l *net.UnixListener, err error) {
	err = atDir(dir, func(short string) error {
		l, err = net.ListenUnix("unix", &net.UnixAddr{Name: short + "/" + socketName, Net: "unix"})
		if err == nil {
			l.SetUnlinkOnClose(false) // the short name means another file by then
		}
		return err
	})
	return l, err
}
