package schedule

import (
	"fmt"
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

// whyAlone says that a wants nodes to itself, and how many have nothing on them.
func (p *pool) whyAlone(st *State, a *ask, n int) []Reason {
	if a.alone() == "" {
		return nil
	}
	r := Reason{Token: WaitingForCapacity, Resource: "nodes", Requested: 1, Needed: int64(n), Tasks: int64(n), Note: "it wants them to itself"}
	if a.alone() != AloneEach {
		r.Needed = 1
	}
	for _, s := range p.sites {
		if !st.allowed(s, a) {
			r.exclude(s, a)
			continue
		}
		r.OfNodes++
		if r.Total++; s.now.guests.admits(a.alone()) && s.soon.guests.admits(a.alone()) && !s.foreign() {
			r.Free++
		} else {
			r.Nodes++
		}
	}
	if r.Free >= r.Needed {
		return nil
	}
	return []Reason{r}
}

// taken says how many nodes are taken by work that wants them to itself.
func (r Reason) taken() string {
	switch r.Taken {
	case 0:
		return ""
	case 1:
		return "; 1 node is taken by work that wants it to itself"
	default:
		return fmt.Sprintf("; %d nodes are taken by work that wants them to itself", r.Taken)
	}
}
