// Package heap keeps what a long-running process holds of memory in proportion to
// what is alive in it.
package heap

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Server is what a server may hold, in bytes, before it gives memory back.
const Server = 512 << 20

// Bound makes the collector give memory back before the process holds more than
// least bytes, or 1.4 times what is alive where that is more: Go's own measure lets
// it hold twice that. The bound follows what is alive, as each collection finds
// it. One that stays where it is would make a process that needs more collect
// without end, with half of its processor time.
//
// It costs nothing between collections, and no goroutine waits for it.
func Bound(least int64) {
	bound(least, debug.SetMemoryLimit)
}

// sentinel is an object that nobody holds, so that each collection finds it.
type sentinel struct{ _ [16]byte }

func bound(least int64, set func(int64) int64) {
	set(least)
	follow(least, set)
}

func follow(least int64, set func(int64) int64) {
	runtime.SetFinalizer(new(sentinel), func(*sentinel) {
		set(limit(alive(), least))
		follow(least, set)
	})
}

// limit is what may be held, in bytes, with so much alive: beside the objects there
// are stacks and what the runtime keeps of its own, an eighth of least at most in
// a small process and about a twentieth of a large one.
func limit(alive, least int64) int64 {
	return max(least, alive+alive/5*2+least/8)
}

// alive is what the last collection found alive, in bytes.
func alive() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}
