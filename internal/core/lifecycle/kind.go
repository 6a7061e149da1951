package lifecycle

import "slices"

// Kind is what sort of work a workload is.
type Kind string

// The kinds of workloads.
const (
	Training    Kind = "training"    // unattended, one or N independent tasks
	Distributed Kind = "distributed" // unattended gang with ranks
	Workspace   Kind = "workspace"   // interactive; never ends by itself
	Inference   Kind = "inference"   // a service with replicas
	External    Kind = "external"    // pods that someone else created
)

// KindInfo is all that differs between kinds. The program does not ask which kind a
// workload is of: it asks for what matters where it stands, so that another kind is
// another row here.
type KindInfo struct {
	Kind        Kind
	Batch       bool // it is ours, nobody watches it, and it ends with its result
	Single      bool // each of its tasks has nothing to do with the others: one, or an array of them
	Ranked      bool // its tasks are the ranks of one program: they start together, and one of them may be its head
	Replicated  bool // its tasks are replicas of a service: made, replaced and counted while it runs
	Interactive bool // someone works in it
	Foreign     bool // its tasks are pods that others made, describe and end
}

var kinds = []KindInfo{
	{Kind: Training, Batch: true, Single: true},
	{Kind: Distributed, Batch: true, Ranked: true},
	{Kind: Workspace, Single: true, Interactive: true},
	{Kind: Inference, Replicated: true},
	{Kind: External, Foreign: true},
}

// Kinds returns every kind.
func Kinds() []Kind {
	out := make([]Kind, len(kinds))
	for i, k := range kinds {
		out[i] = k.Kind
	}
	return out
}

// KindsThat are the kinds of which a fact is true, such as Kind.Replicated.
func KindsThat(fact func(Kind) bool) []Kind {
	return slices.DeleteFunc(Kinds(), func(k Kind) bool { return !fact(k) })
}

// info is the row of k; of what is no kind nothing is true.
func (k Kind) info() KindInfo {
	for i := range kinds {
		if kinds[i].Kind == k {
			return kinds[i]
		}
	}
	return KindInfo{}
}

// Attended reports whether a failed task of this kind is restarted in place
// without limit, rather than failing the attempt: someone uses what runs.
func (k Kind) Attended() bool { i := k.info(); return i.Interactive || i.Replicated }

// Batch reports whether work of this kind is ours, unattended, and ends with its
// result.
func (k Kind) Batch() bool { return k.info().Batch }

// Single reports whether work of this kind is one task, or an array of tasks that
// have nothing to do with each other.
func (k Kind) Single() bool { return k.info().Single }

// Ranked reports whether the tasks are the ranks of one program, which start
// together.
func (k Kind) Ranked() bool { return k.info().Ranked }

// Replicated reports whether the tasks are replicas of a service, which come and go
// while it runs.
func (k Kind) Replicated() bool { return k.info().Replicated }

// Interactive reports whether someone works in it.
func (k Kind) Interactive() bool { return k.info().Interactive }

// Foreign reports whether the tasks are pods that others made.
func (k Kind) Foreign() bool { return k.info().Foreign }
