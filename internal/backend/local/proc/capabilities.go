//go:build linux

package proc

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// capabilityNames are those that containers may get, by number.
var capabilityNames = map[int]string{
	unix.CAP_AUDIT_WRITE: "CAP_AUDIT_WRITE", unix.CAP_CHOWN: "CAP_CHOWN", unix.CAP_DAC_OVERRIDE: "CAP_DAC_OVERRIDE",
	unix.CAP_FOWNER: "CAP_FOWNER", unix.CAP_FSETID: "CAP_FSETID", unix.CAP_KILL: "CAP_KILL", unix.CAP_MKNOD: "CAP_MKNOD",
	unix.CAP_NET_BIND_SERVICE: "CAP_NET_BIND_SERVICE", unix.CAP_NET_RAW: "CAP_NET_RAW", unix.CAP_SETFCAP: "CAP_SETFCAP",
	unix.CAP_SETGID: "CAP_SETGID", unix.CAP_SETPCAP: "CAP_SETPCAP", unix.CAP_SETUID: "CAP_SETUID", unix.CAP_SYS_CHROOT: "CAP_SYS_CHROOT",
}

// Capabilities are those of capabilityNames that this process has itself:
// an engine asked for more would fail.
func Capabilities() []string {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil
	}
	return parseCapabilities(string(data))
}

func parseCapabilities(status string) []string {
	set := maskOf(status, "CapPrm:") & maskOf(status, "CapBnd:")
	var names []string
	for n, name := range capabilityNames {
		if set&(1<<n) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// maskOf reads a hexadecimal mask of /proc/PID/status; 0 where it is missing.
func maskOf(status, key string) uint64 {
	for line := range strings.Lines(status) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			mask, _ := strconv.ParseUint(strings.TrimSpace(rest), 16, 64)
			return mask
		}
	}
	return 0
}

// OpenFilesLimit is the hard limit of open files of this process: even root
// cannot raise it without CAP_SYS_RESOURCE.
func OpenFilesLimit() uint64 {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) != nil {
		return 1024
	}
	return min(r.Max, 1<<20)
}

// DiesOf reports whether sig would end pid by its default action, as it would
// any process that neither handles, ignores nor blocks it.
func DiesOf(pid int, sig unix.Signal) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	status := string(data)
	held := maskOf(status, "SigCgt:") | maskOf(status, "SigIgn:") | maskOf(status, "SigBlk:")
	return held&(1<<(sig-1)) == 0
}
