package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/amount"
)

// Token names why a job waits. Tokens are API; texts are made from the data.
type Token string

// The reasons for waiting.
const (
	NeverFits          Token = "NeverFits"
	QueueStopped       Token = "QueueStopped"
	QueueNotFound      Token = "QueueNotFound"
	OverBudget         Token = "OverBudget"
	WaitingForCapacity Token = "WaitingForCapacity"
	Fragmented         Token = "Fragmented"
	NoNodes            Token = "NoNodes"
	RetryBackoff       Token = "RetryBackoff"
	AdmissionChecks    Token = "AdmissionChecks"
	Dependency         Token = "Dependency"
	BeginTime          Token = "BeginTime"
	HeldBack           Token = "Held"
	ImageBuild         Token = "ImageBuild"
	ImagePull          Token = "ImagePull"
	Initializing       Token = "Initializing"
	NotYetEvaluated    Token = "NotYetEvaluated"
	PlanningFailed     Token = "PlanningFailed"
	// Of what others have made.
	Barred     Token = "Barred"
	Incomplete Token = "Incomplete"

	WaitingForLicense       Token = "WaitingForLicense"
	NotLent                 Token = "NotLent"
	OverLimit               Token = "OverLimit"
	BorrowingTimeLimit      Token = "BorrowingTimeLimit"
	NonPreemptibleOverQuota Token = "NonPreemptibleOverQuota"
	WaitingForQuota         Token = "WaitingForQuota"
	WaitingForPreemption    Token = "WaitingForPreemption"
	TopologyUnsatisfied     Token = "TopologyUnsatisfied"
	Reserved                Token = "Reserved"
	InReservation           Token = "Reservation"
)

// Tokens returns every reason for waiting, most severe first.
func Tokens() []Token {
	return []Token{
		PlanningFailed, QueueNotFound, Barred, NeverFits, QueueStopped, HeldBack, OverBudget, NonPreemptibleOverQuota, OverLimit, BorrowingTimeLimit, NotLent, WaitingForLicense, AdmissionChecks, Dependency, BeginTime, Incomplete, NoNodes, InReservation,
		WaitingForCapacity, TopologyUnsatisfied, Fragmented, WaitingForQuota, Reserved, WaitingForPreemption, RetryBackoff,
		ImageBuild, ImagePull, Initializing, NotYetEvaluated,
	}
}

