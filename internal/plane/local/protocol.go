//go:build linux

package local

import (
	"net"
	"os"
	"strconv"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/plane"
)

// protocolVersion grows with every change that an older keeper or client would
// misunderstand. A client that meets another number has the keeper replace itself.
const protocolVersion = 1

const socketName = "keeper.sock"

// The operations of the socket: JSON values one after another, both ways.
const (
	opHello   = "hello"   // the first request of every connection
	opStart   = "start"   // Tasks
	opStop    = "stop"    // IDs, Grace
	opObserve = "observe" // answers with Seen
	opWatch   = "watch"   // answers with Seen again and again, first with everything
	opForget  = "forget"  // IDs
	opRetire  = "retire"  // exit as soon as there is no task
	opReplace = "replace" // become Argv in place, keeping all tasks
)

type request struct {
	Serial  uint64             `json:"n"`
	Op      string             `json:"op"`
	Version int                `json:"version,omitempty"`
	Tasks   []plane.Assignment `json:"tasks,omitempty"`
	IDs     []core.TaskID      `json:"ids,omitempty"`
	Grace   time.Duration      `json:"grace,omitempty"`
	Argv    []string           `json:"argv,omitempty"`
}

type reply struct {
	Serial  uint64              `json:"n"`
	Err     string              `json:"err,omitempty"`
	Version int                 `json:"version,omitempty"`
	PID     int                 `json:"pid,omitempty"`
	Seen    []plane.Observation `json:"seen,omitempty"`
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

func dialKeeper(dir string) (conn net.Conn, err error) {
	err = atDir(dir, func(short string) error {
		conn, err = net.Dial("unix", short+"/"+socketName)
		return err
	})
	return conn, err
}

func listenKeeper(dir string) (l *net.UnixListener, err error) {
	err = atDir(dir, func(short string) error {
		l, err = net.ListenUnix("unix", &net.UnixAddr{Name: short + "/" + socketName, Net: "unix"})
		if err == nil {
			l.SetUnlinkOnClose(false) // the short name means another file by then
		}
		return err
	})
	return l, err
}
