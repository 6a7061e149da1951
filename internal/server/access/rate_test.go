package access

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"testing"
	"time"
)

func TestRatesAreOfEachByItself(t *testing.T) {
	x := &rates{perSecond: 10}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	count := func(who string) (n int) {
		for x.take(who, now) == 0 {
			if n++; n > 1000 {
				t.Fatal("there is no bound")
			}
		}
		return n
	}
	if a, b := count("a"), count("b"); a != 50 || b != 50 {
		t.Errorf("at once a may send %d and b %d", a, b)
	}
	if wait := x.take("a", now); wait <= 0 || wait > 100*time.Millisecond {
		t.Errorf("who has sent all waits %v", wait)
	}
	now = now.Add(time.Second)
	if a := count("a"); a != 10 {
		t.Errorf("a second later a may send %d", a)
	}
	now = now.Add(-time.Hour) // a clock that was set back pays nothing back, and takes nothing
	if a := count("a"); a != 0 {
		t.Errorf("after the clock was set back a may send %d", a)
	}
	now = now.Add(2 * time.Hour)
	if a := count("a"); a != 50 {
		t.Errorf("later a may send %d", a)
	}
	for i := range 3 * ratesKept {
		x.take(fmt.Sprint(i), now)
	}
	if len(x.of) > ratesKept {
		t.Errorf("%d are remembered", len(x.of))
	}
}

// Who is let in is counted by the token or the name, who is not by the address; the
// owner at the socket, and whether the server lives, by nothing.
func TestWhoIsCounted(t *testing.T) {
	g := New(Config{Rate: 1, Clock: func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }})
	ask := func(p peer, path, address string, who *subject) time.Duration {
		r := httptest.NewRequest("GET", path, nil)
		r.RemoteAddr = address
		r = r.WithContext(context.WithValue(r.Context(), peerKey{}, p))
		in := r
		if who != nil {
			in = r.WithContext(context.WithValue(r.Context(), subjectKey{}, who))
		}
		return g.TooFast(r, in)
	}
	over := func(p peer, path, address string, who *subject) bool {
		for range 6 {
			if ask(p, path, address, who) > 0 {
				return true
			}
		}
		return false
	}
	away := peer{uid: -1}
	for _, c := range []struct {
		name string
		over bool
		ask  func() bool
	}{
		{"an address", true, func() bool { return over(away, "/v1/quota", "10.0.0.1:1", nil) }},
		{"another", true, func() bool { return over(away, "/v1/quota", "10.0.0.2:1", nil) }},
		{"a token from there", true, func() bool { return over(away, "/v1/quota", "10.0.0.1:1", &subject{token: "t1", name: "ann"}) }},
		{"the same token from elsewhere", true, func() bool { return ask(away, "/v1/quota", "10.0.0.9:1", &subject{token: "t1", name: "ann"}) > 0 }},
		{"another user of the machine", true, func() bool { return over(peer{uid: os.Getuid() + 77, unix: true}, "/v1/quota", "@", nil) }},
		{"the owner", false, func() bool { return over(peer{uid: os.Getuid(), unix: true}, "/v1/quota", "@", nil) }},
		{"whether it lives", false, func() bool { return over(away, "/livez", "10.0.0.1:1", nil) }},
	} {
		if got := c.ask(); got != c.over {
			t.Errorf("%s is told to wait: %v", c.name, got)
		}
	}
	if wait := g.TooFast(httptest.NewRequest("GET", "/v1/quota", nil), nil); wait != 0 {
		t.Errorf("the first who is not let in waits %v", wait)
	}
	w := httptest.NewRecorder()
	if p := g.Slower(w, 1200*time.Millisecond); p.Status != 429 || w.Header().Get(RetryAfter) != "2" {
		t.Errorf("told %+v with %v", p, w.Header())
	}
}
