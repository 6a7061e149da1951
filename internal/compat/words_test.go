package compat

import (
	"testing"

	"github.com/musterhq/muster/internal/core/lifecycle"
)

var some = Words{
	Commands: []Saying{{"get", "tool list"}, {"get nodes", "tool nodes"}, {"logs", "tool logs"}, {"stop", "tool end"}},
	Flags:    []Saying{{"--task", "--rank"}, {"--all-tasks", ""}, {"--build", ""}},
	None:     []string{"why"},
	Phase:    InDialect(lifecycle.Mcli),
}

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "",
		"muster get lists what there is": "tool list lists what there is",
		"muster get nodes lists all":     "tool nodes lists all",
		"possible now: muster stop a, muster delete a":                                      "possible now: tool end a, muster delete a",
		"see muster logs a --task 3 --tail 20; muster why a says more":                      "see tool logs a --rank 3 --tail 20; muster why a says more",
		"muster logs a --build shows the output":                                            "muster logs a --build shows the output",
		"Showing task 0 of 2; --task N shows another, --all-tasks all":                      "Showing task 0 of 2; --rank N shows another",
		"leave out --all-tasks":                                                             "leave out --all-tasks",
		"run 'muster stop a' or (muster logs a)":                                            "run 'tool end a' or (tool logs a)",
		"muster getaway, /bin/muster get and mustering":                                     "muster getaway, /bin/muster get and mustering",
		"start one with muster server, leave out --no-autostart, or name one with --server": "start one with muster server, leave out MUSTER_NO_AUTOSTART, or name one with MUSTER_SERVER",
		"name another with --server or MUSTER_SERVER":                                       "name another with MUSTER_SERVER",
		"muster server --data-dir d runs it":                                                "muster server --data-dir d runs it",
		"a is TimedOut; b: stop is not possible in Completed":                               "a is STOPPED; b: stop is not possible in COMPLETED",
		"a is Unheard of": "a is Unheard of",
	} {
		if got := some.In(text); got != want {
			t.Errorf("%q becomes %q, not %q", text, got, want)
		}
	}
}
