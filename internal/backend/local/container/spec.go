package container

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// FilesDir is where private files without a place of their own are.
const FilesDir = "/.muster/files"

// PreludePath is the script that runs before the command.
const PreludePath = "/.muster/prelude"

// StagePath is where a task says how far its start is.
const StagePath = "/.muster/stage"

const (
	defaultSHM = 64 << 20 // bytes
	// maxPIDs stops a fork bomb before it takes the whole machine, and is far
	// from what training with many loaders needs.
	maxPIDs = 16384
	// openFiles is the soft limit; more make programs slow that close them all.
	openFiles = 65536
)

// Bind puts a directory or file of the machine into the container.
type Bind struct {
	Source, Target string // absolute
	ReadOnly       bool
	// Foreign is what a user has named, who is not the engine's: neither devices nor
	// set-uid programs in it are more than files, and it is mounted after everything
	// else (AddForeign), so that the engine makes no place for anything in it.
	Foreign bool
}

// Memory is a directory in memory.
type Memory struct {
	Target string
	Size   int64 // bytes; 0: what the kernel takes
}

// Device is a device node of the machine that the container gets.
type Device struct {
	Path         string
	Major, Minor int64
}

// Input is everything that a bundle's configuration follows from.
type Input struct {
	Root     string // the mounted file tree
	Hostname string
	Arch     string // as Go names it
	Argv     []string
	Env      []string
	Dir      string
	User     User
	Terminal bool

	CgroupsPath string
	Unified     bool  // the machine has control groups v2 only
	CPU         int64 // thousandths of cores, as a share; 0: the default
	SHM         int64 // bytes; 0: 64 MiB

	Binds   []Bind
	Memory  []Memory
	Devices []Device

	Capabilities []string // that the engine itself has: more it cannot give
	OpenFiles    uint64   // hard limit that the engine has itself
	// Limits are further ones, or others, by their names in POSIXRlimit. OOMScore is how
	// much sooner than others it is ended where memory is short; nil: as the engine.
	Limits   []specs.POSIXRlimit
	OOMScore *int
}

// granted are the capabilities that programs in containers can count on with
// any engine.
var granted = []string{
	"CAP_AUDIT_WRITE", "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_MKNOD",
	"CAP_NET_BIND_SERVICE", "CAP_NET_RAW", "CAP_SETFCAP", "CAP_SETGID", "CAP_SETPCAP", "CAP_SETUID", "CAP_SYS_CHROOT",
}

var maskedPaths = []string{
	"/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
	"/proc/sched_debug", "/proc/scsi", "/proc/timer_list", "/proc/timer_stats", "/sys/devices/virtual/powercap", "/sys/firmware",
}

var readonlyPaths = []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}

// Spec is the configuration of the bundle. It has the machine's network: ranks
// of a gang find each other by its addresses.
func Spec(in Input) *specs.Spec {
	return &specs.Spec{
		Version:  "1.0.2", // the oldest runc that distributions still have reads this
		Root:     &specs.Root{Path: in.Root},
		Hostname: in.Hostname,
		Process:  Process(in),
		Mounts:   mounts(in),
		Linux: &specs.Linux{
			CgroupsPath:   in.CgroupsPath,
			Namespaces:    namespaces(in),
			Resources:     resources(in),
			Devices:       devices(in),
			Seccomp:       seccomp(in.Arch),
			MaskedPaths:   maskedPaths,
			ReadonlyPaths: readonlyPaths,
		},
	}
}

// Process is the process part of Spec; a command that is run beside a task is
// one too.
func Process(in Input) *specs.Process {
	caps := slices.DeleteFunc(slices.Clone(granted), func(c string) bool { return !slices.Contains(in.Capabilities, c) })
	set := &specs.LinuxCapabilities{Bounding: caps}
	if in.User.UID == 0 { // as execve would do it for the other users
		set.Effective, set.Permitted = caps, caps
	}
	limits := []specs.POSIXRlimit{{Type: "RLIMIT_NOFILE", Soft: min(openFiles, in.OpenFiles), Hard: in.OpenFiles}}
	for _, l := range in.Limits {
		limits = append(slices.DeleteFunc(limits, func(o specs.POSIXRlimit) bool { return o.Type == l.Type }), l)
	}
	return &specs.Process{
		Terminal: in.Terminal,
		User:     specs.User{UID: in.User.UID, GID: in.User.GID, AdditionalGids: in.User.Groups},
		Args:     in.Argv, Env: in.Env, Cwd: in.Dir,
		Capabilities:    set,
		NoNewPrivileges: true,
		Rlimits:         limits,
		OOMScoreAdj:     in.OOMScore,
	}
}

