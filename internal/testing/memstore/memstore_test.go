package memstore_test

import (
	"sync"
	"testing"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/testing/memstore"
	"github.com/musterhq/muster/internal/testing/storetest"
)

func TestContract(t *testing.T) {
	var mu sync.Mutex
	at := map[string]*memstore.Store{} // a folder stands for one store
	storetest.Run(t, func(_ *testing.T, dir string) store.Store {
		mu.Lock()
		defer mu.Unlock()
		if at[dir] == nil {
			at[dir] = memstore.New()
		}
		return at[dir]
	})
}
