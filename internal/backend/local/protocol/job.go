package protocol

import (
	"errors"
	"fmt"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/container"
	"github.com/musterhq/muster/internal/core/osuser"
)

// Job is an assignment as the supervisor gets it.
type Job struct {
	backend.Assignment
	Container *Container `json:"box,omitempty"` // nil: a process of the machine
	// As is the account of the machine that it runs as, with everything that is its
	// own; nil: the server's user, or as UID and GID say. Refused is why there is none
	// that it may run as.
	As      *osuser.Account `json:"account,omitempty"`
	Refused string          `json:"refused,omitempty"`
}

// Container is what the server has prepared for a task that runs in a container.
type Container struct {
	Image  container.Image `json:"image"`
	Engine string          `json:"engine"`        // path of runc
	CDI    []string        `json:"cdi,omitempty"` // directories of device descriptions
}

// DefaultPath is the PATH of what is started where nobody names one.
const DefaultPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Creating is the word of a container that does not run yet: of one with steps
// to do, that none of them is done, as Kubernetes says while it pulls for the
// first of them.
func Creating(a *backend.Assignment) string {
	if len(a.Init) > 0 {
		return fmt.Sprintf("Init:0/%d", len(a.Init))
	}
	return waitCreating
}

// waitCreating is the word that a task with an image waits with.
const waitCreating = "ContainerCreating"

// ErrLeaving refuses a request that a supervisor gets too late.
var ErrLeaving = errors.New("the supervisor is on its way out; ask again")
