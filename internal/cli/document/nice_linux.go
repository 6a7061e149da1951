package document

import "golang.org/x/sys/unix"

// nice is the nice value of this process, -20 to 19.
func nice() (int, bool) {
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0) // the kernel's: 20 less the nice value, 1 to 40
	return 20 - raw, err == nil
}
