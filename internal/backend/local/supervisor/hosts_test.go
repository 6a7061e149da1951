//go:build linux

package supervisor

import (
	"testing"

	"github.com/musterhq/muster/internal/backend"
)

func TestNamesStandAfterLocalhostAndBeforeTheRest(t *testing.T) {
	const machine = "127.0.0.1 localhost\n10.1.1.1 db\n::1 localhost"
	if got := string(withNames([]byte(machine), nil)); got != machine {
		t.Errorf("%q", got)
	}
	const want = "127.0.0.1 localhost\n::1 localhost\n10.0.0.2\tdb\n10.0.0.2\tdb.p\n10.1.1.1 db\n"
	if got := string(withNames([]byte(machine), []backend.Host{{Address: "10.0.0.2", Names: []string{"db", "db.p"}}})); got != want {
		t.Errorf("%q", got)
	}
}
