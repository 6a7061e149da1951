package schedule_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/explain"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// told is what an explanation says, blocker by blocker.
func told(t *testing.T, s *schedule.Snapshot, id core.WorkloadID) (schedule.Explanation, []string) {
	t.Helper()
	ex, ok := explain.Explain(state.Load(s, schedule.Config{}), clock, id)
	if !ok {
		t.Fatalf("%s is not explained", id)
	}
	again, _ := explain.Explain(state.Load(s, schedule.Config{}), clock, id)
	var out []string
	for i, r := range ex.Reasons {
		out = append(out, string(r.Token)+": "+r.String())
		if again.Reasons[i].String() != r.String() {
			t.Errorf("asked again, it says %s and not %s", again.Reasons[i], r)
		}
		if r.Hint() == "" || r.Act() == "" {
			t.Errorf("%s: nobody is told what to do", r)
		}
	}
	return ex, out
}

func limited(gpus, limit int64) schedule.Quota {
	q := schedule.Unlimited()
	q.Quota[quota.GPU], q.Limit[quota.GPU] = gpus*1000, limit
	return q
}

func TestEveryBlockerIsTold(t *testing.T) {
	t.Parallel()
	fixed := func(j schedule.Job) schedule.Job { j.Preemptible = false; return j }
	within := func(j schedule.Job, level string) schedule.Job {
		g := slices.Clone(j.Shape.Groups)
		j.Shape = schedule.NewShape([]schedule.Set{{Parent: -1, Topology: &schedule.Topology{Levels: []string{"rack"}, Required: level}}}, g)
		return j
	}
	busy := []schedule.Job{runs("a", 1, "n0", 0, 1, 2), runs("b", 2, "n1", 0, 1), runs("c", 3, "n2", 0, 1, 2, 3)}
	for name, c := range map[string]struct {
		nodes int
		edit  func(*schedule.Snapshot)
		jobs  []schedule.Job
		mine  schedule.Job
		want  []string
	}{
		"capacity": {
			nodes: 3, jobs: busy, mine: wide("mine", 9, 2, 2),
			want: []string{"WaitingForCapacity: waits for gpu: needs 4 GPUs, free 3 GPUs of 12 GPUs (2 of 3 nodes lack it)"},
		},
		"fragmented": {
			nodes: 2, jobs: busy[:2], mine: wide("mine", 9, 3, 1),
			want: nil, // it fits
		},
		"scattered": {
			nodes: 2, jobs: []schedule.Job{runs("a", 1, "n0", 0), runs("b", 2, "n1", 0)}, mine: wide("mine", 9, 3, 2),
			want: []string{"Fragmented: free 6 GPUs in all is enough for the 6 GPUs it needs, but scattered: 2 of its 3 tasks would fit now, the largest free block is 3 GPUs"},
		},
		"topology": {
			nodes: 4, jobs: []schedule.Job{runs("a", 1, "n0", 0, 1, 2), runs("b", 2, "n2", 0, 1, 2, 3)}, mine: within(wide("mine", 9, 6, 1), "rack"),
			want: []string{"TopologyUnsatisfied: its 6 tasks must be in one rack: the best has room for 5 now, while 9 GPUs are free in all (r0 has 5 GPUs free, r1 has 4 GPUs free)"},
		},
		"quota": {
			nodes: 1, jobs: []schedule.Job{runs("a", 1, "n0", 0, 1, 2, 3)}, mine: wide("mine", 9, 1, 1), edit: func(s *schedule.Snapshot) { s.Queues[0].Default = limited(2, -1) },
			want: []string{
				"WaitingForCapacity: waits for gpu: needs 1 GPU, free 0 GPUs of 4 GPUs",
				"WaitingForQuota: q holds 4 GPU of 2 GPU guaranteed, and its fair share is 4 GPU at present: it cannot take 1 GPU more from others, only what is free",
			},
		},
		"limit and capacity": {
			nodes: 1, jobs: []schedule.Job{runs("a", 1, "n0", 0, 1, 2, 3)}, mine: wide("mine", 9, 1, 2), edit: func(s *schedule.Snapshot) {
				s.Queues[0].Default = limited(-1, 5000)
				s.Queues[0].Default.Quota[quota.GPU] = -1
			},
			want: []string{
				"OverLimit: over the limit of q: it holds 4 GPU of at most 5 GPU, and this asks for 2 GPU",
				"WaitingForCapacity: waits for gpu: needs 2 GPUs, free 0 GPUs of 4 GPUs",
			},
		},
		"running workloads, of all and of a user": {
			nodes: 2, jobs: []schedule.Job{runs("a", 1, "n0", 0)}, mine: wide("mine", 9, 1, 1), edit: func(s *schedule.Snapshot) { s.Queues[0].MaxJobs, s.Queues[0].UserJobs = 1, 1 },
			want: []string{
				"OverLimit: over the limit of q: it holds 1 running workload of at most 1 running workload, and this asks for 1 running workload",
				"OverLimit: over the limit of u in q: it holds 1 running workload of at most 1 running workload, and this asks for 1 running workload",
			},
		},
		"not preemptible": {
			nodes: 1, mine: fixed(wide("mine", 9, 1, 3)), edit: func(s *schedule.Snapshot) { s.Queues[0].Default = limited(2, -1) },
			want: []string{"NonPreemptibleOverQuota: not preemptible, so it must be inside the quota of q: 0 GPU of 2 GPU are held by such work, and this asks for 3 GPU; a preemptible workload could go over the quota"},
		},
		"stopped, and full": {
			nodes: 1, jobs: []schedule.Job{runs("a", 1, "n0", 0, 1, 2, 3)}, mine: wide("mine", 9, 1, 1), edit: func(s *schedule.Snapshot) { s.Queues[0].Stopped = true },
			want: []string{
				"QueueStopped: its queue is stopped: q",
				"WaitingForCapacity: waits for gpu: needs 1 GPU, free 0 GPUs of 4 GPUs",
			},
		},
		"never": {
			nodes: 2, mine: wide("mine", 9, 1, 8),
			want: []string{"NeverFits: never fits: each task asks for 8 GPUs, the largest of 2 nodes has 4 GPUs in all"},
		},
		"nowhere": {nodes: 0, mine: wide("mine", 9, 1, 1), want: []string{"NoNodes: no node is ready: the cluster has no nodes"}},
		"nobody":  {nodes: 1, mine: func() schedule.Job { j := wide("mine", 9, 1, 1); j.Queue = "x"; return j }(), want: []string{"QueueNotFound: its project does not exist: x"}},
	} {
		s := floor(c.nodes)
		if c.edit != nil {
			c.edit(s)
		}
		s.Jobs = append(slices.Clone(c.jobs), c.mine)
		_, got := told(t, s, "mine")
		if c.want == nil {
			c.want = []string{"NotYetEvaluated: has not been looked at yet"}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\ngot  %s\nwant %s", name, strings.Join(got, "\n     "), strings.Join(c.want, "\n     "))
		}
	}
}

