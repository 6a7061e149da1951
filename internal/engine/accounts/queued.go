package accounts

import (
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/org"
)

// Queued counts the workloads of each user in each project that have not started since
// they were submitted or went back to their queue.
type Queued map[core.ProjectID]map[string]int

// Count counts a workload (sign 1), or takes it off.
func (q Queued) Count(w *core.Workload, sign int) {
	if !w.Phase.Unstarted() || w.Kind.Foreign() {
		return
	}
	of := q[w.Project]
	if of == nil {
		of = map[string]int{}
		q[w.Project] = of
	}
	if of[w.User] += sign; of[w.User] == 0 {
		delete(of, w.User)
	}
}

// Of is how many of a user wait in a project, or in all below a department; of all
// users where none is named.
func (q Queued) Of(t org.Tree, scope core.ProjectID, user string) int {
	sum := func(of map[string]int) (n int) {
		if user != "" {
			return of[user]
		}
		for _, k := range of {
			n += k
		}
		return n
	}
	if p, ok := t(scope); ok && !p.Department {
		return sum(q[scope])
	}
	n := 0
	for id, of := range q {
		if t.Below(id, scope) {
			n += sum(of)
		}
	}
	return n
}

// User is how many of a user wait in all projects together.
func (q Queued) User(user string) int {
	n := 0
	for _, of := range q {
		n += of[user]
	}
	return n
}
