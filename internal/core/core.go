// Package core is the vocabulary of the program: what a workload, a task, a
// node and a device are. Everything below internal/core is pure: no I/O, no
// clock, no goroutines, no logging. Time, randomness and identity arrive as
// arguments.
package core

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

type (
	// WorkloadID identifies a workload for ever: 26 lower-case base-32
	// characters, sortable by creation.
	WorkloadID string
	// NodeID names a node, unique over all backends.
	NodeID string
	// ProjectID names a project and its queue.
	ProjectID string
	// Revision numbers commits; commit order is revision order.
	Revision int64
)

// DefaultProject is the project of a document that names none.
const DefaultProject ProjectID = "default"

// TaskID is one run of one task of one attempt. Backends keep it where they can
// read it back, so that a restarted server finds what it had started.
type TaskID struct {
	Workload WorkloadID
	Attempt  int
	Index    int
	// Run counts from 0 how often the task had to leave and was placed anew in
	// the attempt, as only those of arrays are. A restart in place is no new run.
	Run int `json:",omitempty"`
}

// String is workload/attempt/index, and /run of a run that is not the first.
func (id TaskID) String() string {
	s := string(id.Workload) + "/" + strconv.Itoa(id.Attempt) + "/" + strconv.Itoa(id.Index)
	if id.Run != 0 {
		s += "/" + strconv.Itoa(id.Run)
	}
	return s
}

// ParseTaskID reads what String wrote.
func ParseTaskID(s string) (TaskID, error) {
	wrong := fmt.Errorf("task id %q: want workload/attempt/index or workload/attempt/index/run, with a run from 1", s)
	parts := strings.Split(s, "/")
	if len(parts) != 3 && len(parts) != 4 || parts[0] == "" {
		return TaskID{}, wrong
	}
	id := TaskID{Workload: WorkloadID(parts[0])}
	for i, to := range []*int{&id.Attempt, &id.Index, &id.Run}[:len(parts)-1] {
		n, err := strconv.Atoi(parts[i+1])
		if err != nil || n < 0 || i == 2 && n == 0 { // one task has one name
			return TaskID{}, wrong
		}
		*to = n
	}
	return id, nil
}

// Workload is the record of one workload. Values are immutable once they are
// shared: a change makes a copy with Version+1.
type Workload struct {
	ID      WorkloadID
	Seq     int64 // order of submission, from 1; below it as many are free as the jobs of a script's array need
	Name    string
	Project ProjectID
	Kind    lifecycle.Kind
	User    string
	Spec    *spec.Document

	lifecycle.State
	Course
	Conditions []Condition
	Attempts   []Attempt // every attempt, oldest first; their tasks are separate records

	Version   int64 // grows by one with every change
	Rev       Revision
	CreatedAt time.Time
	StartedAt time.Time // first time Running; zero before
	EndedAt   time.Time // zero unless the phase is an end
	PhaseAt   time.Time // since when it is in this phase
	WakeAt    time.Time // when a timer is due (back-off over, deadline, retention); zero: none

	Counts         TaskCounts    // of the present attempt
	EndGrace       time.Duration // asked for with the present end; 0: the document's
	Failures       int           // failed attempts since submit or restart, against retry.limit
	SystemFailures int
	GPUSeconds     float64 // of ended attempts and of runs that others follow; the rest is added on reading
}

// AskedMilli is how many thousandths of GPUs w asks for, over all tasks. What memory
// of a GPU comes to is known once it has had a place; until then it counts as all.
func (w *Workload) AskedMilli() int64 {
	part := 0
	for i := range w.Attempts {
		part = cmp.Or(w.Attempts[i].Part, part)
	}
	of := func(g spec.GPU) int64 {
		if g.Kind() == spec.MemoryGPU && part > 0 {
			return int64(g.Devices()) * int64(part)
		}
		return g.TotalMilli()
	}
	n := w.Spec.Size()
	if n == 0 {
		return 0
	}
	return of(w.Spec.Needs(0).GPU) + int64(n-1)*of(w.Spec.Resources.GPU)
}

