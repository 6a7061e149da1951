package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine"
)

// What a start waited with stays told once it has gone on, and what comes again
// counts up.
func TestAStartIsRemembered(t *testing.T) {
	h := newHall(t, 1)
	h.run("a", `"resources":{"gpu":1}`)
	say := func(word, message string) {
		h.now = h.now.Add(time.Second)
		task := h.tasks("a")[0]
		h.do(engine.Observe(engine.Observations{Backend: task.Backend, Seen: []backend.Observation{{ID: task.ID, State: core.TaskStarting, Waiting: word, Message: message, At: h.now}}}))
	}
	say("ContainerCreating", "pulling: 10%")
	for range 20 {
		say("ErrImagePull", "no such host")
		say("ImagePullBackOff", "no such host, again")
	}
	say("Init:0/1", "")
	for i := range 30 { // no backend has so many words
		say(fmt.Sprintf("Init:ExitCode:%d", i), "")
	}
	h.report("a", core.TaskRunning)
	h.restart("p", "q")
	var all []string
	for _, s := range h.tasks("a")[0].Stages {
		all = append(all, fmt.Sprintf("%s x%d %s %s", s.Word, s.Count, s.Last.Sub(s.At), s.Message))
	}
	if got, want := strings.Join(all[:3], "; "), "ErrImagePull x20 38s no such host; ImagePullBackOff x20 38s no such host, again; Init:0/1 x1 0s "; got != want {
		t.Errorf("it has %s; want %s", got, want)
	}
	if len(all) != 16 {
		t.Errorf("it keeps %d words", len(all))
	}
}

// The workers of a launcher are ended because it has succeeded: they have done
// their part. Where it fails, they have not.
func TestWhoIsEndedBecauseTheWorkIsDoneHasNotFailed(t *testing.T) {
	for _, c := range []struct {
		launcher core.TaskState
		worker   core.TaskState
		counts   core.TaskCounts
	}{
		{core.TaskSucceeded, core.TaskSucceeded, core.TaskCounts{Succeeded: 3}},
		{core.TaskFailed, core.TaskFailed, core.TaskCounts{Failed: 3}},
	} {
		h := newHall(t, 2)
		h.run("a", `"kind":"distributed","framework":"mpi","workers":2,"resources":{"gpu":1,"cpu":0.1}`)
		h.report("a", core.TaskRunning)
		h.now = h.now.Add(time.Second)
		h.report("a", c.launcher, 0)
		h.now = h.now.Add(time.Second)
		h.report("a", core.TaskFailed) // as a process that was ended by a signal
		w, tasks := h.workload("a"), h.tasks("a")
		if w.Counts != c.counts {
			t.Errorf("the launcher %s, and the tasks count as %+v", c.launcher, w.Counts)
		}
		for _, x := range tasks[1:] {
			if x.State != c.worker || (x.ExitCode == nil) != (c.worker == core.TaskSucceeded) {
				t.Errorf("the launcher %s, and a worker %s with %v", c.launcher, x.State, x.ExitCode)
			}
		}
	}
}
