package schedule_test

import (
	"fmt"
	"testing"

	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/displace"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// However many wait that have had to leave before, and keep their age, whose
// patience is over is helped: the one who is due for longest.
func TestPatienceEndsBehindAnyNumberOfTheDisplaced(t *testing.T) {
	t.Parallel()
	for _, displaced := range []int{0, 63, 64, 65, 1000} {
		st := state.NewState(Default())
		for _, n := range nodes(1, 1) {
			st.PutNode(n)
		}
		st.SetQueues([]schedule.Queue{plainQueue("q", 1, quota.Unlimited)})
		now := 1000 * hour
		has := run(gpuJob("has", "q", 1, 1, 1), schedule.Place{Node: nodes(1, 1)[0].ID, Devices: shares(0), CPU: 1000})
		has.Started = now - 48*hour
		st.PutJob(has)
		for i := range displaced {
			j := gpuJob(fmt.Sprintf("displaced%d", i), "q", int64(2+i), 1, 1)
			j.Attained, j.Due = hour, now+80*hour
			st.PutJob(j)
		}
		for i := range 100 {
			j := gpuJob(fmt.Sprintf("due%02d", i), "q", int64(5000+i), 1, 1)
			j.Due = now - hour + int64(i*i%7)
			st.PutJob(j)
		}
		last := gpuJob("longest", "q", 9000, 1, 1)
		last.Due = now - 2*hour
		st.PutJob(last)
		p := cycle.Run(st, now)
		if len(p.Evictions) != 1 || p.Evictions[0].Cause != displace.Relieve || p.Evictions[0].For != "longest" {
			t.Errorf("with %d displaced in front: %s", displaced, brief(p))
		}
		st.DropJob("longest")
		for i := range 100 { // nor is anyone forgotten, or remembered
			st.DropJob(gpuJob(fmt.Sprintf("due%02d", i), "q", 0, 1, 1).ID)
		}
		if p := cycle.Run(st, now); len(p.Evictions) != 0 {
			t.Errorf("with %d displaced, and nobody due: %s", displaced, brief(p))
		}
	}
}

// Where more kinds of work are due than room can be looked for at a time, the longest
// due are looked at in every minute, and all others in turn: whom relief would help
// gets it within the minutes of one round.
func TestManyKindsOfTheDueTakeTurns(t *testing.T) {
	t.Parallel()
	const kinds, victims = 200, 8000 // 50 searches at a time
	const lucky = 150                // whose own queue has somebody who may leave
	st := state.NewState(Default())
	all := nodes(victims/8, 8)
	for _, n := range all {
		st.PutNode(n)
	}
	var queues []schedule.Queue
	for k := range kinds {
		q := plainQueue(fmt.Sprintf("q%03d", k), int64(k), 0)
		if k == lucky {
			q.Default.Quota[quota.GPU] = 1000
		}
		queues = append(queues, q)
	}
	st.SetQueues(append(queues, plainQueue("holds", 999, int64(victims-1)*1000)))
	now := 1000 * hour
	for i := range victims - 1 { // inside their quota: they leave for nobody
		j := run(gpuJob(fmt.Sprintf("v%05d", i), "holds", int64(i), 1, 1), schedule.Place{Node: all[i/8].ID, Devices: shares(i % 8), CPU: 1000})
		j.Started = now - 2*hour
		st.PutJob(j)
	}
	own := run(gpuJob("own", fmt.Sprintf("q%03d", lucky), 1<<20, 1, 1), schedule.Place{Node: all[victims/8-1].ID, Devices: shares(7), CPU: 1000})
	own.Started, own.Attained = now-2*hour, 0
	st.PutJob(own)
	for k := range kinds {
		j := gpuJob(fmt.Sprintf("due%03d", k), fmt.Sprintf("q%03d", k), int64(1<<21+k), 1, 1)
		j.Due, j.Starved = now-hour+int64(k), now-1
		st.PutJob(j)
	}
	helped, looked := 0, 0
	for m := range int64(5) {
		p := cycle.Run(st, now+m*60_000)
		looked++
		for _, e := range p.Evictions {
			if e.ID == "own" && e.Cause == displace.Relieve {
				helped++
			}
		}
		if helped > 0 {
			break
		}
		if next := st.NextLook(now + m*60_000 + 1); next != now+(m+1)*60_000 {
			t.Fatalf("in minute %d some are still to be looked at, and the next is %d", m, next)
		}
	}
	if helped == 0 || looked == 1 {
		t.Errorf("helped %d in %d minutes; want one, and not in the first", helped, looked)
	}
}

// An array gives who is due the tasks that it needs, and runs on with the others; a
// gang without a part that it can do without leaves as a whole.
func TestReliefTakesNoMoreTasksThanItNeeds(t *testing.T) {
	t.Parallel()
	now := 1000 * hour
	for _, c := range []struct {
		least int
		want  string
	}{{1, "-has[6 7] by due (relieve); ~due 0@n00000"}, {7, "-has[0 1 2 3 4 5 6 7] by due (relieve); ~due 0@n00000"}, {8, "-has[0 1 2 3 4 5 6 7] by due (relieve); ~due 0@n00000"}} {
		st := state.NewState(Default())
		node := nodes(1, 8)[0]
		st.PutNode(node)
		st.SetQueues([]schedule.Queue{plainQueue("q", 1, 0)})
		has := gpuJob("has", "q", 1, 1, 1)
		need := has.Shape.Groups[0].Runs[0].Need
		has.Shape = schedule.Flat(schedule.Group{Name: "tasks", Min: c.least})
		for d := range 8 {
			has.Held = append(has.Held, schedule.Held{Task: d, Need: need, Place: schedule.Place{Node: node.ID, CPU: 1000, Devices: shares(d)}})
		}
		has.Started = now - 20*hour
		st.PutJob(has)
		due := gpuJob("due", "q", 2, 1, 2)
		p := schedule.NewPolicy()
		p.Take(&due, schedule.Course{Submitted: now - 13*hour, Queued: now - 13*hour})
		st.PutJob(due)
		if got := brief(cycle.Run(st, now)); got != c.want {
			t.Errorf("at least %d: %s, want %s", c.least, got, c.want)
		}
	}
}

// Who comes in by relief, and had had its room taken in the same cycle by who leaves
// for it now, is placed once.
func TestWhoComesBackByReliefIsPlacedOnce(t *testing.T) {
	t.Parallel()
	now := 1000 * hour
	st := state.NewState(Default())
	node := nodes(1, 4)[0]
	st.PutNode(node)
	st.SetQueues([]schedule.Queue{plainQueue("a", 1, 4000), plainQueue("b", 2, 0)})
	grows := gpuJob("grows", "a", 1, 2, 2)
	need := grows.Shape.Groups[0].Runs[0].Need
	grows.Shape = schedule.Flat(schedule.Group{Name: "tasks", Min: 1, Runs: []schedule.Run{{Need: need, Count: 1}}})
	grows.Held = []schedule.Held{{Task: 0, Need: need, Place: schedule.Place{Node: node.ID, CPU: 1000, Devices: append(shares(0), shares(1)...)}}}
	grows.Started = now - 2*hour
	st.PutJob(grows)
	due := gpuJob("due", "b", 2, 1, 2)
	due.Due = now - 97*hour
	st.PutJob(due)
	plan := cycle.Run(st, now)
	placed := 0
	for _, p := range append(plan.Placements, plan.Promises...) {
		if p.ID == "due" {
			placed += len(p.Tasks)
		}
	}
	if placed != 1 {
		t.Errorf("it is placed %d times: %s", placed, brief(plan))
	}
}
