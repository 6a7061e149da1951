// Package trace reads records of what a cluster was once asked to do: who
// asked for how many GPUs, when, and for how long. It reads CSV, plain or
// gzip'ed; columns are found by their names, so the public Philly extract and
// tables of one's own need no conversion. Errors name line and column.
package trace

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Job is one job of a trace.
type Job struct {
	ID       int    // place in the order of submission, from 0
	Submit   int64  // seconds since the first submission of the trace
	Duration int64  // seconds of work, at least 1
	GPUs     int    // at least 1
	Project  string // who asked; empty where the trace does not say
}

const (
	// maxJobs bounds what is read, so that a compressed file cannot fill memory.
	maxJobs = 20_000_000
	// maxSeconds is some 3,000 years: sums over all jobs stay within int64.
	maxSeconds = 100_000_000_000
	maxGPUs    = 10_000_000
)

// column is something a job needs, and the names it goes by.
type column struct {
	name   string
	also   []string
	needed bool
}

// Columns in the order of row's fields. Names are compared in lower case.
var columns = []column{
	{name: "submit", also: []string{"timestamp", "submit_s", "submit_time", "submitted"}, needed: true},
	{name: "duration", also: []string{"duration_s", "seconds", "run_time"}, needed: true},
	{name: "gpus", also: []string{"num_gpus", "gpu_num", "num_gpu"}, needed: true},
	{name: "project", also: []string{"cluster", "vc", "queue", "user"}},
}

const (
	submitColumn = iota
	durationColumn
	gpusColumn
	projectColumn
)

// Error says where a trace is not what it should be.
type Error struct {
	Line   int    // from 1; the header is line 1
	Column string // the name in the file's header; empty: the line as a whole
	Err    error
}

// Error is one line: where, and what.
func (e *Error) Error() string {
	if e.Column == "" {
		return fmt.Sprintf("trace: line %d: %v", e.Line, e.Err)
	}
	return fmt.Sprintf("trace: line %d, column %s: %v", e.Line, e.Column, e.Err)
}

// Unwrap is the error without the place.
func (e *Error) Unwrap() error { return e.Err }

// Open reads the trace in a file. See Read.
func Open(path string) ([]Job, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	defer f.Close()
	return Read(f)
}

// Read reads jobs from CSV, plain or gzip'ed, with a header line. Needed are
// a submission (a number of seconds, or a time such as 2017-10-09 07:01:55 or
// 2017-10-09T07:01:55Z), a duration in seconds and a number of GPUs; a project
// is optional; other columns are ignored. Parts of a second are rounded up in
// durations and cut off in submissions. The result is sorted by submission,
// lines of one second in the order of the file.
func Read(r io.Reader) ([]Job, error) {
	plain, err := inflate(r)
	if err != nil {
		return nil, err
	}
	rows := csv.NewReader(plain)
	rows.ReuseRecord = true
	rows.FieldsPerRecord = -1 // counted below, with a message of ours
	header, err := rows.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("trace: it is empty; want a header line such as submit,duration,gpus,project")
	} else if err != nil {
		return nil, fmt.Errorf("trace: header: %w", err)
	}
	at, names, err := find(header)
	if err != nil {
		return nil, err
	}
	jobs, err := readRows(rows, at, names)
	if err != nil {
		return nil, err
	}
	return inOrder(jobs)
}

// inflate unpacks what starts like gzip and passes on everything else.
func inflate(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	if magic, _ := b.Peek(2); len(magic) < 2 || magic[0] != 0x1f || magic[1] != 0x8b {
		return b, nil
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		return nil, fmt.Errorf("trace: it starts like a gzip file but is none: %w", err)
	}
	return z, nil
}

// find returns the place of each of columns in a header (-1: not there) and
// the names as the file spells them.
func find(header []string) (at []int, names []string, err error) {
	names = make([]string, len(header))
	for i, h := range header {
		names[i] = strings.TrimSpace(strings.TrimPrefix(h, "\ufeff"))
	}
	for _, c := range columns {
		place := -1
		for _, want := range append([]string{c.name}, c.also...) {
			if place < 0 {
				place = slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, want) })
			}
		}
		if place < 0 && c.needed {
			return nil, nil, &Error{Line: 1, Err: fmt.Errorf("no column %s (or %s) among %q; name the columns in the first line",
				c.name, strings.Join(c.also, ", "), names)}
		}
		at = append(at, place)
	}
	return at, names, nil
}

