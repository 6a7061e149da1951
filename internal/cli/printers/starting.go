package printers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/terminal"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// start is how far the start of a workload is: what its slowest task is at.
type start struct {
	words string
	Part  float64 // of the image; negative: what it is at has no length
	Stage string  // changes where something new begins, or another quarter is done
}

// StartOf tells how far the start of a workload is; ok is false where it does
// not start, or nothing is known yet.
func StartOf(w *api.Workload) (s start, ok bool) {
	a := LastAttempt(w)
	if a == nil || w.Phase != string(lifecycle.Starting) && w.Phase != string(lifecycle.Restarting) {
		return start{}, false
	}
	var slowest *api.Task
	for i := range a.Tasks { // all of them, or those that have changed just now
		if t := &a.Tasks[i]; t.State == "starting" && (slowest == nil || pulled(t) < pulled(slowest)) {
			slowest = t
		}
	}
	if slowest == nil {
		return start{}, false
	}
	s = start{Part: -1, words: startWord(slowest), Stage: slowest.Waiting}
	if p := slowest.Pull; p != nil {
		s.words = fmt.Sprintf("pulling the image, %d of %d layers", p.LayersDone, p.Layers)
		s.Stage = "pull"
		if p.Total > 0 {
			s.Part = float64(p.Bytes) / float64(p.Total)
			s.words += fmt.Sprintf(", %s of %s", Size(p.Bytes), Size(p.Total))
			s.Stage = fmt.Sprintf("pull %d", int(s.Part*4))
		}
	}
	if w.Tasks.Total > 1 {
		s.words += fmt.Sprintf(" (task %d on %s; %d of %d run)", slowest.Index, OrDash(slowest.Node), w.Tasks.Running, w.Tasks.Total)
	}
	return s, true
}

// pulled is how much of its image a task has; one that says nothing of it comes
// after those that do.
func pulled(t *api.Task) float64 {
	switch {
	case t.Pull == nil:
		return 2
	case t.Pull.Total == 0:
		return 0
	default:
		return float64(t.Pull.Bytes) / float64(t.Pull.Total)
	}
}

// startWords are the backends' words for what a start is at.
var startWords = []struct{ word, says string }{
	{"ErrImagePull", "the image could not be pulled; it is tried again"},
	{"ImagePullBackOff", "the image could not be pulled; it is tried again"},
	{"ContainerCreating", "its container is being made"},
	{"PodInitializing", "the steps of its start are done"},
	{"Init:", "steps of its start"},
}

func startWord(t *api.Task) string {
	i := slices.IndexFunc(startWords, func(w struct{ word, says string }) bool { return strings.HasPrefix(t.Waiting, w.word) })
	if i < 0 {
		return OrDash(t.Waiting)
	}
	out := startWords[i].says
	if rest, steps := strings.CutPrefix(t.Waiting, "Init:"); steps {
		out += ": " + rest
	}
	return out
}

// Line is the start for a person: with a bar where that is wanted and what it is
// at has a length.
func (s start) Line(bars bool) string {
	if bars && s.Part >= 0 {
		return terminal.BarAt(s.Part, 16) + "  " + s.words
	}
	return s.words
}
