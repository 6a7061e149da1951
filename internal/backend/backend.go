// Package backend defines what the control plane asks of a place where work
// runs: this machine's processes, containers, a Kubernetes cluster, a simulation.
//
// A Backend is level-triggered: it is told what should be there and asked what is
// there. A restart of either side needs no recovery path: the next Observe is
// the recovery. A backend knows tasks, never queues or phases of workloads.
package backend

import (
	"context"
	"io"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// Backend runs tasks. Implementations must pass planetest.
//
// Every method may be called at any time, concurrently, more than once and
// after a crash of the caller.
type Backend interface {
	// Name is the backend's name, as it stands in core.Node.Backend.
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

	// Observe reports every task that the backend still holds, whoever started it.
	Observe(ctx context.Context) ([]Observation, error)

	// Watch calls seen with observations as they happen, until ctx is done or
	// the connection to the backend breaks. Observations may repeat and may be
	// missed; Observe is the truth. seen must not block for long.
	Watch(ctx context.Context, seen func([]Observation)) error

	// Forget lets the backend drop what it keeps of ended tasks. Logs stay.
	// Unknown tasks are a success; tasks that have not ended are kept.
	Forget(ctx context.Context, ids []core.TaskID) error

	Output
}

// Output is what tasks have written, also those of a backend that is no more.
type Output interface {
	// Logs opens the output of a task, ended or not. A task that is silent has
	// an empty one; ErrNoLogs means that it never started.
	Logs(ctx context.Context, id core.TaskID, opts LogOptions) (io.ReadCloser, error)

	// DeleteLogs removes the output of all attempts of a workload.
	DeleteLogs(ctx context.Context, id core.WorkloadID) error
}

// Assignment is a task with everything that the backend needs to run it.
type Assignment struct {
	ID      core.TaskID  `json:"id"`
	Node    core.NodeID  `json:"node"`
	Devices []core.Share `json:"devices,omitempty"`
	// GPULimit is how much of each device it may use, in thousandths, be it more
	// than Devices promise it; 0: what they promise.
	GPULimit int `json:"gpuLimitMilli,omitempty"`
	// GPUMemory is how much of each device's memory it may use, in bytes: a hard
	// limit; 0: all of it.
	GPUMemory int64 `json:"gpuMemoryBytes,omitempty"`
	// MIG are the partitions that it has, instead of devices.
	MIG spec.MIG `json:"mig,omitempty"`
	// Extended is how many it has of what else its node offers by name, as in
	// core.Node.Extra.
	Extended map[string]int `json:"extended,omitempty"`
	// Image is the container image that it runs in; empty: it is a process of
	// the machine. Pull and Credentials say how the image is had.
	Image       string       `json:"image,omitempty"`
	Pull        PullPolicy   `json:"pull,omitempty"`
	PullRetries int          `json:"pullRetries,omitempty"` // tries after the first before it fails with FailedImagePull; less than 0: it never does
	Credentials []Credential `json:"credentials,omitempty"`
	// Prelude is a script for /bin/sh that runs before Argv in the same
	// environment and directory; it may change both. A failure of it is a
	// failure of the task.
	Prelude []byte `json:"prelude,omitempty"`
	// Init are the steps of its start: they run before Prelude and Argv, one
	// after another, in the same environment and directory. Until they are done
	// the task is starting and waits with Init:DONE/ALL, Init:Error or
	// Init:CrashLoopBackOff. One that fails for good is a failure of the task.
	Init []Init `json:"init,omitempty"`
	// Argv is the command. Of a container, an empty one means the image's own
	// entry point and arguments; Args then take the place of these arguments.
	Argv    []string `json:"argv"`
	Args    []string `json:"args,omitempty"`
	Workdir string   `json:"workdir,omitempty"`
	Env     []string `json:"env,omitempty"` // KEY=value, complete but for what the machine or the image gives (PATH, HOME …)
	Files   []File   `json:"files,omitempty"`
	Mounts  []Mount  `json:"mounts,omitempty"`
	CPU     int64    `json:"cpuMilli,omitempty"`    // share of the machine, not a cap; 0: the machine's default
	Memory  int64    `json:"memoryBytes,omitempty"` // hard limit; 0: none
	SHM     int64    `json:"shmBytes,omitempty"`    // size of a container's /dev/shm; 0: 64 MiB
	UID     *uint32  `json:"uid,omitempty"`         // run as; nil: as the image says, or the backend itself
	GID     *uint32  `json:"gid,omitempty"`
	// As is who submitted it, where tasks run as who did; nil: nobody whom the machine
	// knows, or they do not.
	As    *core.OSUser `json:"as,omitempty"`
	TTY   bool         `json:"tty,omitempty"`   // its standard streams are a terminal, to which Attach connects
	Stdin bool         `json:"stdin,omitempty"` // its standard input waits for Attach; else it is empty
	// Secret are the names of the variables in Env whose values are nobody
	// else's business. Files, Prelude and Credentials always are private.
	Secret []string `json:"secret,omitempty"`
	// Hosts are the names of other tasks, where a backend does not give them names
	// itself: a container has them in its /etc/hosts.
	Hosts []Host `json:"hosts,omitempty"`
	// Gang is how many tasks of the attempt start together or not at all; below
	// 2 it stands alone. All of them come in one call of Start, unless some are
	// there already.
	Gang int `json:"gang,omitempty"`
	// Peers says that its environment speaks of all tasks of its gang, so that
	// each must be found by its address; otherwise only the first must.
	Peers bool          `json:"peers,omitempty"`
	Grace time.Duration `json:"graceNanos,omitempty"` // what it gets to end where someone else ends it; 0: 30 s
	Ports []int         `json:"ports,omitempty"`      // on which it listens
	// Claim is the key of the member of a claim that it is: it exists, and is
	// given its place. Only Node, Devices and Gang mean anything beside.
	Claim string `json:"claim,omitempty"`
	// Ready is when it takes requests, of a replica of a service; nil: it is none.
	// Who asks is the control plane; a backend that offers the service too asks itself.
	Ready *Probe `json:"ready,omitempty"`
	About About  `json:"about,omitzero"`
}

// Host is an address, and the names by which a task knows it.
type Host struct {
	Address string   `json:"address"` // of IP, never a name
	Names   []string `json:"names"`
}

// About is what a task belongs to, for backends that show it beside the task.
type About struct {
	Project     core.ProjectID    `json:"project,omitempty"`
	Name        string            `json:"name,omitempty"` // of the workload
	Kind        lifecycle.Kind    `json:"kind,omitempty"`
	Role        string            `json:"role,omitempty"`
	User        string            `json:"user,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Tolerations []spec.Toleration `json:"tolerations,omitempty"`
}

// Probe asks whether a task is ready for requests.
type Probe struct {
	Path     string        `json:"path,omitempty"` // HTTP; empty: that Port accepts connections is enough
	Port     int           `json:"port"`
	Period   time.Duration `json:"periodNanos"`
	Timeout  time.Duration `json:"timeoutNanos"`
	Failures int           `json:"failures"` // so many in a row and it is not ready any more
}

// Init is a step of a task's start.
type Init struct {
	Argv    []string `json:"argv"`
	Retries int      `json:"retries,omitempty"` // tries after the first
}

// File is written before the command starts, into the task's private
// directory; EnvVar, where it has one, holds its absolute path. In a container
// it is at Path, where that is set.
type File struct {
	Name   string `json:"name"`
	EnvVar string `json:"envVar,omitempty"`
	Path   string `json:"path,omitempty"`
	Data   []byte `json:"data"`
}

// Mount puts a directory or file of the machine into a container. A process of
// the machine sees what there is; its Mounts must have equal Source and Target
// or be Temporary, and only are checked to exist.
type Mount struct {
	Source    string `json:"source,omitempty"` // absolute path on the node
	Target    string `json:"target"`           // absolute path in the container
	ReadOnly  bool   `json:"readOnly,omitempty"`
	Create    bool   `json:"create,omitempty"`    // make Source, a directory, where it is missing
	Temporary bool   `json:"temporary,omitempty"` // in memory, gone with the task; no Source
	Disk      bool   `json:"disk,omitempty"`      // a Temporary one on disk
	// Claim names a volume that the cluster keeps, instead of Source.
	Claim string `json:"claim,omitempty"`
	// Program says that what is mounted is the program of this server, at
	// Source where the backend is this machine.
	Program bool `json:"program,omitempty"`
	// Own says that the server mounts it by itself, not because a document names it.
	Own  bool  `json:"own,omitempty"`
	Size int64 `json:"sizeBytes,omitempty"` // of a Temporary one; 0: half of the memory
}

// PullPolicy says when an image is looked for in its registry.
type PullPolicy string

// The pull policies.
const (
	PullMissing PullPolicy = "missing" // unless it is here; the default
	PullAlways  PullPolicy = "always"
	PullNever   PullPolicy = "never"
)

// Credential opens a registry. It is never logged or shown.
type Credential struct {
	Server   string `json:"server"` // host, or a URL as docker login spells it
	User     string `json:"user"`
	Password string `json:"password"`
}

// Observation is what the backend sees of one task.
type Observation struct {
	ID       core.TaskID    `json:"id"`
	State    core.TaskState `json:"state"` // starting, running, succeeded, failed or lost
	Waiting  string         `json:"waiting,omitempty"`
	ExitCode *int           `json:"exitCode,omitempty"` // 128+signal when a signal ended it
	Signal   int            `json:"signal,omitempty"`
	Reason   string         `json:"reason,omitempty"` // a lifecycle.Reason: Error, OutOfMemory, ContainerCannotRun, FailedImagePull, OutcomeUnknown …
	Message  string         `json:"message,omitempty"`
	At       time.Time      `json:"at"`              // when it came to be so, by the backend's clock
	Image    string         `json:"image,omitempty"` // digest of the image that it runs in, once that is known
	Pull     *core.Pull     `json:"pull,omitempty"`  // how far its image is, while that is pulled
	Claim    string         `json:"claim,omitempty"` // key of the member of a claim that it is
}

// Sampler is a backend that knows what its tasks, devices and nodes use.
type Sampler interface {
	// Sample looks once at everything that can be looked at. An error means
	// that nothing could; what a part lacks stands in Missing.
	Sample(ctx context.Context) (Reading, error)
}

// Unknown is a figure of a sample that could not be had. Every true figure is
// zero or more.
const Unknown = -1

// Reading is one look at what is used.
type Reading struct {
	Tasks   []Sample       // every running task
	Devices []DeviceSample // whoever uses them
	Nodes   []NodeSample
	// Missing are sentences that say what could not be looked at, and what the
	// operator may do about it.
	Missing []string
}

// Sample is what a task uses.
type Sample struct {
	Task   core.TaskID `json:"task"`
	Busy   float64     `json:"busy"`        // of its busiest device, since the sample before; 0 to 1, or Unknown
	CPU    float64     `json:"cpuCores"`    // in use since the sample before, or Unknown
	Memory float64     `json:"memoryBytes"` // that it cannot do without, or Unknown
	// Network is what it received and sent in a second since the sample before, or
	// Unknown: it has the network of its machine, which others have, too.
	Network float64 `json:"networkBytesPerSecond"`
}

// DeviceSample is how a device fares, whoever uses it.
type DeviceSample struct {
	Node        core.NodeID `json:"node"`
	Device      string      `json:"device"`             // its ID on its node
	Busy        float64     `json:"busy"`               // 0 to 1, or Unknown
	MemoryUsed  float64     `json:"memoryUsedBytes"`    // or Unknown
	MemoryTotal float64     `json:"memoryTotalBytes"`   // or Unknown
	Power       float64     `json:"powerWatts"`         // or Unknown
	Temperature float64     `json:"temperatureCelsius"` // or Unknown
}

// NodeSample is what everything on a node uses together.
type NodeSample struct {
	Node   core.NodeID `json:"node"`
	CPU    float64     `json:"cpuCores"`    // in use since the sample before, or Unknown
	Memory float64     `json:"memoryBytes"` // that cannot be had for more, or Unknown
}

// Announcer is a backend whose nodes change while nobody asks.
type Announcer interface {
	// Nodes calls seen with nodes that are not as they were, and with the names
	// of those that are gone, until ctx is done. Inventory is the truth; seen
	// must not block for long.
	Nodes(ctx context.Context, seen func(changed []core.Node, gone []core.NodeID)) error
}

// Locator is a backend on which each task has an address of its own, known before
// it runs, at which the other tasks of its attempt reach it.
type Locator interface {
	Address(id core.TaskID) string
}

// Describer is a backend that says what it is.
type Describer interface {
	// Describe answers at once, with what is known.
	Describe() Description
}

// Description is what a backend is.
type Description struct {
	Kind    string // local, kubernetes
	Version string // of the cluster's server; empty: it has none, or has not been heard of yet
	Server  string // its address
	// Runs is core.RunsImages or core.RunsProcesses where it cannot run everything.
	Runs string
}

// LogOptions choose a part of a task's output.
type LogOptions struct {
	Follow bool      // go on until the task has ended
	Tail   int       // only the last lines; negative: all
	Offset int64     // start at this byte (with Tail < 0)
	Since  time.Time // only what was written from then on, as exactly as the backend knows; zero: all
	// Times puts the time at which it was written before each line, and before
	// what the reader begins with, in the form of TimeLayout.
	Times bool
}
