package wire

import (
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/server/problem"
)

// Reservation is the API's form of a reservation with the nodes that it keeps.
func Reservation(r organisation.ReservationState) api.Reservation {
	out := api.Reservation{
		Name: r.Name, CreatedAt: At(r.CreatedAt), ReservationSpec: ReservationSpec(r.Reservation), From: api.Time(r.From), Until: api.Time(r.To),
		State: "planned", Keeps: texts(r.Keeps), GPU: int64(r.Milli), Using: r.Using,
	}
	switch {
	case r.Over:
		out.State = "over"
	case r.Active:
		out.State = "active"
	}
	if out.Keeps == nil {
		out.Keeps = []string{}
	}
	return out
}

func texts[T ~string](in []T) []string {
	var out []string
	for _, s := range in {
		out = append(out, string(s))
	}
	return out
}

func ofTexts[T ~string](in []string) []T {
	var out []T
	for _, s := range in {
		out = append(out, T(s))
	}
	return out
}

// ReservationSpec is what was decided about a reservation.
func ReservationSpec(r core.Reservation) api.ReservationSpec {
	out := api.ReservationSpec{
		Duration: spec.Duration(r.Duration).String(), Repeat: string(r.Repeat), Nodes: texts(r.Nodes), Pool: r.Pool, NodeCount: r.NodeCount, GPUs: r.GPUs,
		Maintenance: r.Maintenance, Projects: texts(r.Projects), Users: r.Users, Magnetic: r.Magnetic, IgnoreJobs: r.IgnoreJobs, Note: r.Note,
	}
	if !r.Start.IsZero() {
		out.Start = r.Start.UTC().Format(time.RFC3339Nano)
	}
	if r.Selector.Key != "" {
		out.Selector = r.Selector.String()
	}
	return out
}

// DecideReservation puts what was decided into a record, in place of all that
// was.
func DecideReservation(in api.ReservationSpec, r *core.Reservation) error {
	n := core.Reservation{
		Name: r.Name, CreatedAt: r.CreatedAt, Chosen: r.Chosen, Repeat: core.Repeat(in.Repeat), Nodes: ofTexts[core.NodeID](in.Nodes), Pool: in.Pool, NodeCount: in.NodeCount, GPUs: in.GPUs,
		Maintenance: in.Maintenance, Projects: ofTexts[core.ProjectID](in.Projects), Users: in.Users, Magnetic: in.Magnetic, IgnoreJobs: in.IgnoreJobs, Note: in.Note,
	}
	if in.Start != "" {
		t, err := time.Parse(time.RFC3339, in.Start)
		if err != nil {
			return problem.BadValue("start", in.Start, "is no instant", "write one like 2026-12-24T18:00:00Z")
		}
		n.Start = t.UTC().Truncate(time.Microsecond)
	}
	if in.Selector != "" {
		key, value, ok := strings.Cut(in.Selector, "=")
		if !ok {
			return problem.BadValue("selector", in.Selector, "is not KEY=VALUE", "write one like rack=r7; muster node list shows the labels of nodes")
		}
		n.Selector = core.Label{Key: key, Value: value}
	}
	d, err := lengthOf("duration", in.Duration, "")
	if err != nil {
		return err
	}
	if d != nil {
		n.Duration = *d
	}
	*r = n
	return nil
}
