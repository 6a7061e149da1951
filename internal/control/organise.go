package control

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/org"
	"github.com/musterhq/muster/internal/store"
)

// organisation is what a draft changes of departments, projects, pools and what
// is said of nodes; nil stands for what is dropped.
type organisation struct {
	projects map[core.ProjectID]*core.Project
	pools    map[string]*core.Pool
	nodes    map[core.NodeID]*core.NodeSetting
}

func (o organisation) clone() organisation {
	return organisation{maps.Clone(o.projects), maps.Clone(o.pools), maps.Clone(o.nodes)}
}

func put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}

// write adds what o changes to a batch.
func (o organisation) write(b *store.Batch) {
	for _, id := range sortedKeys(o.projects) {
		if p := o.projects[id]; p != nil {
			b.Projects = append(b.Projects, *p)
		} else {
			b.DropProjects = append(b.DropProjects, id)
		}
	}
	for _, name := range sortedKeys(o.pools) {
		if p := o.pools[name]; p != nil {
			b.Pools = append(b.Pools, *p)
		} else {
			b.DropPools = append(b.DropPools, name)
		}
	}
	for _, id := range sortedKeys(o.nodes) {
		b.Nodes = append(b.Nodes, *o.nodes[id])
	}
}

// organised makes what o changes the truth.
func (e *Engine) organised(o organisation) {
	for id, p := range o.projects {
		if p == nil {
			delete(e.projects, id)
			continue
		}
		e.projects[id] = *p
	}
	for name, p := range o.pools {
		if p == nil {
			delete(e.pools, name)
			continue
		}
		e.pools[name] = *p
	}
	for id, n := range o.nodes {
		if n.Plain() {
			delete(e.settings, id)
			continue
		}
		e.settings[id] = *n
	}
}

// project returns a project or department as the draft has it.
func (tx *tx) project(id core.ProjectID) (core.Project, bool) {
	if p, ok := tx.org.projects[id]; ok {
		if p == nil {
			return core.Project{}, false
		}
		return *p, true
	}
	p, ok := tx.e.projects[id]
	return p, ok
}

// tree is the tree of projects as the draft has it.
func (tx *tx) tree() org.Tree { return tx.project }

// eachProject yields every project and department as the draft has it, in no
// order.
func (tx *tx) eachProject() iter.Seq[core.Project] {
	return func(yield func(core.Project) bool) {
		for id, p := range tx.e.projects {
			if _, changed := tx.org.projects[id]; !changed && !yield(p) {
				return
			}
		}
		for _, p := range tx.org.projects {
			if p != nil && !yield(*p) {
				return
			}
		}
	}
}

// pools are those that were made, as the draft has them.
func (tx *tx) pools() map[string]core.Pool {
	if len(tx.org.pools) == 0 {
		return tx.e.pools
	}
	all := maps.Clone(tx.e.pools)
	for name, p := range tx.org.pools {
		if p == nil {
			delete(all, name)
			continue
		}
		all[name] = *p
	}
	return all
}

// poolNames are the names that a quota may be about: pools that were made, and
// those that planes name.
func (tx *tx) poolNames() []string {
	names := map[string]bool{}
	for name := range tx.pools() {
		names[name] = true
	}
	for _, n := range tx.e.nodes {
		names[n.Pool] = true
	}
	return sortedKeys(names)
}

func (tx *tx) setting(id core.NodeID) core.NodeSetting {
	s := tx.e.settings[id]
	if changed := tx.org.nodes[id]; changed != nil {
		s = *changed
	}
	s.ID = id
	return s
}

// survey derives every node from what its plane reports and what the draft has
// been told of it.
func (tx *tx) survey() {
	pools := tx.pools()
	for id, n := range tx.e.reported {
		n = org.Set(n, tx.setting(id))
		n.Pool = org.PoolOf(n, pools)
		tx.e.nodes[id] = n
	}
	tx.e.dirty, tx.e.stale = true, true
}

// Existence says whether what an edit is about may be there already.
type Existence int

// The demands of edits.
const (
	MayExist Existence = iota
	MustBeNew
	MustExist
)

