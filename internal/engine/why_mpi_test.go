package engine_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine/draft"
)

// The launcher of mpi comes beside the workers: what is offered counts workers
// alone, as the document does.
func TestSuggestionsOfMPICountWorkersOnly(t *testing.T) {
	s := newShift(t, 2)
	s.report(s.run(`{"command":["fake"],"resources":{"gpu":4,"cpu":1}}`), core.TaskRunning)
	const doc = `{"kind":"distributed","framework":"mpi","workers":%d,"command":["fake"],"resources":{"gpu":2,"cpu":1},"master":{"resources":{"gpu":0}}}`
	y := s.why(s.run(fmt.Sprintf(doc, 4)))
	if len(y.Suggestions) == 0 || y.Suggestions[0].Flags != "--workers 2" {
		t.Errorf("offered are %+v, where 4 GPUs are free and each worker needs 2", y.Suggestions)
	}
	err := s.try(s.submit(fmt.Sprintf(doc, 9)))
	var refused *draft.Error
	if !errors.As(err, &refused) || refused.Hint != "at most 5 such tasks fit together: --workers 4" {
		t.Errorf("of 9 workers, where 4 fit: %+v", err)
	}
}
