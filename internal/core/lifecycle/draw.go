package lifecycle

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MusterOnly is written on arrows that the platform's own documents do not
// have.
const MusterOnly = "(muster only)"

// Mermaid returns the native machine as a Mermaid state diagram.
func Mermaid() string { return Diagram("").Mermaid() }

// label is what is written on an arrow: the platform's own cause, or the
// events.
func (a Arrow) label() string {
	text := a.Cause
	if text == "" {
		text = strings.Join(a.On, ", ")
	}
	if a.Extra {
		text = MusterOnly + " " + text
	}
	return text
}

// Mermaid returns g as a Mermaid state diagram. Mermaid has no dashed arrows
// there, so what only happens here is marked in words.
func (g Graph) Mermaid() string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n")
	for _, n := range g.Nodes {
		alone := !slices.ContainsFunc(g.Arrows, func(a Arrow) bool { return a.From == n.Name || a.To == n.Name })
		if id := ident(n.Name); id != n.Title {
			fmt.Fprintf(&b, "    state \"%s\" as %s\n", n.Title, id)
		} else if alone && len(g.Groups) == 0 {
			fmt.Fprintf(&b, "    %s\n", id)
		}
	}
	for _, box := range g.Groups {
		fmt.Fprintf(&b, "    state \"%s\" as %s {\n", box.Title, box.Name)
		for _, name := range box.Of {
			fmt.Fprintf(&b, "        %s\n", name)
		}
		b.WriteString("    }\n")
	}
	end := func(name string) string {
		if name == "" {
			return "[*]"
		}
		return ident(name)
	}
	for _, a := range g.Arrows {
		fmt.Fprintf(&b, "    %s --> %s", end(a.From), end(a.To))
		if label := a.label(); label != "" {
			b.WriteString(": " + label)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// ident is a name that Mermaid takes for a state.
func ident(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r == '_' {
			return r
		}
		return '_'
	}, name)
}

// Marks of the beginning and the end in DOT; no phase and no word is called so.
const (
	dotStart = "(start)"
	dotEnd   = "(end)"
)

// DOT returns g for Graphviz. Boxes have the platform's colours, ends a double
// border, and what only happens here is dashed.
func (g Graph) DOT() string {
	var b strings.Builder
	name := string(g.Dialect)
	if name == "" {
		name = "native"
	}
	fmt.Fprintf(&b, "digraph %s {\n", quote(name))
	b.WriteString("  compound=true;\n  node [shape=box, style=\"rounded,filled\", fillcolor=\"#ffffff\"];\n")
	fmt.Fprintf(&b, "  %s [shape=circle, label=\"\", width=0.2, fillcolor=\"#000000\"];\n", quote(dotStart))
	fmt.Fprintf(&b, "  %s [shape=doublecircle, label=\"\", width=0.15, fillcolor=\"#000000\"];\n", quote(dotEnd))
	for _, n := range g.Nodes {
		attrs := "label=" + quote(n.Title)
		if n.Color != "" {
			attrs += ", fillcolor=" + quote(n.Color) + ", fontcolor=" + quote(inkOn(n.Color))
		}
		if n.End {
			attrs += ", peripheries=2"
		}
		fmt.Fprintf(&b, "  %s [%s];\n", quote(n.Name), attrs)
	}
	for _, box := range g.Groups {
		fmt.Fprintf(&b, "  subgraph %s {\n    label=%s;\n   ", quote("cluster_"+box.Name), quote(box.Title))
		for _, n := range box.Of {
			b.WriteString(" " + quote(n) + ";")
		}
		b.WriteString("\n  }\n")
	}
	for _, a := range g.Arrows {
		b.WriteString("  " + g.dotArrow(a) + "\n")
	}
	b.WriteString("}\n")
	return b.String()
}

// dotArrow writes one arrow. Graphviz draws from a box what goes from one of
// its nodes and is cut at the box.
func (g Graph) dotArrow(a Arrow) string {
	from, to, attrs := a.From, a.To, "label="+quote(a.label())
	if i := slices.IndexFunc(g.Groups, func(b Group) bool { return b.Name == a.From }); i >= 0 {
		from = g.Groups[i].Of[0]
		attrs += ", ltail=" + quote("cluster_"+a.From)
	}
	if from == "" {
		from = dotStart
	}
	if to == "" {
		to = dotEnd
	}
	if a.Extra {
		attrs += `, style=dashed, color="#888888", fontcolor="#888888"`
	}
	return quote(from) + " -> " + quote(to) + " [" + attrs + "];"
}

func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// inkOn is black or white, whichever can be read on color.
func inkOn(color string) string {
	n, err := strconv.ParseUint(strings.TrimPrefix(color, "#"), 16, 32)
	if err == nil && 299*(n>>16&255)+587*(n>>8&255)+114*(n&255) < 128_000 {
		return "#ffffff"
	}
	return "#000000"
}
