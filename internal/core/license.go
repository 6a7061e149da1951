package core

import "time"

// License is something that is counted for the whole site, wherever its users
// run: seats of a program, slots of a file server.
type License struct {
	Name      string    `json:"name"`
	Total     int64     `json:"total"` // how many workloads may hold together
	Note      string    `json:"note,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
}
