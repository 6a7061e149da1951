//go:build linux

// Package spare keeps the files, FIFOs and directories of tasks that are over, to be
// those of the next ones.
//
// A short task costs little but making and removing these: a file system has to look
// for an inode each time, longest where many were freed just now. To rename one that
// is there already takes nothing of that.
package spare

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// Kind is what is kept.
type Kind int

// The kinds.
const (
	File Kind = iota // regular and empty
	FIFO
	Dir // empty
	kinds
)

// most is how many of a kind are kept.
const most = 128

// Pool keeps what is not needed now, below one directory. The zero value keeps
// nothing.
type Pool struct {
	dir  string
	mu   sync.Mutex
	kept [kinds][]string
	made int
}

// Open makes a pool below dir, which is its own: what a former one kept goes.
func Open(dir string) (*Pool, error) {
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)); err != nil {
		return nil, err
	}
	return &Pool{dir: dir}, nil
}

// Close removes what is kept; from then on nothing is.
func (p *Pool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dir == "" {
		return nil
	}
	dir := p.dir
	p.dir, p.kept = "", [kinds][]string{}
	return os.RemoveAll(dir)
}

// Take gives path one of a kind, with rights for its owner alone, and reports whether
// there was one, and path was not taken.
func (p *Pool) Take(kind Kind, path string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.kept[kind])
	if n == 0 {
		return false
	}
	from := p.kept[kind][n-1]
	p.kept[kind] = p.kept[kind][:n-1]
	if unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, path, unix.RENAME_NOREPLACE) == nil {
		return true
	}
	_ = os.Remove(from)
	return false
}

// Keep takes what is at path away: into the pool, if it is what a new one would be
// (nobody else's, without another name, empty but for a file, whose content goes),
// else for good. Nobody may have it open any more.
func (p *Pool) Keep(kind Kind, path string) error {
	if p.keep(kind, path) {
		return nil
	}
	return os.RemoveAll(path) // without the lock: it may be much
}

func (p *Pool) keep(kind Kind, path string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dir == "" || len(p.kept[kind]) >= most || !fit(kind, path) {
		return false
	}
	p.made++
	to := filepath.Join(p.dir, strconv.Itoa(p.made))
	if os.Rename(path, to) != nil {
		return false
	}
	p.kept[kind] = append(p.kept[kind], to)
	return true
}

// fit reports whether what is at path is as a new one would be, and empties a file.
func fit(kind Kind, path string) bool {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil || int(st.Uid) != os.Getuid() {
		return false
	}
	switch kind {
	case File:
		return st.Mode == unix.S_IFREG|0o600 && st.Nlink == 1 && os.Truncate(path, 0) == nil
	case FIFO:
		return st.Mode == unix.S_IFIFO|0o600 && st.Nlink == 1
	case Dir:
		return st.Mode == unix.S_IFDIR|0o700 && empty(path)
	}
	return false
}

func empty(dir string) bool {
	f, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	_, err = f.Readdirnames(1)
	return errors.Is(err, io.EOF)
}
