// Package controltest runs a control plane for the tests of what uses one.
package controltest

import (
	"context"
	"io"
	"log/slog"
	"math/rand"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/naming"
)

// Begin runs a control plane in real time until the test ends, after whatever
// the test has registered for its end since. Of d only Store must be set; names
// are the same in each run.
func Begin(t testing.TB, d control.Options, backends ...backend.Backend) *control.Control {
	t.Helper()
	random := rand.New(rand.NewSource(1))
	d.Holder, d.NewID, d.NewName = "test", naming.NewID(random), naming.NewName(random)
	if d.Log == nil {
		d.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if d.Elapsed == nil {
		d.Elapsed = func() time.Duration { return 0 }
	}
	if d.Port == nil {
		d.Port = func() int { return 29500 }
	}
	c, err := control.New(context.Background(), d, backends, nil, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("control: %v", err)
		}
	})
	select {
	case <-c.Ready():
	case <-time.After(time.Minute):
		t.Fatal("the control plane does not begin")
	}
	return c
}
