package replay

import (
	"fmt"
	"hash/fnv"
	"strconv"

	"github.com/musterhq/muster/internal/simulate/trace"
)

// Recorder notes what happens to jobs and makes a Result of it. Any engine may
// feed one: events must come in the order of time, and ids be those of
// trace.Read. The zero value is ready.
type Recorder struct {
	jobs   []trace.Job
	lives  []life
	events []event
}

// life is what became of one job.
type life struct {
	first, end int64 // -1: not yet
	starts     int
	left       int64 // when it was last preempted
	restart    int64 // the longest wait for another start, in seconds
	lost       int64 // seconds of work done in vain
}

type kind uint8

const (
	submitted kind = iota
	started
	preempted
	finished
)

type event struct {
	at   int64
	id   int32
	kind kind
}

// Submitted notes a job; ids must come as 0, 1, 2 and so on.
func (r *Recorder) Submitted(j trace.Job) {
	r.jobs = append(r.jobs, j)
	r.lives = append(r.lives, life{first: -1, end: -1})
	r.events = append(r.events, event{j.Submit, int32(j.ID), submitted})
}

// Started notes the first or a later start.
func (r *Recorder) Started(id int, at int64) {
	l := &r.lives[id]
	if l.starts == 0 {
		l.first = at
	} else {
		l.restart = max(l.restart, at-l.left)
	}
	l.starts++
	r.events = append(r.events, event{at, int32(id), started})
}

// Preempted notes the end of a run, of which lost seconds must be done again.
func (r *Recorder) Preempted(id int, at, lost int64) {
	r.lives[id].lost += lost
	r.lives[id].left = at
	r.events = append(r.events, event{at, int32(id), preempted})
}

// Finished notes the end of a job.
func (r *Recorder) Finished(id int, at int64) {
	r.lives[id].end = at
	r.events = append(r.events, event{at, int32(id), finished})
}

// check is the first 8 digits of FNV-1a over first start and completion of
// every job: two runs with the same value are the same run.
func (r *Recorder) check() string {
	h := fnv.New64a()
	var text []byte
	for _, l := range r.lives {
		text = strconv.AppendInt(text[:0], l.first, 10)
		text = append(text, ',')
		text = strconv.AppendInt(text, l.end, 10)
		h.Write(append(text, ';'))
	}
	return fmt.Sprintf("%016x", h.Sum64())[:8]
}
