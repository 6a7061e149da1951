package cli

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/logs"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
)

func starting(tasks ...api.Task) *api.Workload {
	w := &api.Workload{Name: "w", Phase: "Starting", Attempts: []api.Attempt{{Tasks: tasks}}}
	for _, t := range tasks {
		if w.Tasks.Total++; t.State == "running" {
			w.Tasks.Running++
		}
	}
	return w
}

func TestHowFarAStartIs(t *testing.T) {
	t.Parallel()
	pull := func(done, total int64) *api.Pull {
		return &api.Pull{Layers: 4, LayersDone: 1, Bytes: done, Total: total}
	}
	for name, c := range map[string]struct {
		w           *api.Workload
		line, stage string
	}{
		"a pull":            {starting(api.Task{State: "starting", Pull: pull(512, 1024)}), "■■■■■■■■□□□□□□□□  50%  pulling the image, 1 of 4 layers, 512B of 1.0Ki", "pull 2"},
		"the slowest":       {starting(api.Task{State: "running", Index: 0}, api.Task{State: "starting", Index: 1, Node: "a", Pull: pull(900, 1000)}, api.Task{State: "starting", Index: 2, Node: "b", Pull: pull(100, 1000)}), "■□□□□□□□□□□□□□□□  10%  pulling the image, 1 of 4 layers, 100B of 1000B (task 2 on b; 1 of 3 run)", "pull 0"},
		"a size not known":  {starting(api.Task{State: "starting", Pull: pull(5, 0)}), "pulling the image, 1 of 4 layers", "pull"},
		"more than it said": {starting(api.Task{State: "starting", Pull: pull(2000, 1000)}), "■■■■■■■■■■■■■■■■ 100%  pulling the image, 1 of 4 layers, 2.0Ki of 1000B", "pull 8"},
		"steps":             {starting(api.Task{State: "starting", Waiting: "Init:1/3"}), "steps of its start: 1/3", "Init:1/3"},
		"another word":      {starting(api.Task{State: "starting", Waiting: "Weird"}), "Weird", "Weird"},
	} {
		st, ok := printers.StartOf(c.w)
		if got := st.Line(true); !ok || got != c.line || st.Stage != c.stage {
			t.Errorf("%s: %q, stage %q, %v", name, got, st.Stage, ok)
		}
		if plain := st.Line(false); strings.ContainsAny(plain, "■□") {
			t.Errorf("%s: a bar in a pipe: %q", name, plain)
		}
	}
	for name, w := range map[string]*api.Workload{"nothing": {Phase: "Starting"}, "no tasks": starting(), "it runs": {Phase: "Running", Attempts: []api.Attempt{{Tasks: []api.Task{{State: "starting", Pull: pull(1, 2)}}}}}} {
		if st, ok := printers.StartOf(w); ok {
			t.Errorf("%s: %+v", name, st)
		}
	}
}

func TestAStartIsToldInLinesWhereNothingSpins(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	s := w.s
	f := logs.NewFollower(s, nil, starting())
	f.Screen = session.NewScreen(s)
	for _, done := range []int64{0, 10, 30, 40, 60, 99} {
		f.Starting(starting(api.Task{State: "starting", Pull: &api.Pull{Layers: 2, Bytes: done, Total: 100}}))
	}
	f.Screen.Close()
	if got, want := w.err.String(), "pulling the image, 0 of 2 layers, 0B of 100B\npulling the image, 0 of 2 layers, 30B of 100B\npulling the image, 0 of 2 layers, 60B of 100B\npulling the image, 0 of 2 layers, 99B of 100B\n"; got != want {
		t.Errorf("told %q, want %q", got, want)
	}
}
