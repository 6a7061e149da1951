package program

import (
	"os"
	"strconv"
	"syscall"
)

// KeepToItself has no program that this one starts inherit what its own caller
// has left open: a lock that a shell holds would stay held for as long as the
// server, its helper or a task lives, and a pipe would never end.
func KeepToItself() {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, e := range open {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}
