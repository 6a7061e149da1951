package scenario

import (
	"fmt"
	"strings"
)

// Report is what came of a set.
type Report struct {
	Passed, Failed, Skipped int
	Lines                   []string // one for each case that differs
	Outcomes                []*Outcome
	// Hints counts cases that passed against the source's unenforced intent.
	Hints int
}

// Run runs every case of the set, and its sums of shares.
func (s *Set) Run(scheduler Scheduler, options Options) *Report {
	r := new(Report)
	for _, c := range s.Cases {
		o := Run(c, scheduler, options)
		r.Outcomes = append(r.Outcomes, o)
		switch {
		case o.Skipped != "":
			r.Skipped++
			continue
		case len(o.Hints) > 0:
			r.Hints++
		}
		r.enter(o.Line())
	}
	for _, c := range s.Shares {
		r.enter(c.Run())
	}
	return r
}

func (r *Report) enter(line string) {
	if line == "" {
		r.Passed++
		return
	}
	r.Failed++
	r.Lines = append(r.Lines, line)
}

// String is the report as text: a line for each case that differs, and the
// figures.
func (r *Report) String() string {
	var b strings.Builder
	for _, line := range r.Lines {
		b.WriteString(line + "\n")
	}
	fmt.Fprintf(&b, "%d passed, %d failed, %d skipped\n", r.Passed, r.Failed, r.Skipped)
	return b.String()
}
