package engine

import (
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
)

// stagesMost bounds what is kept of a start: backends have a dozen words at most.
const stagesMost = 16

// staged adds a backend's word for a task that starts to those that it had: as
// the events of Kubernetes, one that comes again counts up. What every task
// goes through says nothing.
func staged(all []core.Stage, word, message string, at time.Time) []core.Stage {
	if word == "" || word == "ContainerCreating" {
		return all
	}
	all = slices.Clone(all) // copies of the task share it
	if i := slices.IndexFunc(all, func(s core.Stage) bool { return s.Word == word }); i >= 0 {
		s := &all[i]
		s.Last, s.Count = at, s.Count+1
		if message != "" {
			s.Message = message
		}
		return all
	}
	if len(all) == stagesMost {
		return all
	}
	return append(all, core.Stage{Word: word, Message: message, At: at, Last: at, Count: 1})
}
