//go:build linux

package supervisor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/container"
	"github.com/musterhq/muster/internal/backend/local/gpu"
	"github.com/musterhq/muster/internal/backend/local/proc"
	"github.com/musterhq/muster/internal/backend/local/taskdir"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/osuser"
	"github.com/musterhq/muster/internal/rootfs"
)

// composed is a container as its configuration for the engine describes it.
type composed struct {
	spec *specs.Spec
	note string // what the user should know
}

// compose decides everything about the container, with its file tree in
// root to look into.
func (t *task) compose(a backend.Assignment, dir string, root int) (composed, error) {
	k := t.supervisor
	img := t.container.Image
	mine := func(err error) error {
		return &cannotRun{text: fmt.Sprintf("image %s: %v", img.Ref, err)}
	}
	user, err := container.FindUser(img.Config.User, a.UID, a.GID, rootfs.Read(root, "etc/passwd", 1<<20), rootfs.Read(root, "etc/group", 1<<20))
	if err != nil {
		return composed{}, mine(err)
	}
	user = groupsIn(t.as, user)
	in := container.Input{
		Root: filepath.Join(dir, rootfs.RootDir), Arch: runtime.GOARCH, User: user, Terminal: a.TTY,
		CgroupsPath: k.groups.ContainerPath(taskdir.Name(t.id)), Unified: k.groups.Unified, CPU: a.CPU, SHM: a.SHM,
		Capabilities: proc.Capabilities(), OpenFiles: proc.OpenFilesLimit(),
	}
	if unprivileged(t.as) {
		in.Capabilities = nil
	}
	in.Hostname, _ = os.Hostname()
	if in.Dir, err = img.Config.Dir(a.Workdir); err != nil {
		return composed{}, mine(err)
	}
	if in.Binds, in.Memory, err = containerMounts(t.as, a, dir, user); err != nil {
		return composed{}, err
	}
	if err := checkOwn(root, a, img.Ref, in); err != nil {
		return composed{}, err
	}
	own, err := ownFiles(t, a, dir, in.Hostname, user)
	if err != nil {
		return composed{}, err
	}
	in.Binds = append(in.Binds, own...)
	if t.as != nil {
		limitInside(t.as, &in)
		known, err := namesInside(t.as, dir, root, &in)
		if err != nil {
			return composed{}, err
		}
		in.Binds = append(in.Binds, known...)
	}
	in.Env = containerEnv(t.as, img.Config, in, t.dir, a)
	if in.Argv, err = containerCommand(root, a, img, in); err != nil {
		return composed{}, err
	}
	if !mounted(in, in.Dir) {
		if err := rootfs.MakeDir(root, in.Dir, user.UID, user.GID); err != nil {
			return composed{}, mine(fmt.Errorf("workdir %s cannot be made: %w", in.Dir, err))
		}
	}
	note := ""
	var byName []string
	byName, in.Devices, note = gpu.ForContainer(a, t.container.CDI)
	begin := in
	if begin.Dir, begin.Argv, err = placeForeign(root, img.Ref, in); err != nil {
		return composed{}, err
	}
	spec := container.Spec(begin)
	if len(byName) > 0 {
		if err := gpu.Inject(spec, t.container.CDI, byName); err != nil {
			return composed{}, &cannotRun{text: fmt.Sprintf("the GPUs %s cannot be given to the container: %v; look at the CDI descriptions in %s", strings.Join(byName, ", "), err, strings.Join(t.container.CDI, " and "))}
		}
	}
	container.AddForeign(spec, in)
	return composed{spec, note}, nil
}

// containerEnv is the image's environment, ours, and the assignment's.
func containerEnv(as *osuser.Account, c container.Config, in container.Input, dir string, a backend.Assignment) []string {
	machine := []string{"HOSTNAME=" + in.Hostname}
	if !slices.ContainsFunc(c.Env, func(e string) bool { return strings.HasPrefix(e, "HOME=") }) {
		machine = append(machine, "HOME="+in.User.Home)
	}
	if as != nil {
		machine = append(machine, "USER="+as.Name, "LOGNAME="+as.Name)
	}
	if a.TTY {
		machine = append(machine, "TERM=xterm")
	}
	return taskEnv(c.Environment(machine, a.Env), dir, a, func(f backend.File) string { return placeOf(f) })
}

