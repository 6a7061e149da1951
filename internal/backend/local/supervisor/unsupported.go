//go:build !linux

// Package supervisor keeps the tasks of a machine; there is none on this system.
package supervisor

import (
	"fmt"
	"os"
	"runtime"

	"github.com/musterhq/muster/internal/backend"
)

// Main says that there are no supervisors on this system and returns 1.
func Main([]string) int {
	fmt.Fprintln(os.Stderr, fmt.Errorf("local processes on %s: %w; use Linux, or another backend", runtime.GOOS, backend.ErrUnsupported))
	return 1
}
