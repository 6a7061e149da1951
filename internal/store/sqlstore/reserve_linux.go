package sqlstore

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// keepRoom has the volume keep n bytes for a file behind its end. The database
// has the file open, and its own descriptor is used: to close another one would
// drop the locks of this process on it.
func keepRoom(path string, size, n int64) error {
	fd, err := openFile(path)
	if err != nil || fd < 0 {
		return err
	}
	return unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, size, n)
}

// openFile is a descriptor by which this process has a file open for writing;
// -1: there is none.
func openFile(path string) (int, error) {
	const dir = "/proc/self/fd"
	names, err := os.ReadDir(dir)
	if err != nil {
		return -1, err
	}
	for _, n := range names {
		fd, err := strconv.Atoi(n.Name())
		if err != nil {
			continue
		}
		if target, err := os.Readlink(filepath.Join(dir, n.Name())); err != nil || target != path {
			continue
		}
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err == nil && flags&unix.O_ACCMODE == unix.O_RDWR {
			return fd, nil
		}
	}
	return -1, nil
}

// volumeSize is how much fits on the volume of a file; 0: nobody says.
func volumeSize(path string) int64 {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0
	}
	return int64(s.Blocks) * s.Bsize // whose type differs by architecture
}

func isFull(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }
