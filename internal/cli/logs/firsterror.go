package logs

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/firsterror"
)

const (
	// scannedAtOnce bounds how many outputs are searched together.
	scannedAtOnce = 8
	// together is how far apart in time errors of several tasks may be for one
	// of them still to be the cause of an earlier one: a peer may notice the
	// end of another before that has written why.
	together = firsterror.Together
)

// firstError is an error in the output of one task.
type firstError struct {
	firsterror.Finding
	Task    int       `json:"task"`
	Role    string    `json:"role"`
	Node    string    `json:"node,omitempty"`
	Devices []string  `json:"devices,omitempty"`
	Attempt int       `json:"attempt"`
	At      *api.Time `json:"at,omitempty"`
	Hint    string    `json:"hint,omitempty"`
}

// searched is what became of the search of one task's output.
type searched struct {
	task  int
	lines int
	found *firstError
	none  bool // it has written nothing
	err   error
}

// printFirstErrors shows the first error in the output of the tasks that are meant,
// by default all of them.
func printFirstErrors(ctx context.Context, s *session.Session, c *client.Client, w *api.Workload, o *logsOptions, attempts []int, since time.Time) error {
	var looked []string
	for _, attempt := range attempts {
		tasks := tasksOf(w, attempt)
		if o.picked() {
			var err error
			if tasks, err = pick(s, w, o, attempt); err != nil {
				return err
			}
		}
		all := search(ctx, s, c, w, attempt, tasks, since)
		if err := ctx.Err(); err != nil {
			return err
		}
		found, lines, outputs := []*firstError{}, 0, 0
		for _, x := range all {
			if x.err != nil {
				return x.err
			}
			lines += x.lines
			if !x.none {
				outputs++
			}
			if x.found != nil {
				found = append(found, x.found)
			}
		}
		found = append(found, killed(w, attempt, tasks)...)
		if len(found) > 0 {
			return showError(s, w, found)
		}
		if !o.picked() { // how it ended may tell what no output does
			if r, err := c.FirstError(ctx, w.Project, w.ID, attempt); err == nil && r.Error != nil {
				return showError(s, w, []*firstError{errorOf(*r.Error)})
			}
		}
		looked = append(looked, fmt.Sprintf("%s of %s of attempt %d", session.Plural(lines, "line"), session.Plural(outputs, "task"), attempt))
	}
	var kinds []string
	for _, k := range firsterror.Kinds() {
		kinds = append(kinds, string(k))
	}
	return session.NotFoundError("no error was found in "+strings.Join(looked, ", ")+"; looked for "+strings.Join(kinds, ", "),
		"muster logs "+w.Name+" --failed --tail 50 shows the end of what failed first")
}

// search reads the outputs of tasks until an error, a few together.
func search(ctx context.Context, s *session.Session, c *client.Client, w *api.Workload, attempt int, tasks []int, since time.Time) []searched {
	out := make([]searched, len(tasks))
	slots := make(chan struct{}, scannedAtOnce)
	limit := &earliest{}
	var wg sync.WaitGroup
	for i, task := range tasks {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			out[i] = searchOne(ctx, c, w, attempt, task, since, limit)
		})
	}
	wg.Wait()
	return out
}

// earliest is the time of the earliest error found until now, as a stamp.
type earliest struct {
	mu sync.Mutex
	at time.Time
}

// note takes a time into account and reports whether at is too late to matter.
func (e *earliest) tooLate(stamp string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.at.IsZero() {
		return false
	}
	at, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(stamp))
	return err == nil && at.Sub(e.at) > together
}

func (e *earliest) note(at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !at.IsZero() && (e.at.IsZero() || at.Before(e.at)) {
		e.at = at
	}
}

// checkEvery is after how many lines a search asks whether it still matters.
const checkEvery = 1024

// logLine reads a line, and returns its beginning where it is longer than the
// reader's buffer: a program may write gigabytes without an end of one.
func logLine(r *bufio.Reader) ([]byte, error) {
	part, err := r.ReadSlice('\n')
	line := slices.Clone(part)
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = r.ReadSlice('\n')
	}
	return line, err
}

