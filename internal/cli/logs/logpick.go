package logs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// allOfThem in place of a number is every task, or every attempt.
const allOfThem = "all"

// picked reports whether tasks were asked for.
func (o *logsOptions) picked() bool {
	return (o.flags("task") || o.flags("rank")) && o.tasks != allOfThem || o.failed
}

// attemptsOf are the attempts that are meant: by default the latest that
// began, as one that waits has written nothing yet.
func (o *logsOptions) attemptsOf(w *api.Workload) ([]int, error) {
	n := w.Attempt
	switch {
	case o.attempt == allOfThem:
		all := make([]int, w.Attempt+1)
		for i := range all {
			all[i] = i
		}
		return all, nil
	case o.flags("attempt"):
		var err error
		if n, err = strconv.Atoi(o.attempt); err != nil || n < 0 {
			return nil, session.UsageError(fmt.Sprintf("--attempt: %q is not a number", o.attempt), "attempts are numbered from 0; all is every one")
		}
	case o.previous:
		n = w.Attempt - 1
	case !o.follow:
		for n > 0 && n < len(w.Attempts) && w.Attempts[n].StartedAt == nil {
			n--
		}
	}
	if n < 0 || n > w.Attempt {
		return nil, session.NotFoundError(fmt.Sprintf("%s has no attempt %d; the latest is %d", w.Name, n, w.Attempt), "muster describe "+w.Name+" shows every attempt")
	}
	return []int{n}, nil
}

// pick is the tasks of an attempt that are meant.
func pick(s *session.Session, w *api.Workload, o *logsOptions, attempt int) ([]int, error) {
	every := tasksOf(w, attempt)
	culprit := culpritOf(w, attempt)
	switch {
	case o.all || o.tasks == allOfThem:
		return every, nil
	case o.flags("task") || o.flags("rank"):
		return pickRanks(w, attempt, o.tasks, every)
	case o.failed && culprit == nil:
		return nil, session.NotFoundError(fmt.Sprintf("no task of attempt %d of %s has failed", attempt, w.Name), "leave out --failed")
	case culprit != nil && (o.failed || len(every) > 1 && w.Phase == string(lifecycle.Failed)):
		s.Say("Showing task %d, which failed first; --task N shows another, --first-error the error itself", *culprit)
		return []int{*culprit}, nil
	case len(every) > 1 && o.follow:
		return every, nil
	case len(every) > 1:
		first := firstWanted(w, attempt, every)
		s.Say("Showing task %d of %d; --task N shows another, --all-tasks all", first, len(every))
		return []int{first}, nil
	}
	return every, nil
}

// firstWanted is the first task, of replicas the first of the newest generation
// that is not on its way out.
func firstWanted(w *api.Workload, attempt int, every []int) int {
	var best *api.Task
	if attempt < len(w.Attempts) {
		for i := range w.Attempts[attempt].Tasks {
			if t := &w.Attempts[attempt].Tasks[i]; !t.Leaving && (best == nil || t.Generation > best.Generation) {
				best = t
			}
		}
	}
	if best == nil {
		return every[0]
	}
	return best.Index
}

func culpritOf(w *api.Workload, attempt int) *int {
	if attempt < len(w.Attempts) {
		return w.Attempts[attempt].Culprit
	}
	return nil
}

// tasksOf are the indexes of an attempt's tasks, or of those that it will have.
func tasksOf(w *api.Workload, attempt int) []int {
	var all []int
	if attempt < len(w.Attempts) {
		for _, t := range w.Attempts[attempt].Tasks {
			all = append(all, t.Index)
		}
	}
	if len(all) == 0 || attempt == w.Attempt && !lifecycle.Kind(w.Kind).Replicated() && len(all) < w.Tasks.Total && !printers.DocOf(w).Elastic() {
		all = all[:0]
		for i := range max(w.Tasks.Total, 1) {
			all = append(all, i)
		}
	}
	slices.Sort(all)
	return all
}

