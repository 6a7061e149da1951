package weekly

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/wholefile"
)

// Subscription is that somebody has the report of each week mailed. What the report shows
// is decided anew each time, by what they may see then.
type Subscription struct {
	ID      string    `json:"id"`
	By      string    `json:"by"`
	Owner   bool      `json:"owner,omitempty"`   // whoever the server belongs to, whom rules do not bind
	Machine bool      `json:"machine,omitempty"` // a user of the machine, by its socket
	Email   string    `json:"email"`
	Project string    `json:"project,omitempty"` // only of it
	User    string    `json:"user,omitempty"`    // only of theirs
	Zone    string    `json:"zone,omitempty"`    // in which weeks begin; empty: the server's
	Created time.Time `json:"created"`

	Sent      string    `json:"sent"`             // the latest week that needs no report any more
	SentAt    time.Time `json:"sentAt,omitzero"`  // when a mail server took one last
	Failed    int       `json:"failed,omitempty"` // tries in a row
	Problem   string    `json:"problem,omitempty"`
	NotBefore time.Time `json:"notBefore,omitzero"` // of the next try
}

// Local is a time in the zone of who has subscribed.
func (x *Subscription) Local(t time.Time) time.Time {
	if x.Zone == "" {
		return t.Local()
	}
	z, err := time.LoadLocation(x.Zone)
	if err != nil { // it was known when it was written
		return t.UTC()
	}
	return t.In(z)
}

const (
	most    = 1000 // subscriptions
	mostOne = 20   // of one person
)

// ErrFull is that there are as many subscriptions as are kept.
var ErrFull = errors.New("there are too many subscriptions")

// Kept are the subscriptions, in a file that is written whole. They are no records: the
// engine does not depend on them.
type Kept struct {
	path string // empty: in memory only

	mu  sync.Mutex
	all []*Subscription // the oldest first
}

// Open reads them. What cannot be read is an error: who has ended one must not get mail
// again with a file of before.
func Open(path string) (*Kept, error) {
	k := &Kept{path: path}
	if err := wholefile.ReadJSON(path, &k.all); err != nil {
		return nil, fmt.Errorf("who has weekly reports mailed: %w", err)
	}
	return k, nil
}

// Add keeps a subscription, whose first report is that of the present week.
func (k *Kept) Add(x Subscription, now time.Time) (Subscription, error) {
	raw := make([]byte, 8)
	_, _ = rand.Read(raw) // never fails
	last, _ := Of(Last, x.Local(now))
	x.ID, x.Created, x.Sent = hex.EncodeToString(raw), now.UTC(), last.Name
	k.mu.Lock()
	defer k.mu.Unlock()
	of := 0
	for _, o := range k.all {
		if o.By == x.By {
			of++
		}
	}
	if len(k.all) >= most || of >= mostOne {
		return x, ErrFull
	}
	k.all = append(k.all, &x)
	if err := k.write(); err != nil {
		k.all = k.all[:len(k.all)-1]
		return x, err
	}
	return x, nil
}

// Drop ends one such as this, and returns it; nil: there is none.
func (k *Kept) Drop(such func(*Subscription) bool) (*Subscription, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.all, such)
	if i < 0 {
		return nil, nil
	}
	before := k.all
	x := k.all[i]
	k.all = slices.Delete(slices.Clone(k.all), i, i+1)
	if err := k.write(); err != nil {
		k.all = before
		return nil, err
	}
	return x, nil
}

// Of are those such as this, the oldest first.
func (k *Kept) Of(such func(*Subscription) bool) []Subscription {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []Subscription
	for _, x := range k.all {
		if such(x) {
			out = append(out, *x)
		}
	}
	return out
}

// Due are those whose report is to go at a time, each with its week.
func (k *Kept) Due(now time.Time) (all []Subscription, weeks []Week) {
	for _, x := range k.Of(func(*Subscription) bool { return true }) {
		if w, is := due(&x, x.Local(now)); is {
			all, weeks = append(all, x), append(weeks, w)
		}
	}
	return all, weeks
}

// Taken notes that a mail server has the report of a week.
func (k *Kept) Taken(id string, w Week, now time.Time) error {
	return k.change(id, func(x *Subscription) { taken(x, w, now) })
}

// Missed notes that it has it not; never: nor will it.
func (k *Kept) Missed(id string, w Week, never bool, why string, now time.Time) error {
	return k.change(id, func(x *Subscription) { missed(x, w, never, why, now) })
}

// change changes one that may have been ended meanwhile. What could not be written holds
// all the same: otherwise a full disk would have a mail sent each minute.
func (k *Kept) change(id string, f func(*Subscription)) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, x := range k.all {
		if x.ID == id {
			f(x)
			return k.write()
		}
	}
	return nil
}

// write writes them all. It must run under the lock.
func (k *Kept) write() error {
	all := k.all
	if all == nil {
		all = []*Subscription{}
	}
	return wholefile.WriteJSON(k.path, all)
}
