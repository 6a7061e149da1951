package main

import (
	"os"
	"os/exec"
	"testing"
)

// TestTheClientIsBuiltForWindows builds the one system that has no Unix: what
// others lack, it lacks as well.
func TestTheClientIsBuiltForWindows(t *testing.T) {
	t.Parallel()
	build := exec.Command("go", "build", "-trimpath", "-o", os.DevNull, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=windows", "GOARCH=amd64")
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
