package replay

import "github.com/musterhq/muster/internal/simulate/trace"

// Estimator guesses on arrival how long a job will run.
type Estimator interface {
	// Estimate returns seconds, at least 1; it is called once, on arrival.
	Estimate(j trace.Job) int64
	// Learn is told of each completed job.
	Learn(j trace.Job)
}

// Perfect knows every duration in advance.
type Perfect struct{}

// Estimate returns the job's true duration.
func (Perfect) Estimate(j trace.Job) int64 { return j.Duration }

// Learn does nothing.
func (Perfect) Learn(trace.Job) {}

// User guesses like people do: seldom too little, often several times too much.
type User struct{ Seed uint64 }

// userPercent are sixteen equally likely estimates, in percent of the duration.
var userPercent = [16]int64{100, 100, 109, 138, 168, 201, 237, 277, 324, 380, 448, 535, 652, 824, 1121, 1932}

// Estimate returns the duration times a factor drawn by seed and job.
func (u User) Estimate(j trace.Job) int64 {
	p := userPercent[splitmix64(u.Seed<<32+uint64(j.ID))>>60]
	return (j.Duration*p + 99) / 100
}

// Learn does nothing.
func (User) Learn(trace.Job) {}

// splitmix64 is the first output of the generator of that name.
func splitmix64(seed uint64) uint64 {
	z := seed + 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// learntFirst is the estimate while nothing has completed, in seconds.
const learntFirst = 3600

// Learnt is the mean of what has completed: of the same project and size, else
// of the same size, else of everything.
type Learnt struct{ seen map[kindOfJob]mean }

type kindOfJob struct {
	project string
	gpus    int // 0: any
}

type mean struct{ sum, n int64 }

// NewLearnt has seen nothing yet.
func NewLearnt() *Learnt { return &Learnt{seen: map[kindOfJob]mean{}} }

// anyProject cannot be the name of a project in CSV that is valid UTF-8.
const anyProject = "\xff"

func kindsOf(j trace.Job) [3]kindOfJob {
	return [3]kindOfJob{{j.Project, j.GPUs}, {anyProject, j.GPUs}, {anyProject, 0}}
}

// Estimate returns the mean, cut to whole seconds.
func (l *Learnt) Estimate(j trace.Job) int64 {
	for _, k := range kindsOf(j) {
		if m := l.seen[k]; m.n > 0 {
			return max(m.sum/m.n, 1)
		}
	}
	return learntFirst
}

// Learn adds a completed job to its means.
func (l *Learnt) Learn(j trace.Job) {
	for _, k := range kindsOf(j) {
		m := l.seen[k]
		l.seen[k] = mean{m.sum + j.Duration, m.n + 1}
	}
}