// Edit changes one record. Exactly one of Project, Pool, Node and Drop is set.
type Edit struct {
	What Record
	Name string
	Must Existence
	Drop bool
	// Project, Pool and Node change a copy of the record that is there, or of a
	// new one. They replace maps and lists, and never change them in place.
	Project func(*core.Project) error
	Pool    func(*core.Pool) error
	Node    func(s *core.NodeSetting, reported core.Node) error
}

// Record is what an edit is about.
type Record string

// The records of the organisation.
const (
	RecordProject    Record = "project"
	RecordDepartment Record = "department"
	RecordPool       Record = "pool"
	RecordNode       Record = "node"
)

// Edited is what an edit has come to. Before and After are *core.Project,
// *core.Pool or *core.NodeSetting; a nil one was not, or is not, there.
type Edited struct {
	What     Record
	Name     string
	Before   any
	After    any
	Warnings []string // what is allowed and perhaps not meant
}

// Organise makes several edits at once, or none where one of them cannot be; the
// value is an []Edited. A dry run says what it would do and changes nothing.
func Organise(edits []Edit, dryRun bool) Command {
	return func(tx *tx) (any, error) {
		was := tx.org.clone()
		out, err := tx.edit(edits)
		if err != nil || dryRun {
			tx.org = was
			tx.survey()
			return out, err
		}
		return out, tx.follow(edits, was)
	}
}

// edit puts edits into the draft, without what follows from them.
func (tx *tx) edit(edits []Edit) ([]Edited, error) {
	out := make([]Edited, len(edits))
	for i, e := range edits {
		var err error
		if out[i], err = tx.editOne(e); err != nil {
			return nil, tx.blamed(edits, e, err)
		}
	}
	tx.survey()
	for i, e := range edits { // all of them first: one may refer to a later one
		warnings, err := tx.checked(e)
		if err != nil {
			return nil, tx.blamed(edits, e, err)
		}
		out[i].Warnings = warnings
	}
	return out, nil
}

// blamed says which of several edits an error is about.
func (tx *tx) blamed(all []Edit, e Edit, err error) error {
	var wrong *org.Error
	if errors.As(err, &wrong) {
		err = &Error{Code: CodeInvalid, Field: wrong.Field, Message: wrong.Message, Hint: wrong.Hint, Err: err}
	}
	var refused *Error
	if len(all) > 1 && errors.As(err, &refused) {
		c := *refused
		c.Message = fmt.Sprintf("%s %s: %s", e.What, e.Name, c.Message)
		return &c
	}
	return err
}

func (tx *tx) editOne(e Edit) (Edited, error) {
	out := Edited{What: e.What, Name: e.Name}
	switch e.What {
	case RecordPool:
		return out, tx.editPool(e, &out)
	case RecordNode:
		return out, tx.editNode(e, &out)
	default:
		return out, tx.editProject(e, &out)
	}
}

// missing is the answer where nothing is there to be edited; nil: go on.
func (e Edit) missing(there bool) error {
	switch {
	case there && e.Must == MustBeNew:
		return &Error{Code: CodeConflict, Field: "name", Message: fmt.Sprintf("%s %q exists already", e.What, e.Name), Hint: fmt.Sprintf("muster %s list shows all, muster %s update %s changes it", e.What, e.What, e.Name)}
	case !there && (e.Must == MustExist || e.Drop):
		return &Error{Code: CodeNotFound, Message: fmt.Sprintf("%s %q does not exist", e.What, e.Name), Hint: fmt.Sprintf("muster %s list shows all", e.What)}
	default:
		return nil
	}
}

func (tx *tx) editProject(e Edit, out *Edited) error {
	id := core.ProjectID(e.Name)
	was, there := tx.project(id)
	if there && was.Department != (e.What == RecordDepartment) {
		is := RecordProject
		if was.Department {
			is = RecordDepartment
		}
		code, message := CodeConflict, fmt.Sprintf("%q is a %s, and cannot become a %s", e.Name, is, e.What)
		if e.Must == MustExist || e.Drop {
			code, message = CodeNotFound, fmt.Sprintf("%q is a %s, not a %s", e.Name, is, e.What)
		}
		return &Error{Code: code, Field: "name", Message: message, Hint: fmt.Sprintf("write muster %s …, or choose another name", is)}
	}
	if err := e.missing(there); err != nil {
		return err
	}
	if there {
		out.Before = &was
	}
	if e.Drop {
		put(&tx.org.projects, id, nil)
		return nil
	}
	p := was
	if !there {
		p = core.NewProject(id, tx.now)
		p.Department = e.What == RecordDepartment
	}
	if err := e.Project(&p); err != nil {
		return err
	}
	if q, ok := p.Pools[""]; ok { // another way to write any pool
		p.Pools = maps.Clone(p.Pools)
		delete(p.Pools, "")
		if _, twice := p.Pools[core.AnyPool]; twice {
			return &Error{Code: CodeInvalid, Field: "pools", Message: `"" and "*" both stand for every pool that is not named`, Hint: "write one of them"}
		}
		p.Pools[core.AnyPool] = q
	}
	put(&tx.org.projects, id, &p)
	out.After = &p
	return nil
}

