package inspect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
)

// tasksShown is how many tasks of an attempt are listed; more are summed up.
const tasksShown = 40

// tasks prints the tasks of the present attempt, the failed ones first.
func tasks(s *session.Session, w *api.Workload, m session.Moments) error {
	a := printers.LastAttempt(w)
	if a == nil || len(a.Tasks) == 0 {
		return nil
	}
	ts := slices.Clone(a.Tasks)
	for _, t := range a.Former {
		t.Leaving = true // also what was lost with its node: another run follows it
		ts = append(ts, t)
	}
	slices.SortStableFunc(ts, func(x, y api.Task) int { return rank(x) - rank(y) })
	g := session.Grid{Indent: " ", Whole: true} // why a task is as it is must not be cut
	cols := taskColumns(ts, m)
	for _, c := range cols {
		g.Titles = append(g.Titles, c.Title)
	}
	for _, t := range ts[:min(len(ts), tasksShown)] {
		row := make([]session.Cell, len(cols))
		for i, c := range cols {
			if row[i].Text = c.Cell(t); c.Tone != nil {
				row[i].Tone = c.Tone(t)
			}
		}
		g.Rows = append(g.Rows, row)
	}
	if _, err := fmt.Fprintf(s.IO.Out, "\nTasks of attempt %d\n", a.Index); err != nil {
		return err
	}
	if err := s.Grid(g); err != nil {
		return err
	}
	if len(ts) > tasksShown {
		_, err := fmt.Fprintf(s.IO.Out, " … and %d more; -o json has all\n", len(ts)-tasksShown)
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
	return printers.OrDash(out)
}

// taskColumns are the columns that say something of any of the tasks.
func taskColumns(ts []api.Task, m session.Moments) []session.Column[api.Task] {
	some := func(has func(api.Task) bool) bool { return slices.ContainsFunc(ts, has) }
	cols := []session.Column[api.Task]{
		{Title: "TASK", Cell: func(t api.Task) string { return fmt.Sprintf("%s %d", t.Role, t.Index) }},
		{Title: "STATE", Cell: taskState, Tone: taskTone},
	}
	if some(func(t api.Task) bool { return t.Run > 0 }) {
		cols = slices.Insert(cols, 1, session.Column[api.Task]{Title: "RUN", Cell: func(t api.Task) string { return strconv.Itoa(t.Run) }})
	}
	if some(func(t api.Task) bool { return t.Name != "" }) {
		cols = append(cols, session.Column[api.Task]{Title: "POD", Cell: func(t api.Task) string { return printers.OrDash(t.Name) }})
	}
	if some(func(t api.Task) bool { return t.Ready || t.Leaving && !dismissed(t) || t.Role == "replica" }) {
		cols = append(cols, session.Column[api.Task]{Title: "READY", Cell: taskReady},
			session.Column[api.Task]{Title: "GENERATION", Cell: func(t api.Task) string { return strconv.Itoa(t.Generation) }})
	}
	cols = append(cols,
		session.Column[api.Task]{Title: "NODE", Cell: func(t api.Task) string { return printers.OrDash(t.Node) }},
		session.Column[api.Task]{Title: "GPUS", Cell: taskGPUs})
	if some(func(t api.Task) bool { return t.Port > 0 }) {
		cols = append(cols, session.Column[api.Task]{Title: "PORT", Cell: func(t api.Task) string { return numberOr(t.Port, "-") }})
	}
	cols = append(cols, session.Column[api.Task]{Title: "TIME", Cell: func(t api.Task) string { return session.LengthOr(t.StartedAt, t.EndedAt, m.Now, "-") }})
	if some(func(t api.Task) bool { return t.Restarts > 0 }) {
		cols = append(cols, session.Column[api.Task]{Title: "RESTARTS", Cell: func(t api.Task) string { return strconv.Itoa(t.Restarts) }})
	}
	return append(cols,
		session.Column[api.Task]{Title: "EXIT", Cell: func(t api.Task) string { return ExitText(t.ExitCode) }},
		session.Column[api.Task]{Title: "WHY", Cell: func(t api.Task) string { return printers.OrDash(taskWhy(t, m)) }})
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
func taskWhy(t api.Task, m session.Moments) string {
	out := t.Reason
	if t.Message != "" {
		out = strings.TrimPrefix(out+": "+t.Message, ": ")
	}
	if t.RestartAt != nil {
		out = strings.TrimPrefix(out+"; starts again "+m.ClockTime(session.At(t.RestartAt)), "; ")
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

func taskTone(t api.Task) session.Tone {
	if dismissed(t) {
		return session.ToneDim
	}
	switch t.State {
	case "running", "succeeded":
		return session.ToneGood
	case "failed", "lost":
		return session.ToneBad
	default:
		return session.ToneBusy
	}
}
