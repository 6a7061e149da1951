package chaos

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core/lifecycle"
)

// codes: each task ended as its command says, or as it was ended.
func (c *checker) codes() {
	for run, p := range c.runs {
		e := c.entry[run.Workload]
		if e == nil {
			continue
		}
		if why := c.wrongCode(run, p, e); why != "" {
			code := "none"
			if p.task.ExitCode != nil {
				code = strconv.Itoa(*p.task.ExitCode)
			}
			c.say(WrongCode, run.String(), "%s: %s with exit code %s (%s %s): %s", e.Name, p.task.State, code, p.task.Reason, p.task.Message, why)
		}
	}
}

func (c *checker) wrongCode(run Run, p placed, e *Entry) string {
	mark, spoke := c.last[run]
	switch p.task.State {
	case "succeeded":
		switch {
		case !spoke:
			return "its command did not come to its end"
		case mark.Code != 0 || p.task.ExitCode == nil || *p.task.ExitCode != 0:
			return fmt.Sprintf("its command ended with %d", mark.Code)
		}
	case "lost":
		if !c.mayBeLost(p) {
			return "its supervisor was there all the time, or the machine was restarted and it is not tried again"
		}
	case "failed":
		return c.wrongFailure(run, p, e, mark, spoke)
	default:
		if p.attempt.EndedAt != nil && p.task.PlacedAt != nil {
			return "its attempt is over"
		}
	}
	return ""
}

func (c *checker) wrongFailure(run Run, p placed, e *Entry, mark Mark, spoke bool) string {
	if p.task.ExitCode == nil {
		wasAsked, _ := c.asked(p)
		if len(c.starts[run]) == 0 || wasAsked && c.during(run, KillSupervisor, KillBoth, CutPower) {
			return "" // who took over ended it while it was about to begin, and it may just have begun
		}
		return "its command ran, and nothing is known of its end"
	}
	code := *p.task.ExitCode
	wasAsked, after := c.asked(p)
	switch {
	case spoke && code == mark.Code:
		return ""
	case c.killed[run] && code == 137:
		return ""
	case wasAsked && code == 143:
		return "" // before it could say so
	case wasAsked && code == 137 && (e.Deaf || len(c.starts[run]) == 0):
		return "" // who never began need not be asked
	case wasAsked && code == 137 && after >= deafness:
		return fmt.Sprintf("it was ended by force %v after it should have been told to end; a command that is told ends at once", after)
	case spoke:
		return fmt.Sprintf("its command ended with %d", mark.Code)
	default:
		return "its command did not come to its end, and nobody has ended it so"
	}
}

// deafness is the grace of those that hear, but for the time that it takes to
// tell them.
const deafness = 7 * time.Second

// asked says whether a run was told to end before it did, and how long before: with
// its whole attempt, or by itself as one of some that had to leave, or of a gang
// whose ranks begin again in another number, of which nobody says when.
func (c *checker) asked(p placed) (bool, time.Duration) {
	if p.task.EndedAt == nil {
		return false, 0
	}
	end := time.Time(*p.task.EndedAt)
	resized := false
	for _, t := range c.steps[p.Workload] {
		resized = resized || t.Attempt == p.Attempt && t.Event == string(lifecycle.Scale) && !time.Time(t.At).After(end)
		if t.Attempt != p.Attempt || t.To != string(lifecycle.Terminating) {
			continue
		}
		at := time.Time(t.At)
		lost := t.Event == string(lifecycle.OutcomeLost) || t.Event == string(lifecycle.NodeLost)
		if at.Before(end) || at.Equal(end) && !lost { // who is lost counts as ended when that is concluded
			return true, end.Sub(at)
		}
	}
	return p.task.Leaving || resized, 0
}

// mayBeLost says whether a run ended while nobody looked after it.
func (c *checker) mayBeLost(p placed) bool {
	if p.task.EndedAt == nil || p.task.PlacedAt == nil {
		return false
	}
	from, to := time.Time(*p.task.PlacedAt), time.Time(*p.task.EndedAt)
	wasAsked, _ := c.asked(p)
	if wasAsked && len(c.starts[p.Run]) == 0 {
		return true // it was told to end before it began
	}
	return slices.ContainsFunc(c.Deeds, func(d Deed) bool {
		if d.What == CutPower && p.task.Reason != string(lifecycle.ReasonNodeLost) && !wasAsked {
			return false // it ended with the machine, and that is known
		}
		return d.supervisorGone() && !d.To.Wall.Before(from) && !d.From.Wall.After(to)
	})
}

// logs: each line that a command printed is in its log, once and in its place;
// what is missing is said to be.
func (c *checker) logs() {
	for run, e := range c.started() {
		if w := c.byID[run.Workload]; w == nil || w.Phase != string(lifecycle.Deleted) {
			c.log(run, e)
		}
	}
}

// page is what a log has.
type page struct {
	last    int // number of the last line
	lines   int
	gaps    []int // after which numbers there is a gap and no notice
	notices []string
	atEnd   bool // nothing follows the last notice
	wrong   string
}

