package simulate

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"strconv"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/simulate/replay"
	records "github.com/musterhq/muster/internal/simulate/trace"
)

// history is what has ended on the server, with its projects' quotas and, if
// asked for, its nodes.
func history(ctx context.Context, s *session.Session, nodes bool) (*replayed, error) {
	c, err := s.Connect(ctx)
	if err != nil {
		return nil, err
	}
	in := &replayed{title: "what has ended on " + c.Address()}
	if nodes {
		if in.cluster, err = clusterOf(ctx, c); err != nil {
			return nil, err
		}
	}
	if in.quota, err = quotasOf(ctx, c); err != nil {
		return nil, err
	}
	past, err := endedOn(ctx, c)
	if err != nil {
		return nil, err
	}
	if past.left > 0 {
		in.notes = append(in.notes, fmt.Sprintf("Left out: %s not ended, or had no GPU, or never ran.", countOf(past.left, "workload has", "workloads have")))
	}
	if past.jobs == 0 {
		return nil, session.NotFoundError("no workload with GPUs has ended on the server", "run some, or replay a file with --trace FILE")
	}
	if in.jobs, err = records.Read(&past.table); err != nil {
		return nil, fmt.Errorf("the server's history: %w", err)
	}
	for project := range in.quota { // of those who asked for nothing, nothing is to be shown
		if !past.projects[project] {
			delete(in.quota, project)
		}
	}
	return in, nil
}

// bygone is the server's history as a trace.
type bygone struct {
	table      bytes.Buffer
	jobs, left int
	projects   map[string]bool
}

// endedOn reads page by page.
func endedOn(ctx context.Context, c *client.Client) (*bygone, error) {
	past := &bygone{projects: map[string]bool{}}
	w := csv.NewWriter(&past.table)
	if err := w.Write([]string{"submit", "duration", "gpus", "project"}); err != nil {
		return nil, err
	}
	o := client.ListOptions{Deleted: true, Summary: true, Limit: 500}
	for {
		page, err := c.Workloads(ctx, o)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			x := &page.Items[i]
			seconds := ranFor(x)
			if seconds == 0 {
				past.left++
				continue
			}
			past.jobs++
			past.projects[x.Project] = true
			submit := strconv.FormatFloat(float64(session.TimeOf(x.CreatedAt).UnixMilli())/1000, 'f', 3, 64)
			if err := w.Write([]string{submit, strconv.FormatInt(seconds, 10), strconv.Itoa(int(math.Ceil(x.GPUs))), x.Project}); err != nil {
				return nil, err
			}
		}
		if o.Cursor = page.Next; o.Cursor == "" {
			w.Flush()
			return past, w.Error()
		}
	}
}

// ranFor is how long a workload held its GPUs, in whole seconds; 0: it is not
// to be replayed. What was charged leaves out the times between attempts, and
// counts those before a retry.
func ranFor(w *api.Workload) int64 {
	if w.GPUs == 0 || w.StartedAt == nil || w.EndedAt == nil {
		return 0
	}
	seconds := w.GPUSeconds / float64(w.GPUs)
	if seconds <= 0 {
		seconds = session.At(w.EndedAt).Sub(session.At(w.StartedAt)).Seconds()
	}
	return int64(max(math.Ceil(seconds), 1))
}

// clusterOf is the server's nodes, if they are alike: the replay's are.
func clusterOf(ctx context.Context, c *client.Client) (replay.Cluster, error) {
	var out replay.Cluster
	list, err := c.Nodes.List(ctx)
	if err != nil {
		return out, err
	}
	for i := range list.Items {
		n := len(list.Items[i].Devices)
		if n == 0 {
			continue
		}
		if out.Nodes > 0 && out.GPUsPerNode != n {
			return out, session.UsageError(fmt.Sprintf("the server's nodes have different numbers of GPUs: %d and %d", out.GPUsPerNode, n), "say what to replay on: --nodes N --gpus-per-node G")
		}
		out.Nodes, out.GPUsPerNode = out.Nodes+1, n
	}
	if out.Nodes == 0 {
		return out, session.UsageError("the server has no node with GPUs at present", "say what to replay on: --nodes N --gpus-per-node G")
	}
	return out, nil
}

// quotasOf is what each project is entitled to in all pools, in whole GPUs.
func quotasOf(ctx context.Context, c *client.Client) (map[string]int, error) {
	list, err := c.Projects.List(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]int{}
	for i := range list.Items {
		p := &list.Items[i]
		sum, some := 0.0, false
		for _, q := range p.Pools {
			if q.GPU != nil && q.GPU.Quota != nil {
				sum, some = sum+*q.GPU.Quota, true
			}
		}
		if some && !p.Department {
			out[p.Name] = int(math.Round(sum))
		}
	}
	return out, nil
}
