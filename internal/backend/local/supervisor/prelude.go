//go:build linux

package supervisor

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/musterhq/muster/internal/backend"
)

const preludeFile = "prelude"

// preludeScript runs a prelude and becomes the command. A prelude that came to
// its end is emptied: what is still in the file when the task ends is one that
// failed.
const preludeScript = `. "$0" || exit; { true >"$0"; } 2>/dev/null || true; exec "$@"`

// withPrelude is the command that runs a prelude at path before argv.
func withPrelude(path string, argv []string) []string {
	return append([]string{"/bin/sh", "-c", preludeScript, path}, argv...)
}

// writePrelude puts the script where the task finds it; nobody else may read
// it, as it may have secrets in it.
func writePrelude(dir string, a backend.Assignment) error {
	if len(a.Prelude) == 0 {
		return nil
	}
	path := filepath.Join(dir, preludeFile)
	if err := os.WriteFile(path, a.Prelude, 0o600); err != nil {
		return err
	}
	return giveTo(path, a.UID, a.GID)
}

// preludeFailed reports whether the task ended in its prelude.
func preludeFailed(dir string) bool {
	st, err := os.Stat(filepath.Join(dir, preludeFile))
	return err == nil && st.Size() > 0
}

func preludeMessage(code int) string {
	return fmt.Sprintf("what runs before the command failed with code %d", code)
}
