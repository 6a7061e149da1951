package cli

import (
	"bytes"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/terminal"
)

// evil renames the terminal, clears it, writes over the line, and turns what
// follows around.
const evil = "lost\x1b]0;mine\a \x1b[2J\x1b[31mred\x1b[0m over\rrun \u202eturned\u009b5n"

// What a task has written in its messages, titles and reasons reaches a terminal
// as text and no more; its output comes as it is.
func TestWordsOfTasksAreText(t *testing.T) {
	t.Parallel()
	w := samples()[2]
	w.Message, w.Attempts[0].Message, w.Attempts[0].Tasks[0].Message = evil, evil, evil
	w.Transitions[2].Message = evil
	mux := http.NewServeMux()
	of := "GET /v1/projects/{project}/workloads"
	mux.HandleFunc(of, func(rw http.ResponseWriter, _ *http.Request) {
		answer(rw, http.StatusOK, api.WorkloadList{Items: []api.Workload{w}})
	})
	mux.HandleFunc(of+"/{name}", func(rw http.ResponseWriter, _ *http.Request) { answer(rw, http.StatusOK, w) })
	mux.HandleFunc(of+"/{name}/first-error", func(rw http.ResponseWriter, _ *http.Request) {
		answer(rw, http.StatusOK, api.FirstErrorResult{Error: &api.FirstError{Kind: "exit", Title: evil, Excerpt: []string{evil}, Role: "task", Hint: evil}})
	})
	mux.HandleFunc(of+"/{name}/transitions", func(rw http.ResponseWriter, _ *http.Request) {
		answer(rw, http.StatusOK, api.TransitionList{Items: w.Transitions})
	})
	mux.HandleFunc(of+"/{name}/why", func(rw http.ResponseWriter, _ *http.Request) { answer(rw, http.StatusOK, whyOf(w)) })
	mux.HandleFunc(of+"/{name}/logs", func(rw http.ResponseWriter, r *http.Request) {
		_, _ = rw.Write([]byte("Traceback (most recent call last):\n  File \"x.py\", line 1\nValueError: " + evil + "\n"))
	})
	colour := regexp.MustCompile("\x1b\\[[0-9;]*m")
	for _, args := range []string{"get -A", "get -A -o wide", "describe sweep", "why sweep", "events sweep", "lifecycle sweep", "logs sweep --first-error", "diff sweep@0 sweep@0 --all", "wait sweep"} {
		c := newWorld(t, mux)
		c.terminal()
		c.s.IO.Width = 400
		c.run(strings.Fields(args)...)
		got := c.out.String() + c.err.String()
		if !strings.Contains(got, "sweep") && !strings.Contains(got, "lost") {
			t.Errorf("%s says %q", args, got)
		}
		for line := range strings.Lines(colour.ReplaceAllString(got, "")) {
			if i := strings.IndexFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool { return r != '\t' && !unicode.IsGraphic(r) }); i >= 0 {
				t.Errorf("%s writes %q", args, line)
			}
		}
	}
	c := newWorld(t, mux)
	c.terminal()
	if code := c.run("logs", "sweep", "--task", "0"); code != 0 || !strings.Contains(c.out.String(), evil) {
		t.Errorf("output of a task came as %q, %d: %s", c.out.String(), code, c.err.String())
	}
}

// A character that comes in two writes is one.
func TestWordsInPieces(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	s := &terminal.Shown{W: &b}
	for _, c := range []byte("größer\r\n■\x1b[32m") {
		if n, err := s.Write([]byte{c}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	if got := b.String(); !strings.HasPrefix(got, "größer") || !strings.Contains(got, "\n■") {
		t.Errorf("it came as %q", got)
	}
}