// TaskCounts counts the placed tasks of an attempt by state.
type TaskCounts struct {
	Starting  int `json:"starting,omitempty"`
	Running   int `json:"running,omitempty"`
	Stopping  int `json:"stopping,omitempty"`
	Succeeded int `json:"succeeded,omitempty"`
	Failed    int `json:"failed,omitempty"` // or lost
}

// Booking is a time to start that an attempt was told while it waited.
type Booking struct {
	At    time.Time `json:"at"`             // it starts by then
	Since time.Time `json:"since"`          // since when it has had a time, be it another
	First time.Time `json:"first,omitzero"` // what it was told first, where that was another
	Pool  string    `json:"pool"`
}

// Earmark is quota of a pool that an attempt has while it is Reserved: it holds
// nothing yet, and nobody else may have that quota.
type Earmark struct {
	Pool   string `json:"pool"`
	GPU    int64  `json:"gpuMilli,omitempty"` // thousandths of devices
	CPU    int64  `json:"cpuMilli,omitempty"`
	Memory int64  `json:"memoryBytes,omitempty"`
}

// Of is what is reserved of a resource, in the units of quotas.
func (e *Earmark) Of(r Resource) float64 {
	switch r {
	case CPU:
		return float64(e.CPU) / 1000
	case Memory:
		return float64(e.Memory)
	default:
		return float64(e.GPU) / 1000
	}
}

// Attempt is one try at executing a workload, numbered from 0.
type Attempt struct {
	Index     int              `json:"index"`
	QueuedAt  time.Time        `json:"queuedAt,omitzero"`
	StartedAt time.Time        `json:"startedAt,omitzero"` // entered Starting
	RunningAt time.Time        `json:"runningAt,omitzero"`
	EndedAt   time.Time        `json:"endedAt,omitzero"` // left Terminating
	ExitCode  *int             `json:"exitCode,omitempty"`
	Event     lifecycle.Event  `json:"event,omitempty"` // that ended it
	Cause     lifecycle.Cause  `json:"cause,omitempty"` // of that event
	Reason    lifecycle.Reason `json:"reason,omitempty"`
	Message   string           `json:"message,omitempty"`
	Culprit   *int             `json:"culprit,omitempty"`  // index of the first failed task
	Port      int              `json:"port,omitempty"`     // rendezvous port of a gang
	Todo      []int            `json:"todo,omitzero"`      // indexes that an array's retry still has to do; nil: all
	Next      int              `json:"next,omitempty"`     // index of the next replica; they are never used twice in an attempt
	GPUMilli  int64            `json:"gpuMilli,omitempty"` // thousandths of devices held at present, all tasks
	Part      int              `json:"part,omitempty"`     // thousandths of each of its GPUs that the memory it asked of them came to; 0: it asked for none, or had no place
	Anew      bool             `json:"anew,omitempty"`     // the workload had ended, and was run again with it
	// SavedAt and SavedStep are of the last checkpoint that its tasks told of.
	SavedAt   time.Time `json:"savedAt,omitzero"`
	SavedStep int64     `json:"savedStep,omitempty"`
	Step      int64     `json:"step,omitempty"`    // the last that its tasks told of
	Booked    *Booking  `json:"booked,omitempty"`  // nil: no time to start is known
	Earmark   *Earmark  `json:"earmark,omitempty"` // nil: no quota is reserved for it; nobody changes it
	// Revised is what of the document was changed in the attempt or after it,
	// and so before the next; nobody changes it.
	Revised []spec.Change `json:"revised,omitempty"`
}

// Condition is a fact beside a phase.
type Condition struct {
	Type    lifecycle.ConditionType  `json:"type"`
	Cause   lifecycle.ConditionCause `json:"cause,omitempty"` // what it comes from, where that decides anything
	Reason  string                   `json:"reason,omitempty"`
	Message string                   `json:"message,omitempty"`
	Since   time.Time                `json:"since"`
}

// TaskState is where one task is.
type TaskState string

