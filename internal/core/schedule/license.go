package schedule

import "github.com/musterhq/muster/internal/core"

// License is something that is counted for the whole site, wherever its users
// run: seats of a program, slots of a file server.
type License struct {
	Name  string
	Total int64
}

// Count is how many of a license a job holds from its placement to its end.
type Count struct {
	Name string
	N    int64
}

// Holder is who holds some of a license.
type Holder struct {
	ID core.WorkloadID `json:"id"`
	N  int64           `json:"count"`
}
