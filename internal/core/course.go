package core

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core/lifecycle"
)

// Course is what a workload has come to beside its phase.
type Course struct {
	// As is the user of the operating system who submitted it, as the kernel or an
	// administrator's mapping said it, on a server whose tasks run as who submitted them.
	As *OSUser `json:"as,omitempty"`
	// Bounds are what its project and all above it demanded when its document became
	// its own; replaced, never changed. nil: that was before they were kept, and what
	// they demand now holds.
	Bounds *Bounds      `json:"bounds,omitempty"`
	Image  string       `json:"image,omitempty"`  // that was built for it; empty: the document's
	Checks []CheckState `json:"checks,omitempty"` // of the present attempt
	// Replicas is how many an inference workload wants; Generation the number of
	// its document, from 0, which grows with every update.
	Replicas   int `json:"replicas,omitempty"`
	Generation int `json:"edition,omitempty"`
	// ServicePort is where its one stable address listens; 0: it has none.
	ServicePort int        `json:"servicePort,omitempty"`
	RuleUses    []int      `json:"ruleUses,omitempty"` // how often each retry rule has tried again
	Published   *Published `json:"published,omitempty"`
	IdleSince   time.Time  `json:"idleSince,omitzero"` // since when none of its GPUs has done anything
	// Warned is the end that DeadlineNear was last shown for.
	Warned time.Time `json:"warned,omitzero"`
	// AtRisk is when it was warned that its deadline may be missed, Missed when
	// that has passed.
	AtRisk time.Time `json:"atRisk,omitzero"`
	Missed time.Time `json:"missed,omitzero"`
	// AskAt is when the next check is asked again.
	AskAt time.Time `json:"askAt,omitzero"`
	// Canceled are the tasks of an array that were stopped by themselves, sorted.
	Canceled []int `json:"canceled,omitempty"`
	// HeldTasks are those that a person keeps from starting, while the others go on.
	HeldTasks []IndexRange `json:"heldTasks,omitempty"`
	Hold      *Hold        `json:"hold,omitempty"` // nil: nobody holds it
	// Again is who asked, while it was being ended, that it runs again once it
	// has ended; empty: nobody.
	Again string `json:"again,omitempty"`
	// Progress and Checkpoint are the last that its own tasks have said of
	// theirs; nil: nothing. Metadata is what they and its user keep with it.
	Progress   *Progress                  `json:"progress,omitempty"`
	Checkpoint *Checkpoint                `json:"checkpoint,omitempty"`
	Metadata   map[string]json.RawMessage `json:"metadata,omitempty"`
}

// TaskCanceled reports whether task i of an array was stopped by itself.
func (c *Course) TaskCanceled(i int) bool {
	_, is := slices.BinarySearch(c.Canceled, i)
	return is
}

// TaskHeld reports whether a person keeps task i of an array from starting.
func (c *Course) TaskHeld(i int) bool {
	return Within(c.HeldTasks, i)
}

// Hold is that somebody keeps a workload from being queued.
type Hold struct {
	By      string    `json:"by"` // as the actor of transitions
	Message string    `json:"message,omitempty"`
	At      time.Time `json:"at"`
}

// Progress is how far the work of a workload has come, as a task of it says.
type Progress struct {
	Step    int64              `json:"step"`
	Total   int64              `json:"total,omitempty"` // steps in all; 0: nobody knows
	Metrics map[string]float64 `json:"metrics,omitempty"`
	Message string             `json:"message,omitempty"`
	Attempt int                `json:"attempt"`
	Task    int                `json:"task"` // index of the one that says so
	At      time.Time          `json:"at"`
}

// Checkpoint is from where the work of a workload can go on.
type Checkpoint struct {
	Path    string    `json:"path"` // as its tasks find it
	Step    int64     `json:"step,omitempty"`
	Attempt int       `json:"attempt"`
	At      time.Time `json:"at"`
}

// CheckVerdict is where an admission check stands.
type CheckVerdict string

// The verdicts.
const (
	CheckWaiting  CheckVerdict = "waiting" // nobody has begun to look
	CheckAsked    CheckVerdict = "asked"   // it is under way
	CheckApproved CheckVerdict = "approved"
	CheckRejected CheckVerdict = "rejected"
)