func searchOne(ctx context.Context, c *client.Client, w *api.Workload, attempt, task int, since time.Time, limit *earliest) searched {
	out := searched{task: task}
	run := 0
	if there := runsThere(w, attempt, task); len(there) > 0 {
		run = there[len(there)-1]
	}
	body, err := c.Logs(ctx, client.AllProjects, w.ID, client.LogOptions{Attempt: &attempt, Task: task, Run: &run, Since: since, Times: true})
	if err != nil {
		out.none = IsNoLogs(err)
		if !out.none {
			out.err = err
		}
		return out
	}
	defer body.Close()
	var scan firsterror.Scanner
	var begun string // when the line with the error was written
	r := bufio.NewReaderSize(body, 64<<10)
	for !scan.Done() {
		line, err := logLine(r)
		if err != nil && !errors.Is(err, io.EOF) {
			out.err = err
			return out
		}
		if len(line) > 0 {
			stamp, text := splitTime(line)
			before := scan.Found()
			scan.Line(strings.TrimSuffix(string(text), "\n"))
			if scan.Found() && !before {
				begun = stamp
			}
			if scan.Lines()%checkEvery == 0 && !scan.Found() && limit.tooLate(stamp) {
				break
			}
		}
		if err != nil {
			break
		}
	}
	out.lines = scan.Lines()
	f := scan.Finish()
	if f == nil {
		return out
	}
	out.found = &firstError{Finding: *f, Task: task, Role: roleOf(w, attempt, task), Node: nodeOf(w, attempt, task), Devices: devicesOf(w, attempt, task), Attempt: attempt, Hint: f.Kind.Hint()}
	if at, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(begun)); err == nil && at.Year() > 1 {
		limit.note(at)
		out.found.At = (*api.Time)(&at)
	}
	return out
}

func nodeOf(w *api.Workload, attempt, index int) string { return taskIn(w, attempt, index).Node }

func devicesOf(w *api.Workload, attempt, index int) []string {
	return taskIn(w, attempt, index).Devices
}

// taskIn is the task of that index in an attempt; an empty one where it has none.
func taskIn(w *api.Workload, attempt, index int) api.Task {
	if attempt < len(w.Attempts) {
		for _, t := range w.Attempts[attempt].Tasks {
			if t.Index == index {
				return t
			}
		}
	}
	return api.Task{}
}

// killed are the tasks that were killed for their memory: that stands in no
// output.
func killed(w *api.Workload, attempt int, tasks []int) []*firstError {
	var found []*firstError
	if attempt >= len(w.Attempts) {
		return nil
	}
	for _, t := range w.Attempts[attempt].Tasks {
		if t.Reason != "OutOfMemory" || !slices.Contains(tasks, t.Index) {
			continue
		}
		f := firsterror.Finding{Kind: firsterror.OutOfMemory, Title: cmp.Or(t.Message, "it used more memory than it may"), Excerpt: []string{}}
		found = append(found, &firstError{Finding: f, Task: t.Index, Role: t.Role, Node: t.Node, Devices: t.Devices, Attempt: attempt, At: t.EndedAt, Hint: f.Kind.Hint()})
	}
	return found
}

// order puts the error that explains the others first: by time, but one that
// reports another's end after what came at about the same time.
func order(found []*firstError, culprit *int) {
	firsterror.Order(found, culprit, func(f *firstError) (*firsterror.Finding, int, time.Time) { return &f.Finding, f.Task, session.At(f.At) })
}

func showError(s *session.Session, w *api.Workload, found []*firstError) error {
	order(found, culpritOf(w, found[0].Attempt))
	f := found[0]
	if s.Machine() {
		return s.Document(f)
	}
	if _, err := fmt.Fprintf(s.IO.Out, "%s: %s\n", s.Paint(s.IO.OutTerminal, session.ToneTitle, errorPlace(s, f)), s.Paint(s.IO.OutTerminal, session.ToneBad, f.Title)); err != nil {
		return err
	}
	if len(f.Excerpt) > 0 {
		if _, err := fmt.Fprintf(s.IO.Out, "\n%s\n", strings.Join(f.Excerpt, "\n")); err != nil {
			return err
		}
	}
	if f.Hint != "" {
		s.Say("fix: %s", f.Hint)
	}
	for i, other := range found[1:] {
		if i == 5 {
			s.Say("… and in %s more", session.Plural(len(found)-6, "task"))
			break
		}
		s.Say("also %s: %s", errorPlace(s, other), session.Cut(other.Title, 160))
	}
	return nil
}

// errorPlace says where an error stands.
func errorPlace(s *session.Session, f *firstError) string {
	out := fmt.Sprintf("%s, %s %d", f.Kind, f.Role, f.Task)
	if f.Node != "" {
		out += " on " + f.Node
	}
	if len(f.Devices) > 0 {
		out += " (" + strings.Join(f.Devices, ", ") + ")"
	}
	out += fmt.Sprintf(", attempt %d", f.Attempt)
	if f.Line > 0 {
		out += fmt.Sprintf(", line %d", f.Line)
	}
	if f.At != nil {
		out += ", " + session.At(f.At).Local().Format("15:04:05.000")
	}
	return out
}
