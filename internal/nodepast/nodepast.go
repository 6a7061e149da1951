// Package nodepast keeps how well nodes were in the last day: when each was down, cut
// off, cordoned, drained, or had broken devices.
package nodepast

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/wholefile"
)

// Kept is how far back it is known, and spansMost how many spans there are at most: of
// more, those that ended first go, and with them what is known of that time.
const (
	Kept      = 25 * time.Hour
	spansMost = 20_000
)

// Health is what keeps a node from taking all work; the zero value: nothing.
type Health struct {
	NotReady bool     `json:"notReady,omitempty"`
	CutOff   bool     `json:"cutOff,omitempty"`
	Cordoned bool     `json:"cordoned,omitempty"`
	Draining bool     `json:"draining,omitempty"`
	Broken   []string `json:"broken,omitempty"` // ids of devices
}

func (h Health) same(o Health) bool {
	return h.NotReady == o.NotReady && h.CutOff == o.CutOff && h.Cordoned == o.Cordoned && h.Draining == o.Draining && slices.Equal(h.Broken, o.Broken)
}

func (h Health) good() bool { return h.same(Health{}) }

// Span is how one node was for a while. Times are milliseconds since 1970.
type Span struct {
	Node string `json:"node"`
	From int64  `json:"from"`
	To   int64  `json:"to"` // 0: it is so still
	Health
}

// Stretch is a time in which somebody looked.
type Stretch struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// file is what is written.
type file struct {
	Looked []Stretch `json:"looked"`
	Spans  []Span    `json:"spans"`
}

// Ledger keeps the spans. It is safe for concurrent use.
type Ledger struct {
	path string // empty: in memory alone

	mu      sync.Mutex
	looked  []Stretch
	past    []Span // that have ended, by their ends
	open    map[string]Span
	changed bool
}

// New returns a ledger that is written to a file; empty: to none.
func New(path string) *Ledger { return &Ledger{path: path, open: map[string]Span{}} }

// Load reads what was written before. After an error the ledger is empty, and good.
func (l *Ledger) Load() error {
	var f file
	if err := wholefile.ReadJSON(l.path, &f); err != nil {
		return fmt.Errorf("how well nodes were: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.looked = f.Looked
	for _, s := range f.Spans {
		if s.To == 0 {
			l.open[s.Node] = s
			continue
		}
		l.past = append(l.past, s)
	}
	l.order()
	return nil
}

func (l *Ledger) order() {
	slices.SortStableFunc(l.past, func(a, b Span) int { return cmp.Compare(a.To, b.To) })
}

// Look says how all nodes are at an instant. If the look before is longer ago than gap,
// nothing is known of the time between: what was so then ended with that look.
func (l *Ledger) Look(at time.Time, gap time.Duration, all map[string]Health) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed = true
	now := at.UnixMilli()
	last := len(l.looked) - 1
	if last < 0 || now-l.looked[last].To > gap.Milliseconds() || now < l.looked[last].To {
		for node, s := range l.open {
			l.end(node, s, l.looked[max(last, 0)].To)
		}
		l.order()
		l.looked = append(l.looked, Stretch{now, now})
	} else {
		l.looked[last].To = now
	}
	for node, s := range l.open {
		if h, there := all[node]; !there || !h.same(s.Health) {
			l.end(node, s, now)
		}
	}
	for node, h := range all {
		if _, known := l.open[node]; !known && !h.good() {
			l.open[node] = Span{Node: node, From: now, Health: h}
		}
	}
	l.forget(now)
}

// end must run under the lock.
func (l *Ledger) end(node string, s Span, at int64) {
	delete(l.open, node)
	if s.To = at; s.To > s.From {
		l.past = append(l.past, s)
	}
}

// forget lets go of what is too old or too much. It must run under the lock.
func (l *Ledger) forget(now int64) {
	oldest := now - Kept.Milliseconds()
	drop := 0
	for drop < len(l.past) && (l.past[drop].To < oldest || len(l.past)-drop > spansMost) {
		oldest = max(oldest, l.past[drop].To)
		drop++
	}
	l.past = slices.Delete(l.past, 0, drop)
	for len(l.looked) > 1 && l.looked[0].To < oldest {
		l.looked = l.looked[1:]
	}
	l.looked[0].From = max(l.looked[0].From, min(oldest, l.looked[0].To))
}

// Between are the spans that reach into a stretch of time, by node and begin, and when
// somebody looked in it.
func (l *Ledger) Between(from, to time.Time) (looked []Stretch, spans []Span) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, b := from.UnixMilli(), to.UnixMilli()
	for _, s := range l.looked {
		if s.To >= a && s.From <= b {
			looked = append(looked, Stretch{max(s.From, a), min(s.To, b)})
		}
	}
	within := func(s Span) bool { return s.From <= b && (s.To == 0 || s.To >= a) }
	for _, s := range l.past {
		if within(s) {
			spans = append(spans, s)
		}
	}
	for _, s := range l.open {
		if within(s) {
			spans = append(spans, s)
		}
	}
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.From, b.From)) })
	return looked, spans
}

// Save writes what there is, if it has changed since.
func (l *Ledger) Save() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.path == "" || !l.changed {
		return nil
	}
	f := file{Looked: l.looked, Spans: slices.Clone(l.past)}
	for _, s := range l.open {
		f.Spans = append(f.Spans, s)
	}
	err := wholefile.WriteJSON(l.path, f)
	l.changed = err != nil
	return err
}
