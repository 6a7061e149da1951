package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/musterhq/muster/api"
)

func reservationPath(name string) string { return "/v1/reservations/" + url.PathEscape(name) }

// Reservations returns every reservation.
func (c *Client) Reservations(ctx context.Context) (*api.ReservationList, error) {
	return one[api.ReservationList](ctx, c, call{method: http.MethodGet, path: "/v1/reservations", again: true})
}

// Reservation returns one reservation.
func (c *Client) Reservation(ctx context.Context, name string) (*api.Reservation, error) {
	return one[api.Reservation](ctx, c, call{method: http.MethodGet, path: reservationPath(name), again: true})
}

// CreateReservation makes a reservation; one that exists is a conflict. A dry
// run says which nodes it would keep, and what runs there.
func (c *Client) CreateReservation(ctx context.Context, r api.NewReservation, dry bool) (*api.Reservation, error) {
	return send[api.Reservation](ctx, c, http.MethodPost, "/v1/reservations", r, dry)
}

// ChangeReservation changes some fields: patch is a JSON merge patch, in which
// nil takes a field away.
func (c *Client) ChangeReservation(ctx context.Context, name string, patch map[string]any, dry bool) (*api.Reservation, error) {
	return send[api.Reservation](ctx, c, http.MethodPatch, reservationPath(name), patch, dry)
}

// DeleteReservation deletes a reservation that nobody waits for.
func (c *Client) DeleteReservation(ctx context.Context, name string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: reservationPath(name)}, nil)
}
