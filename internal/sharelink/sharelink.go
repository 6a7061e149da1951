// Package sharelink keeps links that show workloads to people without an account: of
// their keys only hashes.
package sharelink

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/wholefile"
)

// Link is what is kept of a link: of its token only the hash.
type Link struct {
	Hash     string          `json:"hash"` // SHA-256 of the token, hex
	Workload core.WorkloadID `json:"workload"`
	Chart    string          `json:"chart,omitempty"`
	Logs     bool            `json:"logs,omitempty"`
	By       string          `json:"by"`
	Created  time.Time       `json:"created"`
	Expires  time.Time       `json:"expires"`

	Opened int `json:"-"` // how often, since the server began
}

// ID is by which a link is named without being opened.
func (l *Link) ID() string { return l.Hash[:16] }

// Most is how many links there are at most: more would not be links of people.
const Most = 10_000

// ErrFull is that there are Most links.
var ErrFull = errors.New("there are too many links")

// Kept are the links, in a file that is written whole before a link is handed out.
type Kept struct {
	path string // empty: in memory only

	mu    sync.Mutex
	links map[string]*Link // by hash
}

// Open reads the links. What cannot be read is an error: a link that was revoked must
// not come back with a file of before.
func Open(path string) (*Kept, error) {
	k := &Kept{path: path, links: map[string]*Link{}}
	var all []*Link
	if err := wholefile.ReadJSON(path, &all); err != nil {
		return nil, fmt.Errorf("links that show workloads: %w", err)
	}
	for _, l := range all {
		if len(l.Hash) == hex.EncodedLen(sha256.Size) {
			k.links[l.Hash] = l
		}
	}
	return k, nil
}

func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// Add keeps a link and returns its token, 256 random bits.
func (k *Kept) Add(l Link, now time.Time) (*Link, string, error) {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // never fails
	token := base64.RawURLEncoding.EncodeToString(raw)
	l.Hash = hashOf(token)
	k.mu.Lock()
	defer k.mu.Unlock()
	for h, x := range k.links {
		if !now.Before(x.Expires) {
			delete(k.links, h)
		}
	}
	if len(k.links) >= Most {
		return nil, "", ErrFull
	}
	k.links[l.Hash] = &l
	if err := k.write(); err != nil {
		delete(k.links, l.Hash)
		return nil, "", err
	}
	return &l, token, nil
}

// Drop revokes a link and returns it; nil: there is none such.
func (k *Kept) Drop(such func(*Link) bool) (*Link, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for h, x := range k.links {
		if such(x) {
			delete(k.links, h)
			if err := k.write(); err != nil {
				k.links[h] = x
				return nil, err
			}
			return x, nil
		}
	}
	return nil, nil
}

// Of are the links such as this that are good, the newest first.
func (k *Kept) Of(such func(*Link) bool, now time.Time) []Link {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []Link
	for _, x := range k.links {
		if now.Before(x.Expires) && such(x) {
			out = append(out, *x)
		}
	}
	slices.SortFunc(out, func(a, b Link) int { return b.Created.Compare(a.Created) })
	return out
}

// Find is the link of a token, if it is good.
func (k *Kept) Find(token string, now time.Time) (Link, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	x := k.links[hashOf(token)]
	if x == nil || !now.Before(x.Expires) {
		return Link{}, false
	}
	x.Opened++
	return *x, true
}

// write writes them all. It must run under the lock.
func (k *Kept) write() error {
	all := make([]*Link, 0, len(k.links))
	for _, x := range k.links {
		all = append(all, x)
	}
	slices.SortFunc(all, func(a, b *Link) int { return a.Created.Compare(b.Created) })
	return wholefile.WriteJSON(k.path, all)
}
