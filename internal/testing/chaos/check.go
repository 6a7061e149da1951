package chaos

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/musterhq/muster/api"
)

// Check compares what the server says with the ledger, with what commands wrote
// of themselves, and with itself. It changes nothing and asks nobody.
func Check(h *History) []Violation {
	c := newChecker(h)
	for _, check := range []func(){c.there, c.once, c.sequence, c.replayed, c.streams, c.devices, c.books, c.codes, c.ends, c.wishes, c.late, c.logs, c.answers, c.faults} {
		check()
	}
	return append(slices.Clone(h.Seen), c.found...)
}

// checker has the history by what is looked for.
type checker struct {
	*History
	found []Violation

	byID   map[string]*api.Workload
	byName map[string][]*api.Workload
	entry  map[string]*Entry // by id of the workload
	runs   map[Run]placed
	starts map[Run][]Mark
	last   map[Run]Mark // the last word of a command that came to its end
	killed map[Run]bool
	steps  map[string][]api.Transition // by workload

	moments  []time.Duration // how long after the answer to a stop commands began
	lines    int             // of logs
	fullLogs int             // logs of which a full disk took lines, and had no room to say so
	cutLogs  int             // logs whose end was not on the disk when the power was lost
}

func newChecker(h *History) *checker {
	c := &checker{
		History: h, byID: map[string]*api.Workload{}, byName: map[string][]*api.Workload{}, entry: map[string]*Entry{}, runs: map[Run]placed{},
		starts: map[Run][]Mark{}, last: map[Run]Mark{}, killed: map[Run]bool{}, steps: map[string][]api.Transition{},
	}
	for i := range h.Workloads {
		w := &h.Workloads[i]
		c.byID[w.ID] = w
		c.byName[w.Name] = append(c.byName[w.Name], w)
		for _, p := range runsOf(w) {
			c.runs[p.Run] = p
		}
	}
	for _, e := range h.Entries {
		for _, w := range c.byName[e.Name] {
			c.entry[w.ID] = e
		}
	}
	for _, m := range h.Marks {
		if m.End {
			c.last[m.Run] = m
		} else {
			c.starts[m.Run] = append(c.starts[m.Run], m)
		}
	}
	for _, d := range h.Deeds {
		if d.What == KillTask {
			c.killed[Run{d.Workload, d.Attempt, d.Index, d.Run}] = true
		}
	}
	for _, t := range h.Transitions {
		c.steps[t.Workload] = append(c.steps[t.Workload], t)
	}
	return c
}

func (c *checker) say(kind Kind, who, format string, args ...any) {
	c.found = append(c.found, Violation{kind, who, fmt.Sprintf(format, args...)})
}

// there: what was answered is there, once, under the identity that was told.
func (c *checker) there() {
	known := map[string]bool{}
	for _, e := range c.Entries {
		known[e.Name] = true
		all := c.byName[e.Name]
		switch {
		case len(all) > 1:
			c.say(Doubled, e.Name, "there are %d of it", len(all))
		case e.Acked != nil && len(all) == 0:
			c.say(Missing, e.Name, "it was answered as %s at %v", e.ID, e.Acked.Wall)
		case e.Acked != nil && all[0].ID != e.ID:
			c.say(Missing, e.Name, "it was answered as %s and is %s", e.ID, all[0].ID)
		}
	}
	for _, w := range c.Workloads {
		if !known[w.Name] {
			c.say(Doubled, w.Name, "nobody has submitted it")
		}
	}
}

// once: each run of a task begins at most once, and the server knows of it.
func (c *checker) once() {
	for run, all := range c.starts {
		if len(all) > 1 {
			c.say(RanTwice, run.String(), "its command began %d times, with pids %d and %d, %v apart", len(all), all[0].PID, all[1].PID, all[1].At.sub(all[0].At))
		}
		if _, ok := c.runs[run]; !ok {
			c.say(RanTwice, run.String(), "its command began, and the server knows no such task")
		}
	}
}

// released is when a run gave its devices back; zero: it holds them. A task of
// an array gives its place free at its own end, others with their attempt.
func (c *checker) released(p placed) time.Time {
	var end time.Time
	if p.attempt.EndedAt != nil {
		end = time.Time(*p.attempt.EndedAt)
	}
	e := c.entry[p.Workload]
	if e != nil && e.Kind == "array" && p.task.EndedAt != nil {
		end = time.Time(*p.task.EndedAt)
	}
	return end
}

// devices: no device is charged to more than it can carry at any moment.
func (c *checker) devices() {
	type change struct {
		at    time.Time
		milli int
		who   Run
	}
	by := map[string][]change{}
	for _, p := range c.runs {
		to := c.released(p)
		if p.task.PlacedAt == nil {
			continue
		}
		milli := int(p.task.Share*1000 + 0.5)
		for _, d := range p.task.Devices {
			by[d] = append(by[d], change{time.Time(*p.task.PlacedAt), milli, p.Run})
			if !to.IsZero() {
				by[d] = append(by[d], change{to, -milli, p.Run})
			}
		}
	}
	for d, all := range by {
		slices.SortFunc(all, func(a, b change) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.milli, b.milli)) })
		sum := 0
		for _, x := range all {
			if sum += x.milli; sum > 1000 && x.milli > 0 {
				c.say(HeldTwice, "device "+d, "%d thousandths of it are held when %s comes at %v", sum, x.who, x.at)
			}
		}
	}
}

// books: what is charged is what was held.
func (c *checker) books() {
	want := map[string]float64{}
	for _, p := range c.runs {
		if to := c.released(p); p.task.PlacedAt != nil && !to.IsZero() {
			held := max(to.Sub(time.Time(*p.task.PlacedAt)), 0)
			want[p.Workload] += held.Seconds() * p.task.Share * float64(len(p.task.Devices))
		}
	}
	const grain = 0.005 // answers are rounded
	for i := range c.Workloads {
		w := &c.Workloads[i]
		if !over(w) || cutShort(w) {
			continue
		}
		if d := w.GPUSeconds - want[w.ID]; d > grain || d < -grain {
			c.say(Books, w.Name, "%.3f GPU-seconds are charged, its tasks held theirs for %.3f", w.GPUSeconds, want[w.ID])
		}
		if d := c.Charged[w.ID] - want[w.ID]; d > grain || d < -grain {
			c.say(Books, w.Name, "the usage says %.3f GPU-seconds, its tasks held theirs for %.3f", c.Charged[w.ID], want[w.ID])
		}
	}
}

func over(w *api.Workload) bool { return w.EndedAt != nil || w.Phase == "Deleted" }

// cutShort says that the server has left out tasks.
func cutShort(w *api.Workload) bool {
	return slices.ContainsFunc(w.Attempts, func(a api.Attempt) bool { return a.TasksLeft > 0 })
}

// answers: a server that was ended by force answers again.
func (c *checker) answers() {
	for _, d := range c.Answers {
		if d > within {
			c.say(Slow, "server", "its first answer took %v", d)
		}
	}
}
