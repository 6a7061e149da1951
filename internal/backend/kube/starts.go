package kube

import (
	"sync/atomic"
	"time"
)

// startsPass is how long after the last start pods still count as being
// started: others may follow.
const startsPass = 500 * time.Millisecond

// starts knows whether pods are being started, so that what is less urgent can
// give way.
type starts struct {
	underWay atomic.Int64
	last     atomic.Int64 // when one ended; nanoseconds of the machine's clock
}

// begin counts one; the function that it returns ends it.
func (s *starts) begin() (end func()) {
	s.underWay.Add(1)
	return func() {
		s.last.Store(time.Now().UnixNano())
		s.underWay.Add(-1)
	}
}

// lately reports whether some start is under way, or has just ended.
func (s *starts) lately() bool {
	return s.underWay.Load() > 0 || time.Since(time.Unix(0, s.last.Load())) < startsPass
}
