//go:build linux

package supervisor

import (
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/cgroup"
	"github.com/musterhq/muster/internal/backend/local/proc"
	"github.com/musterhq/muster/internal/backend/local/protocol"
	"github.com/musterhq/muster/internal/backend/local/spare"
	"github.com/musterhq/muster/internal/backend/local/taskdir"
	"github.com/musterhq/muster/internal/backend/logfile"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/osuser"
	"golang.org/x/sys/unix"
)

// supervisor starts, supervises and reaps all tasks of one data directory.
type supervisor struct {
	paths     taskdir.Paths
	reserve   int64
	linger    time.Duration
	log       *slog.Logger
	pid       int
	boot      string // name of this run of the machine
	reboot    bool   // the last supervisor was in another one, or nobody knows
	groups    cgroup.Tree
	noGroup   bool // do without control groups even where there are some
	space     *logfile.Space
	spares    *spare.Pool
	processes proc.Table
	null      *os.File
	lock      *os.File
	listen    *net.UnixListener
	exit      chan struct{} // closed when it is time to go
	args      []string

	// forking is held for reading from the fork of a child until it stands in
	// pids, so that the reaper, holding it for writing, knows every child.
	forking sync.RWMutex

	sweeping sync.Mutex // held by who empties the trash
	sweeps   int        // how many want to

	mu       sync.Mutex
	tasks    map[core.TaskID]*task
	pids     map[int]*task                // main processes to be reaped
	helpers  map[int]chan unix.WaitStatus // other children whose end somebody waits for
	claims   int                          // how many wait to learn the pid of a child that may have ended already
	strays   map[int]unix.WaitStatus      // children of nobody that ended while claims was not 0
	watchers map[*protocol.Backlog]struct{}
	peers    map[*peer]struct{} // connections
	met      bool               // there was a client
	orphaned bool               // our directory was deleted: nobody can reach us
	retiring bool
	idle     *time.Timer
	leaving  bool           // no task is accepted any more
	starts   sync.WaitGroup // tasks that are being started; Add under mu and not while leaving
}

// task is one task as the supervisor knows it. What changes is guarded by supervisor.mu.
type task struct {
	supervisor *supervisor // which keeps it
	id         core.TaskID
	dir        string
	private    string              // where what it must read itself lies
	a          backend.Assignment  // without secrets
	container  *protocol.Container // nil: a process of the machine
	as         *osuser.Account     // nil: whoever a says, else this process's own user
	group      cgroup.Group
	limited    bool // has a memory limit in force
	adopted    bool // not our child
	cut        bool // the end of its output may be missing
	out        *output

	input     int  // its terminal, or where its standard input comes from; -1: neither
	signalled bool // it was asked to end, or is as soon as it is its command
	mild      bool // its end by force stands for the polite signal, see terminate
	execs     int  // commands that were run beside it, ever
	pid       int  // 0 until forked
	start     uint64
	engine    string // what the first process of a container is before it becomes the command
	obs       backend.Observation
	exited    bool          // the main process has ended
	ended     bool          // all is done, obs is final
	stopping  sync.Mutex    // held by who records that it is to end
	undone    chan struct{} // not nil: it is being taken away as if never asked for; closed once that is done
	deadline  time.Time     // when it is ended by force; zero: nobody asked
	alarm     *time.Timer
}

// checkIdle arms or disarms the end; call it with mu held.
func (k *supervisor) checkIdle() {
	if k.busy() {
		if k.idle != nil {
			k.idle.Stop()
			k.idle = nil
		}
		return
	}
	if k.idle != nil {
		return
	}
	wait := k.linger
	if !k.met {
		wait = max(wait, meetWithin)
	}
	if k.retiring {
		wait = 0
	}
	var timer *time.Timer
	timer = time.AfterFunc(wait, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.idle == timer && !k.leaving && !k.busy() {
			k.leaving = true
			close(k.exit)
		}
	})
	k.idle = timer
}

// busy reports whether there is a reason to stay; call it with mu held.
func (k *supervisor) busy() bool {
	if k.orphaned { // for running tasks only: nobody will ever ask about the others
		for _, t := range k.tasks {
			if !t.ended {
				return true
			}
		}
		return k.sweeps > 0
	}
	return len(k.tasks) > 0 || k.sweeps > 0 || len(k.peers) > 0 && !k.retiring
}

// publish tells all watchers; call it with mu held, so that what one task goes
// through is told in order.
func (k *supervisor) publish(o backend.Observation) {
	for w := range k.watchers {
		w.Add(o)
	}
}

// snapshot returns an observation of every task, or of some.
func (k *supervisor) snapshot(ids ...core.TaskID) []backend.Observation {
	if len(ids) > 0 {
		var some []backend.Observation
		for _, id := range ids {
			if t := k.tasks[id]; t != nil {
				some = append(some, t.obs)
			}
		}
		return some
	}
	all := make([]backend.Observation, 0, len(k.tasks))
	for _, t := range k.tasks {
		all = append(all, t.obs)
	}
	return all
}

// meetWithin is how long a new supervisor waits for who started it, however short
// it is to linger: on a busy machine the caller may come late.
const meetWithin = 10 * time.Second

// running returns the task with this id if its command is running, otherwise nil.
func (k *supervisor) running(id core.TaskID) *task {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.tasks[id]
	if t == nil || t.exited || t.ended || t.obs.State != core.TaskRunning {
		return nil
	}
	return t
}

// asked reports whether a task is to end.
func (t *task) asked() bool {
	k := t.supervisor
	k.mu.Lock()
	defer k.mu.Unlock()
	return !t.deadline.IsZero()
}

// errStopped is what becomes of a task that was told to end before its command
// began.
var errStopped = &cannotRun{reason: lifecycle.ReasonKilled, text: "it was stopped before its command began"}

// starting is what is seen of a task that does not run yet.
func starting(t *task, at time.Time) backend.Observation {
	o := backend.Observation{ID: t.id, State: core.TaskStarting, At: at}
	if t.container != nil {
		o.Waiting = protocol.Creating(&t.a)
	}
	return o
}
