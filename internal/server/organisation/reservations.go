package organisation

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/request"
	"github.com/musterhq/muster/internal/server/wire"
)

type reservationOutput struct {
	Status int
	Body   api.Reservation
}

type reservationsOutput struct{ Body api.ReservationList }

func (s *routes) reservationRoutes() {
	tags := []string{"reservations"}
	huma.Register(s.api, huma.Operation{
		OperationID: "list-reservations", Method: http.MethodGet, Path: "/v1/reservations", Summary: "Every reservation, with the nodes that it keeps", Tags: tags,
	}, func(ctx context.Context, _ *struct{}) (*reservationsOutput, error) {
		all, err := s.reservations(ctx)
		return &reservationsOutput{Body: api.ReservationList{Items: all}}, problem.OrNil(s.Log, err)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "reservation", Method: http.MethodGet, Path: "/v1/reservations/{name}", Summary: "One reservation", Tags: tags,
	}, func(ctx context.Context, in *request.RecordName) (*reservationOutput, error) {
		return s.oneReservation(ctx, in.Name, http.StatusOK)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "create-reservation", Method: http.MethodPost, Path: "/v1/reservations", Summary: "Make a reservation", Tags: tags, DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *struct {
		request.DryRunning
		Body api.NewReservation
	}) (*reservationOutput, error) {
		return s.editReservation(ctx, in.DryRun, http.StatusCreated, organisation.Edit{What: organisation.RecordReservation, Name: in.Body.Name, Must: organisation.MustBeNew, Reservation: func(r *core.Reservation) error {
			return wire.DecideReservation(in.Body.ReservationSpec, r)
		}})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "replace-reservation", Method: http.MethodPut, Path: "/v1/reservations/{name}", Summary: "Decide everything about a reservation anew, making it where it is not there", Tags: tags,
	}, func(ctx context.Context, in *struct {
		request.RecordName
		request.DryRunning
		Body api.ReservationSpec
	}) (*reservationOutput, error) {
		return s.editReservation(ctx, in.DryRun, http.StatusOK, organisation.Edit{What: organisation.RecordReservation, Name: in.Name, Reservation: func(r *core.Reservation) error {
			return wire.DecideReservation(in.Body, r)
		}})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "change-reservation", Method: http.MethodPatch, Path: "/v1/reservations/{name}", Summary: "Change some fields of a reservation: a JSON merge patch, in which null takes a field away", Tags: tags,
	}, func(ctx context.Context, in *struct {
		request.RecordName
		request.DryRunning
		Body map[string]any `contentType:"application/merge-patch+json"`
	}) (*reservationOutput, error) {
		return s.editReservation(ctx, in.DryRun, http.StatusOK, organisation.Edit{What: organisation.RecordReservation, Name: in.Name, Must: organisation.MustExist, Reservation: func(r *core.Reservation) error {
			return request.Patch(wire.ReservationSpec(*r), in.Body, func(n api.ReservationSpec) error { return wire.DecideReservation(n, r) })
		}})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "delete-reservation", Method: http.MethodDelete, Path: "/v1/reservations/{name}", Summary: "Delete a reservation that nobody waits for", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, s.drop(organisation.RecordReservation))
}

func (s *routes) reservations(ctx context.Context) ([]api.Reservation, error) {
	all, err := control.Do(ctx, s.Control, organisation.Reservations())
	if err != nil {
		return nil, err
	}
	out := make([]api.Reservation, 0, len(all))
	for _, r := range all {
		out = append(out, wire.Reservation(r))
	}
	return out, nil
}

func (s *routes) oneReservation(ctx context.Context, name string, status int) (*reservationOutput, error) {
	all, err := s.reservations(ctx)
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	r, err := request.Find("reservation", name, all, func(r api.Reservation) string { return r.Name })
	return &reservationOutput{Status: status, Body: r}, err
}

func (s *routes) editReservation(ctx context.Context, dry bool, status int, e organisation.Edit) (*reservationOutput, error) {
	edited, err := control.Do(ctx, s.Control, organisation.Organise([]organisation.Edit{e}, dry))
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	done := edited[0]
	out := &reservationOutput{Status: status}
	if dry {
		as, err := control.Do(ctx, s.Control, organisation.ReservationAs(*done.After.Reservation))
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		out.Body = wire.Reservation(as)
	} else if out, err = s.oneReservation(ctx, e.Name, status); err != nil {
		return nil, err
	}
	out.Body.Warnings = done.Warnings
	return out, nil
}
