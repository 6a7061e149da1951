// Package lengths is what has been seen of how long work runs: the last few lengths
// of each class of work, and what they say of the next of that class. It is pure,
// and for one goroutine at a time.
package lengths

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/internal/core"
)

// Length is how long one ran, in ms, or that it ran for at least so long, where
// something else than its own end was the end of it.
type Length struct {
	Ms  int64
	Cut bool
}

// Class is a set of workloads that are alike, and how many of them must have
// ended before anything is said of them.
type Class struct {
	Key   string
	Least int
}

// Bounds of what is remembered: lengths of a class, and classes.
const (
	lengthsKept = 64
	classesKept = 20_000
)

// Book is what is remembered. The zero value has seen nothing.
type Book struct {
	of    map[string]*kept
	order []string // keys of of as they came
}

// kept are the last few lengths of a class.
type kept struct {
	all  []Length
	next int
}

// Note remembers one length, which is of all those classes.
func (b *Book) Note(classes []Class, x Length) {
	if b.of == nil {
		b.of = map[string]*kept{}
	}
	for _, c := range classes {
		l := b.of[c.Key]
		if l == nil {
			if len(b.order) >= classesKept {
				delete(b.of, b.order[0])
				b.order = b.order[1:]
			}
			l = &kept{}
			b.of[c.Key] = l
			b.order = append(b.order, c.Key)
		}
		if len(l.all) < lengthsKept {
			l.all = append(l.all, x)
			continue
		}
		l.all[l.next] = x
		l.next = (l.next + 1) % lengthsKept
	}
}

// Likes are the lengths of the first of the classes of which enough ended by
// themselves, as far as they are longer than since, the shortest first; nil: there
// is no such class in which anything ended later than that.
func (b *Book) Likes(classes []Class, since int64) []Length {
	for _, c := range classes {
		l := b.of[c.Key]
		if l == nil {
			continue
		}
		whole, ended := 0, 0
		var longer []Length
		for _, x := range l.all {
			whole += core.Bit(!x.Cut)
			if x.Ms > since {
				longer = append(longer, x)
				ended += core.Bit(!x.Cut)
			}
		}
		if whole < c.Least || ended == 0 { // too few, or it has outlived all others of its class
			continue
		}
		slices.SortFunc(longer, func(a, b Length) int { return cmp.Or(cmp.Compare(a.Ms, b.Ms), core.Bit(a.Cut)-core.Bit(b.Cut)) })
		return longer
	}
	return nil
}

// Quantile is by when so great a part of sorted lengths was over. Those that were
// cut short count for as long as they ran (the product limit of Kaplan and Meier,
// 1958), so that a quantile that nobody reached is the longest that was seen.
func Quantile(sorted []Length, q float64) int64 {
	left := 1.0
	for i, x := range sorted {
		if x.Cut {
			continue
		}
		left *= 1 - 1/float64(len(sorted)-i)
		if 1-left >= q-1e-9 {
			return x.Ms
		}
	}
	return sorted[len(sorted)-1].Ms
}

// Left is how long work of these classes still takes in the mean that has run for
// since, in ms: the area below the curve of Kaplan and Meier. What has outlived all
// of its classes takes as long again as it has had, as lengths do whose spread is
// that of jobs on clusters; 0: too few have ended to say anything.
func (b *Book) Left(classes []Class, since int64) int64 {
	if sorted := b.Likes(classes, since); len(sorted) > 0 {
		sum, left, at := 0.0, 1.0, since
		for i, x := range sorted {
			sum += left * float64(x.Ms-at)
			at = x.Ms
			if !x.Cut {
				left *= 1 - 1/float64(len(sorted)-i)
			}
		}
		return max(int64(sum), 1)
	}
	if since > 0 && len(b.Likes(classes, 0)) > 0 {
		return since
	}
	return 0
}
