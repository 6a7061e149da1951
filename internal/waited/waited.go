// Package waited keeps for how long workloads have waited, and for which reasons, by
// the hour.
package waited

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/wholefile"
)

// Kept is how far back it is known, and entriesMost how many sums there are at most: of
// more, those of the oldest hours go.
const (
	Kept        = 35 * 24 * time.Hour
	entriesMost = 200_000
)

// Key is who waited, and for what.
type Key struct {
	Project string `json:"project"`
	User    string `json:"user"`
	Reason  string `json:"reason"` // as muster why says it
}

// entry is a sum as it is written.
type entry struct {
	Hour int64 `json:"hour"` // since 1970
	Key
	Seconds float64 `json:"seconds"`
}

// file is what is written.
type file struct {
	Since   time.Time `json:"since"`
	Entries []entry   `json:"entries"`
}

// Ledger keeps the sums. It is safe for concurrent use.
type Ledger struct {
	path string // empty: in memory alone

	mu      sync.Mutex
	hours   map[int64]map[Key]float64 // in seconds of workloads
	entries int
	since   time.Time // from when on it is known; zero: nothing is
	changed bool
}

// New returns a ledger that is written to a file; empty: to none.
func New(path string) *Ledger { return &Ledger{path: path, hours: map[int64]map[Key]float64{}} }

// Load reads what was written before. After an error the ledger is empty, and good.
func (l *Ledger) Load() error {
	var f file
	if err := wholefile.ReadJSON(l.path, &f); err != nil {
		return fmt.Errorf("reasons for which workloads waited: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since = f.Since
	for _, e := range f.Entries {
		l.add(e.Hour, e.Key, e.Seconds)
	}
	return nil
}

const hour = int64(time.Hour / time.Second)

// Add says that so many workloads have waited for a span that ended at an instant.
func (l *Ledger) Add(k Key, count int, span time.Duration, at time.Time) {
	if count <= 0 || span <= 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if from := at.Add(-span).UTC(); l.since.IsZero() || from.Before(l.since) {
		l.since = from
	}
	l.changed = true
	// A span over the full hour belongs to both.
	for to := at; span > 0; {
		begin := time.Unix((to.Unix()-1)/hour*hour, 0)
		part := min(to.Sub(begin), span)
		l.add(begin.Unix()/hour, k, part.Seconds()*float64(count))
		to, span = to.Add(-part), span-part
	}
	l.forget(at)
}

// add must run under the lock.
func (l *Ledger) add(at int64, k Key, seconds float64) {
	h := l.hours[at]
	if h == nil {
		h = map[Key]float64{}
		l.hours[at] = h
	}
	if _, known := h[k]; !known {
		l.entries++
	}
	h[k] += seconds
}

// forget lets go of what is too old or too much. It must run under the lock.
func (l *Ledger) forget(now time.Time) {
	oldest := now.Add(-Kept).Unix() / hour
	if l.entries <= entriesMost && l.since.Unix()/hour >= oldest {
		return
	}
	for _, at := range slices.Sorted(maps.Keys(l.hours)) {
		if at >= oldest && l.entries <= entriesMost {
			break
		}
		l.entries -= len(l.hours[at])
		delete(l.hours, at)
		oldest = max(oldest, at+1)
	}
	if from := time.Unix(oldest*hour, 0).UTC(); l.since.Before(from) {
		l.since = from
	}
}

// Hours are the hours that workloads waited from one instant to another, by reason, of
// those that keep finds wanted. An hour that is in it in part counts in that proportion.
// since says from when on it is known; zero: nothing is.
func (l *Ledger) Hours(from, to time.Time, keep func(project, user string) bool) (of map[string]float64, since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of = map[string]float64{}
	for at, sums := range l.hours {
		begin := time.Unix(at*hour, 0)
		end := begin.Add(time.Hour)
		within := min(end.Unix(), to.Unix()) - max(begin.Unix(), from.Unix())
		if within <= 0 {
			continue
		}
		for k, seconds := range sums {
			if keep(k.Project, k.User) {
				of[k.Reason] += seconds / 3600 * float64(within) / float64(hour)
			}
		}
	}
	return of, l.since
}

// Save writes what there is, if it has changed since.
func (l *Ledger) Save() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.path == "" || !l.changed {
		return nil
	}
	f := file{Since: l.since, Entries: make([]entry, 0, l.entries)}
	for _, at := range slices.Sorted(maps.Keys(l.hours)) {
		for k, seconds := range l.hours[at] {
			f.Entries = append(f.Entries, entry{at, k, seconds})
		}
	}
	err := wholefile.WriteJSON(l.path, f)
	l.changed = err != nil
	return err
}
