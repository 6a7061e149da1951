package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestPageIsCurrent(t *testing.T) { golden(t, "../../../docs/lifecycle.md", Markdown()) }

// TestDiagramIsTheMachine reads the diagram back and compares its arrows with
// the steps that the machine takes.
func TestDiagramIsTheMachine(t *testing.T) {
	type step struct {
		from Phase
		on   Event
		to   Phase
	}
	boxed := map[string][]Phase{"[*]": {None}}
	drawn, open := map[step]bool{}, ""
	for _, line := range strings.Split(Mermaid(), "\n") {
		line = strings.TrimSpace(line)
		from, rest, isArrow := strings.Cut(line, " --> ")
		switch {
		case isArrow && rest == "[*]":
			if from != string(Deleted) {
				t.Errorf("the life ends at %s", from)
			}
		case isArrow:
			to, on, _ := strings.Cut(rest, ": ")
			phases := boxed[from]
			if phases == nil {
				phases = []Phase{Phase(from)}
			}
			if !Phase(to).Known() {
				t.Errorf("an arrow leads to %q", to)
			}
			for _, p := range phases {
				for _, e := range strings.Split(on, ", ") {
					if s := (step{p, Event(e), Phase(to)}); drawn[s] {
						t.Errorf("%v is drawn twice", s)
					} else {
						drawn[s] = true
					}
				}
			}
		case strings.HasSuffix(line, "{"):
			fields := strings.Fields(line)
			open = fields[len(fields)-2]
		case line == "}":
			open = ""
		case open != "":
			boxed[open] = append(boxed[open], Phase(line))
		}
	}
	taken := map[step]bool{}
	_, edges := explore()
	for _, e := range edges {
		taken[step{e.from.now.Phase, e.in.On, e.to.now.Phase}] = true
	}
	for s := range taken {
		if !drawn[s] {
			t.Errorf("%s takes %q to %s, which is not drawn", s.on, s.from, s.to)
		}
	}
	// The table also speaks of states that no life leads to, such as Backoff
	// before anything had started; an arrow may stand for such a row.
	for s := range drawn {
		possible := slices.ContainsFunc(probes(s.from), func(from State) bool {
			return slices.ContainsFunc(inputs(), func(in Input) bool {
				n, err := Next(from, in)
				return err == nil && in.On == s.on && n.Phase == s.to
			})
		})
		if !possible {
			t.Errorf("%s is drawn from %q to %s and is refused", s.on, s.from, s.to)
		}
	}
}

// TestPageNamesEverything: whoever reads the page has seen every phase, event
// and word.
func TestPageNamesEverything(t *testing.T) {
	page := Markdown()
	for _, p := range Phases() {
		if !strings.Contains(page, "| "+string(p.Phase)+" | "+p.Meaning) {
			t.Errorf("phase %s is missing", p.Phase)
		}
	}
	for _, e := range Events() {
		if !strings.Contains(page, "| "+string(e)+" | ") {
			t.Errorf("event %s is missing", e)
		}
	}
	for _, d := range Dialects() {
		if !strings.Contains(page, "\n### "+string(d)+"\n") {
			t.Errorf("vocabulary of %s is missing", d)
		}
		for _, w := range Words(d) {
			number := ""
			if w.Code != nil {
				number = fmt.Sprint(*w.Code)
			}
			if row := fmt.Sprintf("| %s | %s | %s | %s | ", w.Status, number, w.Color, yes(w.End)); !strings.Contains(page, row) {
				t.Errorf("%s %s is missing", d, w.Status)
			}
		}
		if !strings.Contains(page, "```mermaid\n"+Diagram(d).Own().Mermaid()+"```") {
			t.Errorf("the diagram of %s is missing", d)
		}
	}
}
