package slurmtools

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/rootfs"
)

// made is a container that is held: what srun reads of its holder.
type made struct {
	Thread  int      `json:"thread"` // of the holder, in the container
	Env     []string `json:"env,omitempty"`
	Workdir string   `json:"workdir,omitempty"`
}

// HoldMain makes a container for the processes of a step on one node, says which
// thread is in it, and holds it until its input ends.
func HoldMain(args []string) int {
	err := errors.New("it is called by srun")
	if len(args) == 1 {
		err = hold(args[0])
	}
	if errors.Is(err, unix.EPERM) {
		err = fmt.Errorf("%w; a step's container takes a server of root, whose tasks are root's", err)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func hold(text string) error {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return err
	}
	var h box
	if err := json.Unmarshal(data, &h); err != nil {
		return err
	}
	if err := os.MkdirAll(h.Dir, 0o700); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(h.Dir, "holder"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	return rootfs.InNamespace(func() error {
		m, err := h.open(lock)
		if err != nil {
			return err
		}
		if err := json.NewEncoder(os.Stdout).Encode(m); err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, os.Stdin)
		return err
	})
}

// open makes the container, or goes into the one that another step of the job holds
// under the same name: the file says which thread does, and in which namespace.
func (h *box) open(lock *os.File) (made, error) {
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return made{}, err
	}
	defer func() { _ = unix.Flock(int(lock.Fd()), unix.LOCK_UN) }()
	m := made{Thread: unix.Gettid()}
	var last struct {
		made
		Namespace string
	}
	if json.NewDecoder(io.NewSectionReader(lock, 0, 1<<20)).Decode(&last) == nil && namespaceOf(last.Thread) == last.Namespace {
		m.Env, m.Workdir = last.Env, last.Workdir
		if err := join(last.Thread); err != nil {
			return m, err
		}
	} else if err := h.make(&m); err != nil {
		return m, err
	}
	last.made, last.Namespace = m, namespaceOf(m.Thread)
	data, err := json.Marshal(last)
	if err == nil {
		err = errors.Join(lock.Truncate(0), unwritten(lock.WriteAt(data, 0)))
	}
	return m, err
}

func unwritten(_ int, err error) error { return err }

// namespaceOf is the mount namespace that a thread is in; "": there is none such.
func namespaceOf(thread int) string {
	text, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", thread))
	return text
}

// join goes into the mount namespace that a thread is in. The calling thread must have
// its root and directory for itself.
func join(thread int) error {
	ns, err := unix.Open(fmt.Sprintf("/proc/%d/ns/mnt", thread), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("the step's container is gone: %w", err)
	}
	defer func() { _ = unix.Close(ns) }()
	return unix.Setns(ns, unix.CLONE_NEWNS)
}

// enter brings a process of the step into its container. It stays on one thread until
// it becomes the program.
func (b *inside) enter() error {
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return err
	}
	if err := join(b.Thread); err != nil {
		return err
	}
	if err := os.Chdir(b.Workdir); err != nil {
		return fmt.Errorf("--container-workdir: %w", err)
	}
	return nil
}

// squashDir is where a file with a whole image is mounted.
const squashDir = "image"

// make mounts the container's file tree and makes it the root.
func (h *box) make(m *made) error {
	// A mount before this one has left there that nobody may take its changes for
	// whole after a loss of power; the job would not be here any more.
	if err := os.RemoveAll(filepath.Join(h.Dir, rootfs.WorkDir)); err != nil {
		return err
	}
	for _, name := range []string{rootfs.RootDir, rootfs.UpperDir, rootfs.WorkDir, squashDir} {
		if err := os.MkdirAll(filepath.Join(h.Dir, name), 0o755); err != nil {
			return err
		}
	}
	layers := h.Image.Layers
	if h.Image.Squash != "" {
		image := filepath.Join(h.Dir, squashDir)
		if out, err := exec.Command("mount", "-t", "squashfs", "-o", "loop,ro", h.Image.Squash, image).CombinedOutput(); err != nil {
			return fmt.Errorf("%s cannot be mounted: %w: %s", h.Image.Squash, err, strings.TrimSpace(string(out)))
		}
		layers = []string{image}
		m.Env, m.Workdir = enrootSays(image)
	}
	root, err := rootfs.Mount(layers, h.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(root) }()
	if err := h.mount(root); err != nil {
		return err
	}
	if err := unix.Chdir(filepath.Join(h.Dir, rootfs.RootDir)); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change the root: %w", err)
	}
	if err := errors.Join(unix.Unmount(".", unix.MNT_DETACH), unix.Chdir("/")); err != nil {
		return err
	}
	return h.findDriver()
}

