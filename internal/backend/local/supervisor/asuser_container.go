//go:build linux

package supervisor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/container"
	"github.com/musterhq/muster/internal/backend/local/rootfs"
	"github.com/musterhq/muster/internal/core/osuser"
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
