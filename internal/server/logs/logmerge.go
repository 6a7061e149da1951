package logs

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/store"
)

const (
	// mergedMost bounds how many outputs are read together.
	mergedMost = 256
	// mergedOpen bounds how many are opened at the same moment.
	mergedOpen = 16
	// windowBytes is how much a page has, and is read backwards of all outputs
	// together, and windowLeast of each; windowMost how long a line may be to be found whole.
	windowBytes = 4 << 20
	windowLeast = 8 << 10
	windowMost  = 1 << 20
)

// rank is one output of several that are read together.
type rank struct {
	id    core.TaskID
	ended bool
	at    int64 // where the next line begins
	body  io.ReadCloser
	r     *bufio.Reader
	line  api.LogLine // at hand
	size  int64       // of it, with its end
	whole bool

	done     bool // its output has ended, as far as it was followed
	restarts int  // of its task, when it was last read
}

// picked are the tasks of an attempt by their indexes, those that have output or
// may come to have it, and how many were left out.
func (s *routes) picked(ctx context.Context, w *core.Workload, attempt int, choice string) ([]*rank, int, error) {
	tasks, err := s.begun(ctx, w, attempt, choice, 0, mergedMost+1)
	if err != nil {
		return nil, 0, err
	}
	left := 0
	if len(tasks) > mergedMost {
		tasks = tasks[:mergedMost]
		if left, err = s.leftOut(ctx, w, attempt, choice, tasks); err != nil {
			return nil, 0, err
		}
	}
	out := make([]*rank, len(tasks))
	for i := range out {
		t := &tasks[i]
		out[i] = &rank{id: t.ID, ended: t.State.Ended(), restarts: t.Restarts}
	}
	return out, left, nil
}

// leftOut is how many tasks have begun beside the first ones.
func (s *routes) leftOut(ctx context.Context, w *core.Workload, attempt int, choice string, first []core.Task) (int, error) {
	if spans, err := indexes(choice); err != nil || spans != nil {
		rest, err := s.begun(ctx, w, attempt, choice, first[len(first)-1].ID.Index+1, 0)
		return len(rest), err
	}
	counts, err := s.CountTasks(ctx, w, attempt)
	left := -len(first)
	for _, state := range begunStates {
		left += counts[state]
	}
	return left, err
}

// begunStates are those of tasks that have output, or may come to have it.
var begunStates = []core.TaskState{core.TaskStarting, core.TaskRunning, core.TaskStopping, core.TaskSucceeded, core.TaskFailed, core.TaskLost}

// begun are the tasks of an attempt by their indexes, of those that are chosen and
// from one on, that have output or may come to have it; at most so many, 0: all.
func (s *routes) begun(ctx context.Context, w *core.Workload, attempt int, choice string, from, most int) ([]core.Task, error) {
	spans, err := indexes(choice)
	if err != nil {
		return nil, err
	}
	if spans == nil {
		spans = [][2]int{{0, math.MaxInt - 1}}
	}
	var all []core.Task
	for _, span := range spans {
		if span[1] < from {
			continue
		}
		q := store.TaskQuery{Workload: w.ID, Attempt: attempt, From: max(span[0], from), To: span[1] + 1, States: begunStates}
		if most > 0 {
			q.Limit = most - len(all)
		}
		some, err := s.Store.FindTasks(ctx, q)
		if err != nil {
			return nil, err
		}
		if all = append(all, some...); len(all) > 0 && len(all) == most {
			break
		}
	}
	return all, nil
}

// indexes reads "all" or "0,2-3" as spans from one index to another, in their
// order and apart from one another; nil: all.
func indexes(text string) ([][2]int, error) {
	if text == "" || text == "all" {
		return nil, nil
	}
	var spans [][2]int
	for part := range strings.SplitSeq(text, ",") {
		from, to, several := strings.Cut(part, "-")
		a, err := strconv.Atoi(from)
		b := a
		if err == nil && several {
			b, err = strconv.Atoi(to)
		}
		if err != nil || a < 0 || b < a || b == math.MaxInt || len(spans) > 1000 {
			return nil, problem.BadValue("tasks", text, "are no indexes of tasks", "write all, or indexes such as 0,2-3")
		}
		spans = append(spans, [2]int{a, b})
	}
	slices.SortFunc(spans, func(x, y [2]int) int { return cmp.Compare(x[0], y[0]) })
	apart := spans[:1]
	for _, span := range spans[1:] {
		if last := &apart[len(apart)-1]; span[0] <= last[1]+1 {
			last[1] = max(last[1], span[1])
		} else {
			apart = append(apart, span)
		}
	}
	return apart, nil
}

