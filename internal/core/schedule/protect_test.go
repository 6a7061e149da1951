package schedule_test

import (
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/displace"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// one is a node with so many GPUs, one queue without a quota, and a job that holds all
// of them since so long.
func one(gpus int, since int64, change func(has *schedule.Job)) *state.State {
	st := state.NewState(Default())
	for _, n := range nodes(1, gpus) {
		st.PutNode(n)
	}
	st.SetQueues([]schedule.Queue{plainQueue("q", 1, 0), plainQueue("r", 2, 0)})
	place := schedule.Place{Node: nodes(1, gpus)[0].ID, CPU: 1000}
	for d := range gpus {
		place.Devices = append(place.Devices, shares(d)...)
	}
	has := run(gpuJob("has", "q", 1, 1, gpus), place)
	has.Started = since
	if change != nil {
		change(&has)
	}
	st.PutJob(has)
	return st
}

// Who is due takes from whom has had half as much again as it probably takes, and
// not before; who has waited for long enough takes from anyone who has had an hour.
func TestWhoTakesLessDisplaces(t *testing.T) {
	t.Parallel()
	now := 1000 * hour
	for _, c := range []struct {
		had, takes, waited int64
		leaves             bool
	}{
		{had: 3 * hour, takes: 2*hour + 60_000, waited: 3 * hour},
		{had: 3 * hour, takes: 2 * hour, waited: 3 * hour, leaves: true},
		{had: 3 * hour, takes: 2*hour + 60_000, waited: 239 * hour},
		{had: 3 * hour, takes: 2*hour + 60_000, waited: 240 * hour, leaves: true},
		{had: 3 * hour, takes: 0, waited: 12 * hour, leaves: true}, // nobody knows: by patience alone
		{had: hour - 1, takes: 600_000, waited: 3 * hour},          // everyone has an hour
	} {
		st := one(1, now-c.had, nil)
		j := gpuJob("due", "q", 2, 1, 1)
		p := schedule.NewPolicy()
		p.Take(&j, schedule.Course{Submitted: now - c.waited, Queued: now - c.waited, Expected: c.takes})
		st.PutJob(j)
		plan := cycle.Run(st, now)
		if leaves := len(plan.Evictions) == 1; leaves != c.leaves {
			t.Errorf("%+v: %s", c, brief(plan))
		}
	}
}

// A fair share beyond quota is no reason to end what has only begun for what takes
// long; a quota is.
func TestWhoIsEntitledMindsNoLength(t *testing.T) {
	t.Parallel()
	now := 1000 * hour
	for _, c := range []struct {
		owns, takes int64
		leaves      bool
	}{{0, 100 * hour, false}, {0, hour / 2, true}, {0, 0, true}, {1000, 100 * hour, true}} {
		st := one(2, now-hour, nil)
		st.SetQueues([]schedule.Queue{plainQueue("q", 1, 0), plainQueue("r", 2, c.owns)})
		j := gpuJob("other", "r", 2, 1, 1)
		j.Expected = c.takes
		st.PutJob(j)
		plan := cycle.Run(st, now)
		if leaves := len(plan.Evictions) == 1; leaves != c.leaves {
			t.Errorf("%+v: %s", c, brief(plan))
		}
	}
}

// Who had to leave is left alone once it runs again: for half of what it had had, two
// hours at most; who had to leave often for longer, unless by who is entitled to
// its room and finds no other.
func TestWhoHadToLeaveIsLeftAlone(t *testing.T) {
	t.Parallel()
	now := 1000 * hour
	for _, c := range []struct {
		attained, since int64
		times           int
		owns            int64
		leaves          bool
	}{
		{attained: 2 * hour, since: hour - 1, owns: 2000},
		{attained: 2 * hour, since: hour, owns: 2000, leaves: true},
		{attained: 40 * hour, since: 2*hour - 1, owns: 2000},
		{attained: 40 * hour, since: 2 * hour, owns: 2000, leaves: true},
		{attained: 40 * hour, since: 2 * hour, times: state.Often, owns: 2000, leaves: true},
		{attained: 40 * hour, since: 2 * hour, times: state.Often},
		{attained: 40 * hour, since: 20 * hour, times: state.Often, leaves: true},
	} {
		st := one(2, now-c.since, func(has *schedule.Job) { has.Attained, has.Displaced = c.attained, c.times })
		st.SetQueues([]schedule.Queue{plainQueue("q", 1, 0), plainQueue("r", 2, c.owns)})
		j := gpuJob("other", "r", 2, 1, 2)
		if c.owns == 0 { // else it would be more than its fair share
			j = gpuJob("other", "r", 2, 1, 1)
			j.Expected = 60_000
		}
		st.PutJob(j)
		plan := cycle.Run(st, now)
		if leaves := len(plan.Evictions) == 1; leaves != c.leaves {
			t.Errorf("%+v: %s", c, brief(plan))
		}
		if again := cycle.Run(st, now+2*hour); !c.leaves && c.times == 0 && len(again.Evictions) != 1 {
			t.Errorf("%+v, two hours later: %s", c, brief(again))
		}
	}
}

// Who has waited is left alone for a fifteenth of that once it runs, a day at most,
// also by who is entitled to its room; not by what is more important.
func TestWhoHasWaitedHasATurnAsLong(t *testing.T) {
	t.Parallel()
	now := 1000 * hour
	for _, c := range []struct {
		waited, since int64
		above, leaves bool
	}{
		{waited: 30 * hour, since: 2*hour - 1},
		{waited: 30 * hour, since: 2 * hour, leaves: true},
		{waited: 30 * hour, since: hour, above: true, leaves: true},
		{waited: 600 * hour, since: 24*hour - 1},
		{waited: 600 * hour, since: 24 * hour, leaves: true},
		{waited: 0, since: 1, leaves: true},
	} {
		st := one(2, now-c.since, func(has *schedule.Job) { has.Since = has.Started - c.waited })
		st.SetQueues([]schedule.Queue{plainQueue("q", 1, 0), plainQueue("r", 2, 2000)})
		j := gpuJob("other", "r", 2, 1, 2)
		if c.above {
			j.Queue, j.Priority = "q", 75
		}
		st.PutJob(j)
		plan := cycle.Run(st, now)
		if leaves := len(plan.Evictions) == 1; leaves != c.leaves {
			t.Errorf("%+v: %s", c, brief(plan))
		}
		if again := cycle.Run(st, now+24*hour); !c.leaves && len(again.Evictions) != 1 {
			t.Errorf("%+v, a day later: %s", c, brief(again))
		}
	}
}

// Of two of its sort the one that had to leave often is asked last.
func TestWhoHadToLeaveOftenIsAskedLast(t *testing.T) {
	t.Parallel()
	now := 1000 * hour
	for often, want := range map[bool]string{false: "young", true: "old"} {
		st := state.NewState(Default())
		for _, n := range nodes(1, 2) {
			st.PutNode(n)
		}
		st.SetQueues([]schedule.Queue{plainQueue("q", 1, 0), plainQueue("r", 2, 1000)})
		for i, id := range []string{"old", "young"} {
			j := on(gpuJob(id, "q", int64(i), 1, 1), nodes(1, 2)[0].ID, i, 1)
			j.Started, j.Attained = now-3*hour, 40*hour
			if id == "young" && often {
				j.Displaced = state.Often
			}
			st.PutJob(j)
		}
		st.PutJob(gpuJob("owner", "r", 9, 1, 1))
		plan := cycle.Run(st, now)
		if len(plan.Evictions) != 1 || string(plan.Evictions[0].ID) != want {
			t.Errorf("often %v: %s, want %s to leave", often, brief(plan), want)
		}
	}
}

// Room that becomes free goes first to who has waited too long where its queue has
// nothing, though it is more than its share; it is not taken back at once for what
// takes as long, and no booking or relief is needed.
func TestOverdueGoesFirst(t *testing.T) {
	t.Parallel()
	now := 1000 * hour
	for due, want := range map[bool]string{false: "small", true: "wide"} {
		st := state.NewState(Default())
		for _, n := range nodes(1, 4) {
			st.PutNode(n)
		}
		st.SetQueues([]schedule.Queue{plainQueue("few", 1, 0), plainQueue("many", 2, 0)})
		w := gpuJob("wide", "few", 1, 1, 4)
		w.Expected = 8 * hour
		if w.Due = now + hour; due {
			w.Due = now - hour
		}
		st.PutJob(w)
		for i := range int64(4) {
			j := gpuJob("small"+string(rune('a'+i)), "many", 2+i, 1, 1)
			j.Expected = 24 * hour
			st.PutJob(j)
		}
		plan := cycle.Run(st, now)
		if len(plan.Placements) == 0 || string(plan.Placements[0].ID)[:4] != want[:4] || len(plan.Evictions) > 0 {
			t.Errorf("due %v: %s, want %s to start", due, brief(plan), want)
		}
		if due && len(plan.Placements) != 1 {
			t.Errorf("the room was given twice: %s", brief(plan))
		}
		// Nothing of this cycle is left over for the next.
		if again := cycle.Run(st, now); brief(again) != brief(plan) {
			t.Errorf("due %v: %s, and again %s", due, brief(plan), brief(again))
		}
	}
}

// Nobody is served before what is more important in its own queue, however long it
// has waited.
func TestOverdueDoesNotPassPriority(t *testing.T) {
	t.Parallel()
	now := 1000 * hour
	st := state.NewState(Default())
	for _, n := range nodes(1, 2) {
		st.PutNode(n)
	}
	st.SetQueues([]schedule.Queue{plainQueue("q", 1, quota.Unlimited)})
	late, urgent := gpuJob("late", "q", 1, 1, 2), gpuJob("urgent", "q", 2, 1, 2)
	late.Due, late.Preemptible, urgent.Priority = now-hour, false, 60
	st.PutJob(late)
	st.PutJob(urgent)
	if plan := cycle.Run(st, now); len(plan.Placements) != 1 || plan.Placements[0].ID != "urgent" {
		t.Error(brief(plan))
	}
}

// In a queue the shorter pass the longer, but only what was submitted within ten
// times its length; with InOrder nobody passes.
func TestShorterPassLonger(t *testing.T) {
	t.Parallel()
	now := 1000 * hour
	for _, c := range []struct {
		later   int64 // than the long one the short one came
		options []schedule.Option
		want    string
	}{
		{9 * hour, nil, "short"},
		{10 * hour, nil, "long"},
		{9 * hour, []schedule.Option{schedule.InOrder()}, "long"},
	} {
		p := schedule.NewPolicy(c.options...)
		st := state.NewState(p.Config)
		for _, n := range nodes(1, 1) {
			st.PutNode(n)
		}
		st.SetQueues([]schedule.Queue{plainQueue("q", 1, quota.Unlimited)})
		long, short := gpuJob("long", "q", 1, 1, 1), gpuJob("short", "q", 2, 1, 1)
		p.Take(&long, schedule.Course{Submitted: now - 20*hour, Queued: now, Expected: hour + 360_000})
		p.Take(&short, schedule.Course{Submitted: now - 20*hour + c.later, Queued: now, Expected: 360_000})
		st.PutJob(long)
		st.PutJob(short)
		if plan := cycle.Run(st, now); len(plan.Placements) != 1 || string(plan.Placements[0].ID) != c.want {
			t.Errorf("%+v: %s", c.later/hour, brief(plan))
		}
	}
}

// How long somebody waits before others leave is what it probably takes, ten minutes
// at least and what anyone waits at most.
func TestPatienceIsAsLongAsTheWork(t *testing.T) {
	t.Parallel()
	p := schedule.NewPolicy()
	for _, c := range []struct {
		takes     int64
		displaced bool
		want      time.Duration
	}{
		{0, false, 12 * time.Hour}, {0, true, 96 * time.Hour},
		{60_000, false, 10 * time.Minute}, {3 * hour, false, 3 * time.Hour}, {30 * hour, false, 12 * time.Hour}, {30 * hour, true, 30 * time.Hour},
	} {
		var j schedule.Job
		p.Take(&j, schedule.Course{Submitted: hour, Queued: hour, Expected: c.takes, Displaced: c.displaced})
		if j.Due != hour+c.want.Milliseconds() || j.Starved != hour+240*hour {
			t.Errorf("%+v: due after %v, starved after %v", c, time.Duration(j.Due-hour)*time.Millisecond, time.Duration(j.Starved-hour)*time.Millisecond)
		}
	}
	var j schedule.Job
	q := schedule.NewPolicy(schedule.NoPatience())
	if q.Take(&j, schedule.Course{Submitted: hour, Queued: hour, Expected: hour}); j.Due != 0 || j.Starved != 0 {
		t.Errorf("without patience it is due at %d, starved at %d", j.Due, j.Starved)
	}
}

// A plan may differ with the minute while somebody waits whose length is known, and
// is not made again otherwise.
func TestMinutesMatterWhileALengthIsKnown(t *testing.T) {
	t.Parallel()
	now := 1000 * hour
	st := one(1, now-hour, nil)
	j := gpuJob("waits", "q", 2, 1, 1)
	j.Expected, j.Due = hour, now-1
	st.PutJob(j)
	if plan := cycle.Run(st, now); len(plan.Evictions) > 0 {
		t.Fatal(brief(plan))
	}
	if got := st.NextLook(now + 1); got != now+60_000 {
		t.Errorf("the next minute is %d, want %d", got, now+60_000)
	}
	if st.Idle(now + 60_000) {
		t.Error("a minute later nothing is to be done")
	}
	if plan := cycle.Run(st, now+hour/2); len(plan.Evictions) != 1 || plan.Evictions[0].Cause != displace.Relieve {
		t.Errorf("once the other has had half as much again: %s", brief(plan))
	}
	st.DropJob("waits")
	if got := st.NextLook(now); got != 0 {
		t.Errorf("nobody waits, and the next minute is %d", got)
	}
}

// While work runs that saves nothing, a plan may differ every ten seconds: who may
// leave now has lost too much then, and another leaves instead.
func TestSecondsMatterWhileWorkSavesNothing(t *testing.T) {
	t.Parallel()
	now := 1000 * hour
	st := one(1, now-hour, func(has *schedule.Job) { has.Unsaved = true })
	j := gpuJob("waits", "q", 2, 1, 1)
	j.Due = now - 1
	st.PutJob(j)
	if plan := cycle.Run(st, now); len(plan.Evictions) > 0 {
		t.Fatal(brief(plan))
	}
	if got := st.NextLook(now + 1); got != now+10_000 {
		t.Errorf("it is looked again at %d, want %d", got, now+10_000)
	}
	if !st.Idle(now+9_999) || st.Idle(now+10_000) {
		t.Error("a plan is made again before the ten seconds are over, or not after them")
	}
	st.DropJob("has")
	if got := st.NextLook(now); got != 0 {
		t.Errorf("nobody runs, and it is looked again at %d", got)
	}
}