// What is said to be fine is fine, and what is in the way is not said to be.
func TestOnlyWhatWasCheckedIsFine(t *testing.T) {
	t.Parallel()
	whats := func(ex schedule.Explanation) (out []string) {
		for _, c := range ex.Checked {
			out = append(out, c.What)
		}
		return out
	}
	s := floor(2)
	s.Queues[0].Default = limited(8, 9000)
	mine := wide("mine", 9, 1, 2)
	mine.Shape = schedule.Flat(schedule.Group{Min: 1, Runs: []schedule.Run{{Need: schedule.Need{Devices: 2, Milli: 1000, CPU: 1000}, Rule: &schedule.Rule{Terms: []schedule.Term{{Key: "rack", Op: "In", Values: []string{"r0"}}}}, Count: 1}}})
	s.Jobs = []schedule.Job{runs("a", 1, "n0", 0, 1, 2), runs("b", 2, "n1", 0, 1, 2), mine}
	ex, _ := told(t, s, "mine")
	if got, want := whats(ex), []string{"queue", "priority", "limits", "size", "quota", "nodes", "cpu"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	higher := wide("higher", 8, 1, 4)
	higher.Priority = 7
	s.Jobs = append(s.Jobs, higher)
	if ex, _ := told(t, s, "mine"); slices.Contains(whats(ex), "priority") || ex.Position != 2 || !slices.Equal(ex.Ahead, []core.WorkloadID{"higher"}) {
		t.Errorf("%+v", ex)
	}
	s.Queues[0].Stopped = true
	if ex, _ := told(t, s, "mine"); slices.Contains(whats(ex), "queue") {
		t.Errorf("a stopped queue is fine: %v", whats(ex))
	}
	s.Jobs[2].Shape = schedule.Flat(schedule.Group{Min: 1, Runs: []schedule.Run{{Need: schedule.Need{Devices: 9, Milli: 1000}, Count: 1}}})
	if ex, _ := told(t, s, "mine"); slices.Contains(whats(ex), "size") {
		t.Errorf("what never fits is of a fine size: %v", whats(ex))
	}
}

func TestPromisedRoomIsTold(t *testing.T) {
	t.Parallel()
	s := floor(1)
	leaver := runs("a", 1, "n0", 0, 1, 2, 3)
	leaver.Held[0].Leaving = true
	mine := wide("mine", 9, 1, 4)
	mine.Promised = true
	s.Jobs = []schedule.Job{leaver, mine}
	if _, got := told(t, s, "mine"); !slices.Equal(got, []string{"WaitingForPreemption: has its place: it starts once those have left who were told to: 1 workload"}) {
		t.Errorf("%v", got)
	}
}

func TestRoomThatIsKeptIsTold(t *testing.T) {
	t.Parallel()
	s := floor(2)
	s.Pools = []schedule.Pool{{Name: "default", Reserve: 1}}
	busy := runs("a", 1, "n0", 0, 1, 2, 3)
	busy.EndsBy = clock + 60_000
	mine := wide("mine", 9, 1, 1)
	mine.Preemptible = false
	s.Jobs = []schedule.Job{busy, wide("wide", 2, 2, 4), mine}
	ex, got := told(t, s, "mine")
	if len(ex.Reasons) != 1 || ex.Reasons[0].Token != schedule.Reserved || ex.Reasons[0].For != "wide" || ex.Reasons[0].Until != clock+60_000 {
		t.Errorf("%v %+v", got, ex.Reasons)
	}
}

func TestEveryTokenHasItsWords(t *testing.T) {
	t.Parallel()
	for _, token := range schedule.Tokens() {
		r := schedule.Reason{Token: token}
		if r.String() == "" || r.Hint() == "" || !slices.Contains([]schedule.Act{schedule.ActWait, schedule.ActChange, schedule.ActAsk}, r.Act()) {
			t.Errorf("%s: %q, %q, %q", token, r, r.Hint(), r.Act())
		}
	}
	if got, want := (schedule.Reason{Token: schedule.NeverFits, Resource: "gpu", Requested: 8, Largest: 4}).Hint(), "at most 4 GPUs fit on a node: --gpus 4"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := (schedule.Reason{Token: schedule.NeverFits, Resource: "tasks", Tasks: 3, Fitting: 2}).Hint(), "at most 2 such tasks fit together: --workers 2"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
