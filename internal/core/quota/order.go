package quota

import "cmp"

// Standing is where a queue stands when it is compared with a sibling: whom to
// serve next, or, in the reverse order, whom to take from. Who is to get more is
// over its share by what it Has, and is judged with its next job by the rest. Who
// is to lose more is judged by what it had before, and Part is what is left to it.
type Standing struct {
	Priority int
	Age      int64 // smaller is older
	// Amounts are referred to: a standing is made for every comparison.
	Quota *Amounts
	Share *Amounts // its fair share
	May   *Amounts // its Entitlement
	Has   *Amounts // compared with its fair share, and decides between equal parts
	Due   *Amounts // compared with its quota, and with what it is entitled to at all
	Part  *Amounts // of which the dominant share is taken first
}

// Compare says who is served first: negative if a is. The first difference
// decides: who is not over its fair share; who stays in quota; priority; who uses
// nothing it has no share of; the smaller dominant share, by Part and then by
// Has; the smaller entitlement to GPUs; the older. total is what there is to
// divide at their level's top: the whole cluster.
func Compare(a, b *Standing, total Amounts) int {
	if c := cmp.Or(
		falseFirst(OverShare(*a.Has, *a.Share), OverShare(*b.Has, *b.Share)),
		falseFirst(!a.Due.Within(*a.Quota), !b.Due.Within(*b.Quota)),
		cmp.Compare(b.Priority, a.Priority),
		falseFirst(Unentitled(*a.Due, *a.May), Unentitled(*b.Due, *b.May)),
	); c != 0 {
		return c // most pairs differ here, and shares cost divisions
	}
	return cmp.Or(
		cmp.Compare(DominantShare(*a.Part, *a.May, total), DominantShare(*b.Part, *b.May, total)),
		cmp.Compare(DominantShare(*a.Has, *a.May, total), DominantShare(*b.Has, *b.May, total)),
		cmp.Compare(uint64(a.May[GPU]), uint64(b.May[GPU])), // Unlimited is the largest
		cmp.Compare(a.Age, b.Age),
	)
}

// Entitlement is what a queue may hold before it is worse off than others in
// the order: its quota or its fair share, whichever is more, within its limit;
// Unlimited where neither quota nor limit is set.
func Entitlement(limit, quota, share Amounts) Amounts {
	var e Amounts
	for r := range e {
		switch {
		case quota[r] < 0:
			e[r] = limit[r]
		case limit[r] < 0:
			e[r] = max(quota[r], share[r])
		default:
			e[r] = min(limit[r], max(quota[r], share[r]))
		}
		e[r] = max(e[r], Unlimited)
	}
	return e
}

// OverShare reports whether a queue holds more than its fair share of every
// resource. One that is over in some is held back by its dominant share.
func OverShare(held, share Amounts) bool {
	for r := range held {
		if held[r] <= share[r] {
			return false
		}
	}
	return true
}

// Unentitled reports whether some of what is held is of a resource that there
// is no entitlement to at all.
func Unentitled(held, entitlement Amounts) bool {
	for r := range held {
		if entitlement[r] == 0 && held[r] > 0 {
			return true
		}
	}
	return false
}

// DominantShare is the largest part, over the resources, that held is of the
// entitlement; of total where that is unlimited. Of a resource without
// entitlement every device, thousandth of a core and byte counts a thousand, so
// that whoever holds any comes last, and who holds more later.
func DominantShare(held, entitlement, total Amounts) float64 {
	most := 0.0
	for r := range held {
		of := entitlement[r]
		if of < 0 {
			of = total[r]
		}
		part := float64(held[r]) * 1000
		if of > 0 {
			part = float64(held[r]) / float64(of)
		} else if Resource(r) == GPU {
			part = float64(held[r])
		}
		most = max(most, part)
	}
	return most
}

func falseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
