package lifecycle

import (
	"fmt"
	"slices"
	"strings"
)

// group is a set of phases that the diagram draws as one box, so that what is
// possible in all of them is one arrow.
type group struct {
	name, title string
	of          []Phase
}

var groups = []group{
	{"Waiting", "before it holds anything", unstarted},
	{"Active", "while it holds devices", active},
	{"Ended", "over, unless a user restarts or deletes it", ended},
}

// arrow is a line of the diagram: everything that leads from one box to another.
type arrow struct {
	from, to string
	on       []Event
}

// Mermaid returns the machine as a Mermaid state diagram, drawn from the table.
func Mermaid() string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n")
	for _, g := range groups {
		fmt.Fprintf(&b, "    state \"%s\" as %s {\n", g.title, g.name)
		for _, p := range g.of {
			fmt.Fprintf(&b, "        %s\n", p)
		}
		b.WriteString("    }\n")
	}
	for _, a := range arrows() {
		words := make([]string, len(a.on))
		for i, e := range a.on {
			words[i] = string(e)
		}
		fmt.Fprintf(&b, "    %s --> %s: %s\n", a.from, a.to, strings.Join(words, ", "))
	}
	fmt.Fprintf(&b, "    %s --> [*]\n", Deleted)
	return b.String()
}

func arrows() []arrow {
	var all []arrow
	add := func(from, to string, on Event) {
		i := slices.IndexFunc(all, func(a arrow) bool { return a.from == from && a.to == to })
		if i < 0 {
			all = append(all, arrow{from: from, to: to})
			i = len(all) - 1
		}
		if !slices.Contains(all[i].on, on) {
			all[i].on = append(all[i].on, on)
		}
	}
	for i := range rules {
		r := &rules[i]
		ends := []Phase{r.To}
		if r.To == AsTargeted {
			ends = targets()
		}
		for _, from := range boxes(r.From) {
			for _, to := range ends {
				add(from, string(to), r.On)
			}
		}
	}
	return all
}

// boxes covers from with whole groups where they fit, and single phases.
func boxes(from []Phase) []string {
	rest := slices.Clone(from)
	var names []string
	for _, g := range groups {
		whole := !slices.ContainsFunc(g.of, func(p Phase) bool { return !slices.Contains(rest, p) })
		if whole {
			names = append(names, g.name)
			rest = slices.DeleteFunc(rest, func(p Phase) bool { return slices.Contains(g.of, p) })
		}
	}
	for _, p := range rest {
		name := string(p)
		if p == None {
			name = "[*]"
		}
		names = append(names, name)
	}
	return names
}

// targets returns every phase that Terminating may lead to, in the order of a
// normal life.
func targets() []Phase {
	var all []Phase
	for _, p := range phases {
		for i := range rules {
			if slices.Contains(rules[i].Targets, p.Phase) {
				all = append(all, p.Phase)
				break
			}
		}
	}
	return all
}
