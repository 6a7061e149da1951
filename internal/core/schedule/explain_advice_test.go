package schedule_test

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
)

// ruled is j with a rule for all of its tasks.
func ruled(j schedule.Job, r schedule.Rule) schedule.Job {
	r.Tags = string(j.ID)
	groups := append([]schedule.Group(nil), j.Shape.Groups...)
	for g := range groups {
		groups[g].Runs = append([]schedule.Run(nil), groups[g].Runs...)
		for i := range groups[g].Runs {
			groups[g].Runs[i].Rule = &r
		}
	}
	j.Shape = schedule.NewShape(j.Shape.Sets, groups)
	return j
}

// slice is a job that waits for a part of a GPU.
func slice(id string, order int64, thousandths int) schedule.Job {
	j := wide(id, order, 1, 1)
	need := schedule.Need{Devices: 1, Milli: thousandths, CPU: 1000}
	j.Shape = schedule.Flat(schedule.Group{Min: 1, Runs: []schedule.Run{{Need: need, Count: 1}}})
	return j
}

// partly is a job that holds a part of a GPU.
func partly(id string, order int64, thousandths, device int) schedule.Job {
	j := runs(id, order, "n0", device)
	j.Held[0].Need.Milli, j.Held[0].Place.Devices[0].Milli = thousandths, thousandths
	return j
}

func zone(op string, values ...string) schedule.Rule {
	return schedule.Rule{Terms: []schedule.Term{{Key: "zone", Op: op, Values: values}}}
}

