package lifecycle

import (
	"slices"
	"strings"
)

// Ways tells how d comes to say status, one readable line for each way; nil
// when d has no such word. It takes the words that PhasesOf takes.
func Ways(d Dialect, status string) []string {
	t := d.tongue()
	if t == nil {
		return nil
	}
	status = t.canonical(status)
	if status == "" {
		return nil
	}
	var ways []string
	add := func(way string) {
		if !slices.Contains(ways, way) {
			ways = append(ways, way)
		}
	}
	for i := range t.rows {
		r := &t.rows[i]
		if r.say == last {
			for _, p := range r.in {
				if t.mayBeLast(p, status) {
					add(t.wayOfLast(p, status))
				}
			}
		}
		if r.say != status && !slices.Contains(r.tasks, status) {
			continue
		}
		for _, way := range t.ways(i) {
			if r.say == status {
				add(way)
			}
			if r.say != status && slices.Contains(r.tasks, status) {
				add(way + ", while its task says " + status)
			}
		}
	}
	return ways
}

// wayOfLast tells of a word that what is being deleted keeps.
func (t *tongue) wayOfLast(p Phase, status string) string {
	if p == Deleted && t.word(status).End {
		return string(p) + ", when it had ended so or was ended so by the deletion"
	}
	return string(p) + ", when that was its word before"
}

// ways tells when row i applies; Terminating has lines of its own, for it is
// said by what comes after.
func (t *tongue) ways(i int) []string {
	r := &t.rows[i]
	if slices.Equal(r.in, held) && r.to == nil {
		return []string{"any phase that holds resources" + t.because(i, held[0], None)}
	}
	var phases []Phase
	for _, p := range r.in {
		if p != Terminating {
			phases = append(phases, p)
		}
	}
	all := alike(phases, "", func(p Phase) string { return t.because(i, p, None) })
	if !slices.Contains(r.in, Terminating) {
		return all
	}
	to := t.left(i)
	if len(to) == len(targets()) {
		return append(all, string(Terminating)+t.because(i, Terminating, None))
	}
	return append(all, alike(to, string(Terminating)+" on its way to ", func(p Phase) string { return t.because(i, Terminating, p) })...)
}

// alike writes one line for all phases that the same is to be said of.
func alike(ps []Phase, before string, after func(Phase) string) []string {
	var tails []string
	groups := map[string][]Phase{}
	for _, p := range ps {
		tail := after(p)
		if groups[tail] == nil {
			tails = append(tails, tail)
		}
		groups[tail] = append(groups[tail], p)
	}
	lines := make([]string, len(tails))
	for i, tail := range tails {
		lines[i] = before + list(groups[tail]) + tail
	}
	return lines
}

// left is the targets of Terminating that row i speaks of: its own, or those
// that no row before has taken.
func (t *tongue) left(i int) []Phase {
	if to := t.rows[i].to; to != nil {
		return to
	}
	to := targets()
	for j := range t.rows[:i] {
		if r := &t.rows[j]; slices.Contains(r.in, Terminating) && !r.backend && r.with == "" && !r.again && r.why == nil {
			to = slices.DeleteFunc(to, func(p Phase) bool { return slices.Contains(r.to, p) })
		}
	}
	return to
}

// because is the rest of row i's condition in p, on the way to target.
func (t *tongue) because(i int, p, target Phase) string {
	r := &t.rows[i]
	// A row before may take some of the same away.
	before := func(has func(*row) bool) bool {
		return slices.ContainsFunc(t.rows[:i], func(o row) bool {
			return slices.Contains(o.in, p) && (o.to == nil || slices.Contains(o.to, target)) && has(&o)
		})
	}
	text := ""
	if len(r.why) > 0 {
		text += " because of " + list(r.why)
	} else if before(func(o *row) bool { return len(o.why) > 0 }) {
		text += " for any other reason"
	}
	if r.with != "" {
		text += " while " + string(r.with) + " holds"
	}
	if r.again {
		text += ", after the first attempt"
	} else if before(func(o *row) bool { return o.again && o.why == nil }) {
		text += ", in the first attempt"
	}
	if r.backend {
		text += ", while the whole backend does not report"
	}
	return text
}

// list writes A, B or C.
func list[T ~string](words []T) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = string(w)
	}
	if n := len(texts); n > 1 {
		return strings.Join(texts[:n-1], ", ") + " or " + texts[n-1]
	}
	return strings.Join(texts, "")
}
