package wire

import (
	"slices"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/engine/explanation"
)

// Why is the API's form of the answer to why a workload does not run.
func Why(y *explanation.Why) api.Why {
	w := y.Workload
	return api.Why{
		ID: string(w.ID), Name: w.Name, Project: string(w.Project), Phase: string(w.Phase), Reason: string(w.Reason), Message: w.Message,
		Since: api.Time(w.PhaseAt), Waits: y.Waits, Running: y.Running, Deadline: deadline(y), Forecast: forecast(y), EvaluatedAt: api.Time(y.At),
	}
}

func forecast(y *explanation.Why) api.Forecast {
	out := api.Forecast{
		Reasons: []api.PendingReason{}, Checked: []api.Checked{}, Position: y.Position, Waiting: y.Waiting,
		Ahead: []api.RelatedWorkload{}, Frees: []api.RelatedWorkload{}, Holders: RelatedWorkloads(y.Holders), Suggestions: []api.Suggestion{}, Estimate: estimate(y),
	}
	for _, r := range y.Reasons {
		out.Reasons = append(out.Reasons, reason(r))
	}
	for _, c := range y.Checked {
		if c.What == "size" && slices.ContainsFunc(y.Reasons, schedule.Reason.Hopeless) {
			continue // it would fit the nodes, and is too large all the same
		}
		out.Checked = append(out.Checked, api.Checked{What: c.What, Note: c.Note})
	}
	for _, n := range y.AheadOf {
		a := relatedWorkload(n)
		a.Start = Instant(n.At)
		out.Ahead = append(out.Ahead, a)
	}
	for _, n := range y.Frees {
		a := relatedWorkload(n)
		a.End, a.Early, a.Late = Instant(n.At), Instant(n.Ends.Early), Instant(n.Ends.Late)
		out.Frees = append(out.Frees, a)
	}
	for _, o := range y.Suggestions {
		out.Suggestions = append(out.Suggestions, api.Suggestion{Flags: o.Flags, Now: o.Now, Pool: o.Pool, Displaces: RelatedWorkloads(o.Victims)})
	}
	for _, x := range y.Forecast.Places {
		out.Places = append(out.Places, placement(x))
	}
	return out
}

func placement(x schedule.Placed) api.Placement {
	out := api.Placement{Node: string(x.Place.Node)}
	for _, d := range x.Place.Devices {
		out.Devices = append(out.Devices, d.Device)
	}
	return out
}

// estimate is when it is expected to start; nil: it makes no sense to say.
func estimate(y *explanation.Why) *api.Estimate {
	f := y.Forecast
	if !y.Waits || slices.ContainsFunc(y.Reasons, schedule.Reason.Hopeless) {
		return nil
	}
	early, likely := f.Early, f.Likely
	switch {
	case y.Position == 0 && y.EarliestStart == 0:
		return nil
	case y.Position == 0: // the end of a wait that is not for room
		likely = y.EarliestStart
	case f.Early == 0 && f.Likely == 0 && f.Late == 0 && f.Until == 0:
		early = y.EarliestStart // when there is room, but others come first
	}
	return &api.Estimate{
		Early: Instant(early), Likely: Instant(likely), Late: Instant(f.Late), After: Instant(f.Until), Simple: f.Simple,
		Learnt: y.Learnt, Limits: y.Limits, Unknown: y.Unknown, Inside: y.Score.Inside, Scored: y.Score.Of(),
		Width: int64(y.Score.Width.Seconds()), Wait: int64(y.Score.Wait.Seconds()),
	}
}

// Instant is one of the scheduler's, in unix ms; 0: none.
func Instant(ms int64) *api.Time {
	if ms == 0 {
		return nil
	}
	return At(time.UnixMilli(ms))
}

func relatedWorkload(n explanation.RelatedWorkload) api.RelatedWorkload {
	return api.RelatedWorkload{ID: string(n.ID), Name: n.Name, Project: string(n.Project), User: n.User, GPUs: float64(n.Milli) / 1000, Tasks: n.Tasks, Since: At(n.Since), Cause: string(n.Cause)}
}

// RelatedWorkloads are the API's form of workloads that bear on another.
func RelatedWorkloads(all []explanation.RelatedWorkload) []api.RelatedWorkload {
	out := make([]api.RelatedWorkload, 0, len(all))
	for _, n := range all {
		out = append(out, relatedWorkload(n))
	}
	return out
}

// Plan is what would become of a submission.
func Plan(y *explanation.Why) *api.Plan {
	out := &api.Plan{Tasks: []api.Placement{}, Displaces: RelatedWorkloads(y.Victims), Checks: []string{}, Deadline: deadline(y), Forecast: forecast(y), EvaluatedAt: api.Time(y.At)}
	for _, c := range y.Checks {
		out.Checks = append(out.Checks, c.Name)
	}
	t := y.Trial
	if t == nil { // it asks for nothing: a service that begins without replicas
		out.Fits, out.Now = true, true
		return out
	}
	out.Fits, out.Now, out.Pool = t.Starts(), t.Now, t.Pool
	for _, x := range t.Tasks {
		out.Tasks = append(out.Tasks, placement(x))
	}
	return out
}

func reason(r schedule.Reason) api.PendingReason {
	out := api.PendingReason{
		Token: string(r.Token), Message: r.String(), Act: string(r.Act()), Hint: r.Hint(), Never: r.Hopeless(), Resource: r.Resource, Type: r.Type,
		Requested: r.Requested, Needed: r.Needed, Free: r.Free, Largest: r.Largest, Total: r.Total, Tasks: r.Tasks, Fitting: r.Fitting,
		Nodes: r.Nodes, OfNodes: r.OfNodes, Excluded: r.Excluded, Pool: r.Pool, Domain: r.Domain, Segment: r.Segment, Queue: string(r.Queue), User: r.User,
		Allocated: r.Allocated, Reserved: r.Reserved, Quota: r.Quota, Limit: r.Limit, Share: r.Share, Until: Instant(r.Until), Patient: Instant(r.Patient),
		Part: r.Part, FreeParts: r.FreeParts, LargestPart: r.LargestPart, Label: r.Label, Nearest: r.Nearest, Taint: r.Taint,
	}
	for _, b := range r.Blocks {
		out.Blocks = append(out.Blocks, api.Block{Name: b.Name, Free: b.Free, Fitting: b.Fitting})
	}
	return out
}
