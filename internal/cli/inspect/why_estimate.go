package inspect

import (
	"fmt"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/spec"
)

// expected prints when it will start, on what that rests, and how good such
// words were.
func expected(s *session.Session, b *strings.Builder, e *api.Estimate, m session.Moments) {
	if e == nil {
		return
	}
	fmt.Fprintf(b, "Expected start  %s\n", When(e, m))
	if rests := basis(e); rests != "" {
		fmt.Fprintf(b, "                %s\n", s.Paint(s.IO.OutTerminal, session.ToneDim, rests))
	}
	if e.Early != nil && e.Late != nil {
		fmt.Fprintf(b, "                %s\n", s.Paint(s.IO.OutTerminal, session.ToneDim, Record(e)))
	}
}

// When is the range in words.
func When(e *api.Estimate, m session.Moments) string {
	clock := func(t *api.Time) string { return m.ClockTime(session.At(t)) }
	switch {
	case e.Likely == nil && e.After != nil:
		return "after " + clock(e.After) + ", up to which was looked"
	case e.Likely == nil && e.Early == nil && e.Late != nil:
		return "by " + clock(e.Late) + " at the latest: by then it has waited for so long that others have to give way"
	case e.Likely == nil && e.Early != nil:
		return "not before " + clock(e.Early) + "; nobody can tell more"
	case e.Likely == nil:
		return "nobody can tell"
	case e.Early == nil && e.Late == nil:
		return clock(e.Likely)
	case e.Late == nil:
		return fmt.Sprintf("%s (not before %s, perhaps much later)", clock(e.Likely), clock(e.Early))
	default:
		return fmt.Sprintf("%s (likely %s–%s)", clock(e.Likely), clock(e.Early), clock(e.Late))
	}
}

// basis says on what an estimate rests.
func basis(e *api.Estimate) string {
	if e.Simple {
		return "the first known end after which there is room; there is too much to simulate"
	}
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{e.Learnt, "by how long their likes ran"}, {e.Limits, "by their time limits"}, {e.Unknown, "with no known end"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "of what runs " + strings.Join(parts, ", ") + "; if nobody submits more"
}

// scoredLeast is how many estimates must have been compared for a rate to mean
// anything.
const scoredLeast = 10

// Record says how often estimates were right.
func Record(e *api.Estimate) string {
	if e.Scored < scoredLeast {
		return fmt.Sprintf("too few past estimates to say how good they are (n=%d)", e.Scored)
	}
	out := fmt.Sprintf("%d %% of past estimates were inside the range (n=%d)", (e.Inside*100+e.Scored/2)/e.Scored, e.Scored)
	if e.Width > 0 {
		out += fmt.Sprintf(", typically %s wide where the wait was %s", session.Age(time.Duration(e.Width)*time.Second), session.Age(time.Duration(e.Wait)*time.Second))
	}
	return out
}

// Planned shows a workload that was only checked, and what would become of it.
func Planned(s *session.Session, w *api.Workload) error {
	if s.Format() == "yaml" { // the document as it would be stored, to be kept or compared
		doc := new(spec.Document)
		if err := doc.UnmarshalJSON(w.Spec); err != nil {
			return err
		}
		_, err := s.IO.Out.Write(spec.YAML(doc))
		return err
	}
	if shown, err := s.Brief(w, w.Name); shown {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s would be accepted in project %s: %s, %s, %s\n", w.Name, w.Project, w.Kind, session.Plural(w.Tasks.Total, "task"), printers.GpuCount(w.GPUs))
	if w.Plan != nil {
		Plan(s, &b, w.Plan)
	}
	_, err := fmt.Fprint(s.IO.Out, b.String())
	return err
}

// Plan prints what would become of a submission.
func Plan(s *session.Session, b *strings.Builder, p *api.Plan) {
	if len(p.Checks) > 0 {
		fmt.Fprintf(b, "It has to be approved first: %s\n", strings.Join(p.Checks, ", "))
	}
	switch {
	case p.Now:
		b.WriteString("It would start now")
	case p.Fits:
		b.WriteString("It would start once others have made room")
	case p.Position > 0:
		fmt.Fprintf(b, "It would wait, %s of %d in its queue\n", Ordinal(p.Position), p.Waiting)
	default:
		b.WriteString("It would wait\n")
	}
	if p.Fits {
		if on := placedOn(p.Tasks); on != "" {
			fmt.Fprintf(b, " in pool %s: %s", p.Pool, on)
		}
		b.WriteByte('\n')
	}
	if len(p.Displaces) > 0 {
		fmt.Fprintf(b, "It would displace %s\n", displaced(p.Displaces))
	}
	forecast(s, b, &p.Forecast, s.Moments(session.TableFlags{}))
	deadlineLine(s, b, p.Deadline, s.Moments(session.TableFlags{}))
}

// placedOn is where tasks would be, node by node.
func placedOn(tasks []api.Placement) string {
	const shown = 8
	var order []string
	count, devices := map[string]int{}, map[string][]string{}
	for _, t := range tasks {
		if count[t.Node] == 0 {
			order = append(order, t.Node)
		}
		count[t.Node]++
		devices[t.Node] = append(devices[t.Node], t.Devices...)
	}
	words := each(order[:min(len(order), shown)], func(n string) string {
		out := n
		if count[n] > 1 {
			out += fmt.Sprintf(" ×%d", count[n])
		}
		if len(devices[n]) > 0 {
			out += " (" + strings.Join(devices[n], " ") + ")"
		}
		return out
	})
	return strings.Join(words, ", ") + more(len(order)-shown)
}
