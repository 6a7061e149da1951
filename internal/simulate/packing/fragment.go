package packing

import (
	"cmp"
	"math"
	"slices"
)

// fragments measures expected fragmentation as published: over the typical
// classes, weighted by how often they occur, the free GPU capacity of a node
// that the class could not use there.
type fragments struct {
	typical []typical
	all     int64 // of their counts
}

type typical struct {
	cpu    int64
	gpus   int
	milli  int32
	models []string
	count  int64
}

// popular is the share of tasks, in percent, that the typical shapes cover.
const popular = 95

func newFragments(tr *Trace) *fragments {
	type key struct {
		cpu         int64
		gpus, milli int
		models      string
	}
	at := map[key]int{}
	var every []typical
	for i := range tr.Tasks {
		t := &tr.Tasks[i]
		k := key{t.CPU, t.GPUs, t.Milli, ""}
		for _, m := range t.Models {
			k.models += m + "|"
		}
		n, ok := at[k]
		if !ok {
			n = len(every)
			at[k] = n
			every = append(every, typical{t.CPU, t.GPUs, int32(t.Milli), t.Models, 0})
		}
		every[n].count++
	}
	slices.SortStableFunc(every, func(a, b typical) int { return cmp.Compare(b.count, a.count) })
	f := &fragments{}
	for i := range every {
		if f.all*100 >= popular*int64(len(tr.Tasks)) {
			break
		}
		f.typical = append(f.typical, every[i])
		f.all += every[i].count
	}
	return f
}

// of is the fragmented milli-GPUs of a node, times f.all.
func (f *fragments) of(cpu int64, free []int32, model string) int64 {
	var total int64
	for _, x := range free {
		total += int64(x)
	}
	if total == 0 {
		return 0
	}
	var sum int64
	for i := range f.typical {
		t := &f.typical[i]
		lost := total
		if t.gpus > 0 && cpu >= t.cpu && (len(t.models) == 0 || slices.Contains(t.models, model)) {
			fit, small := 0, int64(0)
			for _, x := range free {
				if x >= t.milli {
					fit++
				} else {
					small += int64(x)
				}
			}
			if fit >= t.gpus {
				lost = small
			}
		}
		sum += t.count * lost
	}
	return sum
}

// share is the fragmented GPUs of the cluster in percent of all its GPUs.
func (f *fragments) share(c *Cluster, gpus int64) float64 {
	var sum int64
	for i := range c.Seats {
		s := &c.Seats[i]
		sum += f.of(s.CPU, s.Free, s.Node.Model)
	}
	return 100 * float64(sum) / float64(f.all) / float64(1000*gpus)
}

// fgd is the published policy: least growth of fragmentation, as a score of 0
// to 100, and best fit among equal scores.
type fgd struct {
	*fragments
	before []int64 // by node
	turn   []uint32
	room   []int32
}

func newFGD(tr *Trace) *fgd {
	return &fgd{fragments: newFragments(tr), before: make([]int64, len(tr.Nodes)), turn: make([]uint32, len(tr.Nodes))}
}

func (f *fgd) rate(s *Seat, node int, t *Task, pick []int) int64 {
	if f.turn[node] != s.turn {
		f.turn[node], f.before[node] = s.turn, f.of(s.CPU, s.Free, s.Node.Model)
	}
	if t.GPUs != 1 || t.Milli == 1000 {
		var room [64]int
		at := pick
		if at == nil {
			at = room[:t.GPUs]
		}
		fullest(s, t, at)
		return f.rank(f.score(s, node, t, at), left(s, t))
	}
	best, most := -1, 0
	for d, x := range s.Free {
		if x < int32(t.Milli) {
			continue
		}
		if p := f.score(s, node, t, []int{d}); best < 0 || p > most || p == most && x < s.Free[best] {
			best, most = d, p
		}
	}
	if pick != nil {
		pick[0] = best
	}
	return f.rank(most, left(s, t))
}

func (f *fgd) score(s *Seat, node int, t *Task, devices []int) int {
	f.room = append(f.room[:0], s.Free...)
	for _, d := range devices {
		f.room[d] -= int32(t.Milli)
	}
	less := f.before[node] - f.of(s.CPU-t.CPU, f.room, s.Node.Model)
	return int(100 / (1 + math.Exp(-float64(less)/float64(f.all)/1000)))
}

// rank puts the score before what is left.
func (f *fgd) rank(score int, left int64) int64 { return int64(100-score)<<40 + left }
