package organisation

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/org"
	"github.com/musterhq/muster/internal/core/spec/codec"
	"github.com/musterhq/muster/internal/engine/draft"
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
// Node, Reservation, Policy, UserBound, Prices and Drop is set.
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
	Policy      func() (PolicyEdit, error)
	UserBound   func(*core.UserBound) error
	Prices      func() (core.Prices, string) // what they are to be, and who says so
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
	RecordPolicy      Record = "policy"
	RecordUserBound   Record = "user-limit"
	RecordPrices      Record = "prices" // of which there is one
)

// Content is what a record says: that field is set which is of its sort, and none
// where it is not there.
type Content struct {
	Project     *core.Project
	Pool        *core.Pool
	License     *core.License
	Node        *core.NodeSetting
	Reservation *core.Reservation
	Policy      *core.Template
	UserBound   *core.UserBound
	Prices      *core.Prices
}

// Edited is what an edit has come to.
type Edited struct {
	What     Record
	Name     string
	Before   Content
	After    Content
	Warnings []string // what is allowed and perhaps not meant
	Breaches []Breach // of a policy, and a dry run
}

// Organise makes several edits at once, or none where one of them cannot be. A dry
// run says what it would do and changes nothing.
func Organise(edits []Edit, dryRun bool) draft.Command[[]Edited] {
	return func(tx *draft.Tx) ([]Edited, error) {
		was := tx.Org.Clone()
		out, err := Apply(tx, edits)
		for i := range out {
			if err == nil && dryRun && out[i].After.Policy != nil {
				out[i].Breaches, err = breaches(tx, policyID(out[i].Name))
			}
		}
		if err != nil || dryRun {
			tx.Org = was
			tx.Survey()
			return out, err
		}
		return out, follow(tx, edits, was)
	}
}

// Edit puts edits into the draft, without what follows from them.
func Apply(tx *draft.Tx, edits []Edit) ([]Edited, error) {
	out := make([]Edited, len(edits))
	for i, e := range edits {
		var err error
		if out[i], err = editOne(tx, e); err != nil {
			return nil, blamed(tx, edits, i, err)
		}
	}
	tx.Survey()
	for i, e := range edits { // all of them first: one may refer to a later one
		warnings, err := checked(tx, e, out[i])
		if err != nil {
			return nil, blamed(tx, edits, i, err)
		}
		out[i].Warnings = warnings
	}
	return out, nil
}

// blamed says which of several edits an error is about.
func blamed(tx *draft.Tx, all []Edit, i int, err error) error {
	e := all[i]
	var wrong *org.Error
	if errors.As(err, &wrong) {
		err = &draft.Error{Code: draft.CodeInvalid, Field: wrong.Field, Message: wrong.Message, Hint: wrong.Hint, Err: err}
	}
	var fields codec.Errors
	if len(all) > 1 && errors.As(err, &fields) {
		return &draft.Refused{Edit: i, Err: fields}
	}
	var refused *draft.Error
	if len(all) > 1 && errors.As(err, &refused) {
		c := *refused
		c.Message = fmt.Sprintf("%s %s: %s", e.What, e.Name, c.Message)
		return &draft.Refused{Edit: i, Err: &c}
	}
	return err
}

func editOne(tx *draft.Tx, e Edit) (Edited, error) {
	out := Edited{What: e.What, Name: e.Name}
	switch e.What {
	case RecordPool:
		return out, editPool(tx, e, &out)
	case RecordLicense:
		return out, editLicense(tx, e, &out)
	case RecordNode:
		return out, editNode(tx, e, &out)
	case RecordReservation:
		return out, editReservation(tx, e, &out)
	case RecordPolicy:
		return out, editPolicy(tx, e, &out)
	case RecordUserBound:
		return out, editUserBound(tx, e, &out)
	case RecordPrices:
		return out, editPrices(tx, e, &out)
	default:
		return out, editProject(tx, e, &out)
	}
}

// missing is the answer where nothing is there to be edited; nil: go on.
func (e Edit) missing(there bool) error {
	switch {
	case there && e.Must == MustBeNew:
		return &draft.Error{Code: draft.CodeConflict, Field: "name", Message: fmt.Sprintf("%s %q exists already", e.What, e.Name), Hint: fmt.Sprintf("muster %s list shows all, muster %s update %s changes it", e.What, e.What, e.Name)}
	case !there && (e.Must == MustExist || e.Drop):
		return &draft.Error{Code: draft.CodeNotFound, Message: fmt.Sprintf("%s %q does not exist", e.What, e.Name), Hint: fmt.Sprintf("muster %s list shows all", e.What)}
	default:
		return nil
	}
}

