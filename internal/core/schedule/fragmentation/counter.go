package fragmentation

import (
	"cmp"
	"slices"
	"strings"
)

// A Counter forgets: once so many arrivals or shapes are held, all counts are
// halved. It follows work that changes, and its memory is bounded.
const (
	maxHeld   = 1 << 16
	maxShapes = 1 << 12
)

// Counter learns from arrivals how often each shape occurs. The zero value is
// ready. It is not safe for concurrent use.
type Counter struct {
	shapes  map[shapeKey]*Shape
	held    int64 // arrivals in shapes, less than all once some are forgotten
	arrived int64 // all arrivals
	due     int64 // how many have arrived when a new Model is due
}

type shapeKey struct {
	cpu            int64
	devices, milli int
	models         string
}

// Add counts s.Count arrivals (one, if that is zero or less) and reports
// whether it is time to make a new Model: after 32, 64, 128, … 512 arrivals and
// then every 512.
func (c *Counter) Add(s Shape) bool {
	n := min(max(s.Count, 1), maxHeld)
	k := shapeKey{s.CPU, s.Devices, s.Milli, ""}
	if len(s.Models) > 0 {
		sorted := slices.Clone(s.Models)
		slices.Sort(sorted)
		s.Models = slices.Compact(sorted)
		k.models = strings.Join(s.Models, "\x00")
	}
	if c.shapes == nil {
		c.shapes, c.due = map[shapeKey]*Shape{}, 32
	}
	if at := c.shapes[k]; at != nil {
		at.Count += n
	} else {
		s.Count = n
		c.shapes[k] = &s
	}
	c.held += n
	c.arrived += n
	for c.held > maxHeld || len(c.shapes) > maxShapes {
		c.halve()
	}
	if c.arrived < c.due {
		return false
	}
	for c.due <= c.arrived {
		c.due += min(c.due, 512)
	}
	return true
}

func (c *Counter) halve() {
	c.held = 0
	for k, s := range c.shapes {
		if s.Count /= 2; s.Count == 0 {
			delete(c.shapes, k)
		}
		c.held += s.Count
	}
}

// Shapes returns what was counted, in an order that depends on nothing else.
func (c *Counter) Shapes() []Shape {
	all := make([]Shape, 0, len(c.shapes))
	for _, s := range c.shapes {
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b Shape) int {
		return cmp.Or(cmp.Compare(a.CPU, b.CPU), cmp.Compare(a.Devices, b.Devices), cmp.Compare(a.Milli, b.Milli), slices.Compare(a.Models, b.Models))
	})
	return all
}
