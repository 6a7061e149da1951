package wire

import (
	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine/organisation"
)

// UserBound is the API's form of what a user may have over all projects.
func UserBound(b organisation.UserBoundState) api.UserBound {
	return api.UserBound{Name: b.User, UserBoundSpec: UserBoundSpec(b.UserBound), UsedGPU: b.GPU, Running: b.Running, Queued: b.Queued, CreatedAt: At(b.CreatedAt)}
}

// UserBoundSpec is what was decided of it.
func UserBoundSpec(b core.UserBound) api.UserBoundSpec {
	return api.UserBoundSpec{UserLimit: api.UserLimit{GPU: b.GPU, MaxRunning: b.MaxRunning, MaxQueued: b.MaxQueued}, Note: b.Note}
}

// DecideUserBound puts what was decided into a record, in place of all that was.
func DecideUserBound(in api.UserBoundSpec) func(*core.UserBound) error {
	return func(b *core.UserBound) error {
		b.UserLimit, b.Note = core.UserLimit{GPU: in.GPU, MaxRunning: in.MaxRunning, MaxQueued: in.MaxQueued}, in.Note
		return nil
	}
}
