package podspec

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/core"
)

// TestAPodIsNobodyOfAMachine: a data directory may come from a server whose tasks ran
// as who submitted them; what waits there was looked at for that account alone.
func TestAPodIsNobodyOfAMachine(t *testing.T) {
	t.Parallel()
	p := New(cluster.New(cluster.Options{}, nil))
	a := backend.Assignment{ID: core.TaskID{Workload: "w"}, Image: "i", Argv: []string{"true"}}
	if _, err := p.Build(&a); err != nil {
		t.Fatal(err)
	}
	a.As = &core.OSUser{UID: 1000, Name: "ana"}
	if _, err := p.Build(&a); err == nil || !strings.Contains(err.Error(), "ran as who submitted them, and in a cluster they do not; submit it again") {
		t.Errorf("a task of ana's is made for anybody: %v", err)
	}
}
