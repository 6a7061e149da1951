package printers

import (
	"fmt"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/spec"
)

// ConditionLine is a condition of a workload as one line.
func ConditionLine(c api.Condition, m session.Moments) string {
	out := c.Type
	for _, part := range []string{c.Reason, c.Message} {
		if part != "" {
			out += " " + part
		}
	}
	if since := session.TimeOf(c.Since); !since.IsZero() {
		out += ", since " + m.Ago(since) + session.SinceWord(m)
	}
	return out
}

// CheckLine is one admission check: name, type, verdict, who decided and what
// was said.
func CheckLine(c api.Check, m session.Moments) string {
	out := fmt.Sprintf("%s (%s): %s", c.Name, c.Type, c.Verdict)
	if c.By != "" {
		out += " by " + c.By
	}
	if c.At != nil {
		out += " " + m.Ago(session.At(c.At)) + session.SinceWord(m)
	}
	if c.Message != "" {
		out += ": " + c.Message
	}
	if c.Verdict != "waiting" && c.Verdict != "asked" {
		return out
	}
	var also []string
	if c.Need > 0 {
		also = append(also, Tally(c)+" approvals")
	}
	if c.Role != "" {
		also = append(also, "may be decided by who has role "+c.Role)
	}
	if len(c.Images) > 0 {
		also = append(also, "images "+strings.Join(c.Images, ", "))
	}
	if len(c.Users) > 0 {
		also = append(also, "may be decided by "+strings.Join(c.Users, ", "))
	}
	if c.Tries > 0 {
		also = append(also, session.Plural(c.Tries, "question")+" without a decision")
	}
	if c.AskAt != nil {
		also = append(also, "asked again "+m.ClockTime(session.At(c.AskAt)))
	}
	if c.Deadline != nil {
		word := "rejected"
		if c.Again {
			word = "asked anew"
		}
		also = append(also, word+" without a decision by "+m.ClockTime(session.At(c.Deadline)))
	}
	if len(also) > 0 {
		out += " (" + strings.Join(also, "; ") + ")"
	}
	return out
}

// Tally is how far the approvals of a check are, with who has given them.
func Tally(c api.Check) string {
	out := fmt.Sprintf("%d of %d", len(c.Votes), max(c.Need, 1))
	for i, v := range c.Votes {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		out += sep + v.By
		if v.For != "" {
			out += " for " + v.For
		}
	}
	return out
}

// CheckTone is the colour of a check.
func CheckTone(c api.Check) session.Tone {
	switch c.Verdict {
	case "approved":
		return session.ToneGood
	case "rejected":
		return session.ToneBad
	default:
		return session.ToneWait
	}
}

// ReplicasLine says how many replicas a service has and shall have.
func ReplicasLine(w *api.Workload) string {
	r := w.Replicas
	if r == nil {
		return ""
	}
	out := fmt.Sprintf("%d wanted, %d running, %d ready, %d of generation %d", r.Wanted, r.Running, r.Ready, r.Updated, r.Generation)
	if r.URL != "" {
		out += "  " + r.URL
	}
	return out
}

// ImageLine is the image that was asked for, or the one that was built.
func ImageLine(w *api.Workload, d *spec.Document) string {
	switch {
	case w.Image != "" && w.Image != d.Image:
		return w.Image + " (built)"
	case d.Build != nil && w.Image == "":
		return strings.TrimSpace(d.Image + " (is built first)")
	default:
		return d.Image
	}
}

// SecretsLine names the secrets of a document.
func SecretsLine(d *spec.Document) string {
	var out []string
	for _, x := range d.Secrets {
		name := x.Name
		if x.Env != "" {
			name += " as " + x.Env
		}
		out = append(out, name)
	}
	return strings.Join(out, ", ")
}

// PublishedLine says where a model was published.
func PublishedLine(w *api.Workload) string {
	p := w.Published
	if p == nil {
		return ""
	}
	var out []string
	if p.Ref != "" {
		ref := p.Ref
		if p.Digest != "" && !strings.HasSuffix(ref, "@"+p.Digest) {
			ref += "@" + p.Digest
		}
		out = append(out, ref)
	}
	if p.Files > 0 {
		out = append(out, session.Plural(p.Files, "file")+", "+Size(p.Size))
	}
	if p.Service != "" {
		out = append(out, "served by "+p.Service)
	}
	return strings.Join(out, " · ")
}
