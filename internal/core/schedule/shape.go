package schedule

import "strconv"

// key writes what distinguishes shapes, needs and rules: equal keys mean that
// one will do for the other.
type key []byte

func (k *key) text(s string) { *k = strconv.AppendQuote(*k, s) }

func (k *key) number(n int64) { *k = append(strconv.AppendInt(*k, n, 10), ' ') }

func (k *key) texts(all []string) {
	k.number(int64(len(all)))
	for _, s := range all {
		k.text(s)
	}
}

func (k *key) shape(sets []Set, groups []Group) {
	k.number(int64(len(sets)))
	for i := range sets {
		k.number(int64(sets[i].Parent))
		k.number(int64(sets[i].MinGroups))
		k.topology(sets[i].Topology)
	}
	for i := range groups {
		g := &groups[i]
		k.text(g.Name)
		k.number(int64(g.Set))
		k.number(int64(g.Min))
		k.number(int64(g.Segment))
		k.topology(g.Topology)
		k.number(int64(len(g.Runs)))
		for r := range g.Runs {
			k.need(&g.Runs[r].Need)
			k.rule(g.Runs[r].Rule)
			k.number(int64(g.Runs[r].Count))
		}
	}
}

func (k *key) need(n *Need) {
	for _, x := range [...]int64{int64(n.Devices), int64(n.Milli), n.Share, n.CPU, n.Memory, digit(n.Never)} {
		k.number(x)
	}
	k.text(n.Type)
	k.text(n.MIG)
}

func (k *key) topology(t *Topology) {
	if t == nil {
		*k = append(*k, '-')
		return
	}
	k.texts(t.Levels)
	k.text(t.Required)
	k.text(t.Preferred)
}

func (k *key) rule(r *Rule) {
	if r == nil {
		*k = append(*k, '-')
		return
	}
	k.terms(r.Terms)
	k.number(int64(len(r.Any)))
	for _, terms := range r.Any {
		k.terms(terms)
	}
	k.number(int64(len(r.Tolerates)))
	for _, t := range r.Tolerates {
		k.text(t.Key)
		k.text(t.Value)
		k.text(t.Effect)
	}
	k.text(r.Near)
	k.text(r.Away)
	k.text(r.Tags)
	k.text(r.Alone)
	k.number(digit(r.PlaceNever))
}

func (k *key) terms(all []Term) {
	k.number(int64(len(all)))
	for i := range all {
		k.text(all[i].Key)
		k.text(all[i].Op)
		k.texts(all[i].Values)
	}
}

// digit is 1 where b holds.
func digit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
