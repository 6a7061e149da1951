package lifecycle

import "slices"

// Graph is a state machine as a picture: the native one, or what a platform
// would draw of it in its own words.
type Graph struct {
	Dialect Dialect // empty for the native machine
	Nodes   []Node
	Groups  []Group // native only
	Arrows  []Arrow
}

// Node is a phase, or a word of a platform.
type Node struct {
	Name  string
	Title string // what is written in the box
	Color string // #rrggbb, where the platform has one
	End   bool   // an end in the platform's sense
}

// Group is a box around nodes. An arrow from a group holds for each of them.
type Group struct {
	Name, Title string
	Of          []string
}

// Arrow is all that leads from one node to another.
type Arrow struct {
	From, To string   // names of nodes or groups; From is empty at the start, To at the end
	On       []string // events; beginnings (+) and ends (-) of conditions; what tasks show
	Cause    string   // the platform's own name for it, where it has one
	// Extra marks what the platform's own documents neither draw nor list:
	// it happens only here.
	Extra bool
}

// Diagram returns the picture of d, drawn from the table: every word is a node,
// and an arrow stands where some event, circumstance or task leads from one word
// to another. Every other d than one of Dialects gives the native machine.
func Diagram(d Dialect) Graph {
	t := d.tongue()
	if t == nil {
		return native()
	}
	g := Graph{Dialect: d}
	for _, w := range t.words {
		n := Node{Name: w.Status, Title: w.Status, Color: w.Color, End: w.End}
		if w.Code != nil {
			n.Title = pageWord(Word{Status: w.Status, Code: w.Code})
		}
		g.Nodes = append(g.Nodes, n)
	}
	w := newWalker(t)
	words := map[moment]string{}
	word := func(m moment) string {
		label, ok := words[m]
		if !ok {
			label = w.word(m)
			words[m] = label
		}
		return label
	}
	w.walk(func(c change) {
		if from, to := word(c.from), word(c.to); from != to {
			g.add(from, to, c.why)
		}
	})
	for i := range g.Arrows {
		a := &g.Arrows[i]
		a.Extra = a.From != ""
		for _, own := range t.own {
			if own.from == a.From && own.to == a.To {
				a.Cause, a.Extra = own.cause, false
			}
		}
	}
	for _, n := range g.Nodes {
		if n.End {
			g.Arrows = append(g.Arrows, Arrow{From: n.Name})
		}
	}
	g.sort()
	return g
}

// Own returns g without what only happens here: the platform's own machine.
func (g Graph) Own() Graph {
	g.Arrows = slices.DeleteFunc(slices.Clone(g.Arrows), func(a Arrow) bool { return a.Extra })
	return g
}

// add puts another cause on the arrow between two nodes.
func (g *Graph) add(from, to, on string) {
	i := slices.IndexFunc(g.Arrows, func(a Arrow) bool { return a.From == from && a.To == to })
	if i < 0 {
		i = len(g.Arrows)
		g.Arrows = append(g.Arrows, Arrow{From: from, To: to})
	}
	if !slices.Contains(g.Arrows[i].On, on) {
		g.Arrows[i].On = append(g.Arrows[i].On, on)
	}
}

// sort orders arrows as their nodes are, the start first and the end last, and
// causes as the table has them.
func (g *Graph) sort() {
	place := func(name string, none int) int {
		if name == "" {
			return none
		}
		return slices.IndexFunc(g.Nodes, func(n Node) bool { return n.Name == name })
	}
	slices.SortStableFunc(g.Arrows, func(a, b Arrow) int {
		if d := place(a.From, -1) - place(b.From, -1); d != 0 {
			return d
		}
		return place(a.To, len(g.Nodes)) - place(b.To, len(g.Nodes))
	})
	events := Events()
	rank := func(on string) int {
		if i := slices.Index(events, Event(on)); i >= 0 {
			return i
		}
		return len(events)
	}
	for _, a := range g.Arrows {
		slices.SortStableFunc(a.On, func(x, y string) int { return rank(x) - rank(y) })
	}
}

// groups are the sets of phases that the native diagram draws as one box, so
// that what is possible in all of them is one arrow.
var groups = []struct {
	name, title string
	of          []Phase
}{
	{"Waiting", "before it holds anything", unstarted},
	{"Active", "while it holds devices", active},
	{"Ended", "over, unless a user restarts or deletes it", ended},
}

func native() Graph {
	var g Graph
	for _, p := range phases {
		g.Nodes = append(g.Nodes, Node{Name: string(p.Phase), Title: string(p.Phase), End: p.End})
	}
	for _, b := range groups {
		of := make([]string, len(b.of))
		for i, p := range b.of {
			of[i] = string(p)
		}
		g.Groups = append(g.Groups, Group{b.name, b.title, of})
	}
	for i := range rules {
		r := &rules[i]
		ends := []Phase{r.To}
		if r.To == AsTargeted {
			ends = targets()
		}
		for _, from := range boxes(r.From) {
			for _, to := range ends {
				g.add(from, string(to), string(r.On))
			}
		}
	}
	g.Arrows = append(g.Arrows, Arrow{From: string(Deleted)})
	return g
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
		names = append(names, string(p))
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
