//go:build linux

package sqlstore

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/testing/testdisk"
)

// TestEndsFitOnAFullDisk: on a disk without a free byte thousands of steps are
// still written, on a small one some hundred, and the store says that there is
// no room for more records. Before, it had room for all that came.
func TestEndsFitOnAFullDisk(t *testing.T) {
	for _, c := range []struct {
		kind         string
		size         int64 // of the disk, in MiB
		before, full int   // how often each of 100 workloads is written
	}{{"tmpfs", 96, 0, 5}, {"ext4", 96, 0, 5}, {"tmpfs", 24, 20, 1}, {"ext4", 24, 20, 1}} {
		t.Run(fmt.Sprintf("%s/%dMiB", c.kind, c.size), func(t *testing.T) {
			disk := testdisk.Small(t, c.kind, c.size)
			s := mustOpen(t, filepath.Join(disk, "data", "muster.db"))
			term := mustAcquire(t, s)
			const n = 100
			jobs := make([]*core.Workload, n)
			for i := range jobs {
				jobs[i] = job(int64(i + 1))
			}
			mustCommit(t, s, term, &store.Batch{Workloads: jobs})
			seq := int64(0)
			steps := func(rounds int, each func()) {
				t.Helper()
				for round := range rounds {
					for i, w := range jobs {
						next := *w
						next.Version, next.Phase = w.Version+1, lifecycle.Terminating
						seq++
						step := core.Transition{Seq: seq, Workload: next.ID, From: lifecycle.Running, To: next.Phase, Event: lifecycle.Stop, At: next.CreatedAt}
						if _, err := s.Commit(t.Context(), term, &store.Batch{Workloads: []*core.Workload{&next}, Transitions: []core.Transition{step}}); err != nil {
							t.Fatalf("round %d, workload %d: %v", round, i, err)
						}
						jobs[i] = &next
						each()
					}
				}
			}
			roomy := func() {
				t.Helper()
				if s.Scarce() {
					t.Fatalf("after %d steps there is room, and the store says there is none", seq)
				}
			}
			roomy()
			steps(c.before, roomy)
			filler := filepath.Join(disk, "filler")
			testdisk.Fill(t, filler)
			for more := int64(n + 1); !s.Scarce(); more++ { // whoever submits, until the store says so
				mustCommit(t, s, term, &store.Batch{Workloads: []*core.Workload{job(more)}})
				if more > 100*n {
					t.Fatal("the disk is full, and the store does not say so")
				}
			}
			steps(c.full, func() {})
			if err := os.Remove(filler); err != nil {
				t.Fatal(err)
			}
			if s.Scarce() {
				t.Error("there is room again, and the store does not say so")
			}
		})
	}
}