// cursor writes where each output is: 0@12,3.1@400.
func cursor(ranks []*rank) string {
	var b strings.Builder
	for _, r := range ranks {
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(r.id.Index))
		if r.id.Run > 0 {
			b.WriteString("." + strconv.Itoa(r.id.Run))
		}
		b.WriteString("@" + strconv.FormatInt(r.at, 10))
	}
	return b.String()
}

// place puts each output where a cursor says; those that it does not name are at
// their begin.
func place(ranks []*rank, field, text string) error {
	at := map[[2]int]int64{}
	for part := range strings.SplitSeq(text, ",") {
		var index, run int
		who, where, ok := strings.Cut(part, "@")
		who, again, several := strings.Cut(who, ".")
		index, err := strconv.Atoi(who)
		if err == nil && several {
			run, err = strconv.Atoi(again)
		}
		offset, err2 := strconv.ParseInt(where, 10, 64)
		if err != nil || err2 != nil || !ok || offset < 0 {
			return problem.BadValue(field, text, "is not a cursor", "use before or after of another page")
		}
		at[[2]int{index, run}] = offset
	}
	for _, r := range ranks {
		r.at = at[[2]int{r.id.Index, r.id.Run}]
	}
	return nil
}

// each does something with every output, some at a time, and returns those that
// there are. Where it fails at one, none is left open.
func each(ranks []*rank, do func(*rank) error) ([]*rank, error) {
	errs := make([]error, len(ranks))
	slots := make(chan struct{}, mergedOpen)
	var wg sync.WaitGroup
	for i, r := range ranks {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			errs[i] = do(r)
		})
	}
	wg.Wait()
	var there []*rank
	for i, r := range ranks {
		switch {
		case errs[i] == nil:
			there = append(there, r)
		case !errors.Is(errs[i], backend.ErrNoLogs):
			closeAll(ranks)
			return nil, errs[i]
		}
	}
	return there, nil
}

func closeAll(ranks []*rank) {
	for _, r := range ranks {
		if r.body != nil {
			_ = r.body.Close()
			r.body = nil
		}
	}
}

// where finds a place in an output: its end, or where what was written from then
// on begins.
func (s *routes) where(ctx context.Context, r *rank, o backend.LogOptions) error {
	body, err := s.openLogs(ctx, r.id, o)
	if err != nil {
		return err
	}
	defer body.Close()
	p, ok := body.(backend.Positioned)
	if !ok {
		return problem.New(http.StatusNotImplemented, "not_supported", "the outputs of these tasks cannot be read together", "look at one task at a time")
	}
	r.at = p.Offset()
	return nil
}

// end finds the end of the last line of an output that has ended.
func (s *routes) end(ctx context.Context, r *rank) error {
	if err := s.where(ctx, r, backend.LogOptions{}); err != nil || r.at == 0 || r.ended {
		return err
	}
	body, err := s.openLogs(ctx, r.id, backend.LogOptions{Tail: -1, Offset: r.at - 1})
	if err != nil {
		return err
	}
	defer body.Close()
	last := []byte{0}
	if _, err := io.ReadFull(body, last); err != nil || last[0] == '\n' {
		return err
	}
	return s.where(ctx, r, backend.LogOptions{Tail: 1})
}

// read opens an output where it is.
func (s *routes) read(ctx context.Context, r *rank, follow bool) error {
	body, err := s.openLogs(ctx, r.id, backend.LogOptions{Tail: -1, Offset: r.at, Times: true, Follow: follow})
	if err != nil {
		return err
	}
	r.body, r.r = body, bufio.NewReaderSize(body, lineBytes)
	return nil
}

// next reads the next line; false: there is none. A line that has not ended yet
// is one only where nothing comes after it.
func (r *rank) next() bool {
	part, err := r.r.ReadSlice('\n')
	n := int64(len(part))
	text := string(part)
	for errors.Is(err, bufio.ErrBufferFull) {
		part, err = r.r.ReadSlice('\n')
		n += int64(len(part))
	}
	if len(text) < api.LogTimeWidth || err != nil && !(r.ended && errors.Is(err, io.EOF)) {
		return false
	}
	at, _ := time.Parse(backend.TimeLayout, text[:api.LogTimeWidth])
	r.whole, r.size = err == nil, n-int64(api.LogTimeWidth)
	r.line = api.LogLine{
		Task: r.id.Index, Run: r.id.Run, Offset: r.at, At: api.Time(at),
		Text: strings.ToValidUTF8(strings.TrimSuffix(text[api.LogTimeWidth:], "\n"), "\uFFFD"),
	}
	return r.size > 0
}

