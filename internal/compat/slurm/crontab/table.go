package crontab

import (
	"errors"
	"fmt"
	"strings"

	"github.com/musterhq/muster/internal/core/recur"
)

// entry is a line of a table that has something run, with the lines before it that
// belong to it.
type entry struct {
	text    string // all of its lines, as they were written
	line    int    // of the entry itself, from 1
	cron    string
	command string
	options []string // of sbatch: what its #SCRON lines say
	env     []string // NAME=value, of all lines before it
}

// mistake is what is wrong with a line.
type mistake struct {
	line          int
	problem, hint string
}

func (m *mistake) Error() string { return fmt.Sprintf("line %d: %s", m.line, m.problem) }

// read are the entries of a table (slurm.schedmd.com/scrontab.html): each has five fields
// or a word like @daily, and a command; #SCRON lines before it are its options, lines
// NAME=value are variables of all entries that follow.
func read(text string) ([]entry, error) {
	var out []entry
	var block strings.Builder
	var options, env []string
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		block.WriteString(line + "\n")
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "#SCRON"):
			options = append(options, strings.TrimSpace(trimmed[len("#SCRON"):]))
			continue
		case trimmed == "" || trimmed[0] == '#':
			continue
		}
		if name, _, is := strings.Cut(trimmed, "="); is && variable(strings.TrimSpace(name)) {
			env = append(env, strings.TrimSpace(name)+"="+unquoted(strings.TrimSpace(trimmed[strings.IndexByte(trimmed, '=')+1:])))
			continue
		}
		cron, command := cut(trimmed)
		var bad *recur.Problem
		if _, err := recur.Parse(cron); errors.As(err, &bad) {
			return nil, &mistake{i + 1, bad.Message, bad.Hint}
		}
		if command == "" {
			return nil, &mistake{i + 1, "it does not say what is run", "write the command behind the five fields, or behind a word like @daily"}
		}
		out = append(out, entry{text: block.String(), line: i + 1, cron: cron, command: command, options: options, env: append([]string(nil), env...)})
		block.Reset()
		options = nil
	}
	if len(out) > 0 {
		out[len(out)-1].text += block.String() // what stands after the last belongs to it
	}
	return out, nil
}

// cut divides a line into when and what.
func cut(line string) (cron, command string) {
	fields := 5
	if line[0] == '@' {
		fields = 1
	}
	rest := line
	var when []string
	for range fields {
		word, after, _ := strings.Cut(strings.TrimLeft(rest, " \t"), " ")
		if tab := strings.IndexByte(word, '\t'); tab >= 0 {
			word, after = word[:tab], word[tab+1:]+" "+after
		}
		when, rest = append(when, word), after
	}
	return strings.TrimSpace(strings.Join(when, " ")), strings.TrimSpace(rest)
}

func variable(name string) bool {
	for i, c := range name {
		if c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

func unquoted(text string) string {
	if n := len(text); n > 1 && (text[0] == '"' || text[0] == '\'') && text[n-1] == text[0] {
		return text[1 : n-1]
	}
	return text
}
