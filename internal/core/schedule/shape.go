package schedule

import "strconv"

// Key writes what distinguishes shapes, needs and rules: equal keys mean that
// one will do for the other.
type Key []byte

func (k *Key) Text(s string) { *k = strconv.AppendQuote(*k, s) }

func (k *Key) Number(n int64) { *k = append(strconv.AppendInt(*k, n, 10), ' ') }

func (k *Key) texts(all []string) {
	k.Number(int64(len(all)))
	for _, s := range all {
		k.Text(s)
	}
}

func (k *Key) shape(sets []Set, groups []Group) {
	k.Number(int64(len(sets)))
	for i := range sets {
		k.Number(int64(sets[i].Parent))
		k.Number(int64(sets[i].MinGroups))
		k.topology(sets[i].Topology)
	}
	for i := range groups {
		g := &groups[i]
		k.Text(g.Name)
		k.Number(int64(g.Set))
		k.Number(int64(g.Min))
		k.Number(int64(g.Segment))
		k.topology(g.Topology)
		k.Number(int64(len(g.Runs)))
		for r := range g.Runs {
			k.Need(&g.Runs[r].Need)
			k.Rule(g.Runs[r].Rule)
			k.Number(int64(g.Runs[r].Count))
		}
	}
}

func (k *Key) Need(n *Need) {
	for _, x := range [...]int64{int64(n.Devices), int64(n.Milli), n.GPUMemory, n.CPU, n.Memory, digit(n.Never)} {
		k.Number(x)
	}
	k.Text(n.Type)
	k.Text(n.Extended)
}

func (k *Key) topology(t *Topology) {
	if t == nil {
		*k = append(*k, '-')
		return
	}
	k.texts(t.Levels)
	k.Text(t.Required)
	k.Text(t.Preferred)
}

func (k *Key) Rule(r *Rule) {
	if r == nil {
		*k = append(*k, '-')
		return
	}
	k.terms(r.Terms)
	k.Number(int64(len(r.Any)))
	for _, terms := range r.Any {
		k.terms(terms)
	}
	k.Number(int64(len(r.Tolerates)))
	for _, t := range r.Tolerates {
		k.Text(t.Key)
		k.Text(t.Value)
		k.Text(t.Effect)
	}
	k.Text(r.Near)
	k.Text(r.Away)
	k.Text(r.Tags)
	k.Text(r.Alone)
	k.Number(digit(r.PlaceNever))
}

func (k *Key) terms(all []Term) {
	k.Number(int64(len(all)))
	for i := range all {
		k.Text(all[i].Key)
		k.Text(all[i].Op)
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
