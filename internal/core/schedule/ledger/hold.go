package ledger

import (
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
)

// Draft is a hold that has no devices yet.
func Draft(j *Job, group int, a *Ask, s *Site) *Hold {
	h := &Hold{Job: j, Group: int32(group), Ask: a, Site: s, Cpu: a.Need.CPU, Mem: a.Need.Memory, Fresh: true}
	if a.Need.Devices > 0 {
		h.Milli = s.Milli(a)
	}
	return h
}

// Place is h's room as the caller knows it.
func (h *Hold) Place() schedule.Place {
	p := schedule.Place{Node: h.Site.Node.ID, CPU: h.Cpu, Memory: h.Mem, Extended: h.Ask.Need.Extended}
	for _, d := range h.Devs {
		dev := &h.Site.Node.Devices[d]
		p.Devices = append(p.Devices, core.Share{Device: dev.ID, Index: dev.Index, Milli: int(h.Milli)})
	}
	return p
}

// Hold is a task that has a place, or is promised one.
type Hold struct {
	Job     *Job
	Group   int32
	Task    int
	Ask     *Ask
	Site    *Site
	Devs    []int32
	Milli   int32
	Cpu     int64
	Mem     int64
	Amount  quota.Amounts
	Leaving bool  // told to go, before this cycle or in it
	Stuck   bool  // told to go, and does not
	Later   bool  // its room is not free yet
	Fresh   bool  // placed in this cycle
	Counted bool  // it is one of the tasks that its job has to place
	Gone    bool  // placed in this cycle, and taken back
	Heir    *Hold // of one that is gone: its task's other place
	Moves   bool  // a victim that gets another place in the same plan
}
