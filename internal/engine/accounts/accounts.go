// Package accounts keeps, of what is committed and drafted, what was used of budgets and
// how many workloads of whom wait. It is told; it decides nothing.
package accounts

import (
	"container/heap"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/budget"
)

// Spending is what was used of budgets, in an account for each scope, period and, where
// each user has a budget, user. What tasks hold is told to it as they enter and leave
// the indexes, and what they held as it is committed: each a few additions for every
// budget above the project. Where there is no budget nothing is kept.
type Spending struct {
	Accounts map[budget.Key]*budget.Account
	// Lines are the accounts of each project that is below a budget; nil: nobody has
	// looked which there are.
	Lines map[core.ProjectID][]Line
	Rates budget.Rates
	// TriedAt is when it was last tried in vain to read what was used before.
	TriedAt time.Time
	Touched map[budget.Key]struct{} // whose plan has to be made anew
	due     moments
	now     time.Time // of the present round
}

// Line is one account of a project, or of each of its users.
type Line struct {
	Key     budget.Key // without a user
	Each    bool       // there is one for each user
	Budgets []core.Budget
}

// Begin notes the time of a round.
func (s *Spending) Begin(now time.Time) { s.now = now }

// Account is that of a line for a user, made where it is not there: who has none has
// used nothing.
func (s *Spending) Account(l *Line, user string) *budget.Account {
	k := l.Key
	if l.Each {
		k.User = user
	}
	a := s.Accounts[k]
	if a == nil {
		a = budget.NewAccount(k, s.now, l.Budgets)
		put(&s.Accounts, k, a)
		put(&s.Touched, k, struct{}{})
	}
	return a
}

// Hold tells that a task of a workload has its devices (sign 1), or that what was told is
// not so.
func (s *Spending) Hold(w *core.Workload, t *core.Task, sign int) {
	lines := s.Lines[w.Project]
	if len(lines) == 0 || t.PlacedAt.IsZero() {
		return
	}
	milli := t.Milli()
	if milli == 0 {
		return
	}
	for i := range lines {
		a := s.Account(&lines[i], w.User)
		a.Hold(budget.SortOf(t.Pool, t.Product), t.PlacedAt, milli, int64(sign))
		put(&s.Touched, a.Key, struct{}{})
	}
}

// Used tells what a task of a workload has held in all, if it does not hold it any more,
// in place of what was told of it before; was is nil where nothing was.
func (s *Spending) Used(w *core.Workload, was, is *core.Task) {
	lines := s.Lines[w.Project]
	if len(lines) == 0 {
		return
	}
	say := func(t *core.Task, sign int64) {
		milli := t.Milli()
		if t.ReleasedAt.IsZero() || t.PlacedAt.IsZero() || milli == 0 {
			return
		}
		for i := range lines {
			s.Account(&lines[i], w.User).Used(budget.SortOf(t.Pool, t.Product), t.PlacedAt, t.ReleasedAt, milli, sign)
		}
	}
	if was != nil && was.ID == is.ID {
		say(was, -1)
	}
	say(is, 1)
}

// put sets a key of a map, which may be nil.
func put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}

// Exceeded is a budget that is used up and keeps work from starting.
type Exceeded struct {
	Account *budget.Account
	budget.Level
}

// Over is a budget above a project that is used up and keeps a user's work from
// starting, the one nearest to the project; nil: none is.
func (s *Spending) Over(project core.ProjectID, user string) *Exceeded {
	lines := s.Lines[project]
	for i := range lines {
		k := lines[i].Key
		if lines[i].Each {
			k.User = user
		}
		a := s.Accounts[k]
		if a == nil {
			continue
		}
		for j := range a.Levels {
			if l := &a.Levels[j]; l.Over && l.Budget.AtEnd != core.BudgetWarn {
				return &Exceeded{a, *l}
			}
		}
	}
	return nil
}

// Plan notes when an account has to be looked at.
func (s *Spending) Plan(a *budget.Account) {
	if a.Next.IsZero() {
		return
	}
	heap.Push(&s.due, moment{a.Next, a.Key})
	if len(s.due) <= 2*len(s.Accounts)+dueSpare {
		return
	}
	s.due = s.due[:0] // most are of accounts that have been planned anew since
	for k, a := range s.Accounts {
		if !a.Next.IsZero() {
			s.due = append(s.due, moment{a.Next, k})
		}
	}
	heap.Init(&s.due)
}

// dueSpare is how many moments are kept beyond two of each account.
const dueSpare = 1000

// Next is when some account has to be looked at; zero: never.
func (s *Spending) Next() time.Time {
	for len(s.due) > 0 {
		if a := s.Accounts[s.due[0].key]; a != nil && a.Next.Equal(s.due[0].at) {
			return s.due[0].at
		}
		heap.Pop(&s.due)
	}
	return time.Time{}
}

// Due takes the first account whose time has come; nil: none has.
func (s *Spending) Due(now time.Time) *budget.Account {
	if at := s.Next(); at.IsZero() || at.After(now) {
		return nil
	}
	return s.Accounts[heap.Pop(&s.due).(moment).key]
}

// moments is a heap of when accounts are to be looked at.
type moments []moment

type moment struct {
	at  time.Time
	key budget.Key
}

func (m moments) Len() int { return len(m) }

func (m moments) Less(i, j int) bool {
	if c := m[i].at.Compare(m[j].at); c != 0 {
		return c < 0
	}
	return m[i].key.Less(m[j].key)
}

func (m moments) Swap(i, j int) { m[i], m[j] = m[j], m[i] }

// Push and Pop serve container/heap.
func (m *moments) Push(x any) { *m = append(*m, x.(moment)) }

// Pop serves container/heap.
func (m *moments) Pop() any {
	old := *m
	last := old[len(old)-1]
	*m = old[:len(old)-1]
	return last
}
