package report

import (
	"cmp"
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
)

// Those are asked whose answers are oldest, who was never asked before all others, in the
// order of their submission.
func TestTheOldestAnswersAreAskedForAgain(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for n := range 200 {
		all := make([]candidate, n)
		for i := range all {
			all[i] = candidate{id: core.WorkloadID(fmt.Sprint(i)), seq: int64(r.Intn(1000))*1000 + int64(i)}
			if k := r.Intn(4); k > 0 {
				all[i].at = time.Unix(int64(k), 0)
			}
		}
		var got []candidate
		for _, c := range all {
			got = among(got, c)
		}
		slices.SortFunc(all, func(a, b candidate) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.seq, b.seq)) })
		if want := all[:min(n, askedAtOnce)]; !slices.Equal(got, want) {
			t.Fatalf("of %d: %v, not %v", n, got, want)
		}
	}
}
