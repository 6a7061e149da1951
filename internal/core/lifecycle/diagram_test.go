package lifecycle

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// leads are the arrows of a graph by their ends.
func leads(g Graph) map[[2]string]bool {
	all := map[[2]string]bool{}
	for _, a := range g.Arrows {
		all[[2]string{a.From, a.To}] = true
	}
	return all
}

// drawn is one line of a fixture in testdata/drawn.
type drawn struct{ from, to, how, via string }

func readDrawn(t *testing.T, d Dialect) []drawn {
	t.Helper()
	text, err := os.ReadFile("testdata/drawn/" + string(d) + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	node := func(word string) string {
		if word == "[*]" {
			return ""
		}
		i := slices.IndexFunc(Words(d), func(w Word) bool {
			return w.Status == word || w.Code != nil && fmt.Sprint(*w.Code) == word
		})
		if i < 0 {
			t.Fatalf("%s has no word %q", d, word)
		}
		return Words(d)[i].Status
	}
	var all []drawn
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] == "#" {
			continue
		}
		if len(f) < 3 || f[1] != "->" {
			t.Fatalf("%s: %q is no arrow", d, line)
		}
		x := drawn{from: node(f[0]), to: node(f[2])}
		switch {
		case len(f) == 5 && f[3] == "via":
			x.how, x.via = "via", node(f[4])
		case len(f) == 4 && f[3] == "not":
			x.how = "not"
		case len(f) != 3:
			t.Fatalf("%s: what is %q?", d, line)
		}
		all = append(all, x)
	}
	return all
}

// TestDiagramsAreThePlatformsOwn compares what is drawn as a platform's own
// with what the platform's documents draw or list, both ways.
func TestDiagramsAreThePlatformsOwn(t *testing.T) {
	for _, d := range Dialects() {
		g := Diagram(d)
		own, all := leads(g.Own()), leads(g)
		answered := map[[2]string]bool{}
		answer := func(from, to string) {
			if !own[[2]string{from, to}] {
				t.Errorf("%s: %q -> %q is the platform's own and not drawn so (drawn at all: %v)", d, from, to, all[[2]string{from, to}])
			}
			answered[[2]string{from, to}] = true
		}
		for _, x := range readDrawn(t, d) {
			switch x.how {
			case "via":
				answer(x.from, x.via)
				answer(x.via, x.to)
			case "not":
				if all[[2]string{x.from, x.to}] {
					t.Errorf("%s: %q -> %q happens after all", d, x.from, x.to)
				}
			default:
				answer(x.from, x.to)
			}
		}
		for a := range own {
			if !answered[a] {
				t.Errorf("%s: %q -> %q is drawn as the platform's own; its documents do not have it", d, a[0], a[1])
			}
		}
	}
}