func editProject(tx *draft.Tx, e Edit, out *Edited) error {
	id := core.ProjectID(e.Name)
	was, there := tx.Project(id)
	if there && was.Department != (e.What == RecordDepartment) {
		is := RecordProject
		if was.Department {
			is = RecordDepartment
		}
		code, message := draft.CodeConflict, fmt.Sprintf("%q is a %s, and cannot become a %s", e.Name, is, e.What)
		if e.Must == MustExist || e.Drop {
			code, message = draft.CodeNotFound, fmt.Sprintf("%q is a %s, not a %s", e.Name, is, e.What)
		}
		return &draft.Error{Code: code, Field: "name", Message: message, Hint: fmt.Sprintf("write muster %s …, or choose another name", is)}
	}
	if err := e.missing(there); err != nil {
		return err
	}
	if there {
		out.Before.Project = &was
	}
	if e.Drop {
		draft.Put(&tx.Org.Projects, id, nil)
		return nil
	}
	p := was
	if !there {
		p = core.NewProject(id, tx.Now)
		p.Department = e.What == RecordDepartment
	}
	if err := e.Project(&p); err != nil {
		return err
	}
	if q, ok := p.Pools[""]; ok { // another way to write any pool
		p.Pools = maps.Clone(p.Pools)
		delete(p.Pools, "")
		if _, twice := p.Pools[core.AnyPool]; twice {
			return &draft.Error{Code: draft.CodeInvalid, Field: "pools", Message: `"" and "*" both stand for every pool that is not named`, Hint: "write one of them"}
		}
		p.Pools[core.AnyPool] = q
	}
	draft.Put(&tx.Org.Projects, id, &p)
	out.After.Project = &p
	return nil
}

func editPool(tx *draft.Tx, e Edit, out *Edited) error {
	was, there := tx.Pools()[e.Name]
	if err := e.missing(there); err != nil {
		return err
	}
	if there {
		out.Before.Pool = &was
	}
	if e.Drop {
		draft.Put(&tx.Org.Pools, e.Name, nil)
		return nil
	}
	p := was
	if !there {
		p = core.Pool{Name: e.Name, CreatedAt: tx.Now}
	}
	if err := e.Pool(&p); err != nil {
		return err
	}
	draft.Put(&tx.Org.Pools, e.Name, &p)
	out.After.Pool = &p
	return nil
}

func editNode(tx *draft.Tx, e Edit, out *Edited) error {
	id := core.NodeID(e.Name)
	reported, there := tx.State.Reported[id]
	_, given := tx.State.Settings[id]
	if !there && !given {
		return &draft.Error{Code: draft.CodeNotFound, Message: fmt.Sprintf("node %q does not exist", e.Name), Hint: "muster node list shows all"}
	}
	was := tx.Setting(id)
	s := was
	s.Labels, s.Taints = maps.Clone(was.Labels), slices.Clone(was.Taints)
	if err := e.Node(&s, reported); err != nil {
		return err
	}
	draft.Put(&tx.Org.Nodes, id, &s)
	out.Before.Node, out.After.Node = &was, &s
	return nil
}

// checked says whether a record can be as the draft has it, and what about it is
// perhaps not meant.
func checked(tx *draft.Tx, e Edit, done Edited) ([]string, error) {
	switch e.What {
	case RecordPool:
		return checkedPool(tx, e)
	case RecordLicense:
		return checkedLicense(tx, e)
	case RecordNode:
		return nil, nil
	case RecordReservation:
		return checkedReservation(tx, e)
	case RecordPolicy:
		return nil, checkedPolicy(tx, e)
	case RecordUserBound, RecordPrices:
		return nil, nil
	}
	id := core.ProjectID(e.Name)
	p, ok := tx.Project(id)
	if !ok {
		return nil, mayDrop(tx, e, id)
	}
	if err := tx.Tree().Check(&p, tx.PoolNames()); err != nil {
		return nil, err
	}
	var warnings []string
	if org.PromisesMore(done.Before.Project, &p) { // who changes something else has not caused it
		warnings = org.Oversubscribed(p, tx.EachProject(), org.CapacityOf(maps.Values(tx.State.Nodes)))
	}
	warnings = append(warnings, tx.Tree().Looser(done.Before.Project, &p)...)
	return append(warnings, suspending(tx, &p)...), nil
}

func checkedPool(tx *draft.Tx, e Edit) ([]string, error) {
	p, ok := tx.Pools()[e.Name]
	if !ok {
		return nil, mayDropPool(tx, e)
	}
	if err := org.CheckPool(&p, tx.Pools()); err != nil {
		return nil, err
	}
	for _, n := range tx.State.Nodes {
		if n.Pool == p.Name {
			return nil, nil
		}
	}
	if p.Selector.Key == "" {
		return nil, nil
	}
	return []string{fmt.Sprintf("no node has the label %s at present; muster node label NODE %s gives it one", p.Selector, p.Selector)}, nil
}
