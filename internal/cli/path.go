package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// pathGrid is a workload's way as a table, one line for each step.
func (s *session) pathGrid(o *lifecycleOptions, w *api.Workload) grid {
	m := s.moments(o.table)
	g := grid{titles: []string{"AT", "TRY", "PHASE", "FOR", "EVENT", "BY", "WHY"}, noHeaders: o.table.noHeaders}
	colors := map[string]string{}
	if o.dialect != "" {
		g.titles = append([]string{"AT", "TRY", "STATUS"}, g.titles[2:]...)
		for _, word := range lifecycle.Words(lifecycle.Dialect(o.dialect)) {
			colors[word.Status] = word.Color
		}
	}
	for i, t := range w.Transitions {
		spent := "-"
		if i+1 < len(w.Transitions) {
			spent = length(timeOf(w.Transitions[i+1].At).Sub(timeOf(t.At)))
		} else if !ended(w) {
			spent = length(m.now.Sub(timeOf(t.At))) + "…"
		}
		reason := t.Reason
		if t.Message != "" {
			reason = strings.TrimPrefix(reason+": "+t.Message, ": ")
		}
		stamp := timeOf(t.At).Local().Format("15:04:05.000")
		if m.absolute {
			stamp = m.instant(timeOf(t.At))
		}
		row := []cell{{text: stamp}, {text: strconv.Itoa(t.Attempt)}}
		if o.dialect != "" {
			row = append(row, cell{text: orDash(t.Word), tone: toneOfColor(colors[t.Word], toneOf(t.To))})
		}
		g.rows = append(g.rows, append(row, cell{text: toOf(t), tone: toneOf(t.To)}, cell{text: spent}, cell{text: t.Event}, cell{text: t.Actor}, cell{text: orDash(reason)}))
	}
	return g
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
	if ended(w) {
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
