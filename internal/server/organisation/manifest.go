package organisation

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/policy"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/request"
	"github.com/musterhq/muster/internal/server/wire"
)

// kinds are what a manifest may hold.
var kinds = map[string]organisation.Record{
	"Project": organisation.RecordProject, "Department": organisation.RecordDepartment, "Pool": organisation.RecordPool, "License": organisation.RecordLicense, "Node": organisation.RecordNode, "Reservation": organisation.RecordReservation, "Policy": organisation.RecordPolicy,
	"UserLimit": organisation.RecordUserBound, "Prices": organisation.RecordPrices,
}

// nodeSpec is what a manifest decides about a node.
type nodeSpec struct {
	Cordon bool              `json:"cordon,omitempty"`
	Note   string            `json:"note,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	Taints []api.Taint       `json:"taints,omitempty"`
}

// editOf reads one record of a manifest.
func editOf(item map[string]any, user string) (organisation.Edit, error) {
	kind, _ := item["kind"].(string)
	name, _ := item["name"].(string)
	e := organisation.Edit{What: kinds[kind], Name: name}
	if e.What == "" {
		return e, problem.OneOf("kind", kind, slices.Sorted(maps.Keys(kinds))...)
	}
	if e.What == organisation.RecordPolicy {
		return policyOf(item, user)
	}
	if e.What == organisation.RecordPrices {
		return pricesEdit(item, user)
	}
	if name == "" {
		return e, problem.BadRequest("name", "is missing", "give the name of the "+string(e.What))
	}
	fields := maps.Clone(item)
	delete(fields, "kind")
	delete(fields, "name")
	switch e.What {
	case organisation.RecordPool:
		var in api.PoolSpec
		e.Pool = func(p *core.Pool) error { return wire.DecidePool(in, p) }
		return e, cmp.Or(request.Strictly(fields, "", &in), wire.DecidePool(in, new(core.Pool)))
	case organisation.RecordLicense:
		var in api.LicenseSpec
		if err := request.Strictly(fields, "", &in); err != nil {
			return e, err
		}
		e.License = wire.DecideLicense(in)
		return e, nil
	case organisation.RecordUserBound:
		var in api.UserBoundSpec
		e.UserBound = func(b *core.UserBound) error { return wire.DecideUserBound(in)(b) }
		return e, request.Strictly(fields, "", &in)
	case organisation.RecordReservation:
		var in api.ReservationSpec
		e.Reservation = func(r *core.Reservation) error { return wire.DecideReservation(in, r) }
		return e, cmp.Or(request.Strictly(fields, "", &in), wire.DecideReservation(in, new(core.Reservation)))
	case organisation.RecordNode:
		var in nodeSpec
		e.Node = func(n *core.NodeSetting, reported core.Node) error {
			if !says(fields, "cordon") { // it is the day's, and not the file's
				in.Cordon, in.Note = n.Cordon, n.Note
			}
			return in.decide(n, reported)
		}
		return e, request.Strictly(fields, "", &in)
	default:
		var in api.ProjectSpec
		if err := request.Strictly(fields, "", &in); err != nil {
			return e, err
		}
		e.Project = func(p *core.Project) error {
			mode, note := p.StopMode, p.Note
			if err := wire.DecideProject(in, p); err != nil {
				return err
			}
			if !says(fields, "stopMode") { // it is the day's, and not the file's
				p.StopMode, p.Note = mode, note
			}
			return nil
		}
		return e, wire.DecideProject(in, new(core.Project))
	}
}

// policyOf reads a policy, which has a scope and a kind of workloads for a name.
func policyOf(item map[string]any, user string) (organisation.Edit, error) {
	var in struct {
		Scope string `json:"scope"`
		For   string `json:"for"`
		api.PolicySpec
	}
	fields := maps.Clone(item)
	delete(fields, "kind")
	if err := request.Strictly(fields, "", &in); err != nil {
		return organisation.Edit{What: organisation.RecordPolicy}, err
	}
	id := policy.ID{Scope: core.ProjectID(cmp.Or(in.Scope, string(core.SystemScope))), For: cmp.Or(in.For, policy.All)}
	if !slices.Contains(policy.For(), id.For) {
		return organisation.Edit{What: organisation.RecordPolicy}, problem.OneOf("for", id.For, policy.For()...)
	}
	return organisation.Edit{What: organisation.RecordPolicy, Name: organisation.PolicyName(id), Policy: wire.DecidePolicy(in.PolicySpec, user)}, nil
}

// pricesEdit reads what GPUs cost, of which there is one record.
func pricesEdit(item map[string]any, user string) (organisation.Edit, error) {
	e := organisation.Edit{What: organisation.RecordPrices, Name: string(organisation.RecordPrices)}
	fields := maps.Clone(item)
	delete(fields, "kind")
	if _, named := fields["name"]; named {
		return e, problem.BadRequest("name", "is nothing that prices have", "leave it out: there is one record of all prices")
	}
	var in api.PricesSpec
	if err := request.Strictly(fields, "", &in); err != nil {
		return e, err
	}
	e.Prices = func() (core.Prices, string) { return wire.PricesOf(api.Prices{PricesSpec: in}), user }
	return e, nil
}

func says(fields map[string]any, name string) bool { _, ok := fields[name]; return ok }

func (in nodeSpec) decide(n *core.NodeSetting, reported core.Node) error {
	n.Cordon, n.Note, n.Labels, n.Taints = in.Cordon, in.Note, nil, nil
	n.Drain = n.Drain && in.Cordon
	if err := organisation.Label(n, reported, in.Labels, nil); err != nil {
		return err
	}
	r := organisation.Tainting{}
	for _, t := range in.Taints {
		r.Set = append(r.Set, core.Taint{Key: t.Key, Value: t.Value, Effect: core.TaintEffect(t.Effect)})
	}
	return r.Apply(n, reported)
}

// changesOf are the fields in which a record differs from what it was.
func changesOf(done organisation.Edited) ([]api.FieldChange, error) {
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
func fieldsOfRecord(c organisation.Content) (map[string]json.RawMessage, error) {
	var decided any
	switch {
	case c.Project != nil:
		decided = wire.ProjectSpec(*c.Project)
	case c.Pool != nil:
		decided = wire.PoolSpec(*c.Pool)
	case c.Reservation != nil:
		decided = wire.ReservationSpec(*c.Reservation)
	case c.License != nil:
		decided = wire.LicenseSpec(*c.License)
	case c.UserBound != nil:
		decided = wire.UserBoundSpec(*c.UserBound)
	case c.Prices != nil:
		decided = wire.PricesSpec(*c.Prices)
	case c.Policy != nil:
		spec, err := wire.PolicySpec(c.Policy)
		if err != nil {
			return nil, err
		}
		decided = spec
	case c.Node != nil:
		in := nodeSpec{Cordon: c.Node.Cordon, Note: c.Node.Note, Labels: c.Node.Labels}
		for _, t := range c.Node.Taints {
			in.Taints = append(in.Taints, api.Taint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)})
		}
		decided = in
	default: // there was none
		return nil, nil
	}
	m, err := request.RecordOf(decided)
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
