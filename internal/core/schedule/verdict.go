package schedule

import (
	"fmt"
	"strings"

	"github.com/musterhq/muster/internal/core"
)

// Token names why a job waits. Tokens are API; texts are made from the data.
type Token string

// The reasons for waiting.
const (
	NeverFits          Token = "NeverFits"
	QueueStopped       Token = "QueueStopped"
	QueueNotFound      Token = "QueueNotFound"
	WaitingForCapacity Token = "WaitingForCapacity"
	Fragmented         Token = "Fragmented"
	NoNodes            Token = "NoNodes"
	RetryBackoff       Token = "RetryBackoff"
	AdmissionChecks    Token = "AdmissionChecks"
	NotYetEvaluated    Token = "NotYetEvaluated"
)

// Tokens returns every reason for waiting, most severe first.
func Tokens() []Token {
	return []Token{QueueNotFound, NeverFits, QueueStopped, NoNodes, WaitingForCapacity, Fragmented, RetryBackoff, NotYetEvaluated}
}

// Verdict says why a class waits. It is true of the snapshot it came from.
type Verdict struct {
	Reasons []Reason
}

// Reason is one blocker, as data first; String makes the English line.
type Reason struct {
	Token    Token  `json:"token"`
	Resource string `json:"resource,omitempty"` // gpu, cpu, memory, tasks
	// Amounts are in devices, thousandths of cores, bytes or tasks.
	Requested int64  `json:"requested,omitempty"` // by one task
	Needed    int64  `json:"needed,omitempty"`    // by all tasks that must start together
	Free      int64  `json:"free,omitempty"`      // in all, on nodes that are fit
	Largest   int64  `json:"largest,omitempty"`   // free on the best node; for NeverFits: the best node's whole
	Total     int64  `json:"total,omitempty"`
	Tasks     int64  `json:"tasks,omitempty"`   // tasks that must start together
	Fitting   int64  `json:"fitting,omitempty"` // of these, how many would fit now
	Nodes     int    `json:"nodes,omitempty"`   // nodes that lack it
	OfNodes   int    `json:"ofNodes,omitempty"` // nodes looked at
	Type      string `json:"type,omitempty"`    // GPU type asked for
	Pool      string `json:"pool,omitempty"`
	Note      string `json:"note,omitempty"`
}

func (r Reason) amount(n int64) string {
	switch r.Resource {
	case "cpu":
		return milli(n) + " CPU"
	case "memory":
		return bytes(n) + " memory"
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
		return fmt.Sprintf("%d %s", n, r.Resource)
	}
}

// String is one English line with the numbers.
func (r Reason) String() string {
	switch r.Token {
	case NeverFits:
		if r.Resource == "tasks" && r.Fitting == 0 {
			return fmt.Sprintf("never fits: none of %d nodes has all at once that each task asks for, even when empty", r.OfNodes)
		}
		if r.Resource == "tasks" {
			return fmt.Sprintf("never fits: its %d tasks must start together, and all nodes together have room for %d even when empty", r.Tasks, r.Fitting)
		}
		who := "the only node"
		if r.OfNodes != 1 {
			who = fmt.Sprintf("the largest of %d nodes", r.OfNodes)
		}
		return fmt.Sprintf("never fits: each task asks for %s, %s has %s in all", r.amount(r.Requested), who, r.amount(r.Largest))
	case WaitingForCapacity:
		lack := ""
		if r.OfNodes > 1 {
			lack = fmt.Sprintf(" (%d of %d nodes lack it)", r.Nodes, r.OfNodes)
		}
		return fmt.Sprintf("waits for %s: needs %s, free %s of %s",
			r.Resource, r.amount(r.Needed), r.amount(r.Free), r.amount(r.Total)) + lack + suffix(r.Note)
	case Fragmented:
		return fmt.Sprintf("free %s in all is enough for the %s it needs, but scattered: %d of its %d tasks would fit now, the largest free block is %s",
			r.amount(r.Free), r.amount(r.Needed), r.Fitting, r.Tasks, r.amount(r.Largest))
	case NoNodes:
		return "no node is ready" + suffix(r.Note)
	case QueueStopped:
		return "its queue is stopped" + suffix(r.Note)
	case QueueNotFound:
		return "its project does not exist" + suffix(r.Note)
	case RetryBackoff:
		return "waits before it is tried again" + suffix(r.Note)
	case NotYetEvaluated:
		return "has not been looked at yet" + suffix(r.Note)
	default:
		return string(r.Token) + suffix(r.Note)
	}
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
	// EarliestStart is the first instant (unix milliseconds) at which enough
	// will be free, from the known ends of what runs; 0: unknown.
	EarliestStart int64
}

func milli(n int64) string {
	if n%1000 == 0 {
		return fmt.Sprint(n / 1000)
	}
	return strings.TrimRight(fmt.Sprintf("%d.%03d", n/1000, n%1000), "0")
}

func bytes(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	v, words := float64(n), []string{"KiB", "MiB", "GiB", "TiB", "PiB"}
	word := ""
	for _, w := range words {
		if v < unit {
			break
		}
		v, word = v/unit, w
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") + " " + word
}
