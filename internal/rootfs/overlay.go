//go:build linux

// Package rootfs makes the file tree of a container: the layers of an image under
// a directory for what changes.
//
// It is given directories and gives a mounted tree for as long as a function runs,
// and ways to read in it and to make directories without leaving it. It knows
// neither images nor tasks.
package rootfs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Mounted calls fn with a file tree that only it can see: the layers, lowest
// first, under an upper directory in dir, mounted at dir/root. fn runs on a
// thread with a mount namespace of its own. What it forks lives in that
// namespace and is all that keeps it alive: there is no mount to be cleaned
// up, whoever dies.
func Mounted(layers []string, dir string, fn func(root int) error) error {
	return InNamespace(func() error {
		root, err := Mount(layers, dir)
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(root) }()
		return fn(root)
	})
}

// Mount mounts a file tree as Mounted does, in the namespace that the calling thread is
// in, and opens it.
func Mount(layers []string, dir string) (root int, err error) {
	target := filepath.Join(dir, RootDir)
	if err := mountOverlay(layers, filepath.Join(dir, UpperDir), filepath.Join(dir, WorkDir), target); err != nil {
		return -1, fmt.Errorf("mount the image: %w", err)
	}
	if root, err = unix.Open(target, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return -1, fmt.Errorf("open the mounted image: %w", err)
	}
	return root, nil
}

// InNamespace calls fn on a thread with a mount namespace of its own.
func InNamespace(fn func() error) error {
	done := make(chan error)
	go onOtherThread(done, func() error {
		if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
			return fmt.Errorf("make a mount namespace: %w", err)
		}
		// What the machine unmounts later must go here too, but nothing back.
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
			return fmt.Errorf("make the mount namespace private: %w", err)
		}
		return fn()
	})
	return <-done
}

// onOtherThread runs fn on a thread that ends with it. The main thread cannot
// end and would keep the namespace for ever; while it is held here, the
// goroutine that this one starts gets another.
func onOtherThread(done chan<- error, fn func() error) {
	runtime.LockOSThread()
	if unix.Gettid() == os.Getpid() {
		other := make(chan error)
		go onOtherThread(other, fn)
		err := <-other
		runtime.UnlockOSThread()
		done <- err
		return
	}
	done <- fn()
}

// mountOverlay prefers the interface without a limit on the length of all
// names together (Linux 6.7). The upper directory goes with the task, so it
// need not survive a power failure: "volatile" spares every fsync in it.
func mountOverlay(layers []string, upper, work, target string) error {
	err := mountLayers(layers, upper, work, target)
	if err == nil {
		return nil
	}
	options := overlayOptions(layers, upper, work)
	if len(options) >= os.Getpagesize() {
		return fmt.Errorf("%w; and the names of its %d layers are too long for the older interface", err, len(layers))
	}
	for _, extra := range []string{",volatile", ""} {
		if err = unix.Mount("overlay", target, "overlay", 0, options+extra); err == nil {
			return nil
		}
	}
	return err
}

func mountLayers(layers []string, upper, work, target string) error {
	fs, err := unix.Fsopen("overlay", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fs) }()
	for i := len(layers) - 1; i >= 0; i-- { // the uppermost comes first
		if err := unix.FsconfigSetString(fs, "lowerdir+", layers[i]); err != nil {
			return err
		}
	}
	for _, o := range [][2]string{{"upperdir", upper}, {"workdir", work}} {
		if err := unix.FsconfigSetString(fs, o[0], o[1]); err != nil {
			return err
		}
	}
	_ = unix.FsconfigSetFlag(fs, "volatile")
	if err := unix.FsconfigCreate(fs); err != nil {
		return err
	}
	mount, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(mount) }()
	return unix.MoveMount(mount, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

func overlayOptions(layers []string, upper, work string) string {
	escape := strings.NewReplacer(`\`, `\\`, ":", `\:`, ",", `\,`).Replace
	lower := make([]string, len(layers))
	for i, l := range layers {
		lower[len(layers)-1-i] = escape(l)
	}
	return "lowerdir=" + strings.Join(lower, ":") + ",upperdir=" + escape(upper) + ",workdir=" + escape(work)
}

// Open opens a file of an image as a process in it would find it: no link
// leads out of root.
func Open(root int, path string, flags int) (int, error) {
	return unix.Openat2(root, filepath.Join(".", path), &unix.OpenHow{
		Flags: uint64(flags | unix.O_CLOEXEC), Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	})
}

// Read reads the beginning of a file of an image; empty where it is missing
// or no plain file.
func Read(root int, path string, limit int64) string {
	fd, err := Open(root, path, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return ""
	}
	f := os.NewFile(uintptr(fd), path)
	defer func() { _ = f.Close() }()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	data, _ := io.ReadAll(io.LimitReader(f, limit))
	return string(data)
}

// MakeDir makes a directory of an image, with its parents, for a user.
func MakeDir(root int, path string, uid, gid uint32) error {
	at := "."
	for name := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if name == "" {
			break // the root itself
		}
		parent, err := Open(root, at, unix.O_PATH|unix.O_DIRECTORY)
		if err != nil {
			return err
		}
		at = filepath.Join(at, name)
		err = unix.Mkdirat(parent, name, 0o755)
		if err == nil {
			err = unix.Fchownat(parent, name, int(uid), int(gid), unix.AT_SYMLINK_NOFOLLOW)
		}
		_ = unix.Close(parent)
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return err
		}
	}
	dir, err := Open(root, at, unix.O_PATH|unix.O_DIRECTORY)
	if err == nil {
		_ = unix.Close(dir)
	}
	return err
}

// MakePlace makes a directory, or a file, of root's in an image for something to be
// mounted over, with what is missing above it; it fails where a link is on the way.
func MakePlace(root int, path string, dir bool) error {
	names := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	at, err := openPlain(root, ".")
	for i, name := range names {
		if err != nil {
			return err
		}
		if i == len(names)-1 && !dir {
			var fd int
			if fd, err = unix.Openat(at, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o644); err == nil {
				_ = unix.Close(fd)
			}
		} else {
			err = unix.Mkdirat(at, name, 0o755)
		}
		if err != nil && !errors.Is(err, unix.EEXIST) {
			_ = unix.Close(at)
			return err
		}
		next, err2 := openPlain(at, name)
		_ = unix.Close(at)
		at, err = next, err2
	}
	if err == nil {
		_ = unix.Close(at)
	}
	return err
}

// Plain reports whether a directory of an image is there, and no link leads to it.
func Plain(root int, path string) bool {
	fd, err := openPlain(root, filepath.Join(".", path))
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

func openPlain(root int, path string) (int, error) {
	return unix.Openat2(root, path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	})
}

// The parts of the directory that a container is made in.
const (
	RootDir  = "root"  // where its file tree is mounted
	UpperDir = "upper" // what it changes in it
	WorkDir  = "work"  // the kernel's, for that
	EtcDir   = "etc"   // files about hosts that are its own
	StateDir = "state" // the engine's own record
)
