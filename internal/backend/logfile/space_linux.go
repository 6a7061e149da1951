package logfile

import "golang.org/x/sys/unix"

const maxReserve = 64 << 20

// Space watches over the file system of the logs: output of tasks must not
// take the last bytes from the database beside it.
type Space struct {
	dir     string
	reserve int64
}

// NewSpace keeps reserve bytes free; 0 means 64 MiB, or 2 % where that is less.
func NewSpace(dir string, reserve int64) *Space {
	if reserve <= 0 {
		reserve = maxReserve
		var fs unix.Statfs_t
		if unix.Statfs(dir, &fs) == nil {
			reserve = min(reserve, int64(fs.Blocks)*int64(fs.Bsize)/50)
		}
	}
	return &Space{dir: dir, reserve: reserve}
}

// room reports whether n more bytes may be written. After a shortage it takes
// more than the bare reserve, lest the log fill with notices of single bytes.
func (s *Space) room(n int, short bool) bool {
	var fs unix.Statfs_t
	if s == nil || unix.Statfs(s.dir, &fs) != nil {
		return true // the write itself will tell
	}
	need := s.reserve + int64(n)
	if short {
		need += s.reserve / 4
	}
	return int64(fs.Bavail)*int64(fs.Bsize) >= need
}
