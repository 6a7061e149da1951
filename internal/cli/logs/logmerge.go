package logs

import (
	"bufio"
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/cli/terminal"
)

const (
	// mergedAtOnce bounds how many outputs are read together; more come in
	// groups, one after another.
	mergedAtOnce = 256
	// openedAtOnce bounds how many are asked for at the same moment.
	openedAtOnce = 16
)

// merge prints the output of several tasks of an attempt, each line with its
// task in front, in the order in which the lines were written.
type merge struct {
	s       *session.Session
	c       *client.Client
	w       *api.Workload
	attempt int
	wish    wish
	hold    bool // what does not end its line yet is left for later

	next map[taskKey]int64 // where the rest of each output begins
}

// source of lines of one task.
type rankLog struct {
	task   taskRun
	prefix []byte
	body   io.Closer
	r      *bufio.Reader
	offset int64 // of the line at hand
	stamp  string
	line   []byte // with its end, where it has one
}

func (l *rankLog) key(attempt int) taskKey { return taskKey{attempt, l.task.index, l.task.run} }

// print shows the tasks.
func (m *merge) print(ctx context.Context, tasks []taskRun) error {
	m.next = map[taskKey]int64{}
	for len(tasks) > 0 {
		n := min(len(tasks), mergedAtOnce)
		if err := m.group(ctx, tasks[:n]); err != nil {
			return err
		}
		tasks = tasks[n:]
	}
	return nil
}

func (m *merge) group(ctx context.Context, tasks []taskRun) error {
	logs, err := m.open(ctx, tasks)
	defer func() {
		for _, l := range logs {
			_ = l.body.Close()
		}
	}()
	if err != nil {
		return err
	}
	var waiting byTime
	for _, l := range logs {
		m.next[l.key(m.attempt)] = l.offset
		if ok, err := l.advance(); err != nil {
			return err
		} else if ok {
			waiting = append(waiting, l)
		}
	}
	heap.Init(&waiting)
	for len(waiting) > 0 {
		l := waiting[0]
		if err := m.show(l); err != nil {
			return err
		}
		switch ok, err := l.advance(); {
		case err != nil:
			return err
		case ok:
			heap.Fix(&waiting, 0)
		default:
			heap.Pop(&waiting)
		}
	}
	return nil
}

// open asks for the outputs. Tasks that have none yet are left out.
func (m *merge) open(ctx context.Context, tasks []taskRun) ([]*rankLog, error) {
	opened, errs := make([]*rankLog, len(tasks)), make([]error, len(tasks))
	slots := make(chan struct{}, openedAtOnce)
	var wg sync.WaitGroup
	for i, task := range tasks {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			body, err := m.c.Logs(ctx, client.AllProjects, m.w.ID, client.LogOptions{Attempt: &m.attempt, Task: task.index, Run: &task.run, Tail: m.wish.tail, Since: m.wish.since, Times: true})
			if errs[i] = err; err == nil {
				opened[i] = &rankLog{
					task: task, prefix: prefixOf(m.s, roleOf(m.w, m.attempt, task.index), task), body: body, r: bufio.NewReaderSize(body, 16<<10), offset: max(body.Offset, 0),
				}
			}
		})
	}
	wg.Wait()
	var logs []*rankLog
	var failed error
	for i, l := range opened {
		if l != nil {
			logs = append(logs, l)
		} else if !IsNoLogs(errs[i]) {
			failed = cmp.Or(failed, errs[i])
		}
	}
	return logs, failed
}

func (m *merge) show(l *rankLog) error {
	whole := bytes.HasSuffix(l.line, []byte{'\n'})
	if m.hold && !whole {
		return nil
	}
	m.next[l.key(m.attempt)] = l.offset + int64(len(l.line))
	text := append([]byte(nil), l.prefix...)
	if m.wish.times {
		text = append(text, l.stamp...)
	}
	text = append(text, l.line...)
	if !whole {
		text = append(text, '\n')
	}
	_, err := terminal.Bare(m.s.IO.Out).Write(text)
	return err
}

// advance reads the next line; false: there is none.
func (l *rankLog) advance() (bool, error) {
	l.offset += int64(len(l.line))
	line, err := l.r.ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	l.stamp, l.line = splitTime(line)
	return len(line) > 0, nil
}

// splitTime takes the time off a line that has one.
func splitTime(line []byte) (stamp string, rest []byte) {
	n := min(len(line), api.LogTimeWidth)
	return string(line[:n]), line[n:]
}

// byTime is a heap; what has the same time is ordered by task.
type byTime []*rankLog

func (b byTime) Len() int { return len(b) }
func (b byTime) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(b[i].stamp, b[j].stamp), cmp.Compare(b[i].task.index, b[j].task.index), cmp.Compare(b[i].task.run, b[j].task.run)) < 0
}
func (b byTime) Swap(i, j int) { b[i], b[j] = b[j], b[i] }
func (b *byTime) Push(x any)   { *b = append(*b, x.(*rankLog)) }
func (b *byTime) Pop() any {
	old := *b
	last := old[len(old)-1]
	*b = old[:len(old)-1]
	return last
}
