package sqlstore_test

import (
	"path/filepath"
	"testing"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqlstore"
	"github.com/musterhq/muster/internal/testing/storetest"
)

func open(t *testing.T, dir string) store.Store {
	t.Helper()
	s, err := sqlstore.Open(t.Context(), filepath.Join(dir, "muster.db"))
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return s
}

func TestStore(t *testing.T) { storetest.Run(t, open) }

func TestKill(t *testing.T) { storetest.Kill(t, open) }
