package sqlstore

import (
	"os"
	"sync"
)

// What must be written can be written on a full disk: that something was told to
// end, that it has ended, that it is gone. So room for it is kept where nobody
// else can take it: behind the ends of the files that a commit, and the folding
// in of the log, make longer. When that cannot be had any more the store says so,
// and whoever could make more records is refused (see store.Scarce).

// keptFor is how much is kept behind the end of each file: bytes at most, and
// at most the volume divided by part.
var keptFor = map[string]struct{ most, part int64 }{
	"-wal": {16 << 20, 6}, // a commit of one step takes some ten pages
	"":     {8 << 20, 12}, // where the log is folded in, which begins it anew
	"-shm": {128 << 10, 96},
}

// foldAt is how long the log may get before it is folded in, in bytes, and for
// which part of the volume: one that is longer than its disk never would be.
const foldAt, foldPart = 32 << 20, 6

// within is most, and on a small volume only a part of it. Without its size it
// is most.
func within(volume, most, part int64) int64 {
	if volume <= 0 {
		return most
	}
	return min(most, volume/part)
}

// reserve is the room that is kept.
type reserve struct {
	mu    sync.Mutex
	path  string
	size  int64              // of the volume
	files map[string]*behind // by suffix
	off   bool               // this system or this volume cannot keep room
	low   bool               // the room cannot be had
}

// behind is the room behind the end of one file.
type behind struct {
	size int64 // of the file, when last seen
	end  int64 // of what was had
}

func newReserve(path string) *reserve {
	r := &reserve{path: path, size: volumeSize(path), files: map[string]*behind{}}
	for suffix := range keptFor {
		r.files[suffix] = &behind{}
	}
	return r
}

// renew keeps room behind the files as they are now; it does nothing where
// there is enough.
func (r *reserve) renew() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.off {
		return
	}
	low := false
	for suffix, b := range r.files {
		info, err := os.Stat(r.path + suffix)
		if err != nil {
			continue // there is none yet
		}
		kept := keptFor[suffix]
		size, want := info.Size(), within(r.size, kept.most, kept.part)
		if size < b.size {
			b.end = 0 // it was cut, and what was behind it is gone
		}
		if b.size = size; b.end-size >= want*3/4 {
			continue
		}
		switch err := keepRoom(r.path+suffix, size, want); {
		case err == nil:
			b.end = size + want
		case isFull(err):
			low = true
		default:
			r.off = true
			r.low = false
			return
		}
	}
	r.low = low
}

// scarce reports whether the room cannot be had at present.
func (r *reserve) scarce() bool {
	r.mu.Lock()
	low := r.low
	r.mu.Unlock()
	if low {
		r.renew() // somebody may have made room
		r.mu.Lock()
		low = r.low
		r.mu.Unlock()
	}
	return low
}

// Scarce implements store.Scarce.
func (s *Store) Scarce() bool { return s.room.scarce() }
