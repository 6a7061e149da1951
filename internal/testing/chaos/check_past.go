package chaos

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// sequence: events are numbered without a gap, each once.
func (c *checker) sequence() {
	for i, t := range c.Transitions {
		if i > 0 && t.Seq != c.Transitions[i-1].Seq+1 {
			c.say(Gap, t.Workload, "event %d follows %d", t.Seq, c.Transitions[i-1].Seq)
		}
	}
}

// replayed: the table makes of each history what its workload is.
func (c *checker) replayed() {
	for id, steps := range c.steps {
		w := c.byID[id]
		if w == nil {
			c.say(Missing, id, "it has a history, and is not there")
			continue
		}
		s, ok := c.replay(id, steps)
		if !ok {
			continue
		}
		if string(s.Phase) != w.Phase || s.Attempt != w.Attempt {
			c.say(Illegal, id, "its history leads to %s in attempt %d; it is %s in attempt %d", s.Phase, s.Attempt, w.Phase, w.Attempt)
		}
		if w.Phase != string(lifecycle.Deleted) && !slices.EqualFunc(w.Transitions, steps, same) {
			c.say(Gap, id, "its own history has %d events, that of all has %d of it, and they differ", len(w.Transitions), len(steps))
		}
	}
	for _, w := range c.Workloads {
		if len(c.steps[w.ID]) == 0 {
			c.say(Gap, w.ID, "it has no history")
		}
	}
}

func (c *checker) replay(id string, steps []api.Transition) (s lifecycle.State, ok bool) {
	for _, t := range steps {
		if t.From != string(s.Phase) {
			c.say(Gap, id, "%s to %s follows %s", t.From, t.To, s.Phase)
			return s, false
		}
		in := lifecycle.Input{On: lifecycle.Event(t.Event), To: lifecycle.Phase(t.To), Target: lifecycle.Phase(t.Target), Cause: lifecycle.Cause(t.Cause), Reason: lifecycle.Reason(t.Reason), Message: t.Message}
		next, err := lifecycle.Next(s, in)
		if err != nil || string(next.Phase) != t.To || string(next.Target) != t.Target || next.Attempt != t.Attempt {
			c.say(Illegal, id, "%s from %s to %s in attempt %d: the table says %s in attempt %d, %v", t.Event, t.From, t.To, t.Attempt, next.Phase, next.Attempt, err)
			return s, false
		}
		s = next
	}
	return s, true
}

// same says whether two are the same event, wherever they were read.
func same(a, b api.Transition) bool {
	at, bt := time.Time(a.At), time.Time(b.At)
	a.At, b.At, a.Workload, b.Workload, a.Word, b.Word = api.Time{}, api.Time{}, "", "", "", ""
	return a == b && at.Equal(bt)
}

// streams: what somebody was told stays true.
func (c *checker) streams() {
	by := map[int64]api.Transition{}
	for _, t := range c.Transitions {
		by[t.Seq] = t
	}
	for seq, t := range c.Streamed {
		if kept, ok := by[seq]; !ok || !same(kept, t) || kept.Workload != t.Workload {
			c.say(Forgotten, t.Workload, "event %d was told as %+v, and is %+v", seq, t, kept)
		}
	}
}

// ends: each workload came to an end that follows from what was done to it.
func (c *checker) ends() {
	for i := range c.Workloads {
		w := &c.Workloads[i]
		e := c.entry[w.ID]
		if e == nil {
			continue // there has told of it
		}
		failures := 0
		lastly := ""
		for _, t := range c.steps[w.ID] {
			if t.To == string(lifecycle.Terminating) && t.Target != "" {
				lastly = t.Event
			}
			if t.Event == string(lifecycle.TaskFail) && t.To == string(lifecycle.Terminating) {
				failures++
			}
		}
		wrong := func(why string) { c.say(WrongEnd, w.Name, "%s (%s %s) %s", w.Phase, w.Reason, w.Message, why) }
		switch lifecycle.Phase(w.Phase) {
		case lifecycle.Completed:
			if failures > e.Retries {
				wrong("though it may fail less often than it has")
			}
		case lifecycle.Failed:
			if lastly == string(lifecycle.TaskFail) && failures != e.Retries+1 {
				wrong(fmt.Sprintf("after %d failures, and %d are tried again", failures, e.Retries))
			}
			if lastly != string(lifecycle.TaskFail) && !c.any(FillDisk, SealDisk, CutPower) {
				wrong("by " + lastly)
			}
		case lifecycle.Stopped, lifecycle.Canceled:
			if e.Stop == nil {
				wrong("and nobody has asked for that")
			}
		case lifecycle.Deleted:
			if e.Delete == nil {
				wrong("and nobody has asked for that")
			}
		case lifecycle.Lost: // codes says whether it may be
		default:
			wrong("is no end that anybody has asked for")
		}
	}
}

