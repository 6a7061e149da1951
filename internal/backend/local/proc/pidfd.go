//go:build linux

package proc

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Control calls fn with the descriptor, if there still is one.
func Control(rc syscall.RawConn) func(fn func(fd int)) {
	return func(fn func(fd int)) {
		if rc != nil {
			_ = rc.Control(func(fd uintptr) { fn(int(fd)) })
		}
	}
}

// ExitStatus learns how a process ended that someone else reaps: from its
// zombie while there is one, from the kernel's memory of it afterwards (Linux
// 6.15 and later tell that of a pidfd opened before the end).
func ExitStatus(control func(func(int)), pid int, start uint64) (unix.WaitStatus, bool) {
	for begun := time.Now(); time.Since(begun) < 5*time.Second; time.Sleep(time.Millisecond) {
		var info unix.PidfdInfo
		info.Mask = unix.PIDFD_INFO_EXIT
		known, err := false, error(nil)
		control(func(fd int) {
			if err = unix.IoctlPidfdInfo(fd, &info); err == nil {
				known = info.Mask&unix.PIDFD_INFO_EXIT != 0
			}
		})
		if known {
			return unix.WaitStatus(uint32(info.Exit_code)), true
		}
		s, statErr := ReadStat(pid)
		if statErr != nil || s.Start != start {
			if err != nil {
				return 0, false // reaped, and the kernel does not remember
			}
			continue
		}
		if s.State == 'Z' || s.State == 'X' {
			return unix.WaitStatus(uint32(s.exit)), true
		}
	}
	return 0, false
}
