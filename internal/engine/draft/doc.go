// Package draft is what the engine works on: the committed state with its indexes,
// the draft of a round over it (Tx, and a Draft for each workload), what the
// scheduler is told of a workload, and the commit that makes a draft the truth. It
// decides nothing of what follows.
package draft
