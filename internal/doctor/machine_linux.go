package doctor

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// toolLimit is how long a program that is asked may take.
const toolLimit = 20 * time.Second

// Machine is what is looked at. The zero value of each field is this machine's.
type Machine struct {
	// DataDir is the data directory of the server, which need not be there yet.
	DataDir string
	// Root is where /proc, /sys, /dev and /etc are found; "" is /.
	Root string
	// UID is the user that the server runs as.
	UID int
	// Look finds a program in PATH, Ask runs one and returns what it prints.
	Look func(name string) (string, error)
	Ask  func(ctx context.Context, path string, args ...string) (string, error)
	// Kernel returns the release of the kernel, like 6.1.0-18-amd64.
	Kernel func() (string, error)
	// Room returns what the file system of a directory is and has left.
	Room func(dir string) (unix.Statfs_t, error)
	// Synchronized reports whether something keeps the clock right.
	Synchronized func() (bool, error)
	// Limit returns a limit of this process (RLIMIT_NOFILE …), its soft half.
	Limit func(which int) (uint64, error)
}

// Here is this machine, for a server of this user on a data directory.
func Here(dataDir string) Machine {
	return Machine{
		DataDir: dataDir, UID: os.Geteuid(), Look: exec.LookPath,
		Ask: func(ctx context.Context, path string, args ...string) (string, error) {
			ctx, cancel := context.WithTimeout(ctx, toolLimit)
			defer cancel()
			cmd := exec.CommandContext(ctx, path, args...)
			cmd.WaitDelay = time.Second
			out, err := cmd.CombinedOutput()
			return strings.TrimSpace(string(out)), err
		},
		Kernel: func() (string, error) {
			var u unix.Utsname
			err := unix.Uname(&u)
			return unix.ByteSliceToString(u.Release[:]), err
		},
		Room: func(dir string) (unix.Statfs_t, error) {
			var st unix.Statfs_t
			err := unix.Statfs(dir, &st)
			return st, err
		},
		Synchronized: func() (bool, error) {
			var t unix.Timex
			state, err := unix.Adjtimex(&t)
			return state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0, err
		},
		Limit: func(which int) (uint64, error) {
			var l unix.Rlimit
			err := unix.Getrlimit(which, &l)
			return l.Cur, err
		},
	}
}

// Examine looks at everything of the machine, in the order in which a server needs it.
func (m Machine) Examine(ctx context.Context) []Check {
	checks := []Check{m.kernel(), m.groups(), m.engine(ctx), m.accounts(), m.builder()}
	checks = append(checks, m.gpus(ctx)...)
	checks = append(checks, m.directory(), m.disk(), m.socket(), m.shared(), m.clock(), m.files(), m.ports(), m.name(), m.lingering())
	return checks
}

func (m Machine) path(p string) string { return filepath.Join("/", m.Root, p) }

func (m Machine) read(p string) string {
	b, err := os.ReadFile(m.path(p))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// nearest is dir, or the directory above it that is there.
func nearest(dir string) string {
	for {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}