// any says whether one of these was done.
func (c *checker) any(what ...string) bool {
	return slices.ContainsFunc(c.Deeds, func(d Deed) bool { return slices.Contains(what, d.What) })
}

// wishes: who was told that something is stopped or deleted finds it so.
func (c *checker) wishes() {
	for _, e := range c.Entries {
		w := c.byID[e.ID]
		if w == nil {
			continue // there has told of it
		}
		phase := lifecycle.Phase(w.Phase)
		if e.Deleted != nil && phase != lifecycle.Deleted {
			c.say(NotEnded, e.Name, "its delete was answered; it is %s", w.Phase)
		}
		if e.Stopped != nil && phase != lifecycle.Stopped && phase != lifecycle.Canceled && phase != lifecycle.Deleted {
			c.say(NotEnded, e.Name, "its stop was answered with %s, to be %s; it is %s", e.StopPhase, e.StopTarget, w.Phase)
		}
		if e.Stopped != nil && w.EndedAt != nil && time.Time(*w.EndedAt).Sub(e.Stopped.Wall) > within {
			c.say(NotEnded, e.Name, "it ended %v after its stop was answered", time.Time(*w.EndedAt).Sub(e.Stopped.Wall))
		}
	}
}

// A command may begin after the answer to a stop for as long as its supervisor, which
// had been told to start it, takes to do so; then it is told to end at once.
const (
	moment = 5 * time.Second
	delay  = 2 * time.Second
)

// late: no command begins once its stop or delete was answered, but for one that
// was beginning, and that one does not run to its end.
func (c *checker) late() {
	for run, e := range c.started() {
		for _, m := range c.starts[run] {
			for _, wish := range []*Instant{e.Stopped, e.Deleted} {
				if wish == nil || m.At <= wish.Tick {
					continue
				}
				after := m.At.sub(wish.Tick)
				c.moments = append(c.moments, after)
				if after > moment+c.frozen(wish.Tick, m.At) {
					c.say(Late, run.String(), "%s began %v after the answer", e.Name, after)
				}
				end, spoke := c.last[run]
				if took := end.At.sub(m.At); spoke && end.Code == 0 && !e.Deaf && took > delay+c.frozen(m.At, end.At) {
					c.say(Late, run.String(), "%s began %v after the answer and ran to its end for %v", e.Name, after, took)
				}
			}
		}
	}
}

// started are the runs that began, with what the ledger has of them.
func (c *checker) started() map[Run]*Entry {
	all := map[Run]*Entry{}
	for run := range c.starts {
		if e := c.entry[run.Workload]; e != nil {
			all[run] = e
		}
	}
	return all
}

// frozen is for how much of a time server or supervisor were held or not there.
func (c *checker) frozen(from, to Tick) time.Duration {
	sum := time.Duration(0)
	for _, d := range c.Deeds {
		if d.What != KillTask && d.From.Tick < to && d.To.Tick > from {
			sum += min(to, d.To.Tick).sub(max(from, d.From.Tick))
		}
	}
	return sum
}

// faults: no program of ours panics, or says that it does not understand itself.
func (c *checker) faults() {
	for _, text := range c.Wrote {
		for line := range strings.Lines(text) {
			for _, bad := range []string{"panic:", "fatal error:", "DATA RACE", "does not fit the state", "recovered from a fault"} {
				if strings.Contains(line, bad) {
					c.say(Fault, "program", "%s", strings.TrimSpace(line))
				}
			}
		}
	}
}
