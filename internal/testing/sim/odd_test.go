package sim

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/testing/vary"
)

// oddWorld is a world in which commands of all sorts are given, most of them wrong:
// what the engine says of all of that.
func oddWorld(t *testing.T, seed uint64) string {
	t.Helper()
	var all strings.Builder
	w, err := newWorld(seed, backends(rand.New(rand.NewPCG(seed, 3))), schedule.NewPolicy())
	if err != nil {
		t.Fatal(err)
	}
	w.record = func(what string, v any) {
		text, err := json.Marshal(v)
		fmt.Fprintf(&all, "%s %s %v\n", what, text, err)
	}
	w.users.sent, w.users.made = map[string]submission.Submission{}, map[string]core.WorkloadID{}
	o := newOdd(w, seed)
	w.do(organisation.CreateProject("a"), organisation.CreateProject("b"), organisation.Organise([]organisation.Edit{{What: organisation.RecordDepartment, Name: "lab", Project: func(*core.Project) error { return nil }}}, false))
	for range 250 {
		a := w.submission()
		if o.chance.IntN(6) == 0 {
			w.answered(a, w.do(a.command)[0])
		}
		name, work := o.command()
		fmt.Fprintln(&all, name)
		if failed := w.do(work); len(failed) > 0 && failed[0] != nil {
			fmt.Fprintf(&all, "%s: %v\n", name, failed[0])
		}
		for range o.chance.IntN(4) {
			w.Step()
		}
		if w.err != nil {
			t.Errorf("seed %d, %s: %v", seed, name, w.err)
			break
		}
	}
	return all.String()
}

// TestOddCommandsStay holds what the engine answers to commands with all sorts of values,
// and what follows from them, to what it was when testdata/odd.txt was written.
func TestOddCommandsStay(t *testing.T) {
	t.Parallel()
	texts := map[string]string{}
	for seed := uint64(1); seed <= 30; seed++ {
		texts[fmt.Sprint(seed)] = oddWorld(t, seed)
	}
	vary.Stay(t, "testdata/odd.txt", *update, texts)
}
