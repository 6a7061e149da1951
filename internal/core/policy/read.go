package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/core/nearest"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
	"github.com/musterhq/muster/internal/core/spec/schema"
)

// reader reads a policy and collects every problem.
type reader struct {
	src  codec.Source
	errs codec.Errors
	out  *Policy
}

// Parse reads what a policy says: a map with defaults, rules and impose. It fails
// with Errors.
func Parse(data []byte) (*Policy, error) {
	n, src, err := codec.ReadTree(data)
	if err != nil {
		return nil, err
	}
	r := &reader{src: src, out: &Policy{Defaults: new(spec.Document)}}
	r.policy(&n)
	slices.SortStableFunc(r.out.Rules, func(a, b Rule) int { return strings.Compare(a.Path, b.Path) })
	if err := r.errs.InOrder(); err != nil {
		return nil, err
	}
	return r.out, nil
}

func (r *reader) fail(pos int, path string, e codec.FieldError) {
	e.Path, e.Line = path, r.src.Line(pos)
	r.errs.Add(e)
}

func (r *reader) policy(n *codec.Node) {
	if n.Kind != codec.NodeMap {
		r.fail(n.Pos, "", codec.Mismatch(n, "a map with defaults, rules and impose"))
		return
	}
	for i, name := range n.Keys {
		at := &n.Items[i]
		if at.Kind == codec.NodeNull {
			continue
		}
		switch name {
		case "defaults":
			if doc := r.part(at, "defaults"); doc != nil {
				r.out.Defaults = doc
			}
		case "rules":
			r.rules(at, "", "rules")
		case "impose":
			r.impose(at)
		default:
			r.unknown(n.At[i], name, name, []string{"defaults", "rules", "impose"})
		}
	}
}

func (r *reader) unknown(pos int, path, name string, allowed []string) {
	e := codec.FieldError{Value: name, Problem: "unknown field", Allowed: allowed}
	if near := nearest.Word(name, allowed); near != "" {
		e.Hint = codec.DidYouMean(near)
	}
	r.fail(pos, path, e)
}

// part reads a part of a document, which is there; nil: something of it is wrong.
func (r *reader) part(n *codec.Node, at string) *spec.Document {
	doc, err := spec.Parse(codec.AppendJSON(nil, n))
	var errs codec.Errors
	if errors.As(err, &errs) {
		for _, e := range errs {
			r.fail(n.Pos, codec.Join(at, e.Path), e)
		}
		return nil
	}
	return doc
}

func (r *reader) impose(n *codec.Node) {
	part := r.part(n, "impose")
	if part == nil {
		return
	}
	r.out.Impose = Impose{part.Environment, part.Compute, part.Data}
	for path := range spec.FieldsOf(part) {
		if name, _, _ := strings.Cut(path, "."); name != "environment" && name != "compute" && name != "data" {
			r.fail(n.Pos, "impose."+name, codec.FieldError{Problem: "cannot be imposed", Allowed: []string{"environment", "compute", "data"}, Hint: "put it into defaults, with the rule canEdit: false"})
		}
	}
}

// rules reads rules by path: maps in maps as documents have them, or paths with dots.
func (r *reader) rules(n *codec.Node, around, at string) {
	if n.Kind != codec.NodeMap {
		r.fail(n.Pos, at, codec.Mismatch(n, "a map of rules by field"))
		return
	}
	for i, name := range n.Keys {
		item, path, where := &n.Items[i], codec.Join(around, name), codec.Join(at, name)
		f, key, err := spec.FieldAt(path)
		var wrong codec.FieldError
		if errors.As(err, &wrong) {
			r.fail(n.At[i], where, r.ruleOfMap(around, name, wrong))
			continue
		}
		if item.Kind == codec.NodeNull {
			continue
		}
		if f.Kind == schema.Object {
			r.rules(item, path, where)
			continue
		}
		if slices.ContainsFunc(r.out.Rules, func(o Rule) bool { return o.Path == path }) {
			r.fail(n.At[i], where, codec.FieldError{Value: path, Problem: "stands twice", Hint: "write one rule for it"})
			continue
		}
		before := len(r.errs)
		c := r.checks(item, place{field: f, key: key}, where, false)
		if len(r.errs) == before {
			r.out.Rules = append(r.out.Rules, Rule{Path: path, place: place{field: f, key: key}, Checks: c})
		}
	}
}

