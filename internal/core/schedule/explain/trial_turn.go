package explain

import (
	"slices"

	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// Turn answers what becomes of data in a whole cycle, all others in their turn:
// who goes before it gets its room first. The state is afterwards as it was.
func Turn(st *state.State, now int64, data schedule.Job) Trial {
	old, known := st.Jobs[data.ID]
	var was schedule.Job
	if known {
		was = old.Job
	}
	st.PutJob(data)
	defer func() {
		st.DropJob(data.ID)
		if known {
			st.PutJob(was)
		}
	}()
	plan := cycle.Run(st, now)
	var t Trial
	for _, pl := range plan.Placements {
		if pl.ID == data.ID {
			t.Now, t.Tasks = true, pl.Tasks
		}
	}
	for _, pl := range plan.Promises {
		if pl.ID == data.ID && !t.Now {
			t.Later, t.Tasks = true, pl.Tasks
		}
	}
	if !t.Now && !t.Later {
		t.Reasons = whyNow(st, st.Jobs[data.ID])
		return t
	}
	if s := st.Sites[t.Tasks[0].Place.Node]; s != nil {
		t.Pool = s.Pool.Name
	}
	for _, e := range plan.Evictions {
		if e.For == data.ID {
			t.Victims = append(t.Victims, e)
		}
	}
	return t
}

// Starts reports whether it would start, be it once others have left.
func (t *Trial) Starts() bool { return t.Now || t.Later }

// Fewer returns the most tasks, fewer than data's, with which it would start
// now and displace nobody, and what would become of it; 0: with no number. Only
// the last group gives tasks up, or all segments, the last first.
func Fewer(st *state.State, now int64, data schedule.Job) (int, Trial) {
	all := 0
	for i := range data.Shape.Groups {
		all += data.Shape.Groups[i].Wants()
	}
	last := len(data.Shape.Groups) - 1
	least := all - data.Shape.Groups[last].Wants() + 1
	for g := last - 1; g >= 0 && data.Shape.Groups[last].Segment > 0 && data.Shape.Groups[g].Segment > 0; g-- {
		least -= data.Shape.Groups[g].Wants()
	}
	if len(data.Held) > 0 || all < 2 {
		return 0, Trial{}
	}
	most, found := 0, Trial{}
	for lo, hi := least, all-1; lo <= hi; {
		n := (lo + hi) / 2
		if t := Turn(st, now, without(data, all-n)); t.Now {
			most, found, lo = n, t, n+1
		} else {
			hi = n - 1
		}
	}
	return most, found
}

// without is the job with so many tasks fewer in its last group. Of segments
// those that are left with none go.
func without(j schedule.Job, drop int) schedule.Job {
	groups := slices.Clone(j.Shape.Groups)
	for n := len(groups) - 1; groups[n].Segment > 0 && n > 0 && drop >= groups[n].Wants(); n-- {
		drop -= groups[n].Wants()
		groups = groups[:n]
	}
	last := &groups[len(groups)-1]
	last.Runs = slices.Clone(last.Runs)
	n := last.Wants() - drop
	for drop > 0 {
		r := &last.Runs[len(last.Runs)-1]
		k := min(drop, r.Count)
		if r.Count, drop = r.Count-k, drop-k; r.Count == 0 {
			last.Runs = last.Runs[:len(last.Runs)-1]
		}
	}
	last.Min = min(last.Min, n)
	j.Shape = schedule.NewShape(j.Shape.Sets, groups)
	return j
}

// Halved returns data with tasks of fewer devices, and whether they can have
// fewer.
func Halved(j schedule.Job) (schedule.Job, bool) {
	groups := slices.Clone(j.Shape.Groups)
	less := false
	for g := range groups {
		groups[g].Runs = slices.Clone(groups[g].Runs)
		for i := range groups[g].Runs {
			if n := &groups[g].Runs[i].Need; n.Devices > 1 {
				n.Devices /= 2
				less = true
			}
		}
	}
	j.Shape = schedule.NewShape(j.Shape.Sets, groups)
	return j, less
}

// Part is what a job asks of each GPU, in thousandths, where that is a part of
// one, the same for all; 0: it asks for whole ones or for none.
func Part(j schedule.Job) int {
	part := 0
	for g := range j.Shape.Groups {
		for _, r := range j.Shape.Groups[g].Runs {
			switch n := r.Need; {
			case n.Devices == 0:
			case n.GPUMemory > 0 || n.Milli >= 1000 || part > 0 && n.Milli != part:
				return 0
			default:
				part = n.Milli
			}
		}
	}
	return part
}

// partStep is in steps of how many thousandths smaller parts are tried.
const partStep = 50

// Smaller returns the largest part of a GPU, in thousandths, with which data
// would start now, and what would become of it; 0: with none.
func Smaller(st *state.State, now int64, data schedule.Job) (int, Trial) {
	part := Part(data)
	most, found := 0, Trial{}
	for lo, hi := 1, (part-1)/partStep; lo <= hi; {
		n := (lo + hi) / 2
		less := data
		groups := slices.Clone(data.Shape.Groups)
		for g := range groups {
			groups[g].Runs = slices.Clone(groups[g].Runs)
			for i := range groups[g].Runs {
				if need := &groups[g].Runs[i].Need; need.Devices > 0 {
					need.Milli = n * partStep
				}
			}
		}
		less.Shape = schedule.NewShape(data.Shape.Sets, groups)
		if t := Turn(st, now, less); t.Now {
			most, found, lo = n*partStep, t, n+1
		} else {
			hi = n - 1
		}
	}
	return most, found
}
