package kubetest

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// built is the folder of the program, once a test has asked for it.
var built string

// Program is the path of muster as it is released, which is built the first time;
// MUSTER_BIN names another. Who calls it runs its tests by Main.
var Program = sync.OnceValues(func() (string, error) {
	if given := os.Getenv("MUSTER_BIN"); given != "" {
		return given, nil
	}
	var err error
	if built, err = os.MkdirTemp("", "muster-"); err != nil {
		return "", err
	}
	path := filepath.Join(built, "muster")
	cmd := exec.Command("go", "build", "-o", path, "github.com/musterhq/muster/cmd/muster")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("muster could not be built: %w: %s", err, out)
	}
	return path, nil
})

// Main runs the tests of a package that takes the program, and removes that. It
// returns the code to exit with.
func Main(m *testing.M) int {
	code := m.Run()
	if built == "" {
		return code
	}
	if err := os.RemoveAll(built); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return cmp.Or(code, 1)
	}
	return code
}
