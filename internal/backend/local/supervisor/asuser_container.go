//go:build linux

package supervisor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/container"
	"github.com/musterhq/muster/internal/core/osuser"
	"github.com/musterhq/muster/internal/rootfs"
)

// mountsDir is below the directory of a container: where what its account has named
// is mounted for the engine, in the namespace in which that runs.
const mountsDir = "mounts"

// lendMount opens the source of a mount with the rights of a task's account, which
// must be able to get there and to read it, and mounts what was opened at a place that
// nobody else changes. The engine, which is root, is then given that place: there is
// no name left that could come to mean something else.
//
// It is called on a locked thread, in a mount namespace that is the task's.
func lendMount(as *osuser.Account, m backend.Mount, at string) (string, error) {
	fd, dir := -1, false
	err := borrowRights(as, func() error {
		if err := checkSource(m, nil); err != nil { // made by the account, where it is to be made
			return err
		}
		var err error
		if fd, err = unix.Open(m.Source, unix.O_PATH|unix.O_CLOEXEC, 0); err != nil {
			return mountFailed("mount at %s: %s: %v", m.Target, m.Source, err)
		}
		var st unix.Stat_t
		if err = unix.Fstat(fd, &st); err != nil {
			return err
		}
		need := uint32(unix.R_OK)
		if dir = st.Mode&unix.S_IFMT == unix.S_IFDIR; dir {
			need |= unix.X_OK
		}
		if err = unix.Faccessat(fd, "", need, unix.AT_EMPTY_PATH|unix.AT_EACCESS); err != nil {
			return mountFailed("mount at %s: %s may not read %s (%v); name a directory that this user may read", m.Target, as.Name, m.Source, err)
		}
		return nil
	})
	if fd >= 0 {
		defer func() { _ = unix.Close(fd) }()
	}
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return "", err
	}
	if dir {
		err = os.Mkdir(at, 0o755)
	} else {
		err = os.WriteFile(at, nil, 0o644)
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	if err := unix.Mount("/proc/self/fd/"+strconv.Itoa(fd), at, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return "", mountFailed("mount at %s: %s: %v", m.Target, m.Source, err)
	}
	return at, nil
}

// goThere is how a command comes to its directory by itself, with its own rights: an
// engine would go there, and make what is missing of it, with root's.
const goThere = `cd -- "$0" || exit; exec "$@"`

// placeForeign makes the places for what users have named in a container's own file
// tree, where the engine then finds them, and decides where the engine is to begin the
// command: never in what users have named. An engine makes what is missing on the way
// to a mount, or to the directory of the command, with root's rights and following
// whatever links there are; in a directory of the machine that would be root's doing
// for whoever names it. So nothing is mounted in such a directory, and no link leads
// to the place of one; nobody else changes this tree meanwhile.
func placeForeign(root int, ref string, in container.Input) (dir string, argv []string, err error) {
	within := false
	for i, f := range in.Binds {
		if !f.Foreign {
			continue
		}
		for j, b := range in.Binds {
			if i != j && under(b.Target, f.Target) {
				return "", nil, mountFailed("mount at %s: it lies in %s, a directory of the machine, in which nothing is made for it; use another path", b.Target, f.Target)
			}
		}
		for _, m := range in.Memory {
			if under(m.Target, f.Target) {
				return "", nil, mountFailed("mount at %s: it lies in %s, a directory of the machine, in which nothing is made for it; use another path", m.Target, f.Target)
			}
		}
		st, err := os.Stat(f.Source)
		if err != nil {
			return "", nil, err
		}
		if err := rootfs.MakePlace(root, f.Target, st.IsDir()); err != nil {
			return "", nil, mountFailed("mount at %s: image %s has no place for it (%v); use another path, without links in it", f.Target, ref, err)
		}
		within = within || under(in.Dir, f.Target)
	}
	if !slices.ContainsFunc(in.Binds, func(b container.Bind) bool { return b.Foreign }) {
		return in.Dir, in.Argv, nil
	}
	if !within && rootfs.Plain(root, in.Dir) {
		return in.Dir, in.Argv, nil
	}
	if !isProgram(root, "/bin/sh") {
		return "", nil, &cannotRun{text: fmt.Sprintf("workdir %s lies in a mount, and image %s has no /bin/sh by which the command would come there; leave workdir out, or use an image with a shell", in.Dir, ref)}
	}
	return "/", append([]string{"/bin/sh", "-c", goThere, in.Dir}, in.Argv...), nil
}

// under reports whether path is target, or below it.
func under(path, target string) bool {
	return path == target || strings.HasPrefix(path, strings.TrimSuffix(target, "/")+"/")
}

// beginInside has a command beside a task begin in "/" and come to its directory by
// itself, if it can: the engine would go there with root's rights, by a name that may
// have come to mean something else.
func beginInside(pid int, in *container.Input) {
	dir := in.Dir
	in.Dir = "/"
	root, err := unix.Open(fmt.Sprintf("/proc/%d/root", pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(root) }()
	if isProgram(root, "/bin/sh") {
		in.Argv = append([]string{"/bin/sh", "-c", `cd -- "$0" 2>/dev/null; exec "$@"`, dir}, in.Argv...)
	}
}

// namesInside has the container know its account by name, where the image does not: id
// and getpwuid(3) find it. It also decides on the home: what the image says of that
// number, the account's own where that is mounted, else /tmp.
func namesInside(as *osuser.Account, dir string, root int, in *container.Input) (binds []container.Bind, err error) {
	if mounted(*in, as.Home) {
		in.User.Home = as.Home
	} else if in.User.Home == "/" {
		in.User.Home = "/tmp"
	}
	for _, f := range []struct {
		name string
		has  func(text string) bool
		line string
	}{
		{"passwd", func(text string) bool { return container.HasID(text, as.UID) }, fmt.Sprintf("%s:x:%d:%d::%s:/bin/sh\n", as.Name, as.UID, as.GID, in.User.Home)},
		{"group", func(text string) bool { return container.HasID(text, as.GID) }, fmt.Sprintf("%s:x:%d:\n", as.Name, as.GID)},
	} {
		text := rootfs.Read(root, "etc/"+f.name, 1<<20)
		if f.has(text) || mounted(*in, "/etc/"+f.name) {
			continue
		}
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		path := filepath.Join(dir, rootfs.EtcDir, f.name)
		if err := os.WriteFile(path, []byte(text+f.line), 0o644); err != nil { //nolint:gosec // every container may read its own
			return nil, err
		}
		binds = append(binds, container.Bind{Source: path, Target: "/etc/" + f.name})
	}
	return binds, nil
}
