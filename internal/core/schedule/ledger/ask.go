package ledger

import (
	"github.com/musterhq/muster/internal/core/schedule"
)

// Total is how many tasks the tries name.
func Total(tries []Try) int {
	n := 0
	for _, t := range tries {
		n += t.Count
	}
	return n
}

// Wanted is a number of tasks of one ask.
type Wanted struct {
	Ask   *Ask
	Count int
}

// Ask is a need with its rule, the same for all tasks that ask for it.
type Ask struct {
	Need   schedule.Need
	Rule   *schedule.Rule
	Migs   []wish
	Ok     map[*Pool][]int8 // by labels, taints and kind of node: 1 yes, -1 no, 0 not looked at
	Id     int
	Slices int64 // devices that its partitions count for, thousandths
	Pass   Pass
}

// Gpus reports whether a asks for GPUs, or partitions of them.
func (a *Ask) Gpus() bool { return a.Need.Devices > 0 || a.Slices > 0 }

type wish struct {
	Name  string
	Count int32
}
