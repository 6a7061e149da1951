//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/cgroup"
	"github.com/musterhq/muster/internal/backend/local/gpu"
	"github.com/musterhq/muster/internal/backend/local/taskdir"
	"github.com/musterhq/muster/internal/core"
)

// fakeIdle is the share of one core below which a fake GPU counts as idle: it
// is as busy as the processes of the task that holds it.
const fakeIdle = 0.01

// restLook is how often real GPUs are looked at that no task of ours holds: the
// driver's tool costs the machine about a second of one core.
const restLook = time.Minute

// usedAt is the processor time that something had used at a time.
type usedAt struct {
	at   time.Time
	used time.Duration
}

// sampler is what samples are compared with.
type sampler struct {
	tasks  map[string]usedAt // by task directory
	node   usedAt
	known  map[core.TaskID]taskdir.Assigned // read once: what stands there never changes
	looked time.Time                        // at the GPUs
}

// Sample implements backend.Sampler. Real GPUs are asked through nvidia-smi.
func (p *Backend) Sample(ctx context.Context) (backend.Reading, error) {
	p.sampling.Lock()
	defer p.sampling.Unlock()
	var r backend.Reading
	running, err := p.running(ctx)
	if err != nil {
		return r, err
	}
	s := &p.sampler
	now := time.Now()
	uses := usesOf(running, p.paths.Task)
	before := s.tasks
	s.tasks = make(map[string]usedAt, len(running))
	shares := map[core.TaskID]float64{} // of cores, since the sample before
	for _, a := range running {
		dir, t := p.paths.Task(a.ID), backend.Sample{Task: a.ID, Busy: backend.Unknown, CPU: backend.Unknown, Memory: backend.Unknown, Network: backend.Unknown}
		u := uses[a.ID]
		if u.Memory > 0 {
			t.Memory = float64(u.Memory)
		}
		if last, seen := before[dir]; seen {
			shares[a.ID] = rate(last, usedAt{now, u.CPU})
			t.CPU = max(shares[a.ID], 0)
		}
		s.tasks[dir] = usedAt{now, u.CPU}
		r.Tasks = append(r.Tasks, t)
	}
	r.Nodes = []backend.NodeSample{s.machine(p.node(), now)}
	gpus, err := s.gpus(ctx, p.node(), running, now)
	if err != nil {
		r.Missing = append(r.Missing, err.Error())
	}
	fakes := map[string]float64{}
	for i, a := range running {
		r.Tasks[i].Busy = busiest(a.Assignment, gpus, shares, fakes)
	}
	for _, g := range gpus {
		r.Devices = append(r.Devices, g)
	}
	for id, busy := range fakes {
		r.Devices = append(r.Devices, backend.DeviceSample{Node: p.node(), Device: id, Busy: min(busy, 1), MemoryUsed: backend.Unknown, MemoryTotal: backend.Unknown, Power: backend.Unknown, Temperature: backend.Unknown})
	}
	return r, nil
}

// rate is how many cores were in use between two looks; less than nothing where
// a process that had used some has ended.
func rate(from, to usedAt) float64 {
	return float64(to.used-from.used) / float64(to.at.Sub(from.at)+1)
}

// busiest is how busy the busiest device of a task is. What fake ones do is
// added to fakes.
func busiest(a backend.Assignment, gpus map[string]backend.DeviceSample, shares map[core.TaskID]float64, fakes map[string]float64) float64 {
	most := float64(backend.Unknown)
	for _, d := range a.Devices {
		if !strings.HasPrefix(d.Device, gpu.FakePrefix) {
			g, asked := gpus[d.Device]
			switch {
			case asked && g.Busy >= 0:
				most = max(most, g.Busy)
			case asked:
				most = 1 // a GPU that does not say is not called idle
			}
			continue
		}
		share, seen := shares[a.ID]
		if !seen {
			return backend.Unknown
		}
		busy := 0.0
		if share >= fakeIdle || share < 0 {
			busy = min(max(share, fakeIdle), 1)
		}
		most = max(most, busy)
		fakes[d.Device] += busy
	}
	return most
}

// node is the one node's name.
func (p *Backend) node() core.NodeID {
	if p.opts.NodeName != "" {
		return p.opts.NodeName
	}
	return NodeName()
}

// NodeName is what this machine is called as a node, unless options say otherwise.
func NodeName() core.NodeID {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "localhost"
	}
	return core.NodeID(nodeName(host))
}

// running are the tasks that have a process, with their groups.
func (p *Backend) running(ctx context.Context) ([]running, error) {
	seen, err := p.Observe(ctx)
	if err != nil {
		return nil, err
	}
	known := p.sampler.known
	p.sampler.known = make(map[core.TaskID]taskdir.Assigned, len(known))
	var out []running
	for _, o := range seen {
		if o.State.Ended() {
			continue
		}
		a, ok := known[o.ID]
		if !ok {
			if ok, err := taskdir.Read(p.paths.Task(o.ID), taskdir.AssignmentRecord, &a); err != nil && !errors.Is(err, os.ErrNotExist) || !ok {
				continue // it is being made or removed
			}
			// The rest is of no use here, and there may be thousands.
			a.Assignment = backend.Assignment{ID: a.Assignment.ID, Devices: a.Assignment.Devices}
		}
		p.sampler.known[o.ID] = a
		out = append(out, running{a.Assignment, a.Group})
	}
	return out, nil
}

// running is a task that has a process.
type running struct {
	backend.Assignment
	group cgroup.Group
}

// gpus asks the real GPUs, by UUID. It asks seldom while no task has any.
func (s *sampler) gpus(ctx context.Context, node core.NodeID, tasks []running, now time.Time) (map[string]backend.DeviceSample, error) {
	real := false
	for _, a := range tasks {
		for _, d := range a.Devices {
			real = real || !strings.HasPrefix(d.Device, gpu.FakePrefix)
		}
	}
	if !real && now.Sub(s.looked) < restLook {
		return nil, nil
	}
	s.looked = now
	all, err := gpu.Usage(ctx, node)
	if err != nil {
		return nil, fmt.Errorf("the GPUs of node %s cannot be sampled: %w", node, err)
	}
	return all, nil
}