// placeOf is where a private file is in a container.
func placeOf(f backend.File) string {
	if f.Path != "" {
		return f.Path
	}
	return container.FilesDir + "/" + f.Name
}

// containerMounts checks what the assignment wants mounted and makes what is to be
// made.
func containerMounts(as *osuser.Account, a backend.Assignment, dir string, user container.User) (binds []container.Bind, memory []container.Memory, err error) {
	for i, m := range a.Mounts {
		if err := container.CheckTarget(m.Target); err != nil {
			return nil, nil, &cannotRun{reason: lifecycle.ReasonMountFailed, text: err.Error()}
		}
		if m.Temporary && m.Disk {
			own := filepath.Join(dir, "temporary", strconv.Itoa(i))
			if err := errors.Join(os.MkdirAll(own, 0o700), os.Chmod(own, 0o777)); err != nil { //nolint:gosec // its user may be any, and who is on the machine does not come by its parent
				return nil, nil, err
			}
			binds = append(binds, container.Bind{Source: own, Target: m.Target, ReadOnly: m.ReadOnly})
			continue
		}
		if m.Temporary {
			size := m.Size
			if size <= 0 && a.Memory > 0 {
				size = a.Memory / 2
			}
			memory = append(memory, container.Memory{Target: m.Target, Size: size})
			continue
		}
		if as != nil && !m.Own && !m.Program {
			source, err := lendMount(as, m, filepath.Join(dir, mountsDir, strconv.Itoa(i)))
			if err != nil {
				return nil, nil, err
			}
			binds = append(binds, container.Bind{Source: source, Target: m.Target, ReadOnly: m.ReadOnly, Foreign: true})
			continue
		}
		if err := checkSource(m, &user); err != nil {
			return nil, nil, err
		}
		binds = append(binds, container.Bind{Source: m.Source, Target: m.Target, ReadOnly: m.ReadOnly})
	}
	return binds, memory, nil
}

// ownFiles are the files that we put into the container: names of hosts,
// private files, the prelude.
func ownFiles(t *task, a backend.Assignment, dir, host string, user container.User) ([]container.Bind, error) {
	etc := filepath.Join(dir, rootfs.EtcDir)
	hosts, _ := os.ReadFile("/etc/hosts")
	resolv, _ := os.ReadFile("/etc/resolv.conf")
	if len(hosts) == 0 {
		hosts = []byte("127.0.0.1\tlocalhost\n::1\tlocalhost\n")
	}
	hosts = withNames(hosts, a.Hosts)
	var binds []container.Bind
	for name, data := range map[string][]byte{"hosts": hosts, "resolv.conf": resolv, "hostname": []byte(host + "\n")} {
		// A copy: root in the container may write to it.
		if err := os.WriteFile(filepath.Join(etc, name), data, 0o644); err != nil {
			return nil, err
		}
		binds = append(binds, container.Bind{Source: filepath.Join(etc, name), Target: "/etc/" + name})
	}
	give := func(path string) error { return os.Chown(path, int(user.UID), int(user.GID)) }
	private, loose := filepath.Join(t.dir, taskdir.FilesDir), false
	for _, f := range a.Files {
		path := filepath.Join(private, f.Name)
		if err := give(path); err != nil {
			return nil, err
		}
		loose = loose || f.Path == ""
		if f.Path == "" {
			continue
		}
		if err := container.CheckTarget(f.Path); err != nil {
			return nil, &cannotRun{reason: lifecycle.ReasonMountFailed, text: fmt.Sprintf("private file %q: %v", f.Name, err)}
		}
		binds = append(binds, container.Bind{Source: path, Target: f.Path})
	}
	if loose {
		if err := give(private); err != nil {
			return nil, err
		}
		binds = append(binds, container.Bind{Source: private, Target: container.FilesDir})
	}
	if len(a.Prelude) > 0 {
		path := filepath.Join(t.dir, preludeFile)
		if err := give(path); err != nil {
			return nil, err
		}
		binds = append(binds, container.Bind{Source: path, Target: container.PreludePath})
	}
	if len(a.Init) > 0 {
		path := filepath.Join(t.dir, stageFile)
		if err := give(path); err != nil {
			return nil, err
		}
		binds = append(binds, container.Bind{Source: path, Target: container.StagePath})
	}
	return binds, nil
}

