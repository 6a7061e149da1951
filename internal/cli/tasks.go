package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/api"
)

// tasksShown is how many tasks of an attempt are listed; more are summed up.
const tasksShown = 40

// tasks prints the tasks of the present attempt, the failed ones first.
func (s *session) tasks(w *api.Workload, m moments) error {
	a := lastAttempt(w)
	if a == nil || len(a.Tasks) == 0 {
		return nil
	}
	ts := slices.Clone(a.Tasks)
	for _, t := range a.Former {
		t.Leaving = true // also what was lost with its node: another run follows it
		ts = append(ts, t)
	}
	slices.SortStableFunc(ts, func(x, y api.Task) int { return rank(x) - rank(y) })
	g := grid{indent: " ", whole: true} // why a task is as it is must not be cut
	cols := taskColumns(ts, m)
	for _, c := range cols {
		g.titles = append(g.titles, c.title)
	}
	for _, t := range ts[:min(len(ts), tasksShown)] {
		row := make([]cell, len(cols))
		for i, c := range cols {
			if row[i].text = c.cell(t); c.tone != nil {
				row[i].tone = c.tone(t)
			}
		}
		g.rows = append(g.rows, row)
	}
	if _, err := fmt.Fprintf(s.io.Out, "\nTasks of attempt %d\n", a.Index); err != nil {
		return err
	}
	if err := s.grid(g); err != nil {
		return err
	}
	if len(ts) > tasksShown {
		_, err := fmt.Fprintf(s.io.Out, " … and %d more; -o json has all\n", len(ts)-tasksShown)
		return err
	}
	return nil
}

// taskGPUs are the devices of a task, with its part of them where that is not
// all.
func taskGPUs(t api.Task) string {
	out := strings.Join(t.Devices, ",")
	if out != "" && t.Share > 0 && t.Share < 1 {
		out = strconv.FormatFloat(t.Share, 'f', -1, 64) + " of " + out
	}
	return orDash(out)
}

// taskColumns are the columns that say something of any of the tasks.
func taskColumns(ts []api.Task, m moments) []column[api.Task] {
	some := func(has func(api.Task) bool) bool { return slices.ContainsFunc(ts, has) }
	cols := []column[api.Task]{
		{title: "TASK", cell: func(t api.Task) string { return fmt.Sprintf("%s %d", t.Role, t.Index) }},
		{title: "STATE", cell: taskState, tone: taskTone},
	}
	if some(func(t api.Task) bool { return t.Run > 0 }) {
		cols = slices.Insert(cols, 1, column[api.Task]{title: "RUN", cell: func(t api.Task) string { return strconv.Itoa(t.Run) }})
	}
	if some(func(t api.Task) bool { return t.Name != "" }) {
		cols = append(cols, column[api.Task]{title: "POD", cell: func(t api.Task) string { return orDash(t.Name) }})
	}
	if some(func(t api.Task) bool { return t.Ready || t.Leaving && !dismissed(t) || t.Role == "replica" }) {
		cols = append(cols, column[api.Task]{title: "READY", cell: taskReady},
			column[api.Task]{title: "EDITION", cell: func(t api.Task) string { return strconv.Itoa(t.Edition) }})
	}
	cols = append(cols,
		column[api.Task]{title: "NODE", cell: func(t api.Task) string { return orDash(t.Node) }},
		column[api.Task]{title: "GPUS", cell: taskGPUs})
	if some(func(t api.Task) bool { return t.Port > 0 }) {
		cols = append(cols, column[api.Task]{title: "PORT", cell: func(t api.Task) string { return numberOr(t.Port, "-") }})
	}
	cols = append(cols, column[api.Task]{title: "TIME", cell: func(t api.Task) string { return lengthOr(t.StartedAt, t.EndedAt, m.now, "-") }})
	if some(func(t api.Task) bool { return t.Restarts > 0 }) {
		cols = append(cols, column[api.Task]{title: "RESTARTS", cell: func(t api.Task) string { return strconv.Itoa(t.Restarts) }})
	}
	return append(cols,
		column[api.Task]{title: "EXIT", cell: func(t api.Task) string { return exitText(t.ExitCode) }},
		column[api.Task]{title: "WHY", cell: func(t api.Task) string { return orDash(taskWhy(t, m)) }})
}

func taskState(t api.Task) string {
	if dismissed(t) {
		return "ended"
	}
	if t.Waiting != "" {
		return t.State + "(" + t.Waiting + ")"
	}
	return t.State
}

// dismissed reports whether t has ended because it was not wanted any more, or
// not there: that is no failure.
func dismissed(t api.Task) bool {
	return t.Leaving && (t.State == "failed" || t.State == "succeeded" || t.State == "lost")
}

func taskReady(t api.Task) string {
	switch {
	case t.Leaving:
		return "leaving"
	case t.Ready:
		return "yes"
	default:
		return "no"
	}
}

// taskWhy is why a task is as it is: the reason of its end, or how far it has
// come, as with the pull of its image.
func taskWhy(t api.Task, m moments) string {
	out := t.Reason
	if t.Message != "" {
		out = strings.TrimPrefix(out+": "+t.Message, ": ")
	}
	if t.RestartAt != nil {
		out = strings.TrimPrefix(out+"; starts again "+m.clockTime(at(t.RestartAt)), "; ")
	}
	return out
}

func numberOr(n int, none string) string {
	if n == 0 {
		return none
	}
	return strconv.Itoa(n)
}

func rank(t api.Task) int {
	switch {
	case dismissed(t):
		return 2
	case t.State == "failed" || t.State == "lost":
		return 0
	default:
		return 1
	}
}

func taskTone(t api.Task) tone {
	if dismissed(t) {
		return toneDim
	}
	switch t.State {
	case "running", "succeeded":
		return toneGood
	case "failed", "lost":
		return toneBad
	default:
		return toneBusy
	}
}
