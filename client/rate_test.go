package client

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
)

// What came too early is sent again when the server says, also what must not be sent
// twice: nothing was done. Without that header 429 is an answer like others.
func TestWhatCameTooEarlyIsSentAgain(t *testing.T) {
	var asked atomic.Int32
	header := "1"
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) <= 2 {
			w.Header().Set("Retry-After", header)
			answer(w, http.StatusTooManyRequests, api.Problem{Status: http.StatusTooManyRequests, Code: "too_often", Detail: "slower"})
			return
		}
		answer(w, http.StatusCreated, api.License{Name: "x"})
	})
	began := time.Now()
	if l, err := c.Licenses.Create(context.Background(), api.NewLicense{Name: "x"}); err != nil || l.Name != "x" {
		t.Fatalf("%v, %v", l, err)
	}
	if n, took := asked.Load(), time.Since(began); n != 3 || took < 2*time.Second {
		t.Errorf("asked %d times within %v", n, took)
	}
	for _, header = range []string{"", "3600", "soon"} {
		asked.Store(0)
		_, err := c.Licenses.Create(context.Background(), api.NewLicense{Name: "x"})
		var p *api.Problem
		if !errors.As(err, &p) || p.Code != "too_often" || asked.Load() != 1 {
			t.Errorf("with Retry-After %q: %v, asked %d times", header, err, asked.Load())
		}
	}
}
