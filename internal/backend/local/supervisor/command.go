//go:build linux

package supervisor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// cannotRun is a failure that will be the same whenever it is tried again.
type cannotRun struct {
	text   string
	reason lifecycle.Reason // empty: ContainerCannotRun
}

func (e *cannotRun) Error() string { return e.text }

func checkWorkdir(dir string) error {
	if dir == "" {
		return nil
	}
	st, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return &cannotRun{text: fmt.Sprintf("workdir %s does not exist on this machine; create it or change workdir", dir)}
	case err != nil:
		return &cannotRun{text: fmt.Sprintf("workdir %s: %v", dir, err)}
	case !st.IsDir():
		return &cannotRun{text: fmt.Sprintf("workdir %s is not a directory", dir)}
	}
	return nil
}

// explainExec tells what the user can mend from what the machine lacks.
func explainExec(err error, path string, a backend.Assignment) error {
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.ENOMEM) || errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
		return err
	}
	hint := ""
	switch {
	case errors.Is(err, unix.ENOENT):
		hint = `; the file exists, so the interpreter in its first line ("#!…") or its loader does not`
	case errors.Is(err, unix.ENOEXEC):
		hint = `; it is neither a program for this machine nor a script that begins with "#!"`
	case errors.Is(err, unix.E2BIG):
		hint = "; arguments and environment are too long together"
	case errors.Is(err, unix.EPERM) && a.UID != nil:
		hint = "; to run as another user the server must be root"
	case errors.Is(err, unix.EACCES):
		hint = "; make it executable (chmod +x) and its directories, and workdir, reachable"
	}
	return &cannotRun{text: fmt.Sprintf("cannot run %s: %v%s", path, err, hint)}
}

// lookPath finds argv[0] as a shell would: with the task's own PATH, relative
// names against its workdir.
func lookPath(argv []string, workdir string, env []string) (string, error) {
	if len(argv) == 0 || argv[0] == "" {
		return "", &cannotRun{text: "the command is empty; name a program in command"}
	}
	name := argv[0]
	if strings.Contains(name, "/") {
		full := name
		if !filepath.IsAbs(full) && workdir != "" {
			full = filepath.Join(workdir, name)
		}
		if _, err := os.Stat(full); err != nil {
			return "", &cannotRun{text: fmt.Sprintf("cannot run %s: %v", full, errors.Unwrap(err))}
		}
		return name, nil
	}
	search := ""
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			search = v
		}
	}
	for _, dir := range filepath.SplitList(search) {
		if dir == "" {
			dir = "."
		}
		full := filepath.Join(dir, name)
		if !filepath.IsAbs(full) {
			full = filepath.Join(workdir, full)
		}
		if st, err := os.Stat(full); err == nil && !st.IsDir() && st.Mode()&0o111 != 0 {
			return full, nil
		}
	}
	return "", &cannotRun{text: fmt.Sprintf("command %q is not in PATH (%s); install it or give its full path", name, search)}
}
