package budget

import (
	"cmp"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
)

// Account is what was used of what is counted together, as a line over time: what was
// used up to an instant, and how much is held since. It is told once of each change of
// what is held, and is asked at any time after.
//
// Whole numbers are added, thousandths of devices times milliseconds, so that the sum
// is the same in whatever order what is held is told.
type Account struct {
	Key         Key
	From, Until time.Time // the window that is counted
	epoch       time.Time // since when the meters run, at prices that have not changed since
	before      int64     // used in the window before epoch
	paid        float64   // what that cost
	meters      map[Sort]meter

	Levels []Level   // of each budget that is counted here
	Next   time.Time // when something follows if nothing changes; zero: never
}

// meter is what is used of one sort since the epoch: closed, and held at so many
// thousandths more with each millisecond.
type meter struct{ closed, rate int64 }

// Level is how a budget stands.
type Level struct {
	Budget core.Budget
	Judged bool    // it was looked at before
	Warned float64 // the highest share that was passed; 0: none
	Over   bool
	Used   float64 // when it was last looked at
	// Announced is the begin of the window in which it was said that it will soon have
	// what runs leave; zero: never. It is said once in each, so that what comes and
	// goes does not repeat it.
	Announced time.Time
}

// soon reports whether a budget that stops what runs will be used up within its notice.
func (a *Account) soon(b *core.Budget, all float64, now time.Time, r Rates) bool {
	if b.NoticeOf() == 0 || now.Before(a.From) || !now.Before(a.Until) {
		return false
	}
	at := a.Reached(b, all, now, r)
	return !at.IsZero() && at.Sub(now) <= b.NoticeOf()
}

// Needs is how much of a budget so many thousandths of a device use in a time from now
// on, as far as that is in the window that is counted, and how much is left.
func (a *Account) Needs(b *core.Budget, s Sort, milli int64, length time.Duration, now time.Time, r Rates) (needs, left float64) {
	used, all := a.Of(b, now, r)
	from, to := now, now.Add(length)
	if from.Before(a.From) {
		from = a.From
	}
	if to.After(a.Until) {
		to = a.Until
	}
	left = max(all-used, 0)
	switch {
	case !from.Before(to):
		return 0, left
	case b.Money > 0:
		return r.Cost(s, from, to, milli), left
	}
	return to.Sub(from).Seconds() * float64(milli) / 1000, left
}

// NewAccount counts from now on; what was used before is told by Past.
func NewAccount(k Key, now time.Time, all []core.Budget) *Account {
	a := &Account{Key: k, epoch: now, meters: map[Sort]meter{}}
	a.From, a.Until = k.Window(now)
	for i := range all {
		a.Levels = append(a.Levels, Level{Budget: all[i]})
	}
	return a
}

// within cuts a span to what is counted, in milliseconds from the epoch.
func (a *Account) within(at time.Time) int64 {
	if at.Before(a.epoch) {
		at = a.epoch
	}
	if at.Before(a.From) {
		at = a.From
	}
	if a.Key.Period == core.BudgetOnce && at.After(a.Until) {
		at = a.Until
	}
	return at.Sub(a.epoch).Milliseconds()
}

// Past tells of what was used before the epoch.
func (a *Account) Past(s Sort, from, to time.Time, milli int64, r Rates) {
	if from.Before(a.From) {
		from = a.From
	}
	if to.After(a.epoch) {
		to = a.epoch
	}
	if to.After(a.Until) {
		to = a.Until
	}
	if from.Before(to) {
		a.before += to.Sub(from).Milliseconds() * milli
		a.paid += r.Cost(s, from, to, milli)
	}
}

// Hold tells that so many thousandths of a device are held from a time on (sign 1),
// or that what was told is not so (-1).
func (a *Account) Hold(s Sort, from time.Time, milli, sign int64) {
	m := a.meters[s]
	m.closed -= sign * milli * a.within(from)
	m.rate += sign * milli
	a.put(s, m)
}

// Used tells of what was held and is not any more (sign 1), or that it was told
// wrongly (-1).
func (a *Account) Used(s Sort, from, to time.Time, milli, sign int64) {
	if n := a.within(to) - a.within(from); n > 0 {
		m := a.meters[s]
		m.closed += sign * milli * n
		a.put(s, m)
	}
}

func (a *Account) put(s Sort, m meter) {
	if m == (meter{}) {
		delete(a.meters, s)
		return
	}
	a.meters[s] = m
}

// Roll goes on to a time: a window that is over is left, and what was used is charged
// at the prices that have held.
func (a *Account) Roll(now time.Time, r Rates) {
	for !a.epoch.After(now) {
		at := r.Next(a.epoch)
		if a.Key.Period != core.BudgetOnce && (at.IsZero() || !at.Before(a.Until)) {
			at = a.Until
		}
		if at.IsZero() || at.After(now) {
			return
		}
		a.fold(at, r)
		if a.Key.Period != core.BudgetOnce && !at.Before(a.Until) {
			a.From, a.Until = a.Key.Window(at)
			a.before, a.paid = 0, 0
		}
	}
}

// fold begins a new epoch.
func (a *Account) fold(at time.Time, r Rates) {
	a.paid += a.owed(at, r)
	for _, m := range a.meters {
		a.before += a.value(m, at)
	}
	held := a.meters
	a.epoch, a.meters = at, make(map[Sort]meter, len(held))
	for s, m := range held {
		// What is held counts from the begin of the window on, where that is to come.
		a.put(s, meter{closed: -m.rate * a.within(at), rate: m.rate})
	}
}

