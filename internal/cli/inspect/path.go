package inspect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// pathGrid is a workload's way as a table, one line for each step.
func pathGrid(s *session.Session, o *lifecycleOptions, w *api.Workload) session.Grid {
	m := s.Moments(o.table)
	g := session.Grid{Titles: []string{"AT", "TRY", "PHASE", "FOR", "EVENT", "BY", "WHY"}, NoHeaders: o.table.NoHeaders}
	colors := map[string]string{}
	if o.dialect != "" {
		g.Titles = append([]string{"AT", "TRY", "STATUS"}, g.Titles[2:]...)
		for _, word := range lifecycle.Words(lifecycle.Dialect(o.dialect)) {
			colors[word.Status] = word.Color
		}
	}
	for i, t := range w.Transitions {
		spent := "-"
		if i+1 < len(w.Transitions) {
			spent = session.Length(session.TimeOf(w.Transitions[i+1].At).Sub(session.TimeOf(t.At)))
		} else if !printers.Ended(w) {
			spent = session.Length(m.Now.Sub(session.TimeOf(t.At))) + "…"
		}
		reason := caused(t.Reason, t.Cause)
		if t.Message != "" {
			reason = strings.TrimPrefix(reason+": "+t.Message, ": ")
		}
		stamp := session.TimeOf(t.At).Local().Format("15:04:05.000")
		if m.Absolute {
			stamp = m.Instant(session.TimeOf(t.At))
		}
		row := []session.Cell{{Text: stamp}, {Text: strconv.Itoa(t.Attempt)}}
		if o.dialect != "" {
			row = append(row, session.Cell{Text: printers.OrDash(t.Word), Tone: toneOfColor(colors[t.Word], printers.ToneOf(t.To))})
		}
		g.Rows = append(g.Rows, append(row, session.Cell{Text: toOf(t), Tone: printers.ToneOf(t.To)}, session.Cell{Text: spent}, session.Cell{Text: t.Event}, session.Cell{Text: t.Actor}, session.Cell{Text: printers.OrDash(reason)}))
	}
	return g
}

// caused is a reason, and by which right work was made to leave: Preempted (reclaim).
func caused(reason, cause string) string {
	if reason != "" && slices.Contains(lifecycle.Displacements(), lifecycle.Cause(cause)) {
		return reason + " (" + cause + ")"
	}
	return reason
}

// steps are a workload's way as arrows, numbered in order. In a platform's
// words what it does not tell apart is one step.
func steps(w *api.Workload, arrow func(from, to, label string)) {
	name := func(t api.Transition) string {
		if t.Word != "" {
			return t.Word
		}
		return t.To
	}
	from := ""
	for i, t := range w.Transitions {
		to := name(t)
		if t.Word == "" {
			from = t.From
		}
		if t.Word == "" || to != from {
			arrow(from, to, fmt.Sprintf("%d %s", i+1, t.Event))
		}
		from = to
	}
	if printers.Ended(w) {
		arrow(from, "", "")
	}
}

// pathMermaid is the way as a Mermaid diagram.
func pathMermaid(w *api.Workload) string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n")
	ids := map[string]string{"": "[*]"}
	id := func(name string) string {
		if _, known := ids[name]; !known {
			if ids[name] = name; strings.ContainsFunc(name, func(r rune) bool {
				return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_')
			}) {
				ids[name] = "s" + strconv.Itoa(len(ids))
				fmt.Fprintf(&b, "    state \"%s\" as %s\n", name, ids[name])
			}
		}
		return ids[name]
	}
	steps(w, func(from, to, label string) {
		from, to = id(from), id(to)
		if label != "" {
			label = ": " + label
		}
		fmt.Fprintf(&b, "    %s --> %s%s\n", from, to, label)
	})
	return b.String()
}

// pathDOT is the way for Graphviz.
func pathDOT(w *api.Workload) string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n    rankdir=LR\n    begin [shape=point]\n", strconv.Quote(w.Name))
	steps(w, func(from, to, label string) {
		if to == "" {
			fmt.Fprintf(&b, "    %s [peripheries=2]\n", strconv.Quote(from))
			return
		}
		start := "begin"
		if from != "" {
			start = strconv.Quote(from)
		}
		fmt.Fprintf(&b, "    %s -> %s [label=%s]\n", start, strconv.Quote(to), strconv.Quote(label))
	})
	b.WriteString("}\n")
	return b.String()
}