// CheckState is one admission check of a workload.
type CheckState struct {
	Name     string        `json:"name"`
	Type     string        `json:"type"`              // approval, webhook, image, budget, workload, time
	When     string        `json:"when"`              // queue, reservation
	Users    []string      `json:"users,omitempty"`   // who may approve; empty: everyone
	URL      string        `json:"url,omitempty"`     // of a webhook
	Timeout  time.Duration `json:"timeout,omitempty"` // of one question
	Deadline time.Time     `json:"deadline,omitzero"` // rejected by then
	Verdict  CheckVerdict  `json:"verdict"`
	Message  string        `json:"message,omitempty"`
	By       string        `json:"by,omitempty"` // who decided: user:NAME, webhook, budget
	At       time.Time     `json:"at,omitzero"`
	Tries    int           `json:"tries,omitempty"` // questions that brought no decision
	AskAt    time.Time     `json:"askAt,omitzero"`  // when it is asked again; of a time, when that is
	// Of a check of type workload: which one, how it was named, and how far it
	// must be (spec.Dependency).
	Workload WorkloadID `json:"workload,omitempty"`
	Of       string     `json:"of,omitempty"`
	Event    string     `json:"event,omitempty"`
	// Delay is how long it waits after that, which has come at Came.
	Delay time.Duration `json:"delay,omitempty"`
	Came  time.Time     `json:"came,omitzero"`
	// PerTask has each task of an array wait for its fellow of that workload; Left
	// are the indexes of those whose fellow has not succeeded, and is replaced, never
	// changed.
	PerTask bool         `json:"perTask,omitempty"`
	Left    []IndexRange `json:"left,omitempty"`
	// Tasks are those of that workload that it waits for, by index; none: for all of
	// it. Nobody changes them. Of checks with Any, one that is approved is enough.
	Tasks []IndexRange `json:"tasks,omitempty"`
	Any   bool         `json:"any,omitempty"`
	// Scope is whose check it is: of a project, a department or the system; empty: the
	// document's own, or one of its project's rules.
	Scope ProjectID `json:"scope,omitempty"`
	// Called is its name in its scope where another check of the workload has that; empty: Name.
	Called string `json:"called,omitempty"`
	// Of a check of a scope that people decide: how many have to approve, who has Role
	// or is one of Users; who has approved so far; which images it is about. Votes and
	// Images are replaced, never changed.
	Need         int      `json:"need,omitempty"`
	Role         string   `json:"role,omitempty"`
	NotSubmitter bool     `json:"notSubmitter,omitempty"`
	Votes        []Vote   `json:"votes,omitempty"`
	Images       []string `json:"images,omitempty"`
	// Within is from asking to Deadline; Again has it asked anew then instead of rejected.
	Within time.Duration `json:"within,omitempty"`
	Again  bool          `json:"again,omitempty"`
	// Silent counts the questions in a row that brought no answer at all.
	Silent int `json:"silent,omitempty"`
	// Hook is how a program is asked, while it is: what is kept has none.
	Hook *CheckHook `json:"hook,omitempty"`
}

// Vote is one person's approval of a check.
type Vote struct {
	By      string    `json:"by"`            // name of a user
	For     string    `json:"for,omitempty"` // who has had them decide; empty: nobody
	Message string    `json:"message,omitempty"`
	At      time.Time `json:"at"`
}

// CheckHook is how a program is asked beside its URL.
type CheckHook struct {
	Secret SecretID `json:"secret,omitzero"` // signs the question; empty: it is not signed
	CA     string   `json:"ca,omitempty"`    // certificates in PEM by which it is known; empty: the machine's
	Trial  bool     `json:"trial,omitempty"` // nothing follows from the answer
}

// IndexRange is a range of indexes, both ends included. Lists of them are in order.
type IndexRange struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Within reports whether an index is in one of some ranges.
func Within(ranges []IndexRange, index int) bool {
	i, _ := slices.BinarySearchFunc(ranges, index, func(r IndexRange, index int) int { return cmp.Compare(r.To, index) })
	return i < len(ranges) && ranges[i].From <= index
}

