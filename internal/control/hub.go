package control

import (
	"sync"

	"github.com/musterhq/muster/internal/engine/draft"
)

// subscriptionMax is how many changes a subscriber may fall behind before it
// is dropped; it then resumes from the store.
const subscriptionMax = 4096

// hub hands committed changes to subscribers without ever waiting for one.
type hub struct {
	mu   sync.Mutex
	subs map[*Subscription]struct{}
}

// Subscription is a stream of committed changes, in commit order.
type Subscription struct {
	hub *hub
	// C carries the changes of one commit at a time. It is closed when the
	// subscriber was too slow, or by Close.
	C chan []draft.Change
}

func newHub() *hub { return &hub{subs: map[*Subscription]struct{}{}} }

func (h *hub) subscribe() *Subscription {
	s := &Subscription{hub: h, C: make(chan []draft.Change, subscriptionMax)}
	h.mu.Lock()
	h.subs[s] = struct{}{}
	h.mu.Unlock()
	return s
}

// Close ends the subscription.
func (s *Subscription) Close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.drop()
}

func (s *Subscription) drop() {
	if _, ok := s.hub.subs[s]; ok {
		delete(s.hub.subs, s)
		close(s.C)
	}
}

func (h *hub) publish(changes []draft.Change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subs {
		select {
		case s.C <- changes:
		default:
			s.drop()
		}
	}
}
