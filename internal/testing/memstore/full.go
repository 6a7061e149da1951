package memstore

import (
	"context"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/store"
)

// Full is a store that refuses commits, as one on a full disk does, until Room
// is closed.
type Full struct {
	store.Store
	Room chan struct{}
}

// Commit commits once there is room; before that it fails with store.ErrFull.
func (f *Full) Commit(ctx context.Context, term store.Term, b *store.Batch) (core.Revision, error) {
	select {
	case <-f.Room:
		return f.Store.Commit(ctx, term, b)
	default:
		return 0, store.ErrFull
	}
}
