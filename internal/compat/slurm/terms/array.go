package terms

import (
	"strconv"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/core/spec"
)

// Numbers are what the tasks of an array are called by their index: their
// SLURM_ARRAY_TASK_ID; nil: as their indexes.
func Numbers(w *api.Workload) []int {
	d := cli.Document(w)
	if d.Slurm == nil || d.Slurm.Indexes == "" {
		return nil
	}
	all, err := spec.ParseIndexes(d.Slurm.Indexes)
	if err != nil || len(all) != d.Size() {
		return nil
	}
	return all
}

// Member is the array of which a job is one that has a workload of its own, since it
// has several nodes: the array's number, how many jobs it has, and this one's
// SLURM_ARRAY_TASK_ID.
func Member(w *api.Workload) (array int64, jobs, task int, ok bool) {
	place, all, ok := cli.Document(w).Slurm.ArrayPlace()
	if !ok {
		return 0, 0, 0, false
	}
	return w.Number + int64(len(all)-1-place), len(all), all[place], true
}

// NumberIn is what the task of an index is called, of those that Numbers gives.
func NumberIn(numbers []int, index int) int {
	if index < len(numbers) {
		return numbers[index]
	}
	return index
}

// Fold folds numbers: 1,3-5.
func Fold(ns []int) string {
	var names []string
	for _, n := range ns {
		names = append(names, strconv.Itoa(n))
	}
	return strings.Trim(Hosts(names), "[]")
}
