package state

import (
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
)

// mark counts what is reserved for j, or takes it off.
func (st *State) mark(j *ledger.Job, sign int64) { st.Queues.Mark(st.poolOf(j.Earmark.Pool), j, sign) }

func (st *State) remember(j *ledger.Job) {
	if j.Earmark.Pool == "" {
		return
	}
	if st.Marks == nil {
		st.Marks = map[core.WorkloadID]*ledger.Job{}
	}
	st.Marks[j.ID] = j
	if j.Marked() {
		st.mark(j, 1)
	}
}

func (st *State) forgetMark(j *ledger.Job) {
	if st.Marks[j.ID] != j {
		return
	}
	delete(st.Marks, j.ID)
	if j.Marked() {
		st.mark(j, -1)
	}
}
