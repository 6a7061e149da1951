package schedule

import (
	"maps"
)

// AloneEach as a rule's Alone stands for a task that shares its node with nothing,
// not even with its like.
const AloneEach = "*"

// guests is who is on a site, by what they say of their company.
type guests struct {
	plain int            // tasks that mind nobody
	alone map[string]int // of those that do, by Alone; never changed in place
}

// move counts a hold in (sign -1, as its room is taken) or out.
func (g *guests) move(h *hold, sign int64) {
	key := h.ask.alone()
	if key == "" {
		g.plain -= int(sign)
		return
	}
	g.alone = maps.Clone(g.alone)
	if g.alone == nil {
		g.alone = map[string]int{}
	}
	if g.alone[key] -= int(sign); g.alone[key] == 0 {
		delete(g.alone, key)
	}
	if len(g.alone) == 0 {
		g.alone = nil
	}
}

// admits reports whether one that says key of its company may come in.
func (g *guests) admits(key string) bool {
	switch {
	case key == "":
		return len(g.alone) == 0
	case g.plain != 0:
		return false
	case len(g.alone) == 0:
		return true
	default:
		return key != AloneEach && len(g.alone) == 1 && g.alone[key] > 0
	}
}

// alone is what a says of its company; empty: it minds nobody.
func (a *ask) alone() string {
	if a.rule == nil {
		return ""
	}
	return a.rule.Alone
}

// foreign reports whether tasks that nobody here knows hold GPUs of s. What runs
// on every node, as daemons do, holds none.
func (s *site) foreign() bool {
	for _, m := range s.node.OtherMilli {
		if m > 0 {
			return true
		}
	}
	return false
}