// The states of a task.
const (
	TaskPending   TaskState = "pending"   // has no place yet
	TaskStarting  TaskState = "starting"  // placed; the backend is bringing it up
	TaskRunning   TaskState = "running"   // its command runs
	TaskStopping  TaskState = "stopping"  // was told to end
	TaskSucceeded TaskState = "succeeded" // ended with exit code 0
	TaskFailed    TaskState = "failed"    // ended otherwise
	TaskLost      TaskState = "lost"      // gone, and nobody saw how
)

// Pull is how far the pull of an image is. Bytes are those that are downloaded;
// layers that were there before count as whole.
type Pull struct {
	Layers int   `json:"layers,omitempty"`
	Done   int   `json:"done,omitempty"` // layers
	Bytes  int64 `json:"bytes,omitempty"`
	Total  int64 `json:"total,omitempty"` // 0: nobody knows yet
}

// Ended reports whether a task in s will not change any more.
func (s TaskState) Ended() bool { return s == TaskSucceeded || s == TaskFailed || s == TaskLost }

// Held reports whether a task in s keeps the devices it was given.
func (s TaskState) Held() bool { return s == TaskStarting || s == TaskRunning || s == TaskStopping }

// Task is the record of one run of one task of one attempt.
type Task struct {
	ID       TaskID    `json:"-"`
	Role     string    `json:"role"` // task, master, launcher, worker, replica
	Backend  string    `json:"plane,omitempty"`
	Node     NodeID    `json:"node,omitempty"`
	Pool     string    `json:"pool,omitempty"` // of its node, when it was placed
	Devices  []Share   `json:"devices,omitempty"`
	Product  string    `json:"product,omitempty"`     // of the first of its devices, as that called itself when it was placed
	CPU      int64     `json:"cpuMilli,omitempty"`    // that it was placed with, whatever its document says by now
	Memory   int64     `json:"memoryBytes,omitempty"` // likewise
	Counted  string    `json:"counted,omitempty"`     // likewise: what it holds by count, partitions and extended resources, as NAME=COUNT with commas
	State    TaskState `json:"state"`
	Waiting  string    `json:"waiting,omitempty"` // the backend's word while starting: ContainerCreating, ErrImagePull, Init:0/1 …
	Stages   []Stage   `json:"stages,omitempty"`  // what it has waited with; nobody changes one
	Pull     *Pull     `json:"pull,omitempty"`    // how far its image is, while that is pulled; nobody changes it
	Image    string    `json:"image,omitempty"`   // digest of the image that it runs in, or ran in
	ExitCode *int      `json:"exitCode,omitempty"`
	Signal   int       `json:"signal,omitempty"`
	// Class is what sort of failure ended it, and Reason the word of its backend.
	Class     lifecycle.FailureClass `json:"class,omitempty"`
	Reason    string                 `json:"reason,omitempty"`
	Message   string                 `json:"message,omitempty"`
	PlacedAt  time.Time              `json:"placedAt,omitzero"`
	StartedAt time.Time              `json:"startedAt,omitzero"`
	EndedAt   time.Time              `json:"endedAt,omitzero"`
	// RestartedAt is when it was last started again in place; what the backend
	// saw before that is about the run before.
	RestartedAt time.Time `json:"restartedAt,omitzero"`
	Restarts    int       `json:"restarts,omitempty"`
	// SeenAt is the time, by its backend's clock, of the last that the backend said
	// of it; FormerAt is SeenAt of the run before the last restart in place.
	// Clocks of two machines are never compared.
	SeenAt   time.Time `json:"seenAt,omitzero"`
	FormerAt time.Time `json:"formerAt,omitzero"`
	// RestartAt is when it is to be started again in place, once it has ended.
	RestartAt time.Time `json:"restartAt,omitzero"`
	// ReleasedAt is when its devices were given back; they are charged from
	// PlacedAt until then.
	ReleasedAt time.Time `json:"releasedAt,omitzero"`
	Port       int       `json:"port,omitempty"`     // a replica's own port, in $PORT; 0: it has none
	Failures   int       `json:"failures,omitempty"` // in a row, of one that is restarted in place
	Ready      bool      `json:"ready,omitempty"`    // a replica that takes requests
	Generation int       `json:"edition,omitempty"`  // of the document that it was started from
	Leaving    bool      `json:"leaving,omitempty"`  // it is not wanted any more, or not there
	Again      bool      `json:"again,omitempty"`    // it had to leave an array, and waits to be run again under its index
	Repeat     bool      `json:"repeat,omitempty"`   // somebody wants it run again in its array, however it ends
	Away       bool      `json:"away,omitempty"`     // a replica that another one elsewhere takes over from, since its node is drained
	Closed     bool      `json:"closed,omitempty"`   // others have taken its place: it is history, and its charge with the workload
	// Claim is the backend's key of what someone else made that it is, and Name what
	// that is called there.
	Claim string `json:"claim,omitempty"`
	Name  string `json:"name,omitempty"`
	// Steps are what srun has started in its batch script, in their order; nobody
	// changes one.
	Steps []JobStep `json:"steps,omitempty"`
}