// noise is what shells say of children that were ended.
var noise = []string{"Killed", "Terminated"}

func readPage(text string) page {
	var p page
	notice := false
	lines := slices.Collect(strings.Lines(text))
	for i, line := range lines {
		line, whole := strings.CutSuffix(line, "\n")
		if i+1 < len(lines) && strings.HasPrefix(lines[i+1], "[muster] ") && strings.HasPrefix(strconv.Itoa(p.last+1), line) && line != strconv.Itoa(p.last+1) {
			continue // what was cut off, ended by the notice that says so
		}
		if strings.HasPrefix(line, "[muster] ") {
			p.notices, notice, p.atEnd = append(p.notices, line), true, true
			continue
		}
		for _, word := range noise { // in the middle of a line, where that was cut off
			if strings.HasSuffix(line, word) {
				line = ""
			}
		}
		if line == "" {
			continue
		}
		n, err := strconv.Atoi(line)
		switch {
		case !whole || err != nil && notice: // cut off in the middle
			continue
		case err != nil:
			p.wrong = fmt.Sprintf("%q is none of its lines", line)
			return p
		case n <= p.last:
			p.wrong = fmt.Sprintf("line %d comes after %d", n, p.last)
			return p
		case n > p.last+1 && !notice:
			p.gaps = append(p.gaps, p.last)
		}
		p.last, notice, p.atEnd = n, false, false
		p.lines++
	}
	return p
}

func (c *checker) log(run Run, e *Entry) {
	p := readPage(c.Logs[run])
	mark, spoke := c.last[run]
	cut := c.cutAfter(run)
	switch {
	case p.wrong != "":
		c.say(LogWrong, run.String(), "%s: %s", e.Name, p.wrong)
	case c.killed[run]: // what wrote its lines may be what was killed
	case c.full(run):
		if len(p.gaps) > 0 || spoke && !p.atEnd && p.last < mark.Lines-1 {
			c.fullLogs++
		}
	case len(p.gaps) > 0:
		c.say(LogLost, run.String(), "%s: after line %d some are missing", e.Name, p.gaps[0])
	case cut: // the kernel writes a log to the disk when it pleases
		if spoke && !p.atEnd && p.last < mark.Lines-1 {
			c.cutLogs++
		}
	case len(p.notices) > 0 && !c.during(run, KillSupervisor, KillBoth, FillDisk, SealDisk):
		c.say(LogLost, run.String(), "%s: %s, and nothing was done to its supervisor or the disk", e.Name, p.notices[0])
	case p.atEnd, !spoke:
	case mark.Code == 143 && p.last < mark.Lines-1, mark.Code != 143 && p.last < mark.Lines:
		c.say(LogLost, run.String(), "%s: it printed %d lines, the log ends with line %d", e.Name, mark.Lines, p.last)
	case p.last > mark.Lines+burst:
		c.say(LogWrong, run.String(), "%s: it printed %d lines, the log has %d", e.Name, mark.Lines, p.last)
	}
	c.lines += p.lines
}

// cutAfter says whether the power was lost after a run had begun.
func (c *checker) cutAfter(run Run) bool {
	return slices.ContainsFunc(c.Deeds, func(d Deed) bool { return d.What == CutPower && d.To.Tick >= c.starts[run][0].At })
}

// full says whether a full disk had no room for the notice of what it took of a
// run's output: the run ended meanwhile, or the supervisor that had counted it did.
func (c *checker) full(run Run) bool {
	end := Tick(1 << 62)
	if m, ok := c.last[run]; ok {
		end = m.At
	}
	for _, f := range c.Deeds {
		if f.What != FillDisk || f.From.Tick > end || f.To.Tick < c.starts[run][0].At {
			continue
		}
		gone := slices.ContainsFunc(c.Deeds, func(d Deed) bool { return d.supervisorGone() && d.To.Tick >= f.From.Tick && d.From.Tick <= end })
		if gone || end <= f.To.Tick+100 {
			return true
		}
	}
	return false
}

// during says whether one of these was done while a run was there: from its
// placement, since a supervisor may die with a process that has not come to its
// command, to the end that is known of it.
func (c *checker) during(run Run, what ...string) bool {
	from := c.starts[run][0].At
	var placedAt, end time.Time
	if p, ok := c.runs[run]; ok && p.task.PlacedAt != nil {
		placedAt = time.Time(*p.task.PlacedAt)
	}
	if p, ok := c.runs[run]; ok && p.task.EndedAt != nil {
		end = time.Time(*p.task.EndedAt)
	}
	return slices.ContainsFunc(c.Deeds, func(d Deed) bool {
		there := d.To.Tick >= from || !placedAt.IsZero() && !d.To.Wall.Before(placedAt)
		return slices.Contains(what, d.What) && there && (end.IsZero() || !d.From.Wall.After(end.Add(time.Second)))
	})
}
