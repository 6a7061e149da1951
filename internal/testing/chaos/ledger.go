package chaos

import (
	"encoding/json"
	"io"
	"slices"
	"sync"
	"time"
)

// Entry is what the driver knows of one workload that it has submitted.
type Entry struct {
	Name  string `json:"name"`
	Key   string `json:"key"` // makes repeating the submission harmless
	Kind  string `json:"kind"`
	Lines int    `json:"lines"` // that each of its tasks prints when it runs to its end
	// Fails is how many attempts fail by themselves, with Code.
	Fails   int  `json:"fails,omitempty"`
	Code    int  `json:"code,omitempty"`
	Retries int  `json:"retries,omitempty"` // how many failed attempts are tried again
	Deaf    bool `json:"deaf,omitempty"`    // it does not hear SIGTERM
	Box     bool `json:"box,omitempty"`     // in a container

	Document []byte `json:"-"`

	ID    string   `json:"id,omitempty"` // empty: never answered
	Asked Instant  `json:"asked"`
	Acked *Instant `json:"acked,omitempty"`
	// The first wish to end it that was sent, and the first that was answered.
	Stop, Stopped   *Instant
	Delete, Deleted *Instant
	StopPhase       string `json:"stopPhase,omitempty"` // what the answer said
	StopTarget      string `json:"stopTarget,omitempty"`
	Abandoned       bool   `json:"abandoned,omitempty"` // not answered, and not asked again
}

// Deed is one thing that was done to the programs or the disk.
type Deed struct {
	What string  `json:"what"` // one of the names below
	From Instant `json:"from"`
	To   Instant `json:"to"` // until all was as before, or the end was clear
	// Of a task that was killed:
	Workload string `json:"workload,omitempty"`
	Attempt  int    `json:"attempt,omitempty"`
	Index    int    `json:"index,omitempty"`
	Run      int    `json:"run,omitempty"`
}

// What is done.
const (
	KillServer       = "kill server"
	KillSupervisor   = "kill supervisor"
	KillBoth         = "kill both"
	KillTask         = "kill task"
	FreezeServer     = "freeze server"
	FreezeSupervisor = "freeze supervisor"
	Restart          = "restart"
	FillDisk         = "fill disk"
	SealDisk         = "seal disk"
	CutPower         = "cut power"
)

// kills says whether the deed ended a program of ours by force.
func (d Deed) kills() bool {
	return slices.Contains([]string{KillServer, KillSupervisor, KillBoth, CutPower}, d.What)
}

// supervisorGone says whether the supervisor was ended by it.
func (d Deed) supervisorGone() bool {
	return slices.Contains([]string{KillSupervisor, KillBoth, CutPower}, d.What)
}

// Ledger is the account that is kept outside of the server. Each change is
// written down at once.
type Ledger struct {
	mu      sync.Mutex
	out     *json.Encoder
	entries []*Entry
	deeds   []Deed
	answers []time.Duration
}

// NewLedger writes each change to w as a line of JSON.
func NewLedger(w io.Writer) *Ledger { return &Ledger{out: json.NewEncoder(w)} }

// note changes an entry and writes it down.
func (l *Ledger) note(e *Entry, change func(*Entry)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(e)
	if !slices.Contains(l.entries, e) {
		l.entries = append(l.entries, e)
	}
	_ = l.out.Encode(e)
}

func (l *Ledger) did(d Deed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deeds = append(l.deeds, d)
	_ = l.out.Encode(d)
}

// answered notes how long the first answer after a kill took.
func (l *Ledger) answered(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers = append(l.answers, d)
	_ = l.out.Encode(map[string]any{"answer": d.Seconds()})
}

func (l *Ledger) say(v any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.out.Encode(v)
}

// Kills is how many of the deeds ended a program of ours by force.
func Kills(deeds []Deed) int {
	n := 0
	for _, d := range deeds {
		if d.kills() {
			n++
		}
	}
	return n
}
