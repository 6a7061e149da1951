package ledger

import (
	"cmp"
	"slices"
	"sort"
)

// mostSteps is how many steps are kept together at most.
const mostSteps = 512

func compareSteps(a, b step) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.site, b.site), cmp.Compare(a.room, b.room))
}

func roomOf(steps []step) int {
	n := 0
	for _, x := range steps {
		n += int(x.room)
	}
	return n
}

// fill replaces all by those of a list, which it puts in order.
func (t *steps) fill(all []step) {
	slices.SortFunc(all, compareSteps)
	t.chunks, t.len = t.chunks[:0], len(all)
	for len(all) > 0 {
		n := min(len(all), mostSteps/2)
		t.chunks = append(t.chunks, chunk{list: slices.Clone(all[:n]), room: roomOf(all[:n])})
		all = all[n:]
	}
}

// find is the chunk where x belongs, and its place there.
func (t *steps) find(x step) (c, i int, ok bool) {
	c = sort.Search(len(t.chunks), func(c int) bool {
		list := t.chunks[c].list
		return compareSteps(list[len(list)-1], x) >= 0
	})
	if c == len(t.chunks) {
		if c--; c < 0 {
			return 0, 0, false
		}
	}
	i, ok = slices.BinarySearchFunc(t.chunks[c].list, x, compareSteps)
	return c, i, ok
}

func (t *steps) insert(x step) {
	c, i, _ := t.find(x)
	if len(t.chunks) == 0 {
		t.chunks = append(t.chunks, chunk{})
	}
	k := &t.chunks[c]
	k.list = slices.Insert(k.list, i, x)
	k.room += int(x.room)
	t.len++
	if n := len(k.list); n > mostSteps {
		rest := slices.Clone(k.list[n/2:])
		k.list = k.list[:n/2]
		more := chunk{list: rest, room: roomOf(rest)}
		k.room -= more.room
		t.chunks = slices.Insert(t.chunks, c+1, more)
	}
}

func (t *steps) remove(x step) {
	c, i, ok := t.find(x)
	if !ok {
		return
	}
	k := &t.chunks[c]
	k.list = slices.Delete(k.list, i, i+1)
	k.room -= int(x.room)
	t.len--
	if len(k.list) == 0 {
		t.chunks = slices.Delete(t.chunks, c, c+1)
	}
}

// until yields the steps up to an instant.
func (t *steps) until(at int64, yield func(step) bool) {
	for c := range t.chunks {
		for _, x := range t.chunks[c].list {
			if x.at > at || !yield(x) {
				return
			}
		}
	}
}

// back yields the first n steps, the last of them first.
func (t *steps) back(n int, yield func(step) bool) {
	c := 0
	for c < len(t.chunks) && n > len(t.chunks[c].list) {
		n -= len(t.chunks[c].list)
		c++
	}
	for ; c >= 0; c-- {
		if c == len(t.chunks) {
			continue
		}
		list := t.chunks[c].list
		for i := min(n, len(list)) - 1; i >= 0; i-- {
			if !yield(list[i]) {
				return
			}
		}
		n = mostSteps
	}
}
