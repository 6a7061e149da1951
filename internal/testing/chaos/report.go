package chaos

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// Report is the table of what was done, compared and found.
func Report(out io.Writer, h *History, found []Violation) {
	c := newChecker(h)
	c.late()
	c.logs()
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	defer func() { _ = t.Flush() }()
	row := func(what string, format string, args ...any) {
		_, _ = fmt.Fprintf(t, "%s\t%s\n", what, fmt.Sprintf(format, args...))
	}
	deeds := map[string]int{}
	kills := 0
	for _, d := range h.Deeds {
		deeds[d.What]++
		if d.kills() {
			kills++
		}
	}
	row("kills of server, supervisor or both", "%d", kills)
	for _, what := range []string{KillServer, KillSupervisor, KillBoth, KillTask, FreezeServer, FreezeSupervisor, Restart, FillDisk, SealDisk, CutPower} {
		if deeds[what] > 0 {
			row("  "+what, "%d", deeds[what])
		}
	}
	acked, stops, deletes, boxes := 0, 0, 0, 0
	for _, e := range h.Entries {
		acked += one(e.Acked != nil)
		stops += one(e.Stopped != nil)
		deletes += one(e.Deleted != nil)
		boxes += one(e.Acked != nil && e.Box)
	}
	row("acknowledged submissions, stops, deletes", "%d, %d, %d (submissions of containers: %d)", acked, stops, deletes, boxes)
	ends := map[string]int{}
	for _, w := range h.Workloads {
		ends[w.Phase]++
	}
	for _, phase := range sorted(ends) {
		row("  "+phase, "%d", ends[phase])
	}
	starts := 0
	for _, all := range c.starts {
		starts += len(all)
	}
	row("command starts; transitions; of these told to a watcher", "%d; %d; %d", starts, len(h.Transitions), len(h.Streamed))
	row("logs compared; their lines", "%d; %d", len(h.Logs), c.lines)
	if c.cutLogs > 0 {
		row("logs whose end was not on the disk at a cut", "%d", c.cutLogs)
	}
	if c.fullLogs > 0 {
		row("logs that a full disk cut without room to say so", "%d", c.fullLogs)
	}
	row("looks at all processes", "%d", h.Scans)
	if n := len(h.Answers); n > 0 {
		all := slices.Sorted(slices.Values(h.Answers))
		row("first answer after a kill", "p50 %.2f s, max %.2f s (%d)", all[n/2].Seconds(), all[n-1].Seconds(), n)
	}
	if n := len(c.moments); n > 0 {
		row("began in the moment of its stop", "%d, at most %v after the answer", n, slices.Max(c.moments).Round(10*time.Millisecond))
	}
	by := map[Kind]int{}
	for _, v := range found {
		by[v.Kind]++
	}
	for _, k := range Kinds() {
		row(string(k), "%d", by[k])
	}
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

func sorted(m map[string]int) []string {
	var all []string
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}
