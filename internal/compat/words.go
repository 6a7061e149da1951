package compat

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/musterhq/muster/internal/core/lifecycle"
)

// Saying is how a tool says what muster's texts advise.
type Saying struct{ Ours, Theirs string }

// Words are a tool's for what the server and muster's own commands say to its
// user: which command to type next, with which flags, and where a workload is.
// What they say is written once, in muster's words, and put into the tool's on
// its way out; what a tool says itself is in its words already.
type Words struct {
	// Commands of muster's, without muster before them, and what does the same in
	// the tool: all of its name, as Slurm has several.
	Commands []Saying
	// Flags that texts name. A tool that has no such flag says "": what a text
	// says of it is left out, or stays muster's where it is one of a command.
	Flags []Saying
	// None are the commands of muster's for which the tool has no other: texts go
	// on naming muster.
	None []string
	// Phase is the tool's word for a phase.
	Phase func(lifecycle.Phase) string
}

// Ours are the words of a tool whose commands are about something else than one
// workload, such as a cluster with the jobs on it: advice goes on naming muster's own
// commands.
func Ours(phase func(lifecycle.Phase) string) *Words {
	return &Words{Phase: phase, None: []string{
		"access", "access-rule", "apply", "approvals", "approve", "attach", "audit", "auth", "budget", "check", "cluster", "compute", "config", "cp", "datasource", "datavolume", "delete", "department",
		"describe", "diff", "doctor", "environment", "events", "exec", "explain", "export", "get", "hold", "import", "license", "lifecycle", "login", "logout", "logs", "metrics", "move", "node",
		"notifications", "policy", "pool", "port-forward", "preempt", "price", "project", "quota", "reject", "release", "report", "reservation", "restart", "role", "run", "scale", "schedule", "secret",
		"server", "service-account", "share", "simulate", "ssh-config", "stop", "template", "token", "top", "ui", "update", "usage", "user", "user-limit", "util", "version", "wait", "why",
	}}
}

// everywhere are flags of muster's that no tool has, and what takes their place.
var everywhere = []Saying{
	{"--server or MUSTER_SERVER", "MUSTER_SERVER"}, {"--server", "MUSTER_SERVER"},
	{"--data-dir or MUSTER_DATA_DIR", "MUSTER_DATA_DIR"}, {"--no-autostart", "MUSTER_NO_AUTOSTART"},
}

// InDialect is Words.Phase of a tool whose words the lifecycle has.
func InDialect(d lifecycle.Dialect) func(lifecycle.Phase) string {
	return func(p lifecycle.Phase) string {
		return lifecycle.Say(d, lifecycle.View{State: lifecycle.State{Phase: p}}).Status
	}
}

// In puts a text of muster's into the tool's words.
func (w *Words) In(text string) string {
	if text == "" {
		return ""
	}
	var out strings.Builder
	for _, part := range parts(text) {
		wording, gone := w.part(part.text)
		if gone && out.Len() > 0 {
			continue // the rest is whole without it
		}
		if out.Len() > 0 {
			out.WriteString(part.before)
		}
		out.WriteString(wording)
	}
	return w.phases(out.String())
}

// part is a piece of a sentence, and what stands between it and the one before.
type part struct{ before, text string }

// The expressions are made when they are needed, which is when something is said:
// every command would pay for them.
var separators = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[,;] `) })

func parts(text string) []part {
	var out []part
	before := ""
	for {
		at := separators().FindStringIndex(text)
		if at == nil {
			return append(out, part{before, text})
		}
		out = append(out, part{before, text[:at[0]]})
		before, text = text[at[0]:at[1]], text[at[1]:]
	}
}

// muster is this program where a text tells what to type.
var muster = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("(^|[\\s('\"`])muster ([a-z])") })

// flagName is a flag in a text.
var flagName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(^|[\s(])(--?[a-zA-Z][a-z-]*)`) })

// part puts one piece of a sentence into the tool's words. Gone says that it is
// about a flag which the tool does not have.
func (w *Words) part(text string) (wording string, gone bool) {
	first := muster().FindStringSubmatchIndex(text)
	if first == nil {
		return w.flags(text)
	}
	// A piece may name two commands: A and B. Each has the flags behind it.
	end := len(text)
	if next := muster().FindStringSubmatchIndex(text[first[4]:]); next != nil {
		end = first[4] + next[3]
	}
	rest := ""
	if end < len(text) {
		rest, _ = w.part(text[end:])
	}
	line := text[first[4]:end] // behind "muster "
	own := w.command(line)
	if own == nil {
		return text[:end] + rest, false // muster's it is, with its flags
	}
	after, gone := w.flags(line[len(own.Ours):])
	if gone {
		return text[:end] + rest, false
	}
	return text[:first[3]] + own.Theirs + after + rest, false
}

// command is what a text that begins with a command of muster's says; the
// longest that the tool has a word for.
func (w *Words) command(text string) *Saying {
	var best *Saying
	for i := range w.Commands {
		c := &w.Commands[i]
		if rest, ok := strings.CutPrefix(text, c.Ours); ok && (rest == "" || !strings.ContainsRune(letters, rune(rest[0]))) && (best == nil || len(c.Ours) > len(best.Ours)) {
			best = c
		}
	}
	return best
}

const letters = "abcdefghijklmnopqrstuvwxyz-"

// flags puts the flags of a text into the tool's words. Gone says that it has
// none for one of them; the text is as it was then.
func (w *Words) flags(text string) (wording string, gone bool) {
	wording = text
	for _, f := range everywhere {
		wording = strings.ReplaceAll(wording, f.Ours, f.Theirs)
	}
	wording = flagName().ReplaceAllStringFunc(wording, func(match string) string {
		name := strings.TrimLeft(match, " \t\n(")
		i := slices.IndexFunc(w.Flags, func(s Saying) bool { return s.Ours == name })
		if i < 0 {
			return match
		}
		gone = gone || w.Flags[i].Theirs == ""
		return match[:len(match)-len(name)] + w.Flags[i].Theirs
	})
	if gone {
		return text, true
	}
	return wording, false
}

// inPhase is a phase where a text says that something is in it.
var inPhase = sync.OnceValue(func() *regexp.Regexp {
	var names []string
	for _, p := range lifecycle.Phases() {
		names = append(names, string(p.Phase))
	}
	return regexp.MustCompile(`\b(is|in|was|has been|never started:) (` + strings.Join(names, "|") + `)\b`)
})

func (w *Words) phases(text string) string {
	if w.Phase == nil {
		return text
	}
	return inPhase().ReplaceAllStringFunc(text, func(match string) string {
		verb, phase, _ := cutLast(match, " ")
		return verb + " " + cmp.Or(w.Phase(lifecycle.Phase(phase)), phase)
	})
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
