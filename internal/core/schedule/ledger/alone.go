package ledger

import (
	"maps"
)

// AloneEach as a rule's Alone stands for a task that shares its node with nothing,
// not even with its like.
const AloneEach = "*"

// guests is who is on a site, by what they say of their company.
type guests struct {
	Plain int            // tasks that mind nobody
	Alone map[string]int // of those that do, by Alone; never changed in place
}

// move counts a hold in (sign -1, as its room is taken) or out.
func (g *guests) move(h *Hold, sign int64) {
	key := h.Ask.Alone()
	if key == "" {
		g.Plain -= int(sign)
		return
	}
	g.Alone = maps.Clone(g.Alone)
	if g.Alone == nil {
		g.Alone = map[string]int{}
	}
	if g.Alone[key] -= int(sign); g.Alone[key] == 0 {
		delete(g.Alone, key)
	}
	if len(g.Alone) == 0 {
		g.Alone = nil
	}
}

// Admits reports whether one that says key of its company may come in.
func (g *guests) Admits(key string) bool {
	switch {
	case key == "":
		return len(g.Alone) == 0
	case g.Plain != 0:
		return false
	case len(g.Alone) == 0:
		return true
	default:
		return key != AloneEach && len(g.Alone) == 1 && g.Alone[key] > 0
	}
}

// Alone is what a says of its company; empty: it minds nobody.
func (a *Ask) Alone() string {
	if a.Rule == nil {
		return ""
	}
	return a.Rule.Alone
}

// Foreign reports whether tasks that nobody here knows hold GPUs of s. What runs
// on every node, as daemons do, holds none.
func (s *Site) Foreign() bool {
	for _, m := range s.Node.OtherMilli {
		if m > 0 {
			return true
		}
	}
	return false
}
