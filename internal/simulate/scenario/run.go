package scenario

import (
	"fmt"
	"slices"
	"strings"
)

// Scheduler is what is judged. Cycle runs what c.Actions names, once, on a
// state, and leaves case and state as they are. Time does not pass between
// cycles: ages and stale times are always those of the case.
type Scheduler interface {
	Cycle(c *Case, state *State) (*Decisions, error)
}

// Options say what is not run.
type Options struct {
	SkipFeatures []string // cases with one of these tags
	// SkipIdleFits leaves out cases in which a scheduler that always tries to
	// place first may rightly decide otherwise.
	SkipIdleFits bool
}

// Defaults are the options for a scheduler without named device claims whose
// cycle can be run action by action.
func Defaults() Options { return Options{SkipFeatures: []string{"device-claims"}} }

// Outcome is what came of one case.
type Outcome struct {
	Case        *Case
	Skipped     string // why; "" if it was run
	Differences []Difference
	Hints       []string // intent of the source that was not met; decides nothing
}

// Passed reports whether it was run and nothing differs.
func (o *Outcome) Passed() bool { return o.Skipped == "" && len(o.Differences) == 0 }

// Line says in one line how the case differs; "" if it does not.
func (o *Outcome) Line() string {
	if len(o.Differences) == 0 {
		return ""
	}
	line := oneLine(fmt.Sprintf("%s %s: %s", o.Case.ID(), o.Case.Name, o.Differences[0].Text))
	if more := len(o.Differences) - 1; more > 0 {
		line += fmt.Sprintf(" (and %d more)", more)
	}
	return line
}

// Run runs a case and judges it.
func Run(c *Case, scheduler Scheduler, options Options) *Outcome {
	o := &Outcome{Case: c}
	for _, f := range options.SkipFeatures {
		if slices.Contains(c.Features, f) {
			o.Skipped = f
			return o
		}
	}
	if options.SkipIdleFits && len(c.IdleFits) > 0 {
		o.Skipped = "idle_fits"
		return o
	}
	if c.Mode == Rounds {
		o.runRounds(scheduler)
	} else {
		o.runPass(scheduler)
	}
	byWeight(o.Differences)
	return o
}

// runPass judges what the one action leaves behind.
func (o *Outcome) runPass(scheduler Scheduler) {
	start := o.Case.Start()
	d := o.cycle(scheduler, start, 1)
	if d == nil {
		return
	}
	o.compare(d.Tasks, d.Nodes, 1, "after "+string(o.Case.Actions[0]))
	o.Hints = o.Case.hints(d.Tasks)
}

// runRounds looks at the state once it should be reached, and then whether
// further cycles leave it alone.
func (o *Outcome) runRounds(scheduler Scheduler) {
	c, x := o.Case, &o.Case.Expected
	state := c.Start()
	for round := 1; round <= x.RoundsUntilMatch; round++ {
		d := o.cycle(scheduler, state, round)
		if d == nil {
			return
		}
		state = c.apply(d, round)
	}
	when := fmt.Sprintf("after round %d", x.RoundsUntilMatch)
	reached := o.compare(state.Tasks, c.Devices(state.Tasks), x.RoundsUntilMatch, when)
	o.Hints = c.hints(state.Tasks)
	for round := x.RoundsUntilMatch + 1; round <= x.RoundsUntilMatch+x.RoundsAfterMatch; round++ {
		d := o.cycle(scheduler, state, round)
		if d == nil {
			return
		}
		if reached { // what was never reached cannot be left
			when := fmt.Sprintf("in round %d, when nothing should change any more", round)
			reached = o.compare(d.Tasks, d.Nodes, round, when)
		}
		state = c.apply(d, round)
	}
}

// cycle runs one cycle; nil if what it decided cannot be.
func (o *Outcome) cycle(scheduler Scheduler, state *State, round int) *Decisions {
	before := &State{Round: state.Round, Tasks: state.Decide().Tasks} // the scheduler's own copy
	d, err := scheduler.Cycle(o.Case, before)
	if err == nil {
		err = o.Case.consistent(state, d)
	}
	if err != nil {
		o.add([]Difference{{Broken, round, fmt.Sprintf("expected decisions in round %d, failed: %v", round, err)}})
		return nil
	}
	o.add(o.Case.compareCounts(d, round))
	return d
}

// compare judges tasks and nodes and reports whether all is as expected.
func (o *Outcome) compare(tasks []TaskState, nodes map[string]NodeGPUs, round int, when string) bool {
	differ := append(o.Case.compareTasks(tasks, round, when), o.Case.compareNodes(nodes, round, when)...)
	o.add(differ)
	return len(differ) == 0
}

func (o *Outcome) add(all []Difference) { o.Differences = append(o.Differences, all...) }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