// Stage is a word that a task has waited with while it started, beside that its
// container is made: Init:0/1, ErrImagePull …
type Stage struct {
	Word    string    `json:"word"`
	Message string    `json:"message,omitempty"` // the last time
	At      time.Time `json:"at"`                // the first time
	Last    time.Time `json:"last"`
	Count   int       `json:"count"`
}

// Stands is as what a task counts by its last run: its state, pending where it had
// to leave and waits to be run again, and nothing where others have taken its place.
func (t *Task) Stands() TaskState {
	switch {
	case t.Closed:
		return ""
	case t.Again:
		return TaskPending
	}
	return t.State
}

// Share is a part of one device held by one task: Milli thousandths of it.
type Share struct {
	Device string `json:"device"` // the device's ID on its node
	Index  int    `json:"index"`
	Milli  int    `json:"milli"`
}

// Transition is one recorded step of a workload. The list of transitions is
// its history; every figure about it is derived from that list.
type Transition struct {
	Seq      int64            `json:"seq"` // commit order over all workloads
	Workload WorkloadID       `json:"workload"`
	Attempt  int              `json:"attempt"`
	From     lifecycle.Phase  `json:"from"`
	Event    lifecycle.Event  `json:"event"`
	To       lifecycle.Phase  `json:"to"`
	Target   lifecycle.Phase  `json:"target,omitempty"`
	Cause    lifecycle.Cause  `json:"cause,omitempty"` // on whose account; empty: the workload's own, or an old record
	For      WorkloadID       `json:"for,omitempty"`   // the workload that gets the room
	Reason   lifecycle.Reason `json:"reason,omitempty"`
	Message  string           `json:"message,omitempty"`
	Actor    string           `json:"actor"` // user:NAME, scheduler, backend:NAME, control
	At       time.Time        `json:"at"`
}

// Node is a machine, or a Kubernetes node, that runs tasks.
type Node struct {
	ID      NodeID            `json:"id"`
	Backend string            `json:"plane"`
	Pool    string            `json:"pool"`
	Labels  map[string]string `json:"labels,omitempty"`
	Address string            `json:"address,omitempty"` // where its tasks reach one another
	Ready   bool              `json:"ready"`
	Message string            `json:"message,omitempty"` // why it is not ready
	Cordon  bool              `json:"cordon,omitempty"`  // it takes nothing new
	Drain   bool              `json:"drain,omitempty"`   // and what ran on it was told to move
	CutOff  bool              `json:"cutOff,omitempty"`  // its backend does not answer: it takes nothing new, and what runs there runs on
	Taints  []Taint           `json:"taints,omitempty"`
	CPU     int64             `json:"cpuMilli"`        // allocatable, thousandths of cores
	Memory  int64             `json:"memoryBytes"`     // allocatable
	Tasks   int               `json:"tasks,omitempty"` // most tasks that it takes at once; 0: no bound
	Devices []Device          `json:"devices,omitempty"`
	Links   Links             `json:"links,omitempty"` // how close the devices are to one another; empty: nobody knows
	// MIG counts its partitions of devices by profile, such as 1g.10gb.
	// MIGStrategy is how its device plugin offers them: single, mixed or none;
	// empty: it has none.
	MIG         map[string]int `json:"mig,omitempty"`
	MIGStrategy string         `json:"migStrategy,omitempty"`
	// Whole says that it gives its devices only whole: no part of one can be had.
	Whole bool `json:"whole,omitempty"`
	// Extra counts what else can be asked for there, by name: extended resources
	// such as rdma/hca, and of the rest, such as ephemeral-storage, what someone
	// asks for.
	Extra map[string]int `json:"extra,omitempty"`
	// Others is what work holds there that we did not place.
	Others Others `json:"others,omitzero"`
}