func (tx *tx) editPool(e Edit, out *Edited) error {
	was, there := tx.pools()[e.Name]
	if err := e.missing(there); err != nil {
		return err
	}
	if there {
		out.Before = &was
	}
	if e.Drop {
		put(&tx.org.pools, e.Name, nil)
		return nil
	}
	p := was
	if !there {
		p = core.Pool{Name: e.Name, CreatedAt: tx.now}
	}
	if err := e.Pool(&p); err != nil {
		return err
	}
	put(&tx.org.pools, e.Name, &p)
	out.After = &p
	return nil
}

func (tx *tx) editNode(e Edit, out *Edited) error {
	id := core.NodeID(e.Name)
	reported, there := tx.e.reported[id]
	_, said := tx.e.settings[id]
	if !there && !said {
		return &Error{Code: CodeNotFound, Message: fmt.Sprintf("node %q does not exist", e.Name), Hint: "muster node list shows all"}
	}
	was := tx.setting(id)
	s := was
	s.Labels, s.Taints = maps.Clone(was.Labels), slices.Clone(was.Taints)
	if err := e.Node(&s, reported); err != nil {
		return err
	}
	put(&tx.org.nodes, id, &s)
	out.Before, out.After = &was, &s
	return nil
}

// checked says whether a record can be as the draft has it, and what about it is
// perhaps not meant.
func (tx *tx) checked(e Edit) ([]string, error) {
	switch e.What {
	case RecordPool:
		return tx.checkedPool(e)
	case RecordNode:
		return nil, nil
	}
	id := core.ProjectID(e.Name)
	p, ok := tx.project(id)
	if !ok {
		return nil, tx.mayDrop(e, id)
	}
	if err := tx.tree().Check(&p, tx.poolNames()); err != nil {
		return nil, err
	}
	return org.Oversubscribed(p, tx.eachProject(), org.CapacityOf(maps.Values(tx.e.nodes))), nil
}

func (tx *tx) checkedPool(e Edit) ([]string, error) {
	p, ok := tx.pools()[e.Name]
	if !ok {
		return nil, tx.mayDropPool(e)
	}
	if err := org.CheckPool(&p, tx.pools()); err != nil {
		return nil, err
	}
	for _, n := range tx.e.nodes {
		if n.Pool == p.Name {
			return nil, nil
		}
	}
	if p.Selector.Key == "" {
		return nil, nil
	}
	return []string{fmt.Sprintf("no node has the label %s at present; muster node label NODE %s gives it one", p.Selector, p.Selector)}, nil
}

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
		return &Error{Code: CodeConflict, Message: fmt.Sprintf("department %s still holds %s", id, few(below)), Hint: fmt.Sprintf("muster project update NAME --department OTHER moves each elsewhere (\"\": to the top), then muster department delete %s", id)}
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
		return &Error{Code: CodeConflict, Message: fmt.Sprintf("pool %s is named by the quotas or the pool order of %s", e.Name, few(users)), Hint: "muster project update NAME --pool " + e.Name + "=none drops a quota, --pool-order names other pools"}
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

// workloads yields the live ones and those that the draft has made, in order:
// the same commands make the same history.
func (tx *tx) workloads() iter.Seq[core.WorkloadID] {
	ids := make([]core.WorkloadID, 0, len(tx.e.live))
	for id := range tx.e.live {
		ids = append(ids, id)
	}
	for id := range tx.drafts {
		if _, ok := tx.e.live[id]; !ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Values(ids)
}