// TestJobqDrawsItsDocumentedDiagram is exact: eight arrows, a beginning and two
// ends, each with its documented cause.
func TestJobqDrawsItsDocumentedDiagram(t *testing.T) {
	var got []string
	for _, a := range Diagram(Jobq).Own().Arrows {
		got = append(got, fmt.Sprintf("%s>%s %s", a.From, a.To, a.Cause))
	}
	want := []string{
		">Submitted ", "Submitted>Pending quotaReserved", "Submitted>Inadmissible queue stopped or missing",
		"Pending>Admitted admitted", "Inadmissible>Submitted condition resolved", "Admitted>Submitted evicted",
		"Admitted>Pending requeued", "Admitted>Succeeded success", "Admitted>Failed error", "Succeeded> ", "Failed> ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("drawn\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, x := range readDrawn(t, Jobq) {
		if x.how != "" {
			t.Errorf("%+v: jobq's own diagram allows no exception", x)
		}
	}
}

// TestEveryOwnArrowHappens: a cause in our tables that no arrow carries is a
// word that nobody ever reads.
func TestEveryOwnArrowHappens(t *testing.T) {
	for _, d := range Dialects() {
		all := leads(Diagram(d))
		seen := map[[2]string]bool{}
		for _, own := range d.tongue().own {
			key := [2]string{own.from, own.to}
			if !all[key] {
				t.Errorf("%s: nothing leads from %s to %s", d, own.from, own.to)
			}
			if seen[key] {
				t.Errorf("%s: %s to %s is there twice", d, own.from, own.to)
			}
			seen[key] = true
		}
	}
}

// TestDiagramsHoldWhatExploreFinds draws each dialect a second time, from every
// step of the machine with any reason and nothing special around.
func TestDiagramsHoldWhatExploreFinds(t *testing.T) {
	_, edges := explore(ReasonRetry)
	for _, d := range Dialects() {
		all := leads(Diagram(d))
		found := 0
		for _, e := range edges {
			if e.in.On == Release && e.from.now.Phase == Terminating && e.in.Reason != ReasonNone {
				continue // an outcome keeps the reason that it was ended for
			}
			from, to := "", Say(d, View{State: e.to.now, Prior: e.to.prior}).Status
			if e.from.now.Phase != None {
				from = Say(d, View{State: e.from.now, Prior: e.from.prior}).Status
			}
			if from == to {
				continue
			}
			found++
			if !all[[2]string{from, to}] {
				t.Fatalf("%s: %s leads from %q to %q (%+v to %+v), which is not drawn", d, e.in.On, from, to, e.from.now, e.to.now)
			}
		}
		if found == 0 {
			t.Errorf("%s never changes its word", d)
		}
	}
}

// TestEveryWordIsReached: from the start, over arrows, to every word; and from
// every word to an end where the platform has ends.
func TestEveryWordIsReached(t *testing.T) {
	sizes := map[Dialect]int{RunaiJob: 19, RunaiWorkload: 15, Jobq: 6, Mcli: 9, Modelarts: 23, "": 21}
	for _, d := range append(Dialects(), "") {
		g := Diagram(d)
		if len(g.Nodes) != sizes[d] {
			t.Errorf("%q: %d words, the platform has %d", d, len(g.Nodes), sizes[d])
		}
		inside := map[string][]string{}
		for _, box := range g.Groups {
			inside[box.Name] = box.Of
		}
		spread := func(begin string, next func(Arrow) (string, string)) map[string]bool {
			reached := map[string]bool{begin: true}
			for grew := true; grew; {
				grew = false
				for _, a := range g.Arrows {
					froms := []string{a.From}
					if of := inside[a.From]; of != nil {
						froms = of
					}
					for _, f := range froms {
						x, y := next(Arrow{From: f, To: a.To})
						if reached[x] && !reached[y] {
							reached[y], grew = true, true
						}
					}
				}
			}
			return reached
		}
		fromStart := spread("", func(a Arrow) (string, string) { return a.From, a.To })
		toEnd := spread("", func(a Arrow) (string, string) { return a.To, a.From })
		for _, n := range g.Nodes {
			if !fromStart[n.Name] || !toEnd[n.Name] {
				t.Errorf("%q: %s is reached: %v, can end: %v", d, n.Name, fromStart[n.Name], toEnd[n.Name])
			}
		}
		for _, a := range g.Arrows {
			if a.From == a.To {
				if d != "" {
					t.Errorf("%s: %s leads to itself", d, a.From)
				}
			}
			if a.To != "" && len(a.On) == 0 {
				t.Errorf("%q: nothing leads from %q to %q", d, a.From, a.To)
			}
		}
	}
}

func TestUnknownDialectDrawsTheNativeMachine(t *testing.T) {
	if Diagram("esperanto").DOT() != Diagram("").DOT() || Ways("esperanto", "Running") != nil {
		t.Error("a dialect that does not exist has a machine of its own")
	}
}

// dotLine is a statement of the part of DOT that we write.
var (
	dotQuoted = `"(?:[^"\\]|\\.)*"`
	dotAttr   = `[a-z]+=(?:` + dotQuoted + `|[A-Za-z0-9.]+)`
	dotAttrs  = ` \[` + dotAttr + `(?:, ` + dotAttr + `)*\];`
	dotNode   = regexp.MustCompile(`^  (` + dotQuoted + `)` + dotAttrs + `$`)
	dotEdge   = regexp.MustCompile(`^  (` + dotQuoted + `) -> (` + dotQuoted + `)` + dotAttrs + `$`)
	dotOther  = regexp.MustCompile(`^(?:digraph ` + dotQuoted + ` \{|  compound=true;|  node` + dotAttrs + `|  subgraph "cluster_[A-Za-z]+" \{|    label=` + dotQuoted + `;|   (?: ` + dotQuoted + `;)+|  \}|\})$`)
)

// TestDOT checks the structure line by line: every end of an edge is a node,
// brackets close, and dashed is exactly what only happens here.
func TestDOT(t *testing.T) {
	for _, d := range append(Dialects(), "") {
		g := Diagram(d)
		nodes, depth, edges, dashed := map[string]bool{}, 0, 0, 0
		for _, line := range strings.Split(strings.TrimSuffix(g.DOT(), "\n"), "\n") {
			if m := dotEdge.FindStringSubmatch(line); m != nil {
				edges++
				if !nodes[m[1]] || !nodes[m[2]] {
					t.Errorf("%q: %s is an edge between what is no node", d, line)
				}
				if strings.Contains(line, "style=dashed") {
					dashed++
					if !strings.Contains(line, MusterOnly) {
						t.Errorf("%q: dashed without a word: %s", d, line)
					}
				}
			} else if m := dotNode.FindStringSubmatch(line); m != nil {
				nodes[m[1]] = true
			} else if !dotOther.MatchString(line) {
				t.Errorf("%q: not a statement: %s", d, line)
			}
			depth += strings.Count(line, "{") - strings.Count(line, "}")
		}
		if depth != 0 || edges != len(g.Arrows) || len(nodes) != len(g.Nodes)+2 || dashed != len(g.Arrows)-len(g.Own().Arrows) {
			t.Errorf("%q: depth %d, %d edges, %d nodes, %d dashed", d, depth, edges, len(nodes), dashed)
		}
	}
	if dot := Diagram(RunaiJob).DOT(); !strings.Contains(dot, `"Succeeded" [label="Succeeded", fillcolor="#0000ff", fontcolor="#ffffff", peripheries=2];`) {
		t.Errorf("colours are missing:\n%s", dot)
	}
}

// TestMermaidNames: two words must not fall into one box.
func TestMermaidNames(t *testing.T) {
	for _, d := range Dialects() {
		seen := map[string]string{}
		for _, n := range Diagram(d).Nodes {
			if other, ok := seen[ident(n.Name)]; ok {
				t.Errorf("%s: %q and %q are both %s", d, n.Name, other, ident(n.Name))
			}
			seen[ident(n.Name)] = n.Name
		}
		for line := range strings.Lines(Diagram(d).Mermaid()) {
			if _, label, ok := strings.Cut(line, " --> "); ok && (strings.Count(label, ":") > 1 || strings.ContainsAny(label, ";{}\"")) {
				t.Errorf("%s: Mermaid cannot read %q", d, line)
			}
		}
	}
}

// TestCauses: an arrow has all its causes and no other. While a backend is silent
// its word stays whatever is done, and what a task says ends with its phase.
func TestCauses(t *testing.T) {
	for _, c := range []struct {
		d        Dialect
		from, to string
		on       []string
	}{
		{Mcli, "UNKNOWN", "TERMINATING", []string{"release", "backend back"}},
		{Mcli, "RUNNING", "UNKNOWN", []string{"backend silent"}},
		{Mcli, "TERMINATING", "PENDING", []string{"release"}},
		{Modelarts, "JOBSTAT_RUNNING", "JOBSTAT_SCALING", []string{"+Scaling"}},
		{Modelarts, "JOBSTAT_COMPLETED", "JOBSTAT_SUBMIT_MODEL_FAILED", []string{"model_failed"}},
		{RunaiJob, "Error", "CrashLoopBackOff", []string{"backoff_over", "waits before it is started again"}},
		{RunaiJob, "PodInitializing", "ContainerCreating", []string{"cannot_run"}}, // it is cleared away
		{RunaiWorkload, "Initializing", "Degraded", []string{"all_ready", "task_failed", "+Unreachable"}},
		{Jobq, "Pending", "Submitted", []string{"release"}},
		{Jobq, "Admitted", "Inadmissible", nil},
	} {
		var on []string
		for _, a := range Diagram(c.d).Arrows {
			if a.From == c.from && a.To == c.to {
				on = a.On
			}
		}
		if !slices.Equal(on, c.on) {
			t.Errorf("%s: %s to %s on %q, want %q", c.d, c.from, c.to, on, c.on)
		}
	}
}
