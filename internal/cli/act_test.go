package cli

import (
	"net/http"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/cli/session"
)

func TestDeleteAsks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		terminal bool
		input    string
		args     []string
		code     int
		deleted  bool
	}{
		{true, "y\n", nil, 0, true},
		{true, "n\n", nil, 1, false},
		{true, "\n", nil, 1, false},
		{true, "", nil, 1, false},
		{true, "", []string{"--yes"}, 0, true},
		{false, "y\n", nil, session.ExitUsage, false},
		{false, "", []string{"--yes"}, 0, true},
	} {
		st, deleted := newStage(queuedWorkload(1)), false
		st.mux.HandleFunc("DELETE /v1/projects/{project}/workloads/{name}", func(w http.ResponseWriter, _ *http.Request) {
			deleted = true
			st.answer(w)
		})
		w := newWorld(t, st.mux)
		if c.terminal {
			w.terminal()
		}
		w.s.IO.In = strings.NewReader(c.input)
		if code := w.run(append([]string{"delete", "it"}, c.args...)...); code != c.code || deleted != c.deleted {
			t.Errorf("%+v: exit code %d, deleted %v: %s", c, code, deleted, w.err.String())
		}
	}
}

// TestEveryCommandHasAnExample holds the help texts to their promise.
func TestEveryCommandHasAnExample(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for _, c := range newRoot(w.s, Hooks{}, nil).Commands() {
		if c.Short == "" || c.Example == "" && !c.HasSubCommands() {
			t.Errorf("%s: short %q, example %q", c.Name(), c.Short, c.Example)
		}
	}
}