// value is what a meter shows at a time.
func (a *Account) value(m meter, at time.Time) int64 { return m.closed + m.rate*a.within(at) }

// GPUSeconds is what was used in the window until a time, in device-seconds.
func (a *Account) GPUSeconds(at time.Time) float64 {
	sum := a.before
	for _, m := range a.meters {
		sum += a.value(m, at)
	}
	return float64(max(sum, 0)) / 1e6
}

// Money is what that has cost.
func (a *Account) Money(at time.Time, r Rates) float64 { return a.paid + a.owed(at, r) }

// owed is what was used since the epoch costs.
func (a *Account) owed(at time.Time, r Rates) float64 {
	sum := 0.0
	for _, s := range a.sorts() {
		sum += float64(max(a.value(a.meters[s], at), 0)) / 3.6e9 * r.At(s, a.epoch)
	}
	return sum
}

// sorts are those of the meters, always in one order: money is a sum of fractions.
func (a *Account) sorts() []Sort {
	out := make([]Sort, 0, len(a.meters))
	for s := range a.meters {
		out = append(out, s)
	}
	slices.SortFunc(out, compareSorts)
	return out
}

func compareSorts(x, y Sort) int {
	return cmp.Or(cmp.Compare(x.Pool, y.Pool), cmp.Compare(x.Product, y.Product))
}

// Of is how much of a budget was used until a time, and how much it is in all; in
// device-seconds, or in money.
func (a *Account) Of(b *core.Budget, at time.Time, r Rates) (used, all float64) {
	if b.Money > 0 {
		return a.Money(at, r), b.Money
	}
	return a.GPUSeconds(at), b.GPUSeconds
}

// speed is how fast a budget is used, by the second.
func (a *Account) speed(b *core.Budget, r Rates) float64 {
	sum := 0.0
	for _, s := range a.sorts() {
		per := 1.0
		if b.Money > 0 {
			per = r.At(s, a.epoch) / 3600
		}
		sum += float64(a.meters[s].rate) / 1000 * per
	}
	return sum
}

// Reached is when so much of a budget will have been used if nothing changes; zero:
// never in this window.
func (a *Account) Reached(b *core.Budget, amount float64, now time.Time, r Rates) time.Time {
	used, _ := a.Of(b, now, r)
	speed := a.speed(b, r)
	if used >= amount {
		return now
	}
	seconds := (amount - used) / speed
	if speed <= 0 || seconds > a.Until.Sub(now).Seconds() {
		return time.Time{}
	}
	at := now
	if at.Before(a.From) {
		at = a.From
	}
	// One more millisecond: meters count whole ones, and it is to be reached by then.
	return at.Add(time.Duration(seconds*1e3+1) * time.Millisecond)
}

// Judge looks at every budget as it stands now, and says which stand otherwise than
// when they were last looked at: by their places among Levels.
func (a *Account) Judge(now time.Time, r Rates) []int {
	a.Roll(now, r)
	var changed []int
	for i := range a.Levels {
		l := &a.Levels[i]
		used, all := a.Of(&l.Budget, now, r)
		next := Level{Budget: l.Budget, Judged: true, Used: used, Announced: l.Announced, Over: used >= all && !now.Before(a.From) && now.Before(a.Until)}
		for _, share := range l.Budget.Warnings() {
			if used >= share*all && now.Before(a.Until) {
				next.Warned = max(next.Warned, share)
			}
		}
		if !next.Over && !next.Announced.Equal(a.From) && a.soon(&l.Budget, all, now, r) {
			next.Announced = a.From
		}
		if !l.Judged || next.Over != l.Over || next.Warned != l.Warned || !next.Announced.Equal(l.Announced) {
			changed = append(changed, i)
		}
		a.Levels[i] = next
	}
	a.Plan(now, r)
	return changed
}

// Plan notes when something follows if nothing changes: a share is passed, the window
// ends, or a price changes.
func (a *Account) Plan(now time.Time, r Rates) {
	a.Next = time.Time{}
	sooner := func(at time.Time) {
		if at.After(now) && (a.Next.IsZero() || at.Before(a.Next)) {
			a.Next = at
		}
	}
	sooner(a.Until)
	sooner(r.Next(now))
	if now.Before(a.From) {
		sooner(a.From)
	}
	for i := range a.Levels {
		l := &a.Levels[i]
		l.Judged = true // what comes from here on is news
		if l.Over {
			continue
		}
		// Only the first that is to come is looked for: what follows then is asked then.
		_, all := a.Of(&l.Budget, now, r)
		first := 1.0
		for _, share := range l.Budget.Warnings() {
			if share > l.Warned {
				first = min(first, share)
			}
		}
		if notice := l.Budget.NoticeOf(); notice > 0 && !l.Announced.Equal(a.From) && now.Before(a.Until) {
			if at := a.Reached(&l.Budget, all, now, r); !at.IsZero() {
				// Within the notice already: what was told since has brought it so near.
				sooner(later(at.Add(-notice), now.Add(time.Millisecond)))
			}
		}
		switch at := a.Reached(&l.Budget, first*all, now, r); {
		case !now.Before(a.Until): // of a budget for once, which is over
		case at.Equal(now): // what was told since has reached it
			sooner(now.Add(time.Millisecond))
		default:
			sooner(at)
		}
	}
}

// Idle reports whether nothing was used, and nothing is held.
func (a *Account) Idle() bool { return a.before == 0 && len(a.meters) == 0 }

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
