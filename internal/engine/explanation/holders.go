package explanation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
)

// holdersShown is how many of those are named who hold what is missing.
const holdersShown = 20

// holders are those who hold what the gravest reason is short of: under a limit
// or a quota those that count against it, else those in the same pools. The
// largest come first. Nobody is named where a wait for others does not help.
func (s *Study) holders(reasons []schedule.Reason) []RelatedWorkload {
	for i := range reasons {
		r := &reasons[i]
		if r.Hopeless() {
			return nil
		}
		counts := s.counted(r)
		if counts == nil {
			continue
		}
		var out []RelatedWorkload
		for k := range s.copy.Jobs {
			if j := &s.copy.Jobs[k]; len(j.Held) > 0 && j.ID != s.w.ID && counts(j) {
				out = append(out, s.Related(j.ID))
			}
		}
		slices.SortFunc(out, func(a, b RelatedWorkload) int {
			return cmp.Or(cmp.Compare(b.Milli, a.Milli), a.Since.Compare(b.Since), cmp.Compare(s.jobs[a.ID].Order, s.jobs[b.ID].Order))
		})
		return out[:min(len(out), holdersShown)]
	}
	return nil
}

// counted is which jobs a reason is about; nil: no others are to blame.
func (s *Study) counted(r *schedule.Reason) func(*schedule.Job) bool {
	gpus := r.Resource == "gpu"
	switch r.Token {
	case schedule.OverLimit:
		return func(j *schedule.Job) bool {
			return (r.Queue == "" || s.below(j.Queue, r.Queue)) && (r.User == "" || j.User == r.User) && (!gpus || devicesOf(j.Held, nil) > 0)
		}
	case schedule.BorrowingTimeLimit:
		return func(j *schedule.Job) bool {
			return s.below(j.Queue, r.Queue) && (!gpus || devicesOf(j.Held, nil) > 0)
		}
	case schedule.NonPreemptibleOverQuota:
		return func(j *schedule.Job) bool {
			return s.below(j.Queue, r.Queue) && !j.Preemptible && (!gpus || devicesOf(j.Held, nil) > 0)
		}
	case schedule.WaitingForCapacity, schedule.Fragmented, schedule.TopologyUnsatisfied, schedule.WaitingForQuota:
		pools := s.job.Pools
		if r.Pool != "" {
			pools = []string{r.Pool}
		}
		return func(j *schedule.Job) bool {
			return (!gpus || devicesOf(j.Held, nil) > 0) && (len(pools) == 0 || slices.Contains(pools, s.pool(j)))
		}
	}
	return nil
}

// below reports whether a queue is another one, or stands below it.
func (s *Study) below(id, of core.ProjectID) bool {
	for range len(s.copy.Queues) + 1 {
		if id == of {
			return true
		}
		i := slices.IndexFunc(s.copy.Queues, func(q schedule.Queue) bool { return q.ID == id })
		if i < 0 {
			return false
		}
		id = s.copy.Queues[i].Parent
	}
	return false
}

// pool is where a job runs.
func (s *Study) pool(j *schedule.Job) string {
	for i := range s.copy.Nodes {
		if s.copy.Nodes[i].ID == j.Held[0].Place.Node {
			return s.copy.Nodes[i].Pool
		}
	}
	return ""
}

// devicesOf is what tasks hold of devices, in thousandths; of all of them, or of
// those with the caller's numbers.
func devicesOf(held []schedule.Held, tasks []int) int64 {
	var sum int64
	for i := range held {
		if tasks != nil && !slices.Contains(tasks, held[i].Task) {
			continue
		}
		sum += core.Milli(held[i].Place.Devices, held[i].Place.Extended)
	}
	return sum
}

// devicesWanted is what a job that holds nothing asks for, in thousandths; a
// share by memory counts for a whole device.
func devicesWanted(j *schedule.Job) int64 {
	var sum int64
	for i := range j.Shape.Groups {
		for _, r := range j.Shape.Groups[i].Runs {
			milli := int64(r.Need.Milli)
			if r.Need.GPUMemory > 0 {
				milli = 1000
			}
			sum += int64(r.Count) * (int64(r.Need.Devices)*milli + core.Slices(r.Need.Extended))
		}
	}
	return sum
}

// holdersNote names who holds a license that is short.
func (s *Study) holdersNote(r *schedule.Reason) string {
	var out []string
	for _, h := range r.Holders {
		if w := s.live[h.ID]; w != nil {
			out = append(out, fmt.Sprintf("%s has %d", w.Name, h.N))
		}
	}
	return strings.Join(out, ", ")
}
