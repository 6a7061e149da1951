package ledger

import (
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
)

// Asks are all asks that somebody has, each once.
type Asks struct {
	All   map[string]*Ask
	buf   schedule.Key // of asks that are looked up
	last  int          // counts all asks there ever were
	Swept int          // how many there were after the last sweep
}

// Wanted is how many tasks of each ask are to be placed.
func (as *Asks) Wanted(j *Job, tries []Try) []Wanted {
	var out []Wanted
	for _, t := range tries {
		for i := range int32(t.Count) {
			a := as.NextRun(j, t.Group, j.Placed[t.Group]+i)
			if a == nil {
				continue
			}
			k := slices.IndexFunc(out, func(w Wanted) bool { return w.Ask == a })
			if k < 0 {
				k = len(out)
				out = append(out, Wanted{Ask: a})
			}
			out[k].Count++
		}
	}
	return out
}

// AsksOf is what j's runs ask for, by group and run. All of a class ask for the
// same.
func (as *Asks) AsksOf(j *Job) [][]*Ask {
	at := &j.Asks
	if l := j.JobClass; l != nil {
		at = &l.Asks
		if l.Class != nil && !l.Class.Key.Own {
			at = &l.Class.Asks
		}
	}
	if *at == nil {
		*at = as.findAsks(j.Shape, j.Pass)
	}
	return *at
}

func (as *Asks) findAsks(sh *schedule.Shape, p Pass) [][]*Ask {
	out := make([][]*Ask, len(sh.Groups))
	for g := range sh.Groups {
		for _, r := range sh.Groups[g].Runs {
			out[g] = append(out[g], as.AskOf(r.Need, r.Rule, p))
		}
	}
	return out
}

// NextRun is the ask of the i-th task of group g that is still to be placed, or
// nil.
func (as *Asks) NextRun(j *Job, g int, i int32) *Ask {
	asks := as.AsksOf(j)[g]
	for r, run := range j.Shape.Groups[g].Runs {
		if i < int32(run.Count) {
			return asks[r]
		}
		i -= int32(run.Count)
	}
	return nil
}

// Demand is what all that j still wants counts for in p.
func (as *Asks) Demand(j *Job, p *Pool) quota.Amounts {
	var sum quota.Amounts
	for g, asks := range as.AsksOf(j) {
		for r, a := range asks {
			sum = Plus(sum, p.Amount(a), int64(j.Shape.Groups[g].Runs[r].Count))
		}
	}
	return sum
}

// Cost is what the tries count for in p.
func (as *Asks) Cost(j *Job, p *Pool, tries []Try) quota.Amounts {
	var sum quota.Amounts
	for _, t := range tries {
		asks, skip, left := as.AsksOf(j)[t.Group], int(j.Placed[t.Group]), t.Count
		for r, run := range j.Shape.Groups[t.Group].Runs {
			n := min(max(run.Count-skip, 0), left)
			skip = max(skip-run.Count, 0)
			left -= n
			sum = Plus(sum, p.Amount(asks[r]), int64(n))
		}
	}
	return sum
}

// AskOf returns the one ask for a need, rule and pass.
func (as *Asks) AskOf(n schedule.Need, r *schedule.Rule, p Pass) *Ask {
	as.buf = as.buf[:0]
	as.buf.Need(&n)
	as.buf.Rule(r)
	if p != (Pass{}) {
		as.buf.Number(int64(p.Only))
		as.buf.Text(p.barred)
	}
	if a := as.All[string(as.buf)]; a != nil {
		return a
	}
	a := &Ask{Need: n, Rule: r, Ok: map[*Pool][]int8{}, Id: as.last, Pass: p}
	as.last++
	for part := range strings.SplitSeq(n.Extended, ",") {
		name, count, found := strings.Cut(part, "=")
		if !found {
			continue
		}
		k := int32(0)
		for _, c := range count {
			k = k*10 + c - '0'
		}
		if k > 0 {
			a.Migs = append(a.Migs, wish{name, k})
			a.Slices += core.SlicesOf(name) * int64(k)
		}
	}
	as.All[string(as.buf)] = a
	return a
}

// Prices are what the options of a class count for in p, of which j is one that
// has nothing yet.
func (k *Class) Prices(as *Asks, p *Pool, j *Job) []quota.Amounts {
	if k.pricedIn != p || k.pricedAt != p.Shape {
		k.pricedIn, k.pricedAt, k.priced = p, p.Shape, k.priced[:0]
		for _, tries := range j.Options() {
			k.priced = append(k.priced, as.Cost(j, p, tries))
		}
	}
	return k.priced
}

// Short reports whether a queue has less of p than it is due, by as much as one of
// the class wants; what that is has to be known.
func (k *Class) Short(p *Pool, leaf int32) bool {
	if k.pricedIn != p || k.pricedAt != p.Shape {
		return true
	}
	a := &p.Q[leaf]
	for i := range k.priced {
		if a.Alloc.Add(k.priced[i]).Within(a.Share) {
			return true
		}
	}
	return false
}
