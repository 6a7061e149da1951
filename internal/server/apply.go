package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine"
)

type applyOutput struct{ Body api.Applied }

type standingsOutput struct{ Body api.StandingList }

func (s *Server) organisationRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "apply", Method: http.MethodPost, Path: "/v1/apply", Tags: []string{"organisation"}, MaxBodyBytes: bulkMax,
		Summary: "Make projects, departments, pools, licenses, nodes and reservations what the records say: all of them, or none",
	}, func(ctx context.Context, in *struct {
		DryRunning
		Body api.Manifest
	}) (*applyOutput, error) {
		out, err := s.apply(ctx, in.Body.Items, in.DryRun)
		return out, s.refusal(err)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "quota", Method: http.MethodGet, Path: "/v1/quota", Tags: []string{"organisation"},
		Summary: "What every project and department is guaranteed, uses and waits for, by pool",
	}, func(ctx context.Context, in *struct {
		Project string `query:"project" doc:"Only this project or department"`
		Pool    string `query:"pool" doc:"Only this pool"`
	}) (*standingsOutput, error) {
		v, err := s.control.Do(ctx, engine.Standings())
		if err != nil {
			return nil, problem(s.log, err)
		}
		out := &standingsOutput{Body: api.StandingList{Items: []api.Standing{}, At: api.Time(s.clock())}}
		for _, st := range v.([]engine.Standing) {
			if (in.Project == "" || in.Project == string(st.Project.ID)) && (in.Pool == "" || in.Pool == st.Pool) {
				out.Body.Items = append(out.Body.Items, standing(st))
			}
		}
		return out, nil
	})
}

func standing(s engine.Standing) api.Standing {
	use := func(r core.Resource) api.Use {
		q := s.Quota.Of(r)
		u := api.Use{Guaranteed: q.Quota, Used: s.Used[r], Reserved: s.Reserved[r], Fixed: s.Fixed[r], Limit: q.Limit, LendingLimit: q.LendingLimit, Weight: q.WeightOf(), FairShare: s.Fair[r]}
		if q.Quota != nil {
			u.Over = max(0, u.Used+u.Reserved-*q.Quota)
			u.Kept = max(0, q.Keeps()-u.Used)
			u.Lendable = max(0, *q.Quota-u.Used-u.Kept)
			if *q.Quota > 0 {
				share := (u.Used + u.Reserved) / *q.Quota
				u.Share = &share
			}
		}
		return u
	}
	return api.Standing{
		Project: string(s.Project.ID), Department: s.Project.Department, Parent: string(s.Project.Parent), Pool: s.Pool,
		GPU: use(core.GPU), CPU: use(core.CPU), Memory: use(core.Memory), Queued: s.Queued, QueuedGPUs: s.QueuedGPUs,
	}
}

// kinds are what a manifest may hold.
var kinds = map[string]engine.Record{
	"Project": engine.RecordProject, "Department": engine.RecordDepartment, "Pool": engine.RecordPool, "License": engine.RecordLicense, "Node": engine.RecordNode, "Reservation": engine.RecordReservation,
}

