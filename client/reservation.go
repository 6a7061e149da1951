package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/musterhq/muster/api"
)

// ReservationService is what is done with reservations of nodes.
type ReservationService struct{ c *Client }

func reservationPath(name string) string { return "/v1/reservations/" + url.PathEscape(name) }

// List returns every reservation.
func (s ReservationService) List(ctx context.Context) (*api.ReservationList, error) {
	return one[api.ReservationList](ctx, s.c, call{method: http.MethodGet, path: "/v1/reservations", again: true})
}

// Get returns one reservation.
func (s ReservationService) Get(ctx context.Context, name string) (*api.Reservation, error) {
	return one[api.Reservation](ctx, s.c, call{method: http.MethodGet, path: reservationPath(name), again: true})
}

// Create makes a reservation; one that exists is a conflict. A dry
// run says which nodes it would keep, and what runs there.
func (s ReservationService) Create(ctx context.Context, r api.NewReservation, dry bool) (*api.Reservation, error) {
	return send[api.Reservation](ctx, s.c, http.MethodPost, "/v1/reservations", r, dry)
}

// Change changes some fields: patch is a JSON merge patch, in which
// nil takes a field away.
func (s ReservationService) Change(ctx context.Context, name string, patch map[string]any, dry bool) (*api.Reservation, error) {
	return send[api.Reservation](ctx, s.c, http.MethodPatch, reservationPath(name), patch, dry)
}

// Delete deletes a reservation that nobody waits for.
func (s ReservationService) Delete(ctx context.Context, name string) error {
	return s.c.do(ctx, call{method: http.MethodDelete, path: reservationPath(name)}, nil)
}
