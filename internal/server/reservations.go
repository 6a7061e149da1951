package server

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine"
)

type reservationOutput struct {
	Status int
	Body   api.Reservation
}

type reservationsOutput struct{ Body api.ReservationList }

func (s *Server) reservationRoutes() {
	tags := []string{"reservations"}
	huma.Register(s.api, huma.Operation{
		OperationID: "list-reservations", Method: http.MethodGet, Path: "/v1/reservations", Summary: "Every reservation, with the nodes that it keeps", Tags: tags,
	}, func(ctx context.Context, _ *struct{}) (*reservationsOutput, error) {
		all, err := s.reservations(ctx)
		return &reservationsOutput{Body: api.ReservationList{Items: all}}, s.refusal(err)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "reservation", Method: http.MethodGet, Path: "/v1/reservations/{name}", Summary: "One reservation", Tags: tags,
	}, func(ctx context.Context, in *RecordName) (*reservationOutput, error) {
		return s.oneReservation(ctx, in.Name, http.StatusOK)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "create-reservation", Method: http.MethodPost, Path: "/v1/reservations", Summary: "Make a reservation", Tags: tags, DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *struct {
		DryRunning
		Body api.NewReservation
	}) (*reservationOutput, error) {
		return s.editReservation(ctx, in.DryRun, http.StatusCreated, engine.Edit{What: engine.RecordReservation, Name: in.Body.Name, Must: engine.MustBeNew, Reservation: func(r *core.Reservation) error {
			return decideReservation(in.Body.ReservationSpec, r)
		}})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "replace-reservation", Method: http.MethodPut, Path: "/v1/reservations/{name}", Summary: "Decide everything about a reservation anew, making it where it is not there", Tags: tags,
	}, func(ctx context.Context, in *struct {
		RecordName
		DryRunning
		Body api.ReservationSpec
	}) (*reservationOutput, error) {
		return s.editReservation(ctx, in.DryRun, http.StatusOK, engine.Edit{What: engine.RecordReservation, Name: in.Name, Reservation: func(r *core.Reservation) error {
			return decideReservation(in.Body, r)
		}})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "change-reservation", Method: http.MethodPatch, Path: "/v1/reservations/{name}", Summary: "Change some fields of a reservation: a JSON merge patch, in which null takes a field away", Tags: tags,
	}, func(ctx context.Context, in *struct {
		RecordName
		DryRunning
		Body map[string]any `contentType:"application/merge-patch+json"`
	}) (*reservationOutput, error) {
		return s.editReservation(ctx, in.DryRun, http.StatusOK, engine.Edit{What: engine.RecordReservation, Name: in.Name, Must: engine.MustExist, Reservation: func(r *core.Reservation) error {
			return changed(reservationSpec(*r), in.Body, func(n api.ReservationSpec) error { return decideReservation(n, r) })
		}})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "delete-reservation", Method: http.MethodDelete, Path: "/v1/reservations/{name}", Summary: "Delete a reservation that nobody waits for", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *RecordName) (*struct{}, error) {
		_, err := s.control.Do(ctx, engine.Organise([]engine.Edit{{What: engine.RecordReservation, Name: in.Name, Drop: true}}, false))
		return nil, s.refusal(err)
	})
}

func (s *Server) reservations(ctx context.Context) ([]api.Reservation, error) {
	v, err := s.control.Do(ctx, engine.Reservations())
	if err != nil {
		return nil, err
	}
	all := v.([]engine.ReservationState)
	out := make([]api.Reservation, 0, len(all))
	for _, r := range all {
		out = append(out, reservation(r))
	}
	return out, nil
}

func (s *Server) oneReservation(ctx context.Context, name string, status int) (*reservationOutput, error) {
	all, err := s.reservations(ctx)
	if err != nil {
		return nil, problem(s.log, err)
	}
	r, err := named("reservation", name, all, func(r api.Reservation) string { return r.Name })
	return &reservationOutput{Status: status, Body: r}, err
}

func (s *Server) editReservation(ctx context.Context, dry bool, status int, e engine.Edit) (*reservationOutput, error) {
	v, err := s.control.Do(ctx, engine.Organise([]engine.Edit{e}, dry))
	if err != nil {
		return nil, problem(s.log, err)
	}
	done := v.([]engine.Edited)[0]
	out := &reservationOutput{Status: status}
	if dry {
		v, err := s.control.Do(ctx, engine.ReservationAs(*done.After.(*core.Reservation)))
		if err != nil {
			return nil, problem(s.log, err)
		}
		out.Body = reservation(v.(engine.ReservationState))
	} else if out, err = s.oneReservation(ctx, e.Name, status); err != nil {
		return nil, err
	}
	out.Body.Warnings = done.Warnings
	return out, nil
}

func reservation(r engine.ReservationState) api.Reservation {
	out := api.Reservation{
		Name: r.Name, CreatedAt: at(r.CreatedAt), ReservationSpec: reservationSpec(r.Reservation), From: api.Time(r.From), Until: api.Time(r.To),
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

func reservationSpec(r core.Reservation) api.ReservationSpec {
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

// decideReservation puts what was decided into a record, in place of all that
// was.
func decideReservation(in api.ReservationSpec, r *core.Reservation) error {
	n := core.Reservation{
		Name: r.Name, CreatedAt: r.CreatedAt, Chosen: r.Chosen, Repeat: core.Repeat(in.Repeat), Nodes: ofTexts[core.NodeID](in.Nodes), Pool: in.Pool, NodeCount: in.NodeCount, GPUs: in.GPUs,
		Maintenance: in.Maintenance, Projects: ofTexts[core.ProjectID](in.Projects), Users: in.Users, Magnetic: in.Magnetic, IgnoreJobs: in.IgnoreJobs, Note: in.Note,
	}
	if in.Start != "" {
		t, err := time.Parse(time.RFC3339, in.Start)
		if err != nil {
			return badRequest("start", strconv.Quote(in.Start)+" is no instant", "like 2026-12-24T18:00:00Z")
		}
		n.Start = t.UTC().Truncate(time.Microsecond)
	}
	if in.Selector != "" {
		key, value, ok := strings.Cut(in.Selector, "=")
		if !ok {
			return badRequest("selector", strconv.Quote(in.Selector)+" is not KEY=VALUE", "like rack=r7; muster node list shows the labels of nodes")
		}
		n.Selector = core.Label{Key: key, Value: value}
	}
	d, err := lengthOf("duration", in.Duration)
	if err != nil {
		return err
	}
	if d != nil {
		n.Duration = *d
	}
	*r = n
	return nil
}