// sooner orders two lines by time and, where that is the same, by task.
func sooner(a, b api.LogLine) int {
	return cmp.Or(time.Time(a.At).Compare(time.Time(b.At)), cmp.Compare(a.Task, b.Task))
}

// forward reads on from where the outputs are.
func (s *routes) forward(ctx context.Context, ranks []*rank, limit int) (api.LogPage, error) {
	ranks, err := each(ranks, func(r *rank) error { return s.read(ctx, r, false) })
	defer closeAll(ranks)
	if err != nil {
		return api.LogPage{}, err
	}
	out := api.LogPage{Lines: []api.LogLine{}}
	if slices.ContainsFunc(ranks, func(r *rank) bool { return r.at > 0 }) {
		out.Before = cursor(ranks)
	}
	waiting := slices.DeleteFunc(slices.Clone(ranks), func(r *rank) bool { return !r.next() })
	for size := 0; len(waiting) > 0 && len(out.Lines) < limit && size < windowBytes && ctx.Err() == nil; {
		first := slices.MinFunc(waiting, func(a, b *rank) int { return sooner(a.line, b.line) })
		out.Lines = append(out.Lines, first.line)
		size += len(first.line.Text)
		first.at += first.size
		if !first.next() {
			waiting = slices.DeleteFunc(waiting, func(r *rank) bool { return r == first })
		}
	}
	out.After, out.More = cursor(ranks), len(waiting) > 0
	return out, ctx.Err()
}

// backward reads what lies before where the outputs are. Of each only a stretch
// is read: what is shown begins where the one of which least time is known does.
func (s *routes) backward(ctx context.Context, ranks []*rank, limit int) (api.LogPage, error) {
	out := api.LogPage{Lines: []api.LogLine{}, After: cursor(ranks)}
	stretch := int64(max(windowLeast, windowBytes/max(1, len(ranks))))
	lines, more := make([][]api.LogLine, len(ranks)), make([]bool, len(ranks))
	numbers := map[*rank]int{}
	for i, r := range ranks {
		numbers[r] = i
	}
	if _, err := each(ranks, func(r *rank) (err error) {
		i := numbers[r]
		lines[i], more[i], err = s.window(ctx, r, stretch)
		return err
	}); err != nil {
		return out, err
	}
	type owned struct {
		line api.LogLine
		rank int
	}
	var all []owned
	begin := 0
	for at := make([]int, len(ranks)); ; {
		first := -1
		for i := range ranks {
			if at[i] < len(lines[i]) && (first < 0 || sooner(lines[i][at[i]], lines[first][at[first]]) < 0) {
				first = i
			}
		}
		if first < 0 {
			break
		}
		if at[first] == 0 && more[first] {
			begin = len(all) // there may be others of it before
		}
		all = append(all, owned{lines[first][at[first]], first})
		at[first]++
	}
	all = all[max(begin, len(all)-limit):]
	for _, l := range slices.Backward(all) {
		ranks[l.rank].at = l.line.Offset
	}
	for _, l := range all {
		out.Lines = append(out.Lines, l.line)
	}
	if slices.ContainsFunc(ranks, func(r *rank) bool { return r.at > 0 }) {
		out.Before = cursor(ranks)
	}
	return out, nil
}

// window reads the lines of an output that end before where it is, and says
// whether there are others before them.
func (s *routes) window(ctx context.Context, r *rank, stretch int64) ([]api.LogLine, bool, error) {
	for ; r.at > 0; stretch *= 8 {
		from := max(0, r.at-stretch)
		w := &rank{id: r.id, at: from, ended: true}
		if err := s.read(ctx, w, false); err != nil {
			return nil, false, err
		}
		var lines []api.LogLine
		for n := 0; w.at < r.at && w.next(); n++ {
			begin := w.at
			w.at += w.size
			if (begin > 0 && n == 0 && from > 0) && stretch < windowMost || w.at > r.at {
				continue // it began somewhere in a line
			}
			lines = append(lines, w.line)
		}
		closeAll([]*rank{w})
		if len(lines) > 0 || from == 0 || stretch >= windowMost {
			return lines, len(lines) > 0 && lines[0].Offset > 0, nil
		}
	}
	return nil, false, nil
}
