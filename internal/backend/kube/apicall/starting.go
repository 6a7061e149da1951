package apicall

import (
	"sync/atomic"
	"time"
)

// StartingPasses is how long after the last start pods still count as being
// started: others may follow.
const StartingPasses = 500 * time.Millisecond

// Starting knows whether pods are being started, so that what is less urgent can
// give way.
type Starting struct {
	underWay atomic.Int64
	last     atomic.Int64 // when one ended; nanoseconds of the machine's clock
}

// Begin counts one; the function that it returns ends it.
func (s *Starting) Begin() (end func()) {
	s.underWay.Add(1)
	return func() {
		s.last.Store(time.Now().UnixNano())
		s.underWay.Add(-1)
	}
}

// Lately reports whether some start is under way, or has just ended.
func (s *Starting) Lately() bool {
	return s.underWay.Load() > 0 || time.Since(time.Unix(0, s.last.Load())) < StartingPasses
}
