package backend

import (
	"context"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
)

// Claimant is a backend on which others make tasks and leave it to us when and
// where they run. What they have made together is a claim; each task of it is a
// member. A member gets its place by Start, with Assignment.Claim, and is from
// then on a task like any other, but for this: whoever made it may end it, and
// may make another in its place.
type Claimant interface {
	// Claims calls seen with claims that are not as they were, until ctx is done
	// or seen fails. The first call has all that there are. seen must not block
	// for long.
	Claims(ctx context.Context, seen func(Claims) error) error

	// Disown says that nobody here claims these tasks: what they hold is from
	// then on held by others. Unknown tasks are a success.
	Disown(ctx context.Context, ids []core.TaskID) error

	// Explain tells those who made claims why these wait. What was said before is
	// not repeated; claims that wait no more are passed over.
	Explain(ctx context.Context, words []Word) error
}

// Claims is news of claims.
type Claims struct {
	All     bool // what is not among Changed is not there
	Changed []Claim
	Gone    []string // keys
}

// Claim is a number of tasks that someone else has made together.
type Claim struct {
	Key     string // of the backend, never used again
	Project core.ProjectID
	Name    string // what its maker calls it; fit to be a workload's name
	Maker   string // what made it, for people, such as "Job ml/train"
	User    string
	Labels  map[string]string
	Pools   []string // tried in this order; empty: those of the project

	Priority    *spec.Priority // nil: the usual
	Preemptible bool
	// Min is how many members run together or not at all; below 2 each runs by
	// itself. Those that have ended well count.
	Min int
	// Remade says that its maker makes others in place of members that end.
	Remade  bool
	Grace   time.Duration // what members get to end
	Members []Member      // those that have not ended, by Key
	// Over says that no member is left and how they ended; empty: there are some,
	// or may be again.
	Over Outcome
	// Barred is why none of it may be placed; empty: it may. Note is what its
	// users should know beside.
	Barred, Note string
}

// Outcome is how a claim came to its end.
type Outcome string

// The outcomes of claims.
const (
	OutcomeSucceeded Outcome = "succeeded"
	OutcomeFailed    Outcome = "failed"
	OutcomeGone      Outcome = "gone" // it was taken away
)

// Member is one task of a claim.
type Member struct {
	Key  string      // of the backend, never used again
	Name string      // for people, such as ml/train-0
	Task core.TaskID // that it is; zero: it waits
	Role string
	// Rank orders members: where only some are placed the lowest come first.
	Rank   int
	Needs  Needs
	Where  Where
	Barred string // why it may not be placed; empty: it may
}

// Needs is what a member needs of its node.
type Needs struct {
	CPU    int64 // thousandths of cores
	Memory int64 // bytes
	GPU    spec.GPU
	// Counted is what else it needs, by name as in core.Node.Extra.
	Counted map[string]int
}

// Where is the nodes that a member may go to.
type Where struct {
	Terms []spec.NodeTerm   // all of which must hold
	Any   [][]spec.NodeTerm // all terms of one of these must hold; empty: no matter
	// Tolerations are the taints that do not keep it away.
	Tolerations []spec.Toleration
	// Near and Apart are labels of nodes: members with the same Tag must be, or
	// must not be, where these have the same value.
	Near, Apart, Tag string
}

// Word is why a claim waits.
type Word struct {
	Claim  string // its key
	Reason string // a token
	Text   string
}
