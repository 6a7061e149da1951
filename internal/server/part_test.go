package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
)

func TestPartsMayBurstAndAreToldSo(t *testing.T) {
	t.Parallel()
	w := newHall(t)
	const gi = 1 << 30
	for name, c := range map[string]struct {
		gpu    string
		share  float64
		limit  int
		memory int64
		env    []string
	}{
		"plain":  {`0.25`, 0.25, 250, 80 * gi / 1000 * 250, []string{"MUSTER_GPU_SHARE=0.25", "MUSTER_GPU_SHARE_LIMIT=0.25"}},
		"share":  {`{"share":0.25,"shareLimit":0.5}`, 0.25, 500, 80 * gi / 1000 * 500, []string{"MUSTER_GPU_SHARE=0.25", "MUSTER_GPU_SHARE_LIMIT=0.5"}},
		"all":    {`{"share":0.1,"shareLimit":1}`, 0.1, 1000, 80 * gi, []string{"MUSTER_GPU_SHARE=0.1", "MUSTER_GPU_SHARE_LIMIT=1"}},
		"memory": {`{"memory":"8Gi","memoryLimit":"16Gi"}`, 0.1, 200, 16 * gi, []string{"MUSTER_GPU_MEMORY=8589934592", "MUSTER_GPU_MEMORY_LIMIT=17179869184"}},
		"large":  {`{"memory":"8Gi","memoryLimit":"200Gi"}`, 0.1, 1000, 80 * gi, []string{"MUSTER_GPU_MEMORY_LIMIT=85899345920"}},
		"whole":  {`2`, 1, 0, 0, nil},
	} {
		id := core.WorkloadID(w.submit(fmt.Sprintf(`{"name":%q,"command":["fake","run=forever"],"resources":{"gpu":%s,"cpu":1}}`, name, c.gpu)).ID)
		got := w.await(name, "Running").Attempts[0].Tasks[0]
		if got.Share != c.share || len(got.Devices) == 0 {
			t.Errorf("%s holds %v of %v, want %v", name, got.Share, got.Devices, c.share)
		}
		a, ok := w.backend.Assigned(core.TaskID{Workload: id})
		if !ok || a.GPULimit != c.limit || a.GPUMemory != c.memory {
			t.Errorf("%s may use %d thousandths, %d bytes; want %d, %d", name, a.GPULimit, a.GPUMemory, c.limit, c.memory)
		}
		for _, e := range c.env {
			if !slices.Contains(a.Env, e) {
				t.Errorf("%s lacks %s: %v", name, e, a.Env)
			}
		}
		if c.env == nil && slices.ContainsFunc(a.Env, func(e string) bool { return strings.HasPrefix(e, "MUSTER_GPU_") }) {
			t.Errorf("%s is told of a part: %v", name, a.Env)
		}
	}
}

// TestLimitsAreNeitherBookedNorCharged: eight promises of a half fit on four
// devices, whatever their limits.
func TestLimitsAreNeitherBookedNorCharged(t *testing.T) {
	t.Parallel()
	w := newHall(t)
	used := map[string]float64{}
	for i := range 8 {
		name := fmt.Sprintf("half-%d", i)
		w.submit(fmt.Sprintf(`{"name":%q,"command":["fake","run=forever"],"nodeSelector":{"kubernetes.io/hostname":"n0"},"resources":{"gpu":{"share":0.5,"shareLimit":1},"cpu":1}}`, name))
		got := w.await(name, "Running").Attempts[0].Tasks[0]
		used[got.Devices[0]] += got.Share
	}
	if len(used) != 4 {
		t.Errorf("%v", used)
	}
	for d, n := range used {
		if n != 1 {
			t.Errorf("%v of %s is held", n, d)
		}
	}
}

func TestSegmentsOfAGangAreWholeInTheirRacks(t *testing.T) {
	t.Parallel()
	w := newHall(t)
	w.hold("n0", 1)
	id := core.WorkloadID(w.submit(`{"name":"gang","kind":"distributed","workers":7,"command":["fake","run=forever"],"resources":{"gpu":1,"cpu":1},
		"topology":{"segment":{"size":4,"required":"rack"}}}`).ID)
	racks := map[int]map[byte]bool{0: {}, 1: {}}
	for _, x := range w.await("gang", "Running").Attempts[0].Tasks {
		a, _ := w.backend.Assigned(core.TaskID{Workload: id, Index: x.Index})
		segment := x.Index / 4
		if e := fmt.Sprintf("MUSTER_SEGMENT=%d", segment); !slices.Contains(a.Env, e) || !slices.Contains(a.Env, fmt.Sprintf("MUSTER_SEGMENT_SIZE=%d", 4-segment)) {
			t.Errorf("task %d lacks %s: %v", x.Index, e, a.Env)
		}
		racks[segment][(x.Node[1]-'0')/2] = true
	}
	if len(racks[0]) != 1 || len(racks[1]) != 1 {
		t.Errorf("segments are in racks %v", racks)
	}
}

func TestWhyNamesTheSegmentWithoutRoom(t *testing.T) {
	t.Parallel()
	w := newHall(t)
	w.hold("n0", 3)
	w.hold("n1", 2)
	w.hold("n2", 3)
	w.submit(`{"name":"some","kind":"distributed","workers":8,"command":["fake"],"resources":{"gpu":1,"cpu":1},"topology":{"segment":{"size":4,"required":"rack"}}}`)
	y := w.why("some")
	r := y.Reasons[0]
	if r.Token != "TopologyUnsatisfied" || r.Domain != "rack" || r.Segment != 4 || r.Tasks != 2 || r.Fitting != 1 || r.Act != "change" {
		t.Errorf("%+v", r)
	}
	if want := "its 2 segments of 4 tasks, each in one rack, have no room: 1 of them would fit now, while 8 GPUs are free in all (r1 has 5 GPUs free, r0 has 3 GPUs free)"; r.Message != want {
		t.Errorf("%s\nwant %s", r.Message, want)
	}
	if want := []api.Block{{Name: "r1", Free: 5, Fitting: 4}, {Name: "r0", Free: 3, Fitting: 3}}; !slices.Equal(r.Blocks, want) {
		t.Errorf("%+v, want %+v", r.Blocks, want)
	}
	if got := flagsOf(y.Suggestions); len(got) < 2 || got[0] != "--workers 7" || got[1] != "--set 'topology.segment={}'" {
		t.Errorf("it is offered %v", got)
	}
	w.submit(`{"name":"none","kind":"distributed","workers":6,"command":["fake"],"resources":{"gpu":1,"cpu":1},"topology":{"segment":{"size":6,"required":"rack"}}}`)
	if r := w.why("none").Reasons[0]; r.Message != "no rack has room for a segment of 6 tasks now: the best has room for 5, while 8 GPUs are free in all (r1 has 5 GPUs free, r0 has 3 GPUs free)" || r.Hint != "wait, or ask for smaller segments: 5 tasks of one fit in one rack" {
		t.Errorf("%+v", r)
	}
	p := w.refused("POST", "/v1/projects/-/workloads", `{"name":"never","kind":"distributed","workers":9,"command":["fake"],"resources":{"gpu":1,"cpu":1},"topology":{"segment":{"size":9,"required":"rack"}}}`, 422, "unschedulable")
	if !strings.Contains(p.Detail, "no rack has room for a segment of 9 tasks even when empty: the best has room for 8") {
		t.Errorf("%+v", p)
	}
}
