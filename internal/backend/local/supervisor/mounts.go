//go:build linux

package supervisor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/container"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

func mountFailed(format string, args ...any) error {
	return &cannotRun{reason: lifecycle.ReasonMountFailed, text: fmt.Sprintf(format, args...)}
}

// checkSource finds the source of a mount, or makes it for the user who is to
// write to it.
func checkSource(m backend.Mount, user *container.User) error {
	if !filepath.IsAbs(m.Source) {
		return mountFailed("mount at %s: source %q is not an absolute path", m.Target, m.Source)
	}
	_, err := os.Stat(m.Source)
	if errors.Is(err, os.ErrNotExist) && m.Create {
		if err = os.MkdirAll(m.Source, 0o755); err == nil && user != nil {
			err = os.Chown(m.Source, int(user.UID), int(user.GID))
		}
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		return mountFailed("mount at %s: %s does not exist on this machine; create it, or set create", m.Target, m.Source)
	case err != nil:
		return mountFailed("mount at %s: %s: %v", m.Target, m.Source, errors.Unwrap(err))
	}
	return nil
}

// checkMounts checks the mounts of tasks that run as plain processes: they use the file system of the machine as it is.
func checkMounts(a backend.Assignment) error {
	for _, m := range a.Mounts {
		switch {
		case m.Temporary:
			if st, err := os.Stat(m.Target); err != nil || !st.IsDir() {
				return mountFailed("a process of the machine gets no directories of its own, and %s is none of the machine's; create it, or name an image", m.Target)
			}
		case m.Source != m.Target:
			return mountFailed("a process of the machine sees %s where it is and not at %s; use equal paths, or name an image", m.Source, m.Target)
		default:
			if err := checkSource(m, nil); err != nil {
				return err
			}
		}
	}
	return nil
}