// Reason is one blocker, as data first; String makes the English line.
type Reason struct {
	Token    Token  `json:"token"`
	Resource string `json:"resource,omitempty"` // gpu, cpu, memory, tasks, or a name by which nodes count: of a partition, or an extended resource
	// Amounts are in devices, thousandths of cores, bytes or tasks.
	Requested int64  `json:"requested,omitempty"` // by one task
	Needed    int64  `json:"needed,omitempty"`    // by all tasks that must start together
	Free      int64  `json:"free,omitempty"`      // in all, on nodes that are fit
	Largest   int64  `json:"largest,omitempty"`   // free on the best node; for NeverFits: the best node's whole
	Total     int64  `json:"total,omitempty"`
	Tasks     int64  `json:"tasks,omitempty"`   // tasks that must start together
	Fitting   int64  `json:"fitting,omitempty"` // of these, how many would fit now
	Nodes     int    `json:"nodes,omitempty"`   // nodes that lack it
	Without   int    `json:"without,omitempty"` // of these, those that have none at all, of what is counted by name
	OfNodes   int    `json:"ofNodes,omitempty"` // nodes looked at
	Type      string `json:"type,omitempty"`    // GPU type asked for
	Pool      string `json:"pool,omitempty"`
	Note      string `json:"note,omitempty"`
	Excluded  int    `json:"excluded,omitempty"` // nodes whose labels, taints or kind do not suit
	Whole     int    `json:"whole,omitempty"`    // of these, those that give GPUs only whole where a part is asked for
	// Taken is how many nodes are taken by work that wants them to itself.
	Taken int `json:"taken,omitempty"`
	// Barred says in words which whole clusters are out of the question, or out
	// of reach; their nodes are not among Excluded. Who explains adds it.
	Barred string `json:"barred,omitempty"`
	// Beside is how many of Fitting come beside the workers that a document counts,
	// as the launcher of mpi. Who explains adds it.
	Beside  int64  `json:"beside,omitempty"`
	Domain  string `json:"domain,omitempty"`  // level of the network within which all must be, or each segment
	Segment int64  `json:"segment,omitempty"` // tasks of each segment, where these find no room; Tasks and Fitting are then of segments

	// Label is the label of nodes that is at fault, and Nearest the one that there
	// is, KEY=VALUE, which is written most like it. Taint is what keeps it off the
	// nodes that have the label.
	Label   string `json:"label,omitempty"`
	Nearest string `json:"nearest,omitempty"`
	Taint   string `json:"taint,omitempty"`

	// Where a part of each GPU is asked for, in thousandths of one: Part is asked
	// of each, FreeParts are free of all GPUs together, LargestPart of the freest.
	Part        int64 `json:"part,omitempty"`
	FreeParts   int64 `json:"freeParts,omitempty"`
	LargestPart int64 `json:"largestPart,omitempty"`

	// Of quotas and limits; devices in thousandths.
	Queue     core.ProjectID `json:"queue,omitempty"`
	User      string         `json:"user,omitempty"`
	Allocated int64          `json:"allocated,omitempty"` // by the queue, or of it by what is never displaced
	Reserved  int64          `json:"reserved,omitempty"`  // of Allocated, for those that wait for their checks and hold nothing yet
	Quota     int64          `json:"quota,omitempty"`
	Limit     int64          `json:"limit,omitempty"`
	Share     int64          `json:"share,omitempty"` // its fair share at present

	// Holders are who holds the most of a license.
	Holders []Holder `json:"holders,omitempty"`

	// For is whose room is kept, until the instant Until (unix ms) at which that
	// one starts.
	For   core.WorkloadID `json:"for,omitempty"`
	Until int64           `json:"until,omitempty"`
	// Reservation is what keeps nodes, from From until Until; Limit is then the
	// most that the workload may run, in ms, 0: nobody knows.
	Reservation string `json:"reservation,omitempty"`
	From        int64  `json:"from,omitempty"`
	// Endless says that no end that is known, nor the bound on waiting, makes its
	// room. Who explains adds it, once that has been looked at.
	Endless bool `json:"endless,omitempty"`
	// Patient is before when (unix ms) it displaces nobody by its own wish; 0: it
	// need not wait.
	Patient int64 `json:"patient,omitempty"`
	// Unsaved is how much of devices, in thousandths, is held by work that would
	// lose too much if it left, since it makes no checkpoints.
	Unsaved int64 `json:"unsaved,omitempty"`
	// Younger is how much of devices, in thousandths, is held by work that has had
	// less than this one will probably take, which is Takes, in ms, or that had to
	// leave before.
	Younger int64 `json:"younger,omitempty"`
	Takes   int64 `json:"takes,omitempty"`
	// Remedy is the next step, where only who explains knows it.
	Remedy string `json:"remedy,omitempty"`
	// Blocks are the largest domains of which all of it must be in one, the
	// roomiest first.
	Blocks []Block `json:"blocks,omitempty"`
}

// Block is the room in one domain of the network.
type Block struct {
	Name    string `json:"name"`
	Free    int64  `json:"free"`    // of the resource
	Fitting int64  `json:"fitting"` // tasks
}

func (r Reason) Amount(n int64) string {
	switch r.Resource {
	case "cpu":
		return amount.Thousandths(n) + " CPU"
	case "memory":
		return amount.Bytes(n) + " memory"
	case "gpu":
		kind := "GPU"
		if n != 1 {
			kind = "GPUs"
		}
		if r.Type != "" {
			kind = r.Type + " " + kind
		}
		return fmt.Sprintf("%d %s", n, kind)
	default:
		if n == 1 && !r.named() {
			return "1 " + strings.TrimSuffix(r.Resource, "s")
		}
		return fmt.Sprintf("%d %s", n, r.Resource)
	}
}

// RunningWorkloads is what a limit of workloads that run at once is about.
const RunningWorkloads = "running workloads"

// named reports whether r is about what nodes count by a name that is not ours.
func (r Reason) named() bool {
	return !slices.Contains([]string{"", "gpu", "cpu", "memory", "tasks", "nodes", "pool", RunningWorkloads}, r.Resource)
}

// QuotaAmount is an amount of a quota.
func (r Reason) QuotaAmount(n int64) string {
	if r.Resource == "gpu" {
		return amount.Thousandths(n) + " GPU"
	}
	return r.Amount(n)
}

func (r Reason) whose() string {
	switch {
	case r.User != "" && r.Queue == "":
		return r.User + " in all projects together"
	case r.User != "":
		return fmt.Sprintf("%s in %s", r.User, r.Queue)
	}
	return string(r.Queue)
}

// keptForChecks says how much of what a queue has is only reserved.
func (r Reason) keptForChecks() string {
	switch {
	case r.Reserved <= 0:
		return ""
	case r.Reserved >= r.Allocated:
		return " (all of it reserved for what waits for its checks)"
	}
	return fmt.Sprintf(" (%s of it reserved for what waits for its checks)", r.QuotaAmount(r.Reserved))
}

