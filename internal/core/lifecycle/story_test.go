package lifecycle

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A story is a life in commands; after each stands what the dialects say, in
// the order of Dialects, ends in the platform's sense marked with a full stop.
//
//	= title [kind]
//	EVENT [PHASE] [reason=R] [message=M]      PHASE: where the table leaves a choice
//	task ROLE INDEX STATE [waiting=W] [exit=N] [reason=R] [restarts=N]
//	+CONDITION | -CONDITION | backend silent | backend back
//
// New attempts begin without tasks. A command ends where " | " begins.
type story struct {
	view View
	used map[string]bool      // dialect + word
	said []string             // the words before, one for each dialect
	maps []map[[2]string]bool // each dialect's diagram
}

func TestStories(t *testing.T) {
	const path = "testdata/stories.txt"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	var maps []map[[2]string]bool
	for _, d := range Dialects() {
		maps = append(maps, leads(Diagram(d)))
	}
	s := &story{used: used, maps: maps}
	var out strings.Builder
	for n, line := range strings.Split(strings.TrimRight(string(text), "\n"), "\n") {
		command, _, _ := strings.Cut(line, " | ")
		command = strings.TrimSpace(command)
		switch {
		case command == "" || command[0] == '#':
			out.WriteString(line + "\n")
			continue
		case command[0] == '=':
			s = &story{used: used, maps: maps, view: View{Kind: Training}}
			for _, k := range Kinds() {
				if strings.HasSuffix(command, "["+string(k)+"]") {
					s.view.Kind = k
				}
			}
			out.WriteString(line + "\n")
			continue
		}
		if err := s.do(strings.Fields(command)); err != nil {
			t.Fatalf("%s:%d: %s: %v", path, n+1, command, err)
		}
		fmt.Fprintf(&out, "%-44s | %s\n", command, s.say())
		for _, undrawn := range s.follow() {
			t.Errorf("%s:%d: %s: %s is not in the diagram", path, n+1, command, undrawn)
		}
	}
	golden(t, path, out.String())
	for _, d := range Dialects() {
		for _, w := range Words(d) {
			if !used[string(d)+" "+w.Status] {
				t.Errorf("no story leads to %s %s", d, w.Status)
			}
		}
	}
}

// follow moves on in every dialect's diagram, and returns the steps that it
// does not have.
func (s *story) follow() []string {
	if s.said == nil {
		s.said = make([]string, len(Dialects()))
	}
	var undrawn []string
	for i, d := range Dialects() {
		now := pattern(Say(d, s.view).Status)
		if was := s.said[i]; was != now && !s.maps[i][[2]string{was, now}] {
			undrawn = append(undrawn, fmt.Sprintf("%s: %q to %q", d, was, now))
		}
		s.said[i] = now
	}
	return undrawn
}

func (s *story) do(words []string) error {
	v := &s.view
	switch {
	case words[0] == "backend":
		v.BackendUnreachable = words[1] == "silent"
		return nil
	case words[0][0] == '+':
		v.Conditions = append(v.Conditions, ConditionType(words[0][1:]))
		return nil
	case words[0][0] == '-':
		v.Conditions = slices.DeleteFunc(v.Conditions, func(c ConditionType) bool { return string(c) == words[0][1:] })
		return nil
	case words[0] == "task":
		return s.task(words[1:])
	}
	in := Input{On: Event(words[0])}
	for _, w := range words[1:] {
		key, value, ok := strings.Cut(w, "=")
		switch {
		case key == "reason":
			in.Reason = Reason(value)
		case key == "message":
			in.Message = value
		case ok:
			return fmt.Errorf("no such option %q", key)
		case w == string(Restarting):
			in.To = Restarting
		default:
			in.To, in.Target = Terminating, Phase(w)
		}
	}
	n, err := Next(v.State, in)
	if err != nil {
		return err
	}
	if n.Attempt != v.State.Attempt {
		v.Tasks = nil
	}
	if v.State = n; !n.Leaving() {
		v.Prior = n
	}
	return nil
}

func (s *story) task(words []string) error {
	index, err := strconv.Atoi(words[1])
	if err != nil {
		return err
	}
	t := TaskView{Role: words[0], Index: index, State: words[2]}
	for _, w := range words[3:] {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "waiting":
			t.Waiting = value
		case "reason":
			t.Reason = value
		case "exit", "restarts":
			n, err := strconv.Atoi(value)
			if err != nil {
				return err
			}
			if key == "exit" {
				t.ExitCode = &n
			} else {
				t.Restarts = n
			}
		default:
			return fmt.Errorf("no such option %q", key)
		}
	}
	ts := slices.DeleteFunc(slices.Clone(s.view.Tasks), func(o TaskView) bool { return o.Index == index })
	s.view.Tasks = append(ts, t)
	return nil
}

func (s *story) say() string {
	texts := make([]string, len(Dialects()))
	for i, d := range Dialects() {
		w := Say(d, s.view)
		s.used[string(d)+" "+pattern(w.Status)] = true
		text := w.Status
		if w.Code != nil {
			text = fmt.Sprintf("%d %s", *w.Code, strings.TrimPrefix(w.Status, "JOBSTAT_"))
		}
		if w.Reason != "" {
			text += " (" + w.Reason + ")"
		}
		if w.End {
			text += "."
		}
		texts[i] = text
	}
	return strings.Join(texts, " | ")
}
