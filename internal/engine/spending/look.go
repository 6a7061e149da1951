package spending

import (
	"reflect"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/budget"
	"github.com/musterhq/muster/internal/engine/accounts"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/workload"
	"github.com/musterhq/muster/internal/store"
)

// tryAgain is the pause after what was used could not be read.
const tryAgain = time.Minute

// fewProjects is up to how many projects are read one by one.
const fewProjects = 8

// Look brings all budgets up to the time of the round, before anything else happens in
// it, and draws what follows.
func Look(tx *draft.Tx) {
	s := &tx.State.Spending
	s.Begin(tx.Now)
	if s.Lines != nil {
		judge(tx)
		return
	}
	know(tx)
	judge(tx)
	sweep(tx, nil)
}

// Again looks once more after commands: some may have changed budgets or prices.
func Again(tx *draft.Tx) {
	s := &tx.State.Spending
	if !changes(tx) {
		return
	}
	former := s.Lines
	if tx.Org.Prices != nil || moves(tx) {
		s.Lines = nil
	}
	know(tx)
	judge(tx)
	sweep(tx, former)
}

// Plan notes when to look next, after all has been done in a round.
func Plan(tx *draft.Tx) {
	s := &tx.State.Spending
	for k := range s.Touched {
		if a := s.Accounts[k]; a != nil {
			a.Plan(tx.Now, s.Rates)
			s.Plan(a)
		}
	}
	s.Touched = nil
}

// changes reports whether the draft changes anything that budgets depend upon.
func changes(tx *draft.Tx) bool {
	if tx.Org.Prices != nil {
		return true
	}
	for id, p := range tx.Org.Projects {
		was, there := tx.State.Projects[id]
		if p == nil || !there || len(was.Budgets)+len(p.Budgets) > 0 || was.Parent != p.Parent {
			return true
		}
	}
	return false
}

// moves reports whether a project comes below other budgets than before.
func moves(tx *draft.Tx) bool {
	for id, p := range tx.Org.Projects {
		if was, there := tx.State.Projects[id]; p != nil && there && was.Parent != p.Parent {
			return true
		}
	}
	return false
}

// know finds which budgets there are, and reads what was used of those that are new.
func know(tx *draft.Tx) {
	s := &tx.State.Spending
	if s.Lines == nil {
		if !s.TriedAt.IsZero() && tx.Now.Sub(s.TriedAt) < tryAgain {
			return
		}
		*s = accounts.Spending{TriedAt: s.TriedAt}
		s.Begin(tx.Now)
	}
	was := map[budget.Key]bool{}
	for _, lines := range s.Lines {
		for i := range lines {
			was[lines[i].Key] = true
		}
	}
	s.Rates = budget.NewRates(draft.Prices(tx))
	lines, fresh := linesOf(tx), map[budget.Key]bool{}
	var projects []core.ProjectID
	is := map[budget.Key]*accounts.Line{}
	for id, own := range lines {
		concerned := false
		for i := range own {
			is[own[i].Key] = &own[i]
			if !was[own[i].Key] {
				fresh[own[i].Key], concerned = true, true
			}
		}
		if concerned {
			projects = append(projects, id)
		}
	}
	s.Lines = lines
	if err := read(tx, fresh, projects); err != nil {
		tx.State.D.Log.Error("what was used of budgets does not count yet", "err", err, "again", tryAgain)
		*s = accounts.Spending{TriedAt: tx.Now}
		return
	}
	s.TriedAt = time.Time{}
	for k, a := range s.Accounts {
		base := k
		base.User = ""
		line := is[base]
		if line == nil {
			delete(s.Accounts, k)
			continue
		}
		renew(a, line.Budgets)
		if renew(a, line.Budgets) {
			draft.Put(&s.Touched, k, struct{}{})
		}
	}
}

// renew has an account be about these budgets, and reports whether it was about others.
func renew(a *budget.Account, all []core.Budget) bool {
	if slices.EqualFunc(a.Levels, all, func(l budget.Level, b core.Budget) bool { return reflect.DeepEqual(l.Budget, b) }) {
		return false
	}
	a.Levels = nil
	for i := range all {
		a.Levels = append(a.Levels, budget.Level{Budget: all[i]})
	}
	return true
}

// linesOf are the accounts of every project that is below a budget.
func linesOf(tx *draft.Tx) map[core.ProjectID][]accounts.Line {
	all := map[core.ProjectID][]accounts.Line{}
	for p := range tx.EachProject() {
		if p.Department {
			continue
		}
		var lines []accounts.Line
		for above := range tx.Tree().Up(p.ID) {
			for i := range above.Budgets {
				b := above.Budgets[i]
				k := budget.KeyOf(above.ID, &b, "")
				found := false
				for j := range lines {
					if lines[j].Key == k {
						lines[j].Budgets, found = append(lines[j].Budgets, b), true
					}
				}
				if !found {
					lines = append(lines, accounts.Line{Key: k, Each: b.EachUser, Budgets: []core.Budget{b}})
				}
			}
		}
		if lines != nil {
			all[p.ID] = lines
		}
	}
	return all
}

// read tells accounts that are new what was used before, and what is held.
func read(tx *draft.Tx, fresh map[budget.Key]bool, projects []core.ProjectID) error {
	if len(fresh) == 0 {
		return nil
	}
	s := &tx.State.Spending
	var from time.Time
	for k := range fresh {
		if begin, _ := k.Window(tx.Now); from.IsZero() || begin.Before(from) {
			from = begin
		}
	}
	for _, id := range projects {
		for i := range s.Lines[id] {
			if l := &s.Lines[id][i]; !l.Each && fresh[l.Key] {
				s.Account(l, "")
			}
		}
	}
	each := func(u core.Use) bool {
		lines := s.Lines[u.Project]
		for i := range lines {
			if fresh[lines[i].Key] {
				s.Account(&lines[i], u.User).Past(budget.SortOf(u.Pool, u.Product), u.From, u.To, int64(u.Milli), s.Rates)
			}
		}
		return true
	}
	asked := projects
	if len(projects) > fewProjects {
		asked = []core.ProjectID{""}
	}
	if from.Before(tx.Now) {
		for _, id := range asked {
			if err := tx.State.D.Store.Uses(tx.Ctx, store.UseQuery{From: from, To: tx.Now, Now: tx.Now, Project: id}, each); err != nil {
				return err
			}
		}
	}
	for id := range tx.State.Held {
		w, tasks, ok := tx.View(id)
		if !ok || len(s.Lines[w.Project]) == 0 {
			continue
		}
		lines := s.Lines[w.Project]
		for _, t := range tasks.Open() {
			if t.Milli() == 0 || t.PlacedAt.IsZero() || !workload.Holds(w, t) {
				continue
			}
			for i := range lines {
				if fresh[lines[i].Key] {
					s.Account(&lines[i], w.User).Hold(budget.SortOf(t.Pool, t.Product), t.PlacedAt, t.Milli(), 1)
				}
			}
		}
	}
	return nil
}
