package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/org"
)

// Existence says whether what an edit is about may be there already.
type Existence int

// The demands of edits.
const (
	MayExist Existence = iota
	MustBeNew
	MustExist
)

// Edit changes one record. Exactly one of Project, Pool, License,
// Node, Reservation and Drop is set.
type Edit struct {
	What Record
	Name string
	Must Existence
	Drop bool
	// Project, Pool, License, Node and Reservation change a copy of the record that is there, or of a
	// new one. They replace maps and lists, and never change them in place.
	Project     func(*core.Project) error
	Pool        func(*core.Pool) error
	License     func(*core.License) error
	Node        func(s *core.NodeSetting, reported core.Node) error
	Reservation func(*core.Reservation) error
}

// Record is what an edit is about.
type Record string

// The records of the organisation.
const (
	RecordProject     Record = "project"
	RecordDepartment  Record = "department"
	RecordPool        Record = "pool"
	RecordLicense     Record = "license"
	RecordNode        Record = "node"
	RecordReservation Record = "reservation"
)

// Edited is what an edit has come to. Before and After are *core.Project,
// *core.Pool, *core.License, *core.NodeSetting or *core.Reservation; a nil one was not, or is not, there.
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
			return nil, tx.blamed(edits, i, err)
		}
	}
	tx.survey()
	for i, e := range edits { // all of them first: one may refer to a later one
		warnings, err := tx.checked(e, out[i])
		if err != nil {
			return nil, tx.blamed(edits, i, err)
		}
		out[i].Warnings = warnings
	}
	return out, nil
}

// Refused says which of several edits an error is about.
type Refused struct {
	Edit int // index
	Err  error
}

func (r *Refused) Error() string { return r.Err.Error() }

func (r *Refused) Unwrap() error { return r.Err }

// blamed says which of several edits an error is about.
func (tx *tx) blamed(all []Edit, i int, err error) error {
	e := all[i]
	var wrong *org.Error
	if errors.As(err, &wrong) {
		err = &Error{Code: CodeInvalid, Field: wrong.Field, Message: wrong.Message, Hint: wrong.Hint, Err: err}
	}
	var refused *Error
	if len(all) > 1 && errors.As(err, &refused) {
		c := *refused
		c.Message = fmt.Sprintf("%s %s: %s", e.What, e.Name, c.Message)
		return &Refused{Edit: i, Err: &c}
	}
	return err
}

func (tx *tx) editOne(e Edit) (Edited, error) {
	out := Edited{What: e.What, Name: e.Name}
	switch e.What {
	case RecordPool:
		return out, tx.editPool(e, &out)
	case RecordLicense:
		return out, tx.editLicense(e, &out)
	case RecordNode:
		return out, tx.editNode(e, &out)
	case RecordReservation:
		return out, tx.editReservation(e, &out)
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
func (tx *tx) checked(e Edit, done Edited) ([]string, error) {
	switch e.What {
	case RecordPool:
		return tx.checkedPool(e)
	case RecordLicense:
		return tx.checkedLicense(e)
	case RecordNode:
		return nil, nil
	case RecordReservation:
		return tx.checkedReservation(e)
	}
	id := core.ProjectID(e.Name)
	p, ok := tx.project(id)
	if !ok {
		return nil, tx.mayDrop(e, id)
	}
	if err := tx.tree().Check(&p, tx.poolNames()); err != nil {
		return nil, err
	}
	var warnings []string
	if was, _ := done.Before.(*core.Project); org.PromisesMore(was, &p) { // who changes something else has not caused it
		warnings = org.Oversubscribed(p, tx.eachProject(), org.CapacityOf(maps.Values(tx.e.nodes)))
	}
	return append(warnings, tx.suspending(&p)...), nil
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