func readRows(rows *csv.Reader, at []int, names []string) ([]Job, error) {
	var jobs []Job
	projects := map[string]string{} // one copy of each name, not one per line
	for {
		record, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return jobs, nil
		}
		if err != nil {
			return nil, fmt.Errorf("trace: %w", err) // csv says the line
		}
		line, _ := rows.FieldPos(0)
		if len(record) != len(names) {
			return nil, &Error{Line: line, Err: fmt.Errorf("%d fields, but the header has %d", len(record), len(names))}
		}
		if len(jobs) == maxJobs {
			return nil, &Error{Line: line, Err: fmt.Errorf("more than %d jobs; split the trace", maxJobs)}
		}
		j, bad, err := parse(record, at)
		if err != nil {
			return nil, &Error{Line: line, Column: names[at[bad]], Err: err}
		}
		known, ok := projects[j.Project]
		if !ok {
			known = strings.Clone(j.Project)
			projects[known] = known
		}
		j.Project = known
		jobs = append(jobs, j)
	}
}

// parse reads one line. With an error it says which of columns is bad.
func parse(record []string, at []int) (j Job, bad int, err error) {
	field := func(c int) string {
		if at[c] < 0 {
			return ""
		}
		return strings.TrimSpace(record[at[c]])
	}
	if j.Submit, err = instant(field(submitColumn)); err != nil {
		return j, submitColumn, err
	}
	seconds, err := number(field(durationColumn), maxSeconds)
	if err == nil && seconds <= 0 {
		err = fmt.Errorf("%q: a job runs for more than 0 seconds", field(durationColumn))
	}
	if err != nil {
		return j, durationColumn, err
	}
	j.Duration = int64(math.Ceil(seconds))
	if j.GPUs, err = strconv.Atoi(field(gpusColumn)); err != nil || j.GPUs < 1 || j.GPUs > maxGPUs {
		return j, gpusColumn, fmt.Errorf("%q: want a whole number of GPUs from 1 to %d", field(gpusColumn), maxGPUs)
	}
	j.Project = field(projectColumn)
	return j, 0, nil
}

// instant reads a submission: seconds, or a time without zone taken as UTC.
func instant(s string) (int64, error) {
	for _, layout := range []string{time.DateTime, time.RFC3339} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.Unix(), nil
		}
	}
	seconds, err := number(s, maxSeconds)
	if err != nil {
		return 0, fmt.Errorf("%q: want seconds, or a time such as 2017-10-09 07:01:55 or 2017-10-09T07:01:55Z", s)
	}
	return int64(math.Floor(seconds)), nil
}

func number(s string, limit float64) (float64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || math.Abs(f) > limit {
		return 0, fmt.Errorf("%q: want a number of seconds up to %.0f", s, limit)
	}
	return f, nil
}

// inOrder sorts, numbers, and lets time begin at the first submission.
func inOrder(jobs []Job) ([]Job, error) {
	if len(jobs) == 0 {
		return nil, errors.New("trace: a header but no job")
	}
	slices.SortStableFunc(jobs, func(a, b Job) int { return cmp.Compare(a.Submit, b.Submit) })
	first := jobs[0].Submit
	for i := range jobs {
		jobs[i].ID = i
		jobs[i].Submit -= first
	}
	return jobs, nil
}

// Scale returns the jobs with every duration made percent/100 times as long,
// rounded up to whole seconds. It returns an error unless percent is 1 to 10000.
func Scale(jobs []Job, percent int) ([]Job, error) {
	if percent < 1 || percent > 10_000 {
		return nil, fmt.Errorf("trace: load of %d %%: want 1 to 10000", percent)
	}
	out := slices.Clone(jobs)
	for i := range out {
		out[i].Duration = (out[i].Duration*int64(percent) + 99) / 100
	}
	return out, nil
}
