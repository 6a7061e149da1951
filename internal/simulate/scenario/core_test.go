package scenario

import (
	"os"
	"strings"
	"testing"
)

func TestCoreOnTheScenarios(t *testing.T) {
	set, err := Load(os.DirFS("testdata/kai"))
	if set == nil {
		t.Fatal(err)
	}
	passed, failed, skipped := 0, 0, 0
	for _, c := range set.Cases {
		if only := os.Getenv("CASE"); only != "" && !strings.HasPrefix(c.ID(), only) {
			continue
		}
		o := Run(c, Core{}, Defaults())
		switch {
		case o.Skipped != "":
			skipped++
		case o.Passed():
			passed++
		default:
			failed++
			t.Log(o.Line())
		}
	}
	t.Logf("%d passed, %d failed, %d skipped", passed, failed, skipped)
}
