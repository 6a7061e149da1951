// Package budget decides what GPU time costs, and when a budget is used up. It is
// pure: times are passed in, and what was used is told to it.
package budget

import (
	"cmp"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
)

// Sort is what tells GPUs apart by their prices.
type Sort struct {
	Pool    string
	Product string // as the device calls itself; empty: nobody knows
}

// SortOf is the sort of what a task holds. Tasks that were placed before pools were
// noted are of the default one.
func SortOf(pool, product string) Sort { return Sort{cmp.Or(pool, core.DefaultPool), product} }

// Rates are prices in the order in which they are looked at.
type Rates struct {
	Currency string
	items    []core.Price // the more that one says the earlier, and then the later the earlier
}

// NewRates orders prices; nil: nothing costs anything.
func NewRates(p *core.Prices) Rates {
	if p == nil {
		return Rates{}
	}
	items := slices.Clone(p.Items)
	slices.SortStableFunc(items, func(a, b core.Price) int { return cmp.Or(cmp.Compare(says(b), says(a)), b.From.Compare(a.From)) })
	return Rates{p.Currency, items}
}

// says is how much a price says of what it is for: a pool counts for more than a type.
func says(p core.Price) int { return 2*core.Bit(p.Pool != "") + core.Bit(p.GPUType != "") }

// Any reports whether anything costs something.
func (r Rates) Any() bool { return len(r.items) > 0 }

// At is what a device costs for an hour at a time; 0: nothing.
func (r Rates) At(s Sort, at time.Time) float64 {
	for _, p := range r.items {
		if (p.Pool == "" || p.Pool == s.Pool) && (p.GPUType == "" || s.Product != "" && spec.OfType(s.Product, 0, p.GPUType)) && !p.From.After(at) {
			return p.PerGPUHour
		}
	}
	return 0
}

// Next is when some price begins after a time; zero: none does.
func (r Rates) Next(after time.Time) time.Time {
	var first time.Time
	for _, p := range r.items {
		if p.From.After(after) && (first.IsZero() || p.From.Before(first)) {
			first = p.From
		}
	}
	return first
}

// Cost is what so many thousandths of a device have cost from a time until another,
// at the prices that held meanwhile.
func (r Rates) Cost(s Sort, from, to time.Time, milli int64) float64 {
	sum := 0.0
	for len(r.items) > 0 && from.Before(to) {
		end := r.Next(from)
		if end.IsZero() || end.After(to) {
			end = to
		}
		sum += r.At(s, from) * end.Sub(from).Hours() * float64(milli) / 1000
		from = end
	}
	return sum
}
