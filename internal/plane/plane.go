// Package plane defines what the control plane asks of a place where work
// runs: this machine's processes, containers, a Kubernetes cluster, a simulation.
//
// A Plane is level-triggered: it is told what should be there and asked what is
// there. A restart of either side needs no recovery path: the next Observe is
// the recovery. A plane knows tasks, never queues or phases of workloads.
package plane

import (
	"context"
	"io"
	"time"

	"github.com/musterhq/muster/internal/core"
)

// Plane runs tasks. Implementations must pass planetest.
//
// Every method may be called at any time, concurrently, more than once and
// after a crash of the caller.
type Plane interface {
	// Name is the plane's name, as it stands in core.Node.Plane.
	Name() string

	// Inventory reports the nodes and devices that exist and whether they are fit.
	Inventory(ctx context.Context) ([]core.Node, error)

	// Start brings tasks up. One that already exists, ended or not, is left
	// alone: a task ID is started at most once, ever, until Forget. What
	// cannot be started becomes an Observation in state Failed with a reason;
	// an error means that nobody knows, and the caller asks again.
	Start(ctx context.Context, tasks []Assignment) error

	// Stop ends whole process trees: a polite signal, grace, then by force.
	// A task that is unknown or has ended is a success. Calling again with a
	// shorter grace shortens it. It returns at once; Observe tells the end.
	Stop(ctx context.Context, ids []core.TaskID, grace time.Duration) error

	// Observe reports every task that the plane still holds, whoever started it.
	Observe(ctx context.Context) ([]Observation, error)

	// Watch calls seen with observations as they happen, until ctx is done or
	// the connection to the plane breaks. Observations may repeat and may be
	// missed; Observe is the truth. seen must not block for long.
	Watch(ctx context.Context, seen func([]Observation)) error

	// Forget lets the plane drop what it keeps of ended tasks. Logs stay.
	// Unknown tasks are a success; tasks that have not ended are kept.
	Forget(ctx context.Context, ids []core.TaskID) error

	// Logs opens the output of a task, ended or not. A task that is silent has
	// an empty one; ErrNoLogs means that it never started.
	Logs(ctx context.Context, id core.TaskID, opts LogOptions) (io.ReadCloser, error)

	// DeleteLogs removes the output of all attempts of a workload.
	DeleteLogs(ctx context.Context, id core.WorkloadID) error
}

// Assignment is a task with everything that the plane needs to run it.
type Assignment struct {
	ID      core.TaskID  `json:"id"`
	Node    core.NodeID  `json:"node"`
	Devices []core.Share `json:"devices,omitempty"`
	Image   string       `json:"image,omitempty"`
	Argv    []string     `json:"argv"`
	Workdir string       `json:"workdir,omitempty"`
	Env     []string     `json:"env,omitempty"` // KEY=value, complete but for what the machine itself gives (PATH, HOME …)
	Files   []File       `json:"files,omitempty"`
	CPU     int64        `json:"cpuMilli,omitempty"`    // share of the machine, not a cap; 0: the machine's default
	Memory  int64        `json:"memoryBytes,omitempty"` // hard limit; 0: none
	UID     *uint32      `json:"uid,omitempty"`         // run as; nil: as the plane itself
	GID     *uint32      `json:"gid,omitempty"`
}

// File is written before the command starts, into the task's private
// directory; Env holds its absolute path under the variable EnvVar.
type File struct {
	Name   string `json:"name"`
	EnvVar string `json:"envVar"`
	Data   []byte `json:"data"`
}

// Observation is what the plane sees of one task.
type Observation struct {
	ID       core.TaskID    `json:"id"`
	State    core.TaskState `json:"state"` // starting, running, succeeded, failed or lost
	Waiting  string         `json:"waiting,omitempty"`
	ExitCode *int           `json:"exitCode,omitempty"` // 128+signal when a signal ended it
	Signal   int            `json:"signal,omitempty"`
	Reason   string         `json:"reason,omitempty"` // a lifecycle.Reason: Error, OutOfMemory, ContainerCannotRun, FailedImagePull, OutcomeUnknown …
	Message  string         `json:"message,omitempty"`
	At       time.Time      `json:"at"` // when it came to be so, by the plane's clock
}

// LogOptions choose a part of a task's output.
type LogOptions struct {
	Follow bool  // go on until the task has ended
	Tail   int   // only the last lines; negative: all
	Offset int64 // start at this byte (with Tail < 0)
}
