package local

import (
	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/container"
)

// job is an assignment as the supervisor gets it.
type job struct {
	backend.Assignment
	Box *box `json:"box,omitempty"` // nil: a process of the machine
}

// box is what the server has prepared for a task that runs in a container.
type box struct {
	Image  container.Image `json:"image"`
	Engine string          `json:"engine"`        // path of runc
	CDI    []string        `json:"cdi,omitempty"` // directories of device descriptions
}

// public is what may be kept of an assignment: the rest may be secrets.
func public(a backend.Assignment) backend.Assignment {
	a.Env, a.Files, a.Prelude, a.Credentials = nil, nil, nil, nil
	return a
}
