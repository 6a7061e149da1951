package lifecycle

import (
	"slices"
	"strings"
	"testing"
)

// kindFacts are what the program asks of kinds, by name.
var kindFacts = map[string]func(Kind) bool{
	"Attended": Kind.Attended, "Batch": Kind.Batch, "Single": Kind.Single, "Ranked": Kind.Ranked,
	"Replicated": Kind.Replicated, "Interactive": Kind.Interactive, "Foreign": Kind.Foreign,
}

// Every kind says all of what is asked of kinds.
func TestEveryKindSaysWhatItIs(t *testing.T) {
	want := map[Kind]string{
		Training:    "Batch Single",
		Distributed: "Batch Ranked",
		Workspace:   "Attended Interactive Single",
		Inference:   "Attended Replicated",
		External:    "Foreign",
	}
	if len(want) != len(Kinds()) {
		t.Errorf("there are the kinds %v", Kinds())
	}
	for _, k := range Kinds() {
		if got := factsOf(k); got != want[k] {
			t.Errorf("%s is %q, want %q", k, got, want[k])
		}
	}
	if got := factsOf("another"); got != "" {
		t.Errorf("what is no kind is %s", got)
	}
}

func factsOf(k Kind) string {
	var out []string
	for name, fact := range kindFacts {
		if fact(k) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// A kind is of one sort: what its tasks are to each other, and who ends it.
func TestKindsAreApart(t *testing.T) {
	for _, k := range Kinds() {
		count := func(facts ...func(Kind) bool) (n int) {
			for _, fact := range facts {
				if fact(k) {
					n++
				}
			}
			return n
		}
		if n := count(Kind.Single, Kind.Ranked, Kind.Replicated, Kind.Foreign); n != 1 {
			t.Errorf("%s: its tasks are %d sorts of tasks", k, n)
		}
		if n := count(Kind.Batch, Kind.Attended, Kind.Foreign); n != 1 {
			t.Errorf("%s ends in %d ways", k, n)
		}
	}
	for name, fact := range kindFacts {
		if n := len(KindsThat(fact)); n == 0 || n == len(Kinds()) {
			t.Errorf("%s is true of %d kinds: it tells none from another", name, n)
		}
	}
}