// excluded says how many nodes are out of the question, and which clusters.
func (r Reason) excluded() string {
	only := ""
	switch {
	case r.Whole > 0 && r.Whole == r.Excluded:
		only = " (GPUs there are given only whole)"
	case r.Whole > 0:
		only = fmt.Sprintf(" (%d of them: GPUs there are given only whole)", r.Whole)
	}
	switch r.Excluded {
	case 0:
		return r.barred()
	case 1:
		return "; the labels, taints or kind of 1 more node do not suit" + only + r.barred()
	default:
		return fmt.Sprintf("; the labels, taints or kind of %d more nodes do not suit", r.Excluded) + only + r.barred()
	}
}

// without says how many nodes have none at all of what is counted by name.
func (r Reason) without() string {
	switch r.Without {
	case 0:
		return ""
	case 1:
		return ", 1 has none at all"
	default:
		return fmt.Sprintf(", %d have none at all", r.Without)
	}
}

// whole says how many nodes would give GPUs, and no parts of them.
func (r Reason) whole() string {
	switch r.Whole {
	case 0:
		return ""
	case 1:
		return "; 1 more node gives GPUs only whole, and it asks for a part"
	default:
		return fmt.Sprintf("; %d more nodes give GPUs only whole, and it asks for a part", r.Whole)
	}
}

func (r Reason) barred() string {
	if r.Barred == "" {
		return ""
	}
	return "; " + r.Barred
}