func namespaces(in Input) []specs.LinuxNamespace {
	all := []specs.LinuxNamespace{
		{Type: specs.PIDNamespace}, {Type: specs.MountNamespace}, {Type: specs.IPCNamespace}, {Type: specs.UTSNamespace},
	}
	if in.Unified {
		all = append(all, specs.LinuxNamespace{Type: specs.CgroupNamespace})
	}
	return all
}

// resources leaves memory to the group that the task has anyway.
func resources(in Input) *specs.LinuxResources {
	pids := int64(maxPIDs)
	r := &specs.LinuxResources{
		Pids:    &specs.LinuxPids{Limit: &pids},
		Devices: []specs.LinuxDeviceCgroup{{Allow: false, Access: "rwm"}}, // the engine allows /dev/null and its like
	}
	for _, d := range in.Devices {
		r.Devices = append(r.Devices, specs.LinuxDeviceCgroup{Allow: true, Type: "c", Major: &d.Major, Minor: &d.Minor, Access: "rwm"})
	}
	if in.CPU > 0 {
		shares := uint64(min(max(in.CPU*1024/1000, 2), 262144))
		r.CPU = &specs.LinuxCPU{Shares: &shares}
	}
	return r
}

func devices(in Input) []specs.LinuxDevice {
	var all []specs.LinuxDevice
	for _, d := range in.Devices {
		mode, root := fs.FileMode(0o666), uint32(0)
		all = append(all, specs.LinuxDevice{Path: d.Path, Type: "c", Major: d.Major, Minor: d.Minor, FileMode: &mode, UID: &root, GID: &root})
	}
	return all
}

func mounts(in Input) []specs.Mount {
	shm := in.SHM
	if shm <= 0 {
		shm = defaultSHM
	}
	all := []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc", Options: []string{"nosuid", "noexec", "nodev"}},
		{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "strictatime", "mode=755", "size=65536k"}},
		{Destination: "/dev/pts", Type: "devpts", Source: "devpts", Options: []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"}},
		{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"nosuid", "noexec", "nodev", "ro"}},
		{Destination: "/sys/fs/cgroup", Type: "cgroup", Source: "cgroup", Options: []string{"nosuid", "noexec", "nodev", "relatime", "ro"}},
		{Destination: "/dev/mqueue", Type: "mqueue", Source: "mqueue", Options: []string{"nosuid", "noexec", "nodev"}},
		{Destination: "/dev/shm", Type: "tmpfs", Source: "shm", Options: []string{"nosuid", "noexec", "nodev", "mode=1777", "size=" + strconv.FormatInt(shm, 10)}},
	}
	own := map[string]specs.Mount{} // the user's; parents must come before what is in them
	for _, m := range in.Memory {
		o := []string{"nosuid", "nodev", "mode=1777"}
		if m.Size > 0 {
			o = append(o, "size="+strconv.FormatInt(m.Size, 10))
		}
		own[m.Target] = specs.Mount{Destination: m.Target, Type: "tmpfs", Source: "tmpfs", Options: o}
	}
	for _, b := range in.Binds {
		if !b.Foreign {
			own[b.Target] = bind(b)
		}
	}
	for _, target := range slices.Sorted(maps.Keys(own)) {
		// A choice of the user's for /dev/shm and its like replaces ours.
		all = slices.DeleteFunc(all, func(m specs.Mount) bool { return m.Destination == target })
		all = append(all, own[target])
	}
	return all
}

func bind(b Bind) specs.Mount {
	o := []string{"rbind", "rprivate"}
	if b.ReadOnly {
		o = append(o, "ro")
	}
	if b.Foreign {
		o = append(o, "nosuid", "nodev")
	}
	return specs.Mount{Destination: b.Target, Type: "bind", Source: b.Source, Options: o}
}

// AddForeign adds what users have named to a specification that has everything else.
func AddForeign(s *specs.Spec, in Input) {
	for _, b := range in.Binds {
		if b.Foreign {
			s.Mounts = append(s.Mounts, bind(b))
		}
	}
}

// CheckTarget refuses places of mounts that would break the container.
func CheckTarget(target string) error {
	if !strings.HasPrefix(target, "/") || target != cleaned(target) {
		return fmt.Errorf("mount at %q: the path must be absolute, without . or .. in it", target)
	}
	for _, never := range []string{"/", "/proc", "/sys", "/dev", "/.muster"} {
		if target == never || never == "/proc" && strings.HasPrefix(target, "/proc/") {
			return fmt.Errorf("mount at %q: nothing can be mounted there; choose another path", target)
		}
	}
	return nil
}

func cleaned(path string) string {
	var parts []string
	for p := range strings.SplitSeq(path, "/") {
		if p != "" && p != "." && p != ".." {
			parts = append(parts, p)
		}
	}
	return "/" + strings.Join(parts, "/")
}
