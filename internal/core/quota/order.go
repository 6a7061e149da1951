package quota

import "cmp"

// Standing is where a queue stands when it is compared with a sibling: whom to
// serve next, or, in the reverse order, whom to take from.
type Standing struct {
	Priority int
	Age      int64 // smaller is older
	Quota    Amounts
	Limit    Amounts
	Share    Amounts // its fair share
	Held     Amounts // by it and those below it
	Next     Amounts // what its next job needs
}

// Compare says who is served first: negative if a is. The first difference
// decides: who is not over its fair share; who stays in quota with its next
// job; priority; who uses nothing it has no share of; the smaller dominant
// share with its next job, then without; the smaller entitlement; the older.
// total is what there is to divide at their level's top: the whole cluster.
func Compare(a, b *Standing, total Amounts) int {
	ea, eb := Entitlement(a.Limit, a.Quota, a.Share), Entitlement(b.Limit, b.Quota, b.Share)
	na, nb := a.Held.Add(a.Next), b.Held.Add(b.Next)
	return cmp.Or(
		falseFirst(OverShare(a.Held, a.Share), OverShare(b.Held, b.Share)),
		falseFirst(!na.Within(a.Quota), !nb.Within(b.Quota)),
		cmp.Compare(b.Priority, a.Priority),
		falseFirst(Unentitled(na, ea), Unentitled(nb, eb)),
		cmp.Compare(DominantShare(na, ea, total), DominantShare(nb, eb, total)),
		cmp.Compare(DominantShare(a.Held, ea, total), DominantShare(b.Held, eb, total)),
		compareAmounts(ea, eb),
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

// compareAmounts orders by GPU, then CPU, then memory, unlimited last. Less of
// one and no more of the others is less, so it agrees with comparing amounts
// one by one wherever that decides, and decides where it does not.
func compareAmounts(a, b Amounts) int {
	for r := range a {
		if a[r] == b[r] {
			continue
		}
		if b[r] < 0 || a[r] >= 0 && a[r] < b[r] {
			return -1
		}
		return 1
	}
	return 0
}