// ruleOfMap is what is wrong where a rule was written for a map whose fields have
// rules of their own.
func (r *reader) ruleOfMap(around, name string, e codec.FieldError) codec.FieldError {
	if f, _, err := spec.FieldAt(around); around != "" && err == nil && slices.Contains(ruleWords(nil), name) {
		e.Problem, e.Hint = fmt.Sprintf("%s is a map, and rules are for its fields", around), "write rules for "+strings.Join(f.Names, ", ")
		e.Allowed = f.Names
	}
	return e
}

// allowedFor are what rules may say of each sort of value.
var allowedFor = map[sort][]string{
	truth:  {"canEdit", "required"},
	word:   {"canEdit", "required", "options"},
	amount: {"canEdit", "required", "min", "max", "step", "options", "defaultFrom"},
	words:  {"canEdit", "required"},
	items:  {"instances", "attributes"},
}

// ruleWords are those for some sorts; none: for any.
func ruleWords(of *sort) []string {
	if of != nil {
		return allowedFor[*of]
	}
	all := map[string]bool{}
	for _, words := range allowedFor {
		for _, w := range words {
			all[w] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

func (r *reader) checks(n *codec.Node, p place, at string, attribute bool) (c Checks) {
	if n.Kind != codec.NodeMap {
		r.fail(n.Pos, at, codec.Mismatch(n, "a rule, which is a map such as {canEdit: false}"))
		return c
	}
	entry := p.key != "" || attribute && len(p.below) == 0
	of := p.sort(entry)
	if p.field.Kind == schema.List && p.key != "" {
		r.fail(n.Pos, at, codec.FieldError{Value: p.key, Problem: "rules are for all items of a list", Hint: fmt.Sprintf("write %s: {instances: {locked: [%s]}}, or attributes", p.field.Path, p.key)})
		return c
	}
	allowed := slices.Clone(allowedFor[of])
	if p.leaf().Kind == schema.Texts {
		allowed = append(allowed, "options")
	}
	if attribute && (of == amount || of == word) {
		allowed = append(slices.DeleteFunc(allowed, func(w string) bool { return w == "defaultFrom" }), "default")
	}
	if p.leaf().Kind == schema.Bool && !p.leaf().Pointer {
		allowed = slices.DeleteFunc(allowed, func(w string) bool { return w == "required" }) // false is not told from absent
	}
	for i, name := range n.Keys {
		v, where := &n.Items[i], codec.Join(at, name)
		if !slices.Contains(allowed, name) {
			r.notFor(n.At[i], where, name, of, p, allowed)
			continue
		}
		switch name {
		case "canEdit":
			c.CanEdit = r.truth(v, where)
		case "required":
			c.Required = !fixed(r.truth(v, where))
		case "min":
			c.Min = r.value(v, p, where, entry)
		case "max":
			c.Max = r.value(v, p, where, entry)
		case "step":
			if c.Step = r.value(v, p, where, entry); c.Step != nil && c.Step.amount <= 0 {
				r.fail(v.Pos, where, codec.FieldError{Value: c.Step.Text, Problem: "is no step", Hint: "write more than 0"})
			}
		case "default":
			c.Default = r.value(v, p, where, entry)
		case "options":
			c.Options = r.options(v, p, where, entry)
		case "defaultFrom":
			c.DefaultFrom = r.from(v, p, where)
		case "instances":
			r.instances(v, p, where, &c)
		case "attributes":
			r.attributes(v, p, where, &c)
		}
	}
	if c.Min != nil && c.Max != nil && c.Min.amount > c.Max.amount {
		r.fail(n.Pos, codec.Join(at, "min"), codec.FieldError{Value: c.Min.Text, Problem: fmt.Sprintf("is more than max, %s: no value could be right", c.Max.Text), Hint: "write a smaller min, or a larger max"})
	}
	return c
}

func (r *reader) notFor(pos int, at, name string, of sort, p place, allowed []string) {
	e := codec.FieldError{Value: name, Problem: "unknown rule", Allowed: allowed}
	switch near := nearest.Word(name, allowed); {
	case p.field.Kind == schema.TextMap && p.key == "" && of == items && !slices.Contains(ruleWords(nil), name):
		e.Hint = fmt.Sprintf("a rule for one entry is written as %s.%s: {…}", p.field.Path, name)
	case near != "":
		e.Hint = codec.DidYouMean(near)
	case slices.Contains(ruleWords(nil), name) || name == "default":
		e.Problem = fmt.Sprintf("is no rule for %s", names[of])
	}
	r.fail(pos, at, e)
}

func (r *reader) truth(n *codec.Node, at string) *bool {
	if n.Kind != codec.NodeBool {
		e := codec.Mismatch(n, "true or false")
		r.fail(n.Pos, at, e)
		return nil
	}
	v := codec.IsTrue(n.Text)
	return &v
}

func (r *reader) value(n *codec.Node, p place, at string, entry bool) *Value {
	v, e, ok := p.read(n, entry)
	if !ok {
		r.fail(n.Pos, at, e)
		return nil
	}
	return &v
}

func (r *reader) options(n *codec.Node, p place, at string, entry bool) (out []Option) {
	if n.Kind != codec.NodeList || len(n.Items) == 0 {
		e := codec.Mismatch(n, "a list of values, or of {value, displayed}")
		e.Hint = "write it like [a, b]"
		r.fail(n.Pos, at, e)
		return nil
	}
	for i := range n.Items {
		item, where, o := &n.Items[i], fmt.Sprintf("%s[%d]", at, i), Option{}
		if item.Kind == codec.NodeMap {
			m := item
			item = nil
			for k, name := range m.Keys {
				switch name {
				case "value":
					item = &m.Items[k]
				case "displayed":
					o.Displayed = m.Items[k].Text
				default:
					r.fail(m.At[k], where+"."+name, codec.FieldError{Value: name, Problem: "unknown field", Allowed: []string{"value", "displayed"}, Hint: "write {value: …, displayed: …}, or a text with a ':' in quotes"})
				}
			}
			if item == nil {
				r.fail(m.Pos, where+".value", codec.FieldError{Problem: "is missing", Hint: "write {value: …, displayed: …}"})
				continue
			}
		}
		if v := r.value(item, p, where, entry); v != nil {
			o.Value = *v
			out = append(out, o)
		}
	}
	return out
}

func (r *reader) from(n *codec.Node, p place, at string) *From {
	if n.Kind != codec.NodeMap {
		e := codec.Mismatch(n, "a map")
		e.Hint = "write it like {field: resources.cpu, factor: 2}"
		r.fail(n.Pos, at, e)
		return nil
	}
	out := &From{Factor: 1}
	for i, name := range n.Keys {
		v, where := &n.Items[i], at+"."+name
		switch name {
		case "field":
			out.Field = v.Text
		case "factor":
			f, err := strconv.ParseFloat(v.Text, 64)
			if q, e := spec.ParseQuantity(v.Text); err != nil && e == nil { // 16Gi for each GPU
				f, err = float64(q)/1000, nil
			}
			if err != nil || !(f > 0) || f > 1e18 {
				r.fail(v.Pos, where, codec.FieldError{Value: v.Text, Problem: "is no factor", Hint: "write a number above 0, or an amount such as 16Gi for each"})
			}
			out.Factor = f
		default:
			r.unknown(n.At[i], where, name, []string{"field", "factor"})
		}
	}
	f, key, err := spec.FieldAt(out.Field)
	var wrong codec.FieldError
	switch {
	case out.Field == "":
		r.fail(n.Pos, at+".field", codec.FieldError{Problem: "is missing", Hint: "name the field to work it out from, such as resources.cpu"})
	case errors.As(err, &wrong):
		r.fail(n.Pos, at+".field", wrong)
	case key != "" || (place{field: f}).sort(false) != amount:
		r.fail(n.Pos, at+".field", codec.FieldError{Value: out.Field, Problem: "is no amount", Hint: "name a number, a quantity or a duration"})
	case f == p.field:
		r.fail(n.Pos, at+".field", codec.FieldError{Value: out.Field, Problem: "is the field itself", Hint: "name another"})
	case p.key != "":
		r.fail(n.Pos, at, codec.FieldError{Problem: "is for fields, and not for entries of maps", Hint: "give the entry a default"})
	default:
		out.place = place{field: f}
	}
	return out
}

func (r *reader) instances(n *codec.Node, p place, at string, c *Checks) {
	if n.Kind != codec.NodeMap {
		e := codec.Mismatch(n, "a map")
		e.Hint = "write it like {canAdd: false, locked: [A]}"
		r.fail(n.Pos, at, e)
		return
	}
	for i, name := range n.Keys {
		v, where := &n.Items[i], at+"."+name
		switch name {
		case "canAdd":
			c.CanAdd = r.truth(v, where)
		case "locked":
			if v.Kind != codec.NodeList {
				r.fail(v.Pos, where, codec.Mismatch(v, "a list of keys of default items"))
				continue
			}
			for k := range v.Items {
				c.Locked = append(c.Locked, canonicalKey(p.field, v.Items[k].Text))
			}
		default:
			r.unknown(n.At[i], where, name, []string{"canAdd", "locked"})
		}
	}
}

func (r *reader) attributes(n *codec.Node, p place, at string, c *Checks) {
	if n.Kind != codec.NodeMap {
		r.fail(n.Pos, at, codec.Mismatch(n, "a map of rules by attribute"))
		return
	}
	c.Attributes = map[string]Checks{}
	for i, name := range n.Keys {
		where := at + "." + name
		below, ok := attributeOf(p.field, name)
		if !ok {
			r.unknown(n.At[i], where, name, attributeNames(p.field))
			continue
		}
		c.Attributes[name] = r.checks(&n.Items[i], below, where, true)
		c.attributes = append(c.attributes, attribute{name, below, c.Attributes[name]})
	}
}

// attribute is what holds for an attribute of every item.
type attribute struct {
	name   string
	place  place
	checks Checks
}

// MarshalJSON writes what Parse reads.
func (p *Policy) MarshalJSON() ([]byte, error) {
	rules := map[string]Checks{}
	for _, r := range p.Rules {
		rules[r.Path] = r.Checks
	}
	out := struct {
		Defaults *spec.Document    `json:"defaults,omitempty"`
		Rules    map[string]Checks `json:"rules,omitempty"`
		Impose   *Impose           `json:"impose,omitempty"`
	}{Rules: rules}
	if len(spec.FieldsOf(p.Defaults)) > 0 {
		out.Defaults = p.Defaults
	}
	if !p.Impose.Empty() {
		out.Impose = &p.Impose
	}
	return json.Marshal(out)
}

// MarshalJSON writes a value as documents have it.
func (v Value) MarshalJSON() ([]byte, error) {
	if codec.Numeric(v.Text) && v.Text[0] != '+' && v.Text[0] != '.' {
		return []byte(v.Text), nil
	}
	return json.Marshal(v.Text)
}

// MarshalJSON writes what a policy says of a field.
func (c Checks) MarshalJSON() ([]byte, error) {
	type option struct {
		Value     Value  `json:"value"`
		Displayed string `json:"displayed,omitempty"`
	}
	type from struct {
		Field  string  `json:"field"`
		Factor float64 `json:"factor"`
	}
	type instances struct {
		CanAdd *bool    `json:"canAdd,omitempty"`
		Locked []string `json:"locked,omitempty"`
	}
	out := struct {
		CanEdit     *bool             `json:"canEdit,omitempty"`
		Required    bool              `json:"required,omitempty"`
		Min         *Value            `json:"min,omitempty"`
		Max         *Value            `json:"max,omitempty"`
		Step        *Value            `json:"step,omitempty"`
		Options     []option          `json:"options,omitempty"`
		Default     *Value            `json:"default,omitempty"`
		DefaultFrom *from             `json:"defaultFrom,omitempty"`
		Instances   *instances        `json:"instances,omitempty"`
		Attributes  map[string]Checks `json:"attributes,omitempty"`
	}{CanEdit: c.CanEdit, Required: c.Required, Min: c.Min, Max: c.Max, Step: c.Step, Default: c.Default, Attributes: c.Attributes}
	for _, o := range c.Options {
		out.Options = append(out.Options, option{o.Value, o.Displayed})
	}
	if c.DefaultFrom != nil {
		out.DefaultFrom = &from{c.DefaultFrom.Field, c.DefaultFrom.Factor}
	}
	if c.CanAdd != nil || len(c.Locked) > 0 {
		out.Instances = &instances{c.CanAdd, c.Locked}
	}
	return json.Marshal(out)
}