// pickRanks reads 0,2-3 as tasks 0, 2 and 3: some of every one, or such as others
// have replaced.
func pickRanks(w *api.Workload, attempt int, text string, every []int) ([]int, error) {
	wrong := func() error {
		return session.UsageError(fmt.Sprintf("--task: %q is not understood", text), "an index from 0, several like 0,2-3, or all")
	}
	there := make(map[int]bool, len(every))
	for _, i := range every {
		there[i] = true
	}
	if attempt < len(w.Attempts) {
		for _, t := range w.Attempts[attempt].Former {
			there[t.Index] = true
		}
	}
	var some []int
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		a, err1 := strconv.Atoi(from)
		b, err2 := strconv.Atoi(to)
		if err1 != nil || err2 != nil || a < 0 || b < a || from[0] == '+' || to[0] == '+' {
			return nil, wrong()
		}
		for i := a; i <= b; i++ {
			if !there[i] {
				return nil, session.NotFoundError(fmt.Sprintf("%s has no task %d; it has %s", w.Name, i, tasksThere(every)), "muster describe "+w.Name+" shows every task")
			}
			some = append(some, i)
		}
	}
	slices.Sort(some)
	return slices.Compact(some), nil
}

// taskRun is a run of a task of an attempt.
type taskRun struct{ index, run int }

// runsThere are the runs of a task that have begun, in order.
func runsThere(w *api.Workload, attempt, index int) []int {
	var all []int
	if attempt >= len(w.Attempts) {
		return nil
	}
	a := &w.Attempts[attempt]
	for _, t := range slices.Concat(a.Former, a.Tasks) {
		if t.Index == index && (t.StartedAt != nil || t.EndedAt != nil) {
			all = append(all, t.Run)
		}
	}
	slices.Sort(all)
	return all
}

// runs are the runs of tasks that are meant: by default the latest of each that
// began, as one that waits has written nothing yet.
func (o *logsOptions) runs(w *api.Workload, attempt int, tasks []int) ([]taskRun, error) {
	wanted, err := strconv.Atoi(o.run)
	if o.run != "" && o.run != allOfThem && (err != nil || wanted < 0) {
		return nil, session.UsageError(fmt.Sprintf("--run: %q is not a number", o.run), "runs are numbered from 0; all is every one")
	}
	var out []taskRun
	for _, index := range tasks {
		there := runsThere(w, attempt, index)
		switch {
		case o.run != "" && o.run != allOfThem:
			if slices.Contains(there, wanted) {
				out = append(out, taskRun{index, wanted})
			}
		case len(there) == 0:
			out = append(out, taskRun{index, 0})
		case o.run == allOfThem:
			for _, run := range there {
				out = append(out, taskRun{index, run})
			}
		default:
			out = append(out, taskRun{index, there[len(there)-1]})
		}
	}
	if len(out) == 0 {
		return nil, session.NotFoundError(fmt.Sprintf("no task that is meant has run %d in attempt %d of %s", wanted, attempt, w.Name), "muster describe "+w.Name+" shows every run")
	}
	return out, nil
}

func tasksThere(every []int) string {
	if every[len(every)-1] == len(every)-1 {
		return session.Plural(len(every), "task") + ", from 0"
	}
	var all []string
	for _, i := range every[:min(len(every), 20)] {
		all = append(all, strconv.Itoa(i))
	}
	return "tasks " + strings.Join(all, ", ")
}

// roleOf is the role of a task of an attempt.
func roleOf(w *api.Workload, attempt, index int) string {
	if attempt < len(w.Attempts) {
		for _, t := range w.Attempts[attempt].Tasks {
			if t.Index == index {
				return t.Role
			}
		}
	}
	return "task"
}

// rankTones tell the tasks of a merged view apart.
var rankTones = []session.Tone{"36", "33", "32", "35", "34", "96", "93", "92", "95", "94"}

// prefixOf is what stands before each line of a task among several.
func prefixOf(s *session.Session, role string, t taskRun) []byte {
	name := fmt.Sprintf("%s %d", role, t.index)
	if t.run > 0 {
		name += fmt.Sprintf(" run %d", t.run)
	}
	return []byte(s.Paint(s.IO.OutTerminal, rankTones[t.index%len(rankTones)], "["+name+"]") + " ")
}

// attemptLine says where the output of an attempt begins, and why there is one.
func attemptLine(attempt int, reason string) string {
	if reason == "" {
		return fmt.Sprintf("── attempt %d ──", attempt)
	}
	return fmt.Sprintf("── attempt %d (%s) ──", attempt, reason)
}

// attemptReason is why there is this attempt: how the one before ended.
func attemptReason(w *api.Workload, attempt int) string {
	for _, a := range w.Attempts {
		switch {
		case a.Index != attempt-1 || a.Reason == "":
		case a.ExitCode != nil && *a.ExitCode != 0:
			return fmt.Sprintf("%s (exit %d)", a.Reason, *a.ExitCode)
		default:
			return a.Reason
		}
	}
	return ""
}