// withNames puts names of tasks into what a machine's /etc/hosts says: after its own
// names of itself, so that 127.0.0.1 stays localhost, and before everything else, as
// the first line with a name counts.
func withNames(machine []byte, names []backend.Host) []byte {
	if len(names) == 0 {
		return machine
	}
	var first, rest strings.Builder
	for line := range strings.Lines(string(machine)) {
		if line = strings.TrimSuffix(line, "\n") + "\n"; strings.Contains(line, "localhost") {
			first.WriteString(line)
		} else {
			rest.WriteString(line)
		}
	}
	for _, h := range names {
		for _, name := range h.Names { // a line each: musl reads no more of one than 512 bytes
			first.WriteString(h.Address + "\t" + name + "\n")
		}
	}
	return []byte(first.String() + rest.String())
}

// containerCommand decides what runs, and finds out beforehand what could only fail.
func containerCommand(root int, a backend.Assignment, img container.Image, in container.Input) ([]string, error) {
	argv := img.Config.Command(a.Argv, a.Args)
	if len(argv) == 0 || argv[0] == "" {
		return nil, &cannotRun{text: fmt.Sprintf("image %s has no command of its own; name a program in command", img.Ref)}
	}
	if len(a.Prelude) > 0 {
		if !isProgram(root, "/bin/sh") {
			return nil, &cannotRun{text: fmt.Sprintf("image %s has no /bin/sh, which integrations need; use an image with a shell, or no integrations", img.Ref)}
		}
		return withPrelude(container.PreludePath, argv), nil
	}
	return argv, findIn(root, argv[0], img.Ref, in)
}

// findIn looks for a command as the engine will, and says what is wrong with
// it in terms of the image. What may lie in a mount is the engine's to find.
func findIn(root int, name, ref string, in container.Input) error {
	var places []string
	switch {
	case strings.HasPrefix(name, "/"):
		places = []string{name}
	case strings.Contains(name, "/"):
		places = []string{filepath.Join(in.Dir, name)}
	default:
		for _, dir := range filepath.SplitList(lookEnv(in.Env, "PATH")) {
			places = append(places, filepath.Join(in.Dir, dir, name))
			if filepath.IsAbs(dir) {
				places[len(places)-1] = filepath.Join(dir, name)
			}
		}
	}
	for _, p := range places {
		if mounted(in, p) {
			return nil
		}
		if isProgram(root, p) {
			return checkProgram(root, p, ref, in)
		}
	}
	if strings.Contains(name, "/") {
		if fd, err := rootfs.Open(root, places[0], unix.O_PATH); err == nil {
			_ = unix.Close(fd)
			return &cannotRun{text: fmt.Sprintf("cannot run %s of image %s: permission denied; make it executable (chmod +x)", places[0], ref)}
		}
		return &cannotRun{text: fmt.Sprintf("cannot run %s: no such file in image %s", places[0], ref)}
	}
	return &cannotRun{text: fmt.Sprintf("command %q is not in PATH (%s) of image %s; install it there or give its full path", name, lookEnv(in.Env, "PATH"), ref)}
}

func isProgram(root int, path string) bool {
	fd, err := rootfs.Open(root, path, unix.O_PATH)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && st.Mode&0o111 != 0
}

// checkProgram finds programs that the kernel would refuse.
func checkProgram(root int, path, ref string, in container.Input) error {
	head := rootfs.Read(root, path, 256)
	switch {
	case strings.HasPrefix(head, "#!"):
		line, _, _ := strings.Cut(head[2:], "\n")
		f := strings.Fields(line)
		if len(f) > 0 && !isProgram(root, f[0]) && !mounted(in, f[0]) {
			return &cannotRun{text: fmt.Sprintf("cannot run %s: image %s lacks the interpreter %s that its first line names", path, ref, f[0])}
		}
	case !strings.HasPrefix(head, "\x7fELF"):
		return &cannotRun{text: fmt.Sprintf(`cannot run %s of image %s: exec format error; it is neither a program for this machine nor a script that begins with "#!"`, path, ref)}
	}
	return nil
}

// mounted reports whether path lies in something that is mounted over the image.
func mounted(in container.Input, path string) bool {
	return slices.ContainsFunc(in.Binds, func(b container.Bind) bool { return under(path, b.Target) }) ||
		slices.ContainsFunc(in.Memory, func(m container.Memory) bool { return under(path, m.Target) })
}

func lookEnv(env []string, name string) (value string) {
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			value = v
		}
	}
	return value
}