// String is one English line with the numbers.
func (r Reason) String() string {
	switch r.Token {
	case NeverFits:
		if r.Barred != "" && r.OfNodes == 0 {
			return "never fits: " + r.Barred
		}
		if r.Resource == "pool" || r.Resource == ResourceNodes {
			return "never fits: " + r.Note + r.barred()
		}
		if r.Resource == ResourceApart {
			return fmt.Sprintf("never fits: its %d tasks must be apart from each other by %s, and %s", r.Tasks, r.Label, r.domains())
		}
		if r.Resource == ResourceNear {
			return fmt.Sprintf("never fits: its %d tasks must all be on nodes with the same %s, and no such nodes have room for more than %d even when empty", r.Tasks, r.Label, r.Fitting)
		}
		if r.Segment > 0 {
			return "never fits: " + r.segments("even when empty")
		}
		if r.Domain != "" {
			return fmt.Sprintf("never fits: its %d tasks must be in one %s, and none is large enough even when empty", r.Tasks, r.Domain)
		}
		if r.Resource == "tasks" && r.Fitting == 0 {
			return fmt.Sprintf("never fits: none of %d nodes has all at once that each task asks for, even when empty", r.OfNodes) + r.excluded()
		}
		if r.Resource == "tasks" {
			return fmt.Sprintf("never fits: its %d tasks must start together, and all nodes together have room for %d even when empty", r.Tasks, r.Fitting) + suffix(r.Note) + r.barred()
		}
		who := "the only node"
		if r.OfNodes != 1 {
			who = fmt.Sprintf("the largest of %d nodes", r.OfNodes)
		}
		if r.named() && r.Largest == 0 {
			if r.OfNodes != 1 {
				who = fmt.Sprintf("none of %d nodes has any", r.OfNodes)
			} else {
				who += " has none"
			}
			return fmt.Sprintf("never fits: each task asks for %s, and %s", r.Amount(r.Requested), who) + r.excluded()
		}
		others := r.whole()
		if others == "" {
			others = r.excluded()
		} else {
			others += r.barred()
		}
		return fmt.Sprintf("never fits: each task asks for %s, %s has %s in all", r.Amount(r.Requested), who, r.Amount(r.Largest)) + others
	case WaitingForCapacity:
		if r.Part > 0 {
			return r.parts() + r.excluded() + suffix(r.Note)
		}
		lack := ""
		if r.OfNodes > 1 {
			lack = fmt.Sprintf(" (%d of %d nodes lack it%s)", r.Nodes, r.OfNodes, r.without())
		}
		free, all := r.Amount(r.Free), r.Amount(r.Total)
		if r.named() {
			free, all = fmt.Sprint(r.Free), fmt.Sprint(r.Total)
		}
		return fmt.Sprintf("waits for %s: needs %s, free %s of %s", r.Resource, r.Amount(r.Needed), free, all) + lack + r.taken() + r.excluded() + suffix(r.Note)
	case Fragmented:
		if r.Part > 0 {
			return r.parts() + r.barred()
		}
		return fmt.Sprintf("free %s in all is enough for the %s it needs, but scattered: %d of its %d tasks would fit now, the largest free block is %s",
			r.Amount(r.Free), r.Amount(r.Needed), r.Fitting, r.Tasks, r.Amount(r.Largest)) + r.barred()
	case TopologyUnsatisfied:
		if r.Segment > 0 {
			return r.segments("now") + fmt.Sprintf(", while %s are free in all", r.Amount(r.Free)) + r.blocks()
		}
		return fmt.Sprintf("its %d tasks must be in one %s: the best has room for %d now, while %s are free in all", r.Tasks, r.Domain, r.Fitting, r.Amount(r.Free)) + r.blocks()
	case NotLent:
		return fmt.Sprintf("what is free is not lent: %s are free, %s stay so for %s and others that do not lend all of their quota, and this asks for %s", r.QuotaAmount(r.Allocated), r.QuotaAmount(r.Quota), r.Queue, r.QuotaAmount(r.Requested))
	case WaitingForLicense:
		return r.license()
	case OverLimit:
		return fmt.Sprintf("over the limit of %s: it holds %s of at most %s%s, and this asks for %s", r.whose(), r.QuotaAmount(r.Allocated), r.QuotaAmount(r.Limit), r.keptForChecks(), r.QuotaAmount(r.Requested))
	case NonPreemptibleOverQuota:
		return fmt.Sprintf("not preemptible, so it must be inside the quota of %s: %s of %s are held by such work, and this asks for %s; a preemptible workload could go over the quota",
			r.Queue, r.QuotaAmount(r.Allocated), r.QuotaAmount(r.Quota), r.QuotaAmount(r.Requested))
	case BorrowingTimeLimit:
		return fmt.Sprintf("beyond the quota of %s only work may run that ends within %v: it holds %s of %s, and this asks for %s", r.Queue, r.borrowing(), r.QuotaAmount(r.Allocated), r.QuotaAmount(r.Quota), r.QuotaAmount(r.Requested))
	case WaitingForQuota:
		return fmt.Sprintf("%s holds %s of %s guaranteed, and its fair share is %s at present: it cannot take %s more from others, only what is free",
			r.Queue, r.QuotaAmount(r.Allocated), r.QuotaAmount(r.Quota), r.QuotaAmount(r.Share), r.QuotaAmount(r.Requested))
	case WaitingForPreemption:
		return "has its place: it starts once those have left who were told to" + suffix(r.Note)
	case Reserved:
		return "what is free is kept for those ahead" + suffix(r.Note)
	case InReservation:
		return r.kept()
	case NoNodes:
		return "no node is ready" + suffix(r.Note) + r.barred()
	case QueueStopped:
		return "its queue is stopped" + suffix(r.Note)
	case OverBudget:
		return cmp.Or(r.Note, "a budget is used up")
	case QueueNotFound:
		return "its project does not exist" + suffix(r.Note)
	case RetryBackoff:
		return "waits before it is tried again" + suffix(r.Note)
	case AdmissionChecks:
		if r.Note != "" {
			return r.Note
		}
		return "waits to be approved"
	case Dependency:
		return "waits for " + r.Note
	case HeldBack:
		return "is " + r.Note
	case BeginTime:
		return "waits for its time" + suffix(r.Note)
	case ImageBuild:
		return "its image is being built" + suffix(r.Note)
	case ImagePull:
		return "its image is being pulled" + suffix(r.Note)
	case Initializing:
		return "its tasks are being started" + suffix(r.Note)
	case Barred:
		return "may not be placed" + suffix(r.Note)
	case Incomplete:
		return "waits for its other pods" + suffix(r.Note)
	case PlanningFailed:
		return r.failed()
	case NotYetEvaluated:
		return "has not been looked at yet" + suffix(r.Note)
	default:
		return string(r.Token) + suffix(r.Note)
	}
}

// blocks names the roomiest domains.
func (r Reason) blocks() string {
	if len(r.Blocks) == 0 {
		return ""
	}
	var parts []string
	for _, b := range r.Blocks {
		parts = append(parts, fmt.Sprintf("%s has %s free", b.Name, r.Amount(b.Free)))
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func suffix(note string) string {
	if note == "" {
		return ""
	}
	return ": " + note
}

// Explanation is why one job waits, where it stands and who is ahead.
type Explanation struct {
	Reasons  []Reason
	Position int               // in its queue, from 1
	Waiting  int               // jobs waiting in its queue
	Ahead    []core.WorkloadID // the first few that go before it
	Checked  []Check           // what was looked at and does not stand in its way
	// EarliestStart is the first instant (unix milliseconds) at which enough
	// will be free, from the known ends of what runs; 0: unknown.
	EarliestStart int64
}

// Check is something that was looked at and is fine.
type Check struct {
	What string `json:"what"` // queue, priority, limits, quota, size, nodes, topology, gpu, cpu, memory
	Note string `json:"note,omitempty"`
}