// RangesText writes ranges as people do: 0-3,7.
func RangesText(ranges []IndexRange) string {
	var b []byte
	for i, r := range ranges {
		if i > 0 {
			b = append(b, ',')
		}
		if b = strconv.AppendInt(b, int64(r.From), 10); r.To > r.From {
			b = strconv.AppendInt(append(b, '-'), int64(r.To), 10)
		}
	}
	return string(b)
}

// Ranged are sorted indexes as ranges.
func Ranged(sorted []int) []IndexRange {
	var out []IndexRange
	for _, i := range sorted {
		if n := len(out); n > 0 && i <= out[n-1].To+1 {
			out[n-1].To = i
		} else {
			out = append(out, IndexRange{From: i, To: i})
		}
	}
	return out
}

// Published is what was made of the results.
type Published struct {
	Ref     string `json:"ref,omitempty"`
	Digest  string `json:"digest,omitempty"`
	Size    int64  `json:"sizeBytes,omitempty"`
	Files   int    `json:"files,omitempty"`
	Service string `json:"service,omitempty"` // name of the workload that serves it
}

// Secret is a value that tasks are given and nobody is shown.
type Secret struct {
	User string `json:"user"` // or SecretsOf a scope
	Name string `json:"name"` // unique of a user or scope
	Type string `json:"type"` // env, mounted, docker, ssh, git-ssh, sftp-ssh, s3, gcp, oci, databricks, hf
	// Fields are not secret: the variable of env, the server and user of
	// docker, the path of a mounted one.
	Fields map[string]string `json:"fields,omitempty"`
	// Everywhere gives it to every workload of its user, as mcli does, or in its scope.
	Everywhere bool      `json:"everywhere,omitempty"`
	Sealed     []byte    `json:"sealed"` // encrypted values; opened only for a task
	CreatedAt  time.Time `json:"createdAt"`
	// By made it, where it is not a user's own but that of a scope.
	By string `json:"by,omitempty"`
}

// SecretID names a secret.
type SecretID struct {
	User, Name string
}

// ofScope begins what stands in place of a user where a secret belongs to a project, to
// a department or to the system. No user's name has a '/'.
const ofScope = "scope/"

// SecretsOf stands in place of a user for the secrets of a scope.
func SecretsOf(scope ProjectID) string { return ofScope + string(scope) }

// Scope is the scope that a secret belongs to; false: it is a user's own.
func (s *Secret) Scope() (ProjectID, bool) {
	scope, yes := strings.CutPrefix(s.User, ofScope)
	return ProjectID(scope), yes
}

// Use is GPU time that one workload was charged in a span of time.
type Use struct {
	Workload   WorkloadID     `json:"workload"`
	Name       string         `json:"name"`
	Project    ProjectID      `json:"project"`
	User       string         `json:"user"`
	Kind       lifecycle.Kind `json:"kind"`
	Attempt    int            `json:"attempt"`
	Task       int            `json:"task"`
	Run        int            `json:"run,omitempty"`       // of the task, see TaskID
	Succeeded  bool           `json:"succeeded,omitempty"` // the task
	Node       NodeID         `json:"node"`
	Device     string         `json:"device"`            // or the partitions of its node's devices, as Task.Counted has them
	Milli      int            `json:"milli"`             // thousandths of the device
	Pool       string         `json:"pool,omitempty"`    // of its node when it was placed; empty: written before that was kept
	Product    string         `json:"product,omitempty"` // of the device; likewise
	From       time.Time      `json:"from"`
	To         time.Time      `json:"to"` // the end of the span, or now, while it is held
	GPUSeconds float64        `json:"gpuSeconds"`
}

// Span is the time for which one run of a task has had its place, and what it
// had there.
type Span struct {
	Project ProjectID
	Pool    string // of its node when it was placed; empty: written before that was kept
	Milli   int64  // thousandths of devices, see Task.Milli
	CPU     int64  // thousandths of cores
	Memory  int64  // bytes
	From    time.Time
	To      time.Time // when it gave its place back; of what still has it, the time of the question
}

// Promise is for whom others were told to leave, and for how many tasks of it.
type Promise struct {
	Workload WorkloadID
	Tasks    int
}

// OSUser is a user of the operating system.
type OSUser struct {
	UID  uint32 `json:"uid"`
	Name string `json:"name,omitempty"` // as it was then
}
