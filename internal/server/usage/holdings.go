package usage

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine/report"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/wire"
	"github.com/musterhq/muster/internal/timeseries"
)

// lately is how old a measurement of a device may be to stand for its present.
const lately = time.Minute

type holdingsOutput struct{ Body api.Holdings }

func (s *routes) holdingsRoute() {
	huma.Register(s.api, huma.Operation{
		OperationID: "holdings", Method: http.MethodGet, Path: "/v1/holdings", Summary: "Who holds each GPU, until when, and how busy it is", Tags: []string{"cluster"},
	}, func(ctx context.Context, _ *struct{}) (*holdingsOutput, error) {
		held, err := control.Do(ctx, s.Control, report.WhoHolds())
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		nodes, err := control.Do(ctx, s.Control, report.Nodes())
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		out := &holdingsOutput{Body: s.holdings(held, nodes)}
		for i, x := range held.Holders {
			if !access.Sees(ctx, x.Workload) { // what it holds stays
				h := &out.Body.Workloads[i]
				h.ID, h.Name, h.Project, h.User, h.Hidden = "", "", "", "", true
			}
		}
		return out, nil
	})
}

type deviceKey struct {
	node   core.NodeID
	device string
}

func (s *routes) holdings(h *report.Holders, nodes []report.NodeState) api.Holdings {
	out := api.Holdings{At: api.Time(h.At), Workloads: make([]api.Holder, len(h.Holders)), Nodes: []api.NodeHoldings{}}
	place := make(map[core.WorkloadID]int, len(h.Holders))
	for i, x := range h.Holders {
		w := x.Workload
		place[w.ID] = i
		out.Workloads[i] = api.Holder{
			ID: string(w.ID), Name: w.Name, Project: string(w.Project), User: w.User, Kind: string(w.Kind), Phase: string(w.Phase),
			Preemptible: *w.Spec.Preemptible, Likely: wire.Instant(x.Ends.Likely), Late: wire.Instant(x.Ends.Late),
		}
	}
	held := map[deviceKey][]api.DeviceHolder{}
	for _, x := range h.Holdings {
		i := place[x.Workload]
		out.Workloads[i].GPU += int64(x.Milli)
		k := deviceKey{x.Node, x.Device}
		held[k] = append(held[k], api.DeviceHolder{Workload: i, Task: x.Task, Part: int64(x.Milli)})
	}
	since := h.At.Add(-lately)
	for _, n := range nodes {
		row := api.NodeHoldings{Name: string(n.ID)}
		for _, d := range n.Devices {
			one := api.DeviceHoldings{ID: d.ID, Held: held[deviceKey{n.ID, d.ID}]}
			if v, ok := s.Control.Series().Last(timeseries.Key{Of: control.SeriesOfDevice(n.ID, d.ID), Metric: control.GPUBusy}, since); ok {
				one.Utilization = &v
			}
			if one.Held != nil || one.Utilization != nil {
				row.Devices = append(row.Devices, one)
			}
		}
		if row.Devices != nil {
			out.Nodes = append(out.Nodes, row)
		}
	}
	return out
}
