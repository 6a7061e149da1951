package replay_test

import (
	"maps"
	"testing"

	"github.com/musterhq/muster/internal/simulate/replay"
)

// The published table is made like that.
func TestSharesAreThoseOfTheTable(t *testing.T) {
	t.Parallel()
	got := replay.Shares(philly(t), phillyCluster.GPUs())
	maps.DeleteFunc(got, func(_ string, n int) bool { return n == 0 })
	if !maps.Equal(got, phillyQuota) {
		t.Errorf("%v, want %v", got, phillyQuota)
	}
	if got := replay.Shares(nil, 8); len(got) != 0 {
		t.Errorf("of nobody: %v", got)
	}
}
