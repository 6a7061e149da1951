package nodeinfo

import (
	"reflect"
	"time"

	"github.com/musterhq/muster/internal/backend/kube/affinity"
)

// restriction is where something can be used that tasks ask for.
type restriction struct {
	reach affinity.Selector
	at    time.Time
}

// restrictedFor is for how long nodes say for which volumes they are no use after
// the last task that asked: a claim may be deleted and made anew.
const restrictedFor = time.Hour

// Restrict notes where a volume can be used that tasks ask for.
func (c *Nodes) Restrict(label string, r affinity.Selector) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was, known := c.reach[label]
	if r == nil && !known {
		return
	}
	c.reach[label] = restriction{r, time.Now()}
	if !known {
		time.AfterFunc(restrictedFor, func() { c.relax(label) })
	}
	if !known || !reflect.DeepEqual(was.reach, r) {
		c.touchAll()
	}
}

// Restricts reports whether nodes may have a label.
func (c *Nodes) Restricts(label string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.reach[label]
	return ok
}

// relax forgets where a volume can be used that no task has asked for of late.
func (c *Nodes) relax(label string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if left := restrictedFor - time.Since(c.reach[label].at); left > 0 {
		time.AfterFunc(left, func() { c.relax(label) })
		return
	}
	delete(c.reach, label)
	c.touchAll()
}
