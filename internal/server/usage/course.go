package usage

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule/forecast"
	"github.com/musterhq/muster/internal/nodepast"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/store"
)

const (
	courseBack  = 24 * time.Hour // how far back at most
	courseAhead = 24 * time.Hour // how far ahead at most
	// courseSpans is of how many spans one answer tells at most: a full day of 10,000
	// GPUs at five jobs each, about 4 MB.
	courseSpans = 50_000
)

type courseInput struct {
	From time.Time `query:"from" doc:"Default and at most: 24 hours ago"`
	To   time.Time `query:"to" doc:"Default and at most: in 24 hours"`
}

type courseOutput struct{ Body api.HoldingsCourse }

func (s *routes) courseRoute() {
	huma.Register(s.api, huma.Operation{
		OperationID: "holdings-course", Method: http.MethodGet, Path: "/v1/holdings/course", Tags: []string{"cluster"},
		Summary:     "Who held each GPU in the last day, who is likely to in the next, and how well nodes were",
		Description: "What is to come is one course of things: everything takes as long as is likely, and nobody comes. At most 50,000 spans are told; of more, the latest.",
	}, s.course)
}

func (s *routes) course(ctx context.Context, in *courseInput) (*courseOutput, error) {
	now := s.Clock()
	from, to := in.From, in.To
	if oldest := now.Add(-courseBack); from.Before(oldest) {
		from = oldest
	}
	if last := now.Add(courseAhead); to.IsZero() || to.After(last) {
		to = last
	}
	if !from.Before(to) {
		return nil, problem.BadValue("from", from.Format(time.RFC3339), "is not before to, "+to.Format(time.RFC3339), "write the earlier time in from")
	}
	c := course{sight: access.SightOf(ctx), from: from, place: map[core.WorkloadID]int{}, body: api.HoldingsCourse{Now: api.Time(now), To: api.Time(to), Workloads: []api.CourseHolder{}}}
	running := map[core.WorkloadID]map[deviceKey]int64{} // until when, in ms; 0: nobody knows
	if to.After(now) {
		next, live, err := s.Control.Course(ctx, to)
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		c.ahead(next, live, running, to)
	}
	err := s.Store.Uses(ctx, store.UseQuery{From: from, To: minTime(now, to), Now: now}, func(u core.Use) bool {
		c.was(u, running, now)
		return true
	})
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	c.health(s.Control.NodePast().Between(from, minTime(now, to)))
	return &courseOutput{c.answer()}, nil
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// course is an answer that is being made.
type course struct {
	sight access.Sight
	from  time.Time
	body  api.HoldingsCourse
	place map[core.WorkloadID]int // of workloads in the body
	spans []placedSpan
	past  map[core.NodeID][]api.HealthSpan
}

// health adds how well nodes were.
func (c *course) health(looked []nodepast.Stretch, spans []nodepast.Span) {
	c.body.Looked, c.past = []api.Stretch{}, map[core.NodeID][]api.HealthSpan{}
	for _, l := range looked {
		c.body.Looked = append(c.body.Looked, api.Stretch(l))
	}
	for _, s := range spans {
		id := core.NodeID(s.Node)
		c.past[id] = append(c.past[id], api.HealthSpan{From: s.From, To: s.To, NotReady: s.NotReady, CutOff: s.CutOff, Cordoned: s.Cordoned, Draining: s.Draining, Broken: s.Broken})
	}
}

type placedSpan struct {
	deviceKey
	api.SpanOfUse
}

// workload is the place of a workload among those that are named.
func (c *course) workload(id core.WorkloadID, name string, project core.ProjectID, user string, kind lifecycle.Kind) int {
	if i, ok := c.place[id]; ok {
		return i
	}
	h := api.CourseHolder{ID: string(id), Name: name, Project: string(project), User: user, Kind: string(kind)}
	if !c.sight.Any(project, user, kind) { // what it holds stays
		h = api.CourseHolder{Kind: h.Kind, Hidden: true}
	}
	c.place[id] = len(c.body.Workloads)
	c.body.Workloads = append(c.body.Workloads, h)
	return c.place[id]
}

// ahead adds what is to come. Of what runs already only the end is noted.
func (c *course) ahead(next forecast.Course, live func(core.WorkloadID) *core.Workload, running map[core.WorkloadID]map[deviceKey]int64, to time.Time) {
	c.body.Simple = next.Simple
	if next.Until > 0 && next.Until < to.UnixMilli() {
		c.body.To = api.Time(time.UnixMilli(next.Until).UTC())
	}
	for _, h := range next.Holds {
		w := live(h.ID)
		if w == nil {
			continue
		}
		k := deviceKey{h.Node, h.Share.Device}
		if h.From == 0 {
			if running[h.ID] == nil {
				running[h.ID] = map[deviceKey]int64{}
			}
			running[h.ID][k] = h.To
			continue
		}
		c.add(placedSpan{k, api.SpanOfUse{Workload: c.workload(w.ID, w.Name, w.Project, w.User, w.Kind), Task: -1, Part: h.Share.Milli, From: h.From, To: h.To, Likely: true}})
	}
}

// was adds what has been, or is still.
func (c *course) was(u core.Use, running map[core.WorkloadID]map[deviceKey]int64, now time.Time) {
	k := deviceKey{u.Node, u.Device}
	x := api.SpanOfUse{Workload: c.workload(u.Workload, u.Name, u.Project, u.User, u.Kind), Task: u.Task, Part: u.Milli, From: u.From.UnixMilli(), To: u.To.UnixMilli()}
	if u.To.UnixMicro() == now.UnixMicro() { // until now: it has it still
		x.To = running[u.Workload][k]
	}
	c.add(placedSpan{k, x})
}

// add keeps a span. Of too many those that ended first are dropped, and then nothing is
// told of the time in which they were.
func (c *course) add(x placedSpan) {
	if c.spans = append(c.spans, x); len(c.spans) >= 2*courseSpans {
		c.cut()
	}
}

func (c *course) cut() {
	if len(c.spans) <= courseSpans {
		return
	}
	end := func(x *placedSpan) int64 {
		if x.To == 0 {
			return 1 << 62
		}
		return x.To
	}
	slices.SortFunc(c.spans, func(a, b placedSpan) int { return cmp.Compare(end(&b), end(&a)) })
	if dropped := time.UnixMilli(c.spans[courseSpans].To).UTC(); dropped.After(c.from) {
		c.from = dropped
	}
	c.spans = c.spans[:courseSpans]
}

// answer puts spans to their devices.
func (c *course) answer() api.HoldingsCourse {
	c.cut()
	out := c.body
	out.From, out.Nodes = api.Time(c.from), []api.NodeCourse{}
	slices.SortFunc(c.spans, func(a, b placedSpan) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.device, b.device), cmp.Compare(a.From, b.From), cmp.Compare(a.Workload, b.Workload), cmp.Compare(a.Task, b.Task))
	})
	for i, x := range c.spans {
		if i == 0 || c.spans[i-1].node != x.node {
			out.Nodes = append(out.Nodes, api.NodeCourse{Name: string(x.node), Health: c.past[x.node]})
			delete(c.past, x.node)
		}
		n := &out.Nodes[len(out.Nodes)-1]
		if len(n.Devices) == 0 || n.Devices[len(n.Devices)-1].ID != x.device {
			n.Devices = append(n.Devices, api.DeviceCourse{ID: x.device})
		}
		d := &n.Devices[len(n.Devices)-1]
		d.Spans = append(d.Spans, x.SpanOfUse)
	}
	for _, id := range slices.Sorted(maps.Keys(c.past)) { // of those on which nothing was held
		out.Nodes = append(out.Nodes, api.NodeCourse{Name: string(id), Devices: []api.DeviceCourse{}, Health: c.past[id]})
	}
	return out
}