// nodeSpec is what a manifest decides about a node.
type nodeSpec struct {
	Cordon bool              `json:"cordon,omitempty"`
	Note   string            `json:"note,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	Taints []api.Taint       `json:"taints,omitempty"`
}

func (s *Server) apply(ctx context.Context, items []map[string]any, dry bool) (*applyOutput, error) {
	edits := make([]engine.Edit, len(items))
	seen := map[string]int{}
	var wrong []api.FieldProblem
	for i, item := range items {
		var err error
		if edits[i], err = editOf(item); err != nil {
			wrong = append(wrong, within(i, err)...)
			continue
		}
		key := string(edits[i].What) + "/" + edits[i].Name
		if first, twice := seen[key]; twice {
			wrong = append(wrong, api.FieldProblem{Path: fmt.Sprintf("items[%d].name", i), Problem: fmt.Sprintf("%s %s stands there twice, first as items[%d]", edits[i].What, edits[i].Name, first), Hint: "write each record once"})
		}
		seen[key] = i
	}
	if len(wrong) > 0 {
		hint := wrong[0].Hint
		if len(wrong[0].Allowed) > 0 {
			hint = cmp.Or(hint, "allowed: "+strings.Join(wrong[0].Allowed, ", "))
		}
		p := newProblem(http.StatusUnprocessableEntity, "invalid", wrong[0].Path+": "+wrong[0].Problem, cmp.Or(hint, "see the fields in /docs"))
		p.Errors = wrong
		return nil, p
	}
	v, err := s.control.Do(ctx, engine.Organise(edits, dry))
	if err != nil {
		return nil, s.placed(edits, err)
	}
	out := &applyOutput{Body: api.Applied{Items: []api.AppliedItem{}, DryRun: dry}}
	for i, done := range v.([]engine.Edited) {
		a := api.AppliedItem{Kind: items[i]["kind"].(string), Name: done.Name, Action: "updated", Warnings: done.Warnings}
		if a.Changes, err = changesOf(done); err != nil {
			return nil, err
		}
		switch {
		case done.Before == nil:
			a.Action = "created"
		case len(a.Changes) == 0:
			a.Action, a.Warnings = "unchanged", nil
		}
		out.Body.Items = append(out.Body.Items, a)
	}
	return out, nil
}

// within are the problems of one item, below its place.
func within(i int, err error) []api.FieldProblem {
	var p *api.Problem
	if !errors.As(err, &p) {
		return []api.FieldProblem{{Path: fmt.Sprintf("items[%d]", i), Problem: err.Error()}}
	}
	out := slices.Clone(p.Errors)
	for k := range out {
		out[k].Path = strings.TrimSuffix(fmt.Sprintf("items[%d].%s", i, out[k].Path), ".")
	}
	return out
}

// placed gives a refusal of the control plane the place of the item that it is
// about.
func (s *Server) placed(edits []engine.Edit, err error) error {
	var refused *engine.Refused
	p := problem(s.log, err)
	if !errors.As(err, &refused) && len(edits) == 1 {
		refused = &engine.Refused{}
	}
	if refused != nil {
		if len(p.Errors) == 0 {
			p.Errors = []api.FieldProblem{{Problem: p.Detail, Hint: p.Hint}}
		}
		p.Errors = within(refused.Edit, p)
	}
	return p
}

// editOf reads one record of a manifest.
func editOf(item map[string]any) (engine.Edit, error) {
	kind, _ := item["kind"].(string)
	name, _ := item["name"].(string)
	e := engine.Edit{What: kinds[kind], Name: name}
	if e.What == "" {
		return e, badRequest("kind", fmt.Sprintf("%q is not a kind of record", kind), "one of "+strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))
	}
	if name == "" {
		return e, badRequest("name", "is missing", "say which "+string(e.What)+" it is")
	}
	fields := maps.Clone(item)
	delete(fields, "kind")
	delete(fields, "name")
	switch e.What {
	case engine.RecordPool:
		var in api.PoolSpec
		e.Pool = func(p *core.Pool) error { return decidePool(in, p) }
		return e, cmp.Or(strictly(fields, "", &in), decidePool(in, new(core.Pool)))
	case engine.RecordLicense:
		var in api.LicenseSpec
		if err := strictly(fields, "", &in); err != nil {
			return e, err
		}
		e.License = deciding(in)
		return e, nil
	case engine.RecordReservation:
		var in api.ReservationSpec
		e.Reservation = func(r *core.Reservation) error { return decideReservation(in, r) }
		return e, cmp.Or(strictly(fields, "", &in), decideReservation(in, new(core.Reservation)))
	case engine.RecordNode:
		var in nodeSpec
		e.Node = func(n *core.NodeSetting, reported core.Node) error {
			if !says(fields, "cordon") { // it is the day's, and not the file's
				in.Cordon, in.Note = n.Cordon, n.Note
			}
			return in.decide(n, reported)
		}
		return e, strictly(fields, "", &in)
	default:
		var in api.ProjectSpec
		if err := strictly(fields, "", &in); err != nil {
			return e, err
		}
		e.Project = func(p *core.Project) error {
			mode, note := p.StopMode, p.Note
			if err := decide(in, p); err != nil {
				return err
			}
			if !says(fields, "stopMode") { // it is the day's, and not the file's
				p.StopMode, p.Note = mode, note
			}
			return nil
		}
		return e, decide(in, new(core.Project))
	}
}

func says(fields map[string]any, name string) bool { _, ok := fields[name]; return ok }

func (in nodeSpec) decide(n *core.NodeSetting, reported core.Node) error {
	n.Cordon, n.Note, n.Labels, n.Taints = in.Cordon, in.Note, nil, nil
	n.Drain = n.Drain && in.Cordon
	if err := engine.Label(n, reported, in.Labels, nil); err != nil {
		return err
	}
	r := engine.Tainting{}
	for _, t := range in.Taints {
		r.Set = append(r.Set, core.Taint{Key: t.Key, Value: t.Value, Effect: core.TaintEffect(t.Effect)})
	}
	return r.Apply(n, reported)
}

// changesOf are the fields in which a record differs from what it was.
func changesOf(done engine.Edited) ([]api.FieldChange, error) {
	was, err := fieldsOfRecord(done.Before)
	if err != nil {
		return nil, err
	}
	is, err := fieldsOfRecord(done.After)
	if err != nil {
		return nil, err
	}
	var out []api.FieldChange
	paths := slices.AppendSeq(slices.Collect(maps.Keys(was)), maps.Keys(is))
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		if !bytes.Equal(was[path], is[path]) {
			out = append(out, api.FieldChange{Path: path, From: was[path], To: is[path]})
		}
	}
	return out, nil
}

// fieldsOfRecord are the fields of a record by their paths; lists are one field.
func fieldsOfRecord(v any) (map[string]json.RawMessage, error) {
	var decided any
	switch v := v.(type) {
	case *core.Project:
		decided = projectSpec(*v)
	case *core.Pool:
		decided = poolSpec(*v)
	case *core.Reservation:
		decided = reservationSpec(*v)
	case *core.License:
		decided = licenseSpec(*v)
	case *core.NodeSetting:
		in := nodeSpec{Cordon: v.Cordon, Note: v.Note, Labels: v.Labels}
		for _, t := range v.Taints {
			in.Taints = append(in.Taints, api.Taint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)})
		}
		decided = in
	default: // there was none
		return nil, nil
	}
	m, err := record(decided)
	if err != nil {
		return nil, err
	}
	out := map[string]json.RawMessage{}
	return out, flatten(m, "", out)
}

func flatten(m map[string]any, path string, into map[string]json.RawMessage) error {
	for k, v := range m {
		at := strings.TrimPrefix(path+"."+k, ".")
		if below, ok := v.(map[string]any); ok && len(below) > 0 {
			if err := flatten(below, at, into); err != nil {
				return err
			}
			continue
		}
		text, err := json.Marshal(v)
		if err != nil {
			return err
		}
		into[at] = text
	}
	return nil
}
