package access

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/server/problem"
)

const (
	// ratesBurst is for how many seconds' requests may come at once.
	ratesBurst = 5
	// ratesKept is of how many that ask is remembered how often: those are forgotten
	// first who have not asked for longest.
	ratesKept = 20_000
)

// rates bounds how many requests each who asks may send by the second.
type rates struct {
	perSecond float64 // 0: any number
	mu        sync.Mutex
	of        map[string]rate
}

// rate is how many requests are left to somebody, as it was at a time.
type rate struct {
	left float64
	at   time.Time
}

// take counts one request, and returns for how long it is too early; 0: it is not.
func (x *rates) take(who string, now time.Time) time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	most := x.perSecond * ratesBurst
	r, known := x.of[who]
	if !known {
		x.room(now)
		r.left = most
	} else if passed := now.Sub(r.at).Seconds(); passed > 0 {
		r.left = min(most, r.left+passed*x.perSecond)
	}
	r.at = now
	var wait time.Duration
	if r.left < 1 {
		wait = time.Duration((1 - r.left) / x.perSecond * float64(time.Second))
	} else {
		r.left--
	}
	x.of[who] = r
	return wait
}

// room forgets who may send as much as anybody again, and where that is nobody, all.
func (x *rates) room(now time.Time) {
	if len(x.of) < ratesKept {
		if x.of == nil {
			x.of = map[string]rate{}
		}
		return
	}
	for who, r := range x.of {
		if now.Sub(r.at) > ratesBurst*time.Second {
			delete(x.of, who)
		}
	}
	if len(x.of) >= ratesKept {
		x.of = map[string]rate{}
	}
}

// RetryAfter is the header that says after how many seconds to ask again.
const RetryAfter = "Retry-After"

// TooFast reports for how long a request comes too early of whom it is from; 0: it does
// not. The owner of the server at its socket may send any number, and so may its tasks,
// which are as many as they are. Who was not let in counts by the address.
func (g *Guard) TooFast(r *http.Request, in *http.Request) time.Duration {
	if g.rates.perSecond <= 0 || open[r.URL.Path] {
		return 0
	}
	p, _ := r.Context().Value(peerKey{}).(peer)
	if p.unix && g.owns(p) {
		return 0
	}
	who := "address " + addressOf(r, p)
	if in != nil {
		if _, task := CallerOf(in.Context()); task {
			return 0
		}
		who = whoOf(in.Context(), who)
	}
	return g.rates.take(who, g.clock())
}

// whoOf is by what requests are counted of who is let in: the token, else the name; of
// those without a name the address.
func whoOf(ctx context.Context, address string) string {
	if s := subjectOf(ctx); s != nil {
		if s.token != "" {
			return "token " + s.token
		}
		if s.name != "" {
			return "user " + s.name
		}
		return address
	}
	if p, ok := ctx.Value(peerKey{}).(peer); ok && p.unix {
		return "user " + strconv.Itoa(p.uid)
	}
	return address
}

// Slower is the answer to who asks too often; the header says when to come back.
func (g *Guard) Slower(w http.ResponseWriter, wait time.Duration) *api.Problem {
	seconds := max(int(math.Ceil(wait.Seconds())), 1)
	w.Header().Set(RetryAfter, strconv.Itoa(seconds))
	return problem.New(http.StatusTooManyRequests, "too_often", fmt.Sprintf("more than %s requests a second are sent", strconv.FormatFloat(g.rates.perSecond, 'f', -1, 64)),
		fmt.Sprintf("try again in %d s, or send many in one request; muster server --request-rate says how many are taken", seconds))
}
