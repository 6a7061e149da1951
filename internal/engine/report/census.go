package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/explanation"
	"github.com/musterhq/muster/internal/engine/workload"
)

// Census counts everything at one instant.
type Census struct {
	At       time.Time
	Projects []ProjectCount // those with the most first
	Holdings []Holding
	Nodes    []NodeState
	// Unadmitted counts what waits by why, as far as that was asked lately.
	Unadmitted []Unadmitted
}

// ProjectCount is what a project has that lives.
type ProjectCount struct {
	Project     core.ProjectID
	States      map[lifecycle.Phase]int
	Waiting     int // that wait for resources
	WaitingGPUs int // that they ask for
}

// Use is what a device was seen to do.
type Use string

// The uses.
const (
	UseBusy    Use = "busy"
	UseIdle    Use = "idle"
	UseUnknown Use = "" // nobody could look
)

// Holding is a part of a device that a task holds.
type Holding struct {
	Project  core.ProjectID
	Workload core.WorkloadID
	Name     string
	Task     int
	Node     core.NodeID
	Device   string
	Milli    int
	Use      Use
}

// Unadmitted is how many workloads that somebody has in a project wait for one reason.
type Unadmitted struct {
	Project core.ProjectID
	User    string
	Reason  string // the first of what keeps them, as muster why says it
	Count   int
}

// askedAtOnce bounds how many workloads that wait a census asks why.
const askedAtOnce = 25

// NotAsked is the reason of those that no census has asked yet.
const NotAsked = "NotAsked"

// TakeCensus counts everything.
func TakeCensus() draft.Command[*Census] {
	return func(tx *draft.Tx) (*Census, error) {
		n := &Census{At: tx.Now}
		projects := map[core.ProjectID]*ProjectCount{}
		var waits []*core.Workload
		for id := range tx.State.Live {
			w, tasks, ok := tx.View(id)
			if !ok {
				continue
			}
			p := projects[w.Project]
			if p == nil {
				p = &ProjectCount{Project: w.Project, States: map[lifecycle.Phase]int{}}
				projects[w.Project] = p
			}
			p.States[w.Phase]++
			switch {
			case w.Phase.InQueue():
				p.Waiting++
				p.WaitingGPUs += w.Spec.TotalGPUs()
				waits = append(waits, w)
			case w.Phase.Held():
				n.Holdings = appendHoldings(n.Holdings, w, tasks)
			}
		}
		for _, p := range projects {
			n.Projects = append(n.Projects, *p)
		}
		slices.SortFunc(n.Projects, func(a, b ProjectCount) int {
			return cmp.Or(cmp.Compare(weight(b), weight(a)), cmp.Compare(a.Project, b.Project))
		})
		slices.SortStableFunc(n.Holdings, func(a, b Holding) int { return cmp.Compare(a.Workload, b.Workload) })
		n.Nodes = nodeStates(tx)
		err := unadmitted(tx, n, waits)
		return n, err
	}
}

func weight(p ProjectCount) int {
	sum := p.WaitingGPUs
	for _, n := range p.States {
		sum += n
	}
	return sum
}

func appendHoldings(all []Holding, w *core.Workload, tasks *workload.Tasks) []Holding {
	for _, t := range workload.SortedTasks(tasks) {
		if !workload.Holds(w, t) {
			continue
		}
		for _, d := range t.Devices {
			all = append(all, Holding{Project: w.Project, Workload: w.ID, Name: w.Name, Task: t.ID.Index, Node: t.Node, Device: d.Device, Milli: d.Milli})
		}
	}
	return all
}

// Counter is told of everything that there is, and for how long that may be taken
// to have been so. It is not called by the writer.
type Counter interface {
	Counted(n *Census, span time.Duration)
}

// candidate is one that may be asked why it waits.
type candidate struct {
	id  core.WorkloadID
	at  time.Time // when it was asked; zero: never
	seq int64
}

// among puts one among those whose answers are oldest, the oldest first, of which there
// are at most askedAtOnce.
func among(oldest []candidate, c candidate) []candidate {
	before := func(a, b candidate) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.seq, b.seq)) }
	if n := len(oldest); n == askedAtOnce && before(oldest[n-1], c) < 0 {
		return oldest
	}
	at, _ := slices.BinarySearchFunc(oldest, c, before)
	oldest = slices.Insert(oldest, at, c)
	return oldest[:min(len(oldest), askedAtOnce)]
}

// unadmitted counts why workloads wait. Each time those are asked whose answer is
// oldest: to ask all would hold up everybody else.
func unadmitted(tx *draft.Tx, n *Census, waits []*core.Workload) error {
	known := map[core.WorkloadID]draft.Asked{} // of those that were ever asked: of very many next to nothing
	oldest := make([]candidate, 0, askedAtOnce+1)
	for _, w := range waits {
		a, asked := tx.State.Waits[w.ID]
		if asked {
			known[w.ID] = a
		}
		oldest = among(oldest, candidate{w.ID, a.At, w.Seq})
	}
	ids := make([]core.WorkloadID, len(oldest))
	for i := range oldest {
		ids[i] = oldest[i].id
	}
	why, err := explanation.Explain(ids)(tx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		reason := string(schedule.NotYetEvaluated)
		if p := why[id]; len(p.Reasons) > 0 {
			reason = string(p.Reasons[0].Token)
		}
		known[id] = draft.Asked{Reason: reason, At: tx.Now}
	}
	tx.State.Waits = known
	counts := map[Unadmitted]int{}
	for _, w := range waits {
		reason := NotAsked
		if a, asked := known[w.ID]; asked {
			reason = a.Reason
		}
		counts[Unadmitted{Project: w.Project, User: w.User, Reason: reason}]++
	}
	for k, c := range counts {
		k.Count = c
		n.Unadmitted = append(n.Unadmitted, k)
	}
	slices.SortFunc(n.Unadmitted, func(a, b Unadmitted) int {
		return cmp.Or(cmp.Compare(a.Project, b.Project), cmp.Compare(a.User, b.User), cmp.Compare(a.Reason, b.Reason))
	})
	return nil
}
