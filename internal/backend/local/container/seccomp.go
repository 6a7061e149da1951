package container

import (
	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// forbidden are the system calls that reach out of a container or into the
// kernel's foundations: what the usual profiles of container engines keep from
// containers. Everything else is allowed: a list of what is allowed would have
// to grow with every kernel, and what a task may touch is decided by its
// namespaces, groups and capabilities anyway.
var forbidden = []string{
	// Time and the machine itself.
	"acct", "clock_adjtime", "clock_adjtime64", "clock_settime", "clock_settime64", "settimeofday", "stime",
	"reboot", "swapon", "swapoff", "quotactl", "quotactl_fd", "syslog", "ioperm", "iopl", "vm86", "vm86old",
	// Code in the kernel.
	"bpf", "create_module", "delete_module", "finit_module", "init_module", "get_kernel_syms", "query_module",
	"kexec_load", "kexec_file_load", "perf_event_open", "userfaultfd",
	"io_uring_setup", "io_uring_enter", "io_uring_register", // a second way to most system calls, past filters
	// Keys, which no namespace separates.
	"add_key", "keyctl", "request_key",
	// The file tree.
	"mount", "mount_setattr", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "open_tree", "open_tree_attr",
	"pivot_root", "umount", "umount2", "name_to_handle_at", "open_by_handle_at",
	// Other namespaces.
	"setns", "unshare", "kcmp",
	// What nobody should use any more.
	"_sysctl", "lookup_dcookie", "nfsservctl", "sysfs", "uselib", "ustat",
}

// newNamespace are the flags of clone that make namespaces.
var newNamespace = []uint64{
	0x00020000, // mounts
	0x04000000, // host name
	0x08000000, // System V IPC
	0x10000000, // users
	0x20000000, // processes
	0x40000000, // network
	0x02000000, // control groups
}

// architectures are the native one and the one whose programs run on it too.
var architectures = map[string][]specs.Arch{
	"amd64": {specs.ArchX86_64, specs.ArchX86, specs.ArchX32},
	"arm64": {specs.ArchAARCH64, specs.ArchARM},
}

func seccomp(arch string) *specs.LinuxSeccomp {
	eperm, enosys := uint(1), uint(38)
	filter := &specs.LinuxSeccomp{
		DefaultAction: specs.ActAllow,
		Architectures: architectures[arch],
		Syscalls: []specs.LinuxSyscall{
			{Names: forbidden, Action: specs.ActErrno, ErrnoRet: &eperm},
			// Its flags are behind a pointer, where a filter cannot look; told that
			// it does not exist, the C library uses clone.
			{Names: []string{"clone3"}, Action: specs.ActErrno, ErrnoRet: &enosys},
		},
	}
	for _, flag := range newNamespace { // one rule each: a filter can test bits for "all", not for "any"
		filter.Syscalls = append(filter.Syscalls, specs.LinuxSyscall{
			Names: []string{"clone"}, Action: specs.ActErrno, ErrnoRet: &eperm,
			Args: []specs.LinuxSeccompArg{{Index: 0, Value: flag, ValueTwo: flag, Op: specs.OpMaskedEqual}},
		})
	}
	return filter
}