// What can never start is told what stands in its way by name, and what to say
// instead.
func TestAdviceNamesWhatStandsInTheWay(t *testing.T) {
	t.Parallel()
	zones := func(s *schedule.Snapshot) {
		for i := range s.Nodes {
			s.Nodes[i].Labels["zone"] = []string{"berlin-1", "berlin-2", "paris-1"}[i%3]
		}
	}
	full := []schedule.Job{runs("a", 1, "n0", 0, 1, 2, 3), runs("b", 2, "n1", 0, 1, 2, 3), runs("c", 3, "n2", 0, 1, 2, 3)}
	fixed := wide("mine", 9, 1, 4)
	fixed.Preemptible = false
	patient := wide("mine", 9, 1, 4)
	patient.Patient = clock + 30_000
	for name, c := range map[string]struct {
		nodes      int
		edit       func(*schedule.Snapshot)
		jobs       []schedule.Job
		mine       schedule.Job
		want, hint string
	}{
		"a value that no node has": {
			nodes: 3, edit: zones, mine: ruled(wide("mine", 9, 1, 1), zone("In", "berlin1")),
			want: "NeverFits: never fits: it asks for nodes with zone=berlin1, and none of 3 nodes has that", hint: "did you mean zone=berlin-1?",
		},
		"a label that no node has": {
			nodes: 3, edit: zones, mine: ruled(wide("mine", 9, 1, 1), schedule.Rule{Terms: []schedule.Term{{Key: "zones", Op: "In", Values: []string{"paris-1"}}}}),
			want: "NeverFits: never fits: it asks for nodes with zones=paris-1, and none of 3 nodes has that", hint: "did you mean zone=paris-1?",
		},
		"nothing like it": {
			nodes: 3, edit: zones, mine: ruled(wide("mine", 9, 1, 1), schedule.Rule{Terms: []schedule.Term{{Key: "infiniband", Op: "Exists"}}}),
			want: "NeverFits: never fits: it asks for nodes with a label infiniband, and none of 3 nodes has that", hint: "take infiniband away",
		},
		"labels of different nodes": {
			nodes: 3, edit: zones, mine: ruled(wide("mine", 9, 1, 1), schedule.Rule{Terms: []schedule.Term{{Key: "zone", Op: "In", Values: []string{"paris-1"}}, {Key: "rack", Op: "In", Values: []string{"r0"}}}}),
			want: "NeverFits: never fits: it asks for nodes with zone=paris-1 and rack=r0, and none of 3 nodes has all of these", hint: "take zone away",
		},
		"a taint": {
			nodes: 3, mine: ruled(wide("mine", 9, 1, 1), zone("In", "paris-1")),
			edit: func(s *schedule.Snapshot) {
				zones(s)
				s.Nodes[2].Taints = []core.Taint{{Key: "reserved", Effect: core.NoSchedule}}
			},
			want: "NeverFits: never fits: the nodes that it asks for have the taint reserved, which it does not tolerate", hint: "--toleration reserved",
		},
		"a few nodes that are too small": {
			nodes: 3, edit: zones, mine: ruled(wide("mine", 9, 1, 8), zone("In", "paris-1")),
			want: "NeverFits: never fits: each task asks for 8 GPUs, the only node has 4 GPUs in all; the labels, taints or kind of 2 more nodes do not suit", hint: "--gpus 4",
		},
		"apart on one node": {
			nodes: 1, mine: ruled(wide("mine", 9, 3, 1), schedule.Rule{Away: "kubernetes.io/hostname"}),
			want: "NeverFits: never fits: its 3 tasks must be apart from each other by kubernetes.io/hostname, and all nodes together have 1 such place: at most 1 of them fit", hint: "leave apart out",
		},
		"apart by zones": {
			nodes: 6, edit: zones, mine: ruled(wide("mine", 9, 4, 1), schedule.Rule{Away: "zone"}),
			want: "NeverFits: never fits: its 4 tasks must be apart from each other by zone, and all nodes together have 3 such places: at most 3 of them fit", hint: "--workers 3",
		},
		"near one another": {
			nodes: 3, edit: zones, mine: ruled(wide("mine", 9, 3, 3), schedule.Rule{Near: "zone"}),
			want: "NeverFits: never fits: its 3 tasks must all be on nodes with the same zone, and no such nodes have room for more than 1 even when empty", hint: "leave near out",
		},
		"too much, apart or not": {
			nodes: 2, mine: ruled(wide("mine", 9, 3, 4), schedule.Rule{Away: "kubernetes.io/hostname"}),
			want: "NeverFits: never fits: its 3 tasks must start together, and all nodes together have room for 2 even when empty: they need 12 GPUs, and there are 8 GPUs", hint: "--workers 2",
		},
		"parts, scattered": {
			nodes: 1, jobs: []schedule.Job{partly("a", 1, 600, 0), partly("b", 2, 600, 1), partly("c", 3, 600, 2), partly("d", 4, 700, 3)}, mine: slice("mine", 9, 500),
			want: "Fragmented: free 1.5 GPU in all is enough for the 0.5 of a GPU that it needs, but in parts of at most 0.4", hint: "ask for a smaller part",
		},
		"parts, too little": {
			nodes: 1, jobs: []schedule.Job{partly("a", 1, 900, 0), partly("b", 2, 900, 1), partly("c", 3, 900, 2), partly("d", 4, 1000, 3)}, mine: slice("mine", 9, 500),
			want: "WaitingForCapacity: waits for gpu: needs 0.5 of a GPU, free 0.3 of 4 GPUs, in parts of at most 0.1", hint: "wait, or ask for less",
		},
		"more than a limit": {
			nodes: 1, mine: wide("mine", 9, 1, 4), edit: func(s *schedule.Snapshot) {
				s.Queues[0].Default = limited(-1, 3000)
				s.Queues[0].Default.Quota[quota.GPU] = -1
			},
			want: "OverLimit: over the limit of q: it holds 0 GPU of at most 3 GPU, and this asks for 4 GPU", hint: "no wait helps: ask for at most 3 GPU, or have the limit of q raised to 4 GPU",
		},
		"more than a user's limit": {
			nodes: 1, mine: wide("mine", 9, 1, 4), edit: func(s *schedule.Snapshot) { s.Queues[0].UserGPU = 500 },
			want: "OverLimit: over the limit of u in q: it holds 0 GPU of at most 0.5 GPU, and this asks for 4 GPU", hint: "no wait helps: ask for at most 0.5 GPU (--gpus 0.5), or have the limit of each user in q raised to 4 GPU",
		},
		"more than a quota": {
			nodes: 1, mine: fixed, edit: func(s *schedule.Snapshot) { s.Queues[0].Default = limited(1, -1) },
			want: "NonPreemptibleOverQuota: not preemptible, so it must be inside the quota of q: 0 GPU of 1 GPU are held by such work, and this asks for 4 GPU; a preemptible workload could go over the quota",
			hint: "no wait helps: ask for at most 1 GPU, make it preemptible, or have the quota of q raised to 4 GPU",
		},
		"patience": {
			nodes: 3, jobs: full, mine: patient,
			want: "WaitingForCapacity: waits for gpu: needs 4 GPUs, free 0 GPUs of 12 GPUs (3 of 3 nodes lack it)", hint: "by its patience it displaces nobody before ",
		},
	} {
		s := floor(c.nodes)
		if c.edit != nil {
			c.edit(s)
		}
		s.Jobs = append(append([]schedule.Job(nil), c.jobs...), c.mine)
		ex, got := told(t, s, "mine")
		if len(got) != 1 || got[0] != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, strings.Join(got, "\n     "), c.want)
			continue
		}
		if hint := ex.Reasons[0].Hint(); !strings.Contains(hint, c.hint) {
			t.Errorf("%s: the advice is %q, want %q", name, hint, c.hint)
		}
	}
}
