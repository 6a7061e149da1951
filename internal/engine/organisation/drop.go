package organisation

import (
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/org"
	"github.com/musterhq/muster/internal/engine/consequence"
	"github.com/musterhq/muster/internal/engine/draft"
)

// mayDrop refuses to drop what others need.
func mayDrop(tx *draft.Tx, e Edit, id core.ProjectID) error {
	if id == core.DefaultProject {
		return &draft.Error{Code: draft.CodeConflict, Message: "project default always exists: it is where documents go that name none", Hint: "muster project stop default keeps work from it"}
	}
	var below []string
	for p := range tx.EachProject() {
		if p.Parent == id {
			below = append(below, string(p.ID))
		}
	}
	if slices.Sort(below); len(below) > 0 {
		return &draft.Error{Code: draft.CodeConflict, Message: fmt.Sprintf("department %s still holds %s", id, consequence.Few(below)), Hint: fmt.Sprintf("muster project update NAME --parent OTHER moves each elsewhere (an empty one: to the top), then muster department delete %s", id)}
	}
	var live []string
	for wid := range tx.Workloads() {
		if w, _, ok := tx.View(wid); ok && w.Project == id && !w.Phase.End() {
			live = append(live, w.Name)
		}
	}
	if slices.Sort(live); len(live) > 0 {
		return &draft.Error{Code: draft.CodeConflict, Message: fmt.Sprintf("project %s has live workloads (%d): %s", id, len(live), consequence.Few(live)), Hint: fmt.Sprintf("muster stop -p %s NAME ends each, then muster project delete %s", id, id)}
	}
	return nil
}

func mayDropPool(tx *draft.Tx, e Edit) error {
	if e.Name == core.DefaultPool {
		return &draft.Error{Code: draft.CodeConflict, Message: "pool default always exists: it has the nodes that no other pool gathers", Hint: "make pools for them with muster pool create"}
	}
	var users []string
	for p := range tx.EachProject() {
		if _, quota := p.Pools[e.Name]; quota || slices.Contains(p.PoolOrder, e.Name) {
			users = append(users, string(p.ID))
		}
	}
	if slices.Sort(users); len(users) > 0 {
		return &draft.Error{Code: draft.CodeConflict, Message: fmt.Sprintf("pool %s is named by the quotas or the pool order of %s", e.Name, consequence.Few(users)), Hint: "muster project update NAME --forget-pool " + e.Name + " drops a quota, --pool-order names other pools"}
	}
	var busy []string
	former := tx.State.Pools
	for id := range tx.State.Held {
		w, tasks, _ := tx.View(id)
		for _, t := range tasks.Open() {
			n, ok := tx.State.Reported[t.Node]
			if ok && t.State.Held() && org.PoolOf(org.Set(n, tx.Setting(n.ID)), former) == e.Name {
				busy = append(busy, w.Name)
				break
			}
		}
	}
	if slices.Sort(busy); len(busy) > 0 {
		return &draft.Error{Code: draft.CodeConflict, Message: fmt.Sprintf("pool %s has workloads on its nodes (%d): %s", e.Name, len(busy), consequence.Few(busy)), Hint: "muster node drain NODE moves them away; then muster pool delete " + e.Name}
	}
	return nil
}
