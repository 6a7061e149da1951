package decide

import (
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// Members are the pods of an external workload once none is left.
type Members struct {
	Well   int  // have succeeded
	Failed bool // one failed by itself
	Lost   bool // of one nobody saw how it ended
	Killed bool // somebody ended one
}

// Maker is what is known of whoever made the pods.
type Maker int

// What a maker has come to.
const (
	MakerGone Maker = iota // it was taken away
	MakerSucceeded
	MakerFailed
)

// MembersEnd is how an external workload ends.
type MembersEnd int

// The ends.
const (
	MembersSucceeded MembersEnd = iota
	MemberFailed                // the one that failed by itself tells how
	MakerHasFailed
	MemberLost
	MembersTakenAway
)

// AfterMembers is how an external workload in phase ends, none of whose members is
// left.
func AfterMembers(phase lifecycle.Phase, maker Maker, m Members) MembersEnd {
	running := phase == lifecycle.Running
	switch {
	case maker == MakerSucceeded && running:
		return MembersSucceeded
	case maker == MakerGone && running && m.Well > 0 && !m.Failed && !m.Lost && !m.Killed:
		return MembersSucceeded
	case m.Failed && (maker == MakerFailed || !m.Killed):
		return MemberFailed
	case maker == MakerFailed:
		return MakerHasFailed
	case m.Lost && !m.Killed:
		return MemberLost
	default:
		return MembersTakenAway
	}
}

// Input is the event of an end.
func (e MembersEnd) Input() lifecycle.Input {
	switch e {
	case MembersSucceeded:
		return lifecycle.Input{On: lifecycle.Succeed, Target: lifecycle.Completed}
	case MemberFailed, MakerHasFailed:
		return lifecycle.Input{On: lifecycle.TaskFail, To: lifecycle.Terminating, Target: lifecycle.Failed}
	case MemberLost:
		return lifecycle.Input{On: lifecycle.OutcomeLost}
	default:
		return lifecycle.Input{On: lifecycle.Stop, Cause: lifecycle.CauseMaker}
	}
}

// Replicas are those of an inference workload that count.
type Replicas struct {
	Wanted int // by the document or whoever scales it
	Ready  int
	Up     int  // have their place
	Due    int  // ended, and are to be started again in place
	Failed bool // one has ended by itself
}

// AfterReplicas is the event that follows for an inference workload in phase; none
// of the events where nothing does. The phase is that of the best replica: Running
// while one is ready, Restarting only when none is up.
func AfterReplicas(phase lifecycle.Phase, r Replicas) lifecycle.Event {
	switch {
	case phase == lifecycle.Starting && (r.Ready > 0 || r.Wanted == 0):
		return lifecycle.AllReady
	case phase == lifecycle.Restarting && (r.Up > 0 || r.Due == 0): // with none due, others are to be placed
		return lifecycle.BackoffOver
	case phase != lifecycle.Restarting && r.Up == 0 && r.Wanted > 0 && r.Failed:
		return lifecycle.TaskFail
	default:
		return ""
	}
}

// ReplicaEnd is what follows from the end of one replica.
type ReplicaEnd int

// What may follow.
const (
	ReplicaRestarts ReplicaEnd = iota // in place, after its back-off
	ReplicaReplaced                   // another takes over elsewhere
	ReplicasFail                      // it never worked, and starting it again cannot help
)

// AfterReplica is what follows from the end of one replica; away: others are to take
// over from it, up: some replica is up.
func AfterReplica(phase lifecycle.Phase, f Failure, away, up bool) ReplicaEnd {
	switch {
	case f.Class.Systemic() || away:
		return ReplicaReplaced
	case f.Class.Hopeless() && phase == lifecycle.Starting && !up:
		return ReplicasFail
	default:
		return ReplicaRestarts
	}
}

// RanksLost is what follows for an elastic gang from the loss of ranks.
type RanksLost int

// What may follow.
const (
	RanksGoOn    RanksLost = iota // without those
	RanksRequeue                  // too few are left: it starts again from its queue
	RanksFail                     // as any gang does
)

// AfterRanksLost is what follows for an elastic gang in phase of which others are
// left; first: the rank that leads is among the lost.
func AfterRanksLost(doc *spec.Document, phase lifecycle.Phase, system, others int, first bool) RanksLost {
	switch {
	case first:
		return RanksFail
	case others >= doc.MinSize():
		return RanksGoOn
	case phase == lifecycle.Running && SystemRetries(doc.Retry, system):
		return RanksRequeue
	default:
		return RanksFail
	}
}