// enrootSays reads what enroot keeps of an image in its file: the environment, and the
// directory that its script of start goes to.
func enrootSays(image string) (env []string, workdir string) {
	data, _ := os.ReadFile(filepath.Join(image, "etc/environment"))
	for line := range strings.Lines(string(data)) {
		if name, text, has := strings.Cut(strings.TrimSpace(line), "="); has && !strings.HasPrefix(name, "#") {
			env = append(env, name+"="+strings.Trim(text, `"'`))
		}
	}
	data, _ = os.ReadFile(filepath.Join(image, "etc/rc"))
	if found := regexp.MustCompile(`(?m)\bcd ["']?(/[^"'\s]*)["']?`).FindSubmatch(data); found != nil {
		workdir = string(found[1])
	}
	return env, workdir
}

// mount puts what a step has of the machine into the container: what enroot mounts by
// itself (github.com/NVIDIA/enroot, conf/mounts), what the GPUs' driver needs, and
// what the step asks for.
func (h *box) mount(root int) error {
	for _, name := range []string{"/proc", "/sys", "/dev"} {
		if err := bind(root, boxMount{Source: name, Target: name}); err != nil {
			return err
		}
	}
	for _, name := range []string{"/tmp", "/run"} {
		at, err := place(root, name, true)
		if err != nil {
			return err
		}
		if err := unix.Mount("tmpfs", fdPath(at), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777"); err != nil {
			return fmt.Errorf("mount %s: %w", name, err)
		}
		_ = unix.Close(at)
	}
	var all []boxMount
	for _, name := range []string{"/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/etc/localtime"} {
		all = append(all, boxMount{Source: name, Target: name, ReadOnly: true, Ours: true})
	}
	for _, d := range h.Image.Driver {
		all = append(all, boxMount{Source: d.Source, Target: d.Target, ReadOnly: true, Ours: true})
	}
	for _, m := range slices.Concat(all, h.Mounts) {
		if err := bind(root, m); err != nil && !(m.Ours && errors.Is(err, fs.ErrNotExist)) {
			return err
		}
	}
	return nil
}

func fdPath(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }

// place opens a place in the container, which is made where it is missing. Links lead
// nowhere outside.
func place(root int, path string, dir bool) (int, error) {
	fd, err := rootfs.Open(root, path, unix.O_PATH)
	if errors.Is(err, fs.ErrNotExist) {
		if err = rootfs.MakePlace(root, path, dir); err == nil {
			fd, err = rootfs.Open(root, path, unix.O_PATH)
		}
	}
	if err != nil {
		return -1, fmt.Errorf("%s in the container: %w", path, err)
	}
	return fd, nil
}

// bind mounts one place of the machine.
func bind(root int, m boxMount) error {
	info, err := os.Stat(m.Source)
	if err != nil {
		return fmt.Errorf("--container-mounts: %w", err)
	}
	at, err := place(root, m.Target, info.IsDir())
	if err != nil {
		return err
	}
	err = unix.Mount(m.Source, fdPath(at), "", unix.MS_BIND|unix.MS_REC, "")
	_ = unix.Close(at)
	if err == nil && m.ReadOnly {
		if at, err = place(root, m.Target, info.IsDir()); err == nil { // what is mounted, not what it covers
			err = unix.MountSetattr(at, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
			_ = unix.Close(at)
		}
	}
	if err != nil {
		return fmt.Errorf("mount %s at %s: %w", m.Source, m.Target, err)
	}
	return nil
}

// findDriver has the container's programs find the driver's libraries, where it has a
// linker that is told where to look.
func (h *box) findDriver() error {
	var dirs []string
	for _, d := range h.Image.Driver {
		if dir := filepath.Dir(d.Target); strings.Contains(filepath.Base(d.Target), ".so") && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		return nil
	}
	if _, err := os.Stat("/sbin/ldconfig"); err != nil {
		return nil
	}
	if err := os.MkdirAll("/etc/ld.so.conf.d", 0o755); err != nil {
		return err
	}
	if err := os.WriteFile("/etc/ld.so.conf.d/00-driver.conf", []byte(strings.Join(dirs, "\n")+"\n"), 0o644); err != nil {
		return err
	}
	if out, err := exec.Command("/sbin/ldconfig").CombinedOutput(); err != nil {
		return fmt.Errorf("ldconfig in the container: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}
