package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/org"
)

// mayDrop refuses to drop what others need.
func (tx *tx) mayDrop(e Edit, id core.ProjectID) error {
	if id == core.DefaultProject {
		return &Error{Code: CodeConflict, Message: "project default always exists: it is where documents go that name none", Hint: "muster project stop default keeps work from it"}
	}
	var below []string
	for p := range tx.eachProject() {
		if p.Parent == id {
			below = append(below, string(p.ID))
		}
	}
	if slices.Sort(below); len(below) > 0 {
		return &Error{Code: CodeConflict, Message: fmt.Sprintf("department %s still holds %s", id, few(below)), Hint: fmt.Sprintf("muster project update NAME --parent OTHER moves each elsewhere (an empty one: to the top), then muster department delete %s", id)}
	}
	var live []string
	for wid := range tx.workloads() {
		if w, _, ok := tx.view(wid); ok && w.Project == id && !w.Phase.End() {
			live = append(live, w.Name)
		}
	}
	if slices.Sort(live); len(live) > 0 {
		return &Error{Code: CodeConflict, Message: fmt.Sprintf("project %s has live workloads (%d): %s", id, len(live), few(live)), Hint: fmt.Sprintf("muster stop -p %s NAME ends each, then muster project delete %s", id, id)}
	}
	return nil
}

func (tx *tx) mayDropPool(e Edit) error {
	if e.Name == core.DefaultPool {
		return &Error{Code: CodeConflict, Message: "pool default always exists: it has the nodes that no other pool gathers", Hint: "make pools for them with muster pool create"}
	}
	var users []string
	for p := range tx.eachProject() {
		if _, quota := p.Pools[e.Name]; quota || slices.Contains(p.PoolOrder, e.Name) {
			users = append(users, string(p.ID))
		}
	}
	if slices.Sort(users); len(users) > 0 {
		return &Error{Code: CodeConflict, Message: fmt.Sprintf("pool %s is named by the quotas or the pool order of %s", e.Name, few(users)), Hint: "muster project update NAME --forget-pool " + e.Name + " drops a quota, --pool-order names other pools"}
	}
	var busy []string
	former := tx.e.pools
	for id := range tx.e.held {
		w, tasks, _ := tx.view(id)
		for _, t := range tasks {
			n, ok := tx.e.reported[t.Node]
			if ok && t.State.Held() && org.PoolOf(org.Set(n, tx.setting(n.ID)), former) == e.Name {
				busy = append(busy, w.Name)
				break
			}
		}
	}
	if slices.Sort(busy); len(busy) > 0 {
		return &Error{Code: CodeConflict, Message: fmt.Sprintf("pool %s has workloads on its nodes (%d): %s", e.Name, len(busy), few(busy)), Hint: "muster node drain NODE moves them away; then muster pool delete " + e.Name}
	}
	return nil
}

// few lists the first of many names.
func few(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
