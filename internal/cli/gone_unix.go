//go:build unix

package cli

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// gone reports whether a process has ended. One that nobody has reaped yet has.
func gone(pid int) bool {
	if err := syscall.Kill(pid, 0); err != nil {
		return err == syscall.ESRCH
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return os.IsNotExist(err) && syscall.Kill(pid, 0) == syscall.ESRCH
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(after, "Z") || strings.HasPrefix(after, "X")
}