// Others is what work holds of a node that others placed there.
type Others struct {
	CPU    int64 `json:"cpuMilli,omitempty"`
	Memory int64 `json:"memoryBytes,omitempty"`
	Tasks  int   `json:"tasks,omitempty"`
	// Milli is how much of each device they hold, in thousandths, in the order
	// of the node's devices; it may be shorter.
	Milli []int          `json:"devicesMilli,omitempty"`
	MIG   map[string]int `json:"mig,omitempty"`   // partitions, by profile
	Extra map[string]int `json:"extra,omitempty"` // as of the node
}

// Labels that nodes have from us, beside their own.
const (
	// LabelCluster is the name of the node's backend.
	LabelCluster = "muster.dev/cluster"
	// LabelRuns says what a node can run where it cannot run everything:
	// RunsImages or RunsProcesses.
	LabelRuns     = "muster.dev/runs"
	RunsImages    = "images"
	RunsProcesses = "processes"
	// OutOfReach is the value of a label of VolumeLabel or UnwelcomeLabel.
	OutOfReach = "out-of-reach"
	// unwelcome begins the labels of UnwelcomeLabel.
	unwelcome = "muster.dev/unwelcome."
)

// VolumeLabel is a label of nodes where the volume of a claim of a project cannot
// be used; its value is OutOfReach. Only claims that tasks asked for need be told.
func VolumeLabel(project ProjectID, claim string) string {
	return "muster.dev/volume." + string(project) + "." + claim
}

// UnwelcomeLabel is a label of nodes where others keep tasks of a workload away;
// its value is OutOfReach. Only workloads that were to run there need be told.
func UnwelcomeLabel(w WorkloadID) string { return unwelcome + string(w) }

// UnwelcomeAt are the workloads of which a node says that they are kept away.
func (n *Node) UnwelcomeAt() []WorkloadID {
	var out []WorkloadID
	for label := range n.Labels {
		if id, ok := strings.CutPrefix(label, unwelcome); ok {
			out = append(out, WorkloadID(id))
		}
	}
	return out
}

// None reports whether nobody else holds anything.
func (o Others) None() bool {
	return o.CPU == 0 && o.Memory == 0 && o.Tasks == 0 && len(o.Milli) == 0 && len(o.MIG) == 0 && len(o.Extra) == 0
}

// Device is one GPU.
type Device struct {
	ID      string `json:"id"` // UUID, or fake-0
	Index   int    `json:"index"`
	Product string `json:"product"`
	Memory  int64  `json:"memoryBytes"`
	Fake    bool   `json:"fake,omitempty"` // named as such wherever it shows
	Healthy bool   `json:"healthy"`
}

// Product is what devices of a node are, by the first of them; of partitions, which
// name none, by the first of the node.
func (n *Node) Product(devices []Share, counted string) string {
	if Milli(devices, counted) == 0 {
		return ""
	}
	for i := range n.Devices {
		if len(devices) == 0 || n.Devices[i].ID == devices[0].Device {
			return n.Devices[i].Product
		}
	}
	return ""
}

// Bit is 1 for true and 0 for false: what is counted by adding.
func Bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Grace is what the tasks of w get to end by themselves.
func (w *Workload) Grace() time.Duration {
	if w.EndGrace > 0 {
		return w.EndGrace
	}
	return w.Spec.GracePeriod.Std()
}
