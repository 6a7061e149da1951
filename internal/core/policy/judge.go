package policy

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
	"github.com/musterhq/muster/internal/core/spec/schema"
)

// Apply is what becomes of a document: what is imposed is laid beside it, what it leaves
// out is filled in, and all of it is judged. written is as its author and its assets have it; it stays as it is. Other
// defaults are filled in too. It fails with Errors, one of each violation.
func (e *Effective) Apply(written *spec.Document, imposed ...Piece) (*spec.Document, error) {
	d, defaults := written.Clone(), e.defaults.Clone()
	errs := e.without(d, defaults)
	for i := range imposed {
		impose(d, &imposed[i], &errs)
	}
	overlay(d, defaults, e.Kind)
	e.attributeDefaults(d)
	e.derive(d)
	for i := range e.rules {
		e.required(d, &e.rules[i], &errs)
	}
	annotate(d, Annotation, filled(written, d))
	d.Defaults()
	for _, w := range spec.Validate(d) {
		if s, ok := e.putBy(written, d, w.Path); ok {
			w.Hint = strings.TrimPrefix(w.Hint+" (it is said by "+s.String()+")", " ")
		}
		errs.Add(w)
	}
	e.judgeAll(written, d, &errs)
	return d, errs.OrNil()
}

// Violations are those of a document that has its defaults.
func (e *Effective) Violations(d *spec.Document) (errs codec.Errors) {
	for i := range e.rules {
		e.required(d, &e.rules[i], &errs)
	}
	e.judgeAll(d, d, &errs)
	return errs
}

// ViolationsOf are those of one policy's rules.
func (e *Effective) ViolationsOf(id ID, d *spec.Document) codec.Errors {
	only := *e
	only.rules = nil
	for _, b := range e.rules {
		if b.ID == id {
			only.rules = append(only.rules, b)
		}
	}
	return only.Violations(d)
}

// judgeAll finds what of a document the rules do not allow. written is what its author
// says of it.
func (e *Effective) judgeAll(written, d *spec.Document, errs *codec.Errors) {
	var at *schema.Field
	var v reflect.Value
	for i := range e.rules { // those for entries of one map are side by side
		b := &e.rules[i]
		if b.place.field != at {
			at, v = b.place.field, d.Value(b.place.field)
		}
		e.judge(written, d, v, b, errs)
	}
}

// required refuses a document that does not say what has to be said; others' defaults
// are not filled in yet.
func (e *Effective) required(d *spec.Document, b *bound, errs *codec.Errors) {
	if !b.Checks.Required {
		return
	}
	v := d.Value(b.place.field)
	if v.IsValid() && b.place.key != "" {
		v = v.MapIndex(reflect.ValueOf(b.place.key))
	}
	if v.IsValid() && (b.place.key != "" || b.place.field.Pointer || !v.IsZero() || v.CanInt()) {
		return
	}
	w := codec.FieldError{Path: b.Path, Problem: fmt.Sprintf("is missing, and %s demands it", b.Source), Hint: "add it", Allowed: shown(b.Checks.Options)}
	if len(w.Allowed) > 0 {
		w.Hint = "write one of " + strings.Join(w.Allowed, ", ")
	} else if such := b.such(); such != "" && b.place.key == "" {
		w.Hint = fmt.Sprintf("add it, such as: %s: %s", b.Path, such)
	}
	errs.Add(w)
}

// such is an example of what the rule allows; empty: there is none.
func (b *bound) such() string {
	switch {
	case b.Checks.Max != nil:
		return b.Checks.Max.Text
	case b.Checks.Min != nil:
		return b.Checks.Min.Text
	default:
		return b.place.field.Example
	}
}

func shown(options []Option) (out []string) {
	for _, o := range options {
		out = append(out, o.Text)
	}
	return out
}

// judge finds what of a document, which says v at the rule's field, a rule does not
// allow.
func (e *Effective) judge(written, d *spec.Document, v reflect.Value, b *bound, errs *codec.Errors) {
	f := b.place.field
	if b.place.key != "" {
		if fixed(b.Checks.CanEdit) {
			e.unchanged(entry(written.Value(f), b.place.key), entry(e.usual.Value(f), b.place.key), b, b.Path, errs)
		}
		judgeValue(entry(v, b.place.key), b.place, true, &b.Checks, b.Source, b.Path, errs)
		return
	}
	if b.place.sort(false) == items {
		e.judgeItems(written, d, b, errs)
		return
	}
	if fixed(b.Checks.CanEdit) {
		want := e.usual.Value(f)
		if from := b.Checks.DefaultFrom; from != nil && !e.defaults.Value(f).IsValid() {
			if n, ok := e.derived(d, from, f); ok {
				want = reflect.New(f.Typ).Elem()
				want.SetInt(n)
			}
		}
		e.unchanged(written.Value(f), want, b, b.Path, errs)
	}
	judgeValue(v, b.place, false, &b.Checks, b.Source, b.Path, errs)
}

func entry(v reflect.Value, key string) reflect.Value {
	if !v.IsValid() || v.Len() == 0 {
		return reflect.Value{}
	}
	switch m := v.Interface().(type) { // quicker than by reflection, and rules for entries may be many
	case map[string]string:
		if _, ok := m[key]; !ok {
			return reflect.Value{}
		}
	case map[string]int:
		if _, ok := m[key]; !ok {
			return reflect.Value{}
		}
	}
	return v.MapIndex(reflect.ValueOf(key))
}

// unchanged refuses what is said otherwise than the default has it.
func (e *Effective) unchanged(own, want reflect.Value, b *bound, path string, errs *codec.Errors) {
	switch {
	case !own.IsValid(), want.IsValid() && reflect.DeepEqual(own.Interface(), want.Interface()):
	case !want.IsValid():
		errs.Add(codec.FieldError{Path: path, Value: textOf(own), Problem: fmt.Sprintf("may not be set: %s keeps it as it is without", b.Source), Hint: "leave it out"})
	default:
		w := codec.FieldError{Path: path, Value: textOf(own), Problem: fmt.Sprintf("%s may not be changed: %s keeps it at %s", codec.Shorten(textOf(own)), b.Source, codec.Shorten(textOf(want))), Hint: "leave it out"}
		w.Allowed = []string{codec.Shorten(textOf(want))}
		errs.Add(w)
	}
}

// judgeItems judges the items of a map or list.
func (e *Effective) judgeItems(written, d *spec.Document, b *bound, errs *codec.Errors) {
	f := b.place.field
	all, given, usual := itemsOf(f, d.Value(f)), itemsOf(f, written.Value(f)), itemsOf(f, e.defaults.Value(f))
	for _, key := range slices.Sorted(maps.Keys(given)) {
		want, known := usual[key]
		switch {
		case f.Path == "annotations" && strings.HasPrefix(key, spec.MadeOf): // ours
		case !known && fixed(b.Checks.CanAdd):
			w := codec.FieldError{Path: itemPath(f, key), Value: key, Problem: fmt.Sprintf("is added, and %s allows no more than its own", b.Source), Hint: "leave it out", Allowed: slices.Sorted(maps.Keys(usual))}
			errs.Add(w)
		case known && slices.Contains(b.Checks.Locked, key) && !reflect.DeepEqual(all[key].Interface(), want.Interface()):
			errs.Add(codec.FieldError{Path: itemPath(f, key), Value: key, Problem: fmt.Sprintf("is not as %s has it, and locked", b.Source), Hint: "leave it out; it is there anyway"})
		}
	}
	for _, key := range b.Checks.Locked {
		if _, known := usual[key]; known {
			if _, there := all[key]; !there {
				errs.Add(codec.FieldError{Path: itemPath(f, key), Value: key, Problem: fmt.Sprintf("is left out, and locked by %s", b.Source), Hint: "keep it"})
			}
		}
	}
	for i := range b.Checks.attributes {
		a := &b.Checks.attributes[i]
		for _, key := range slices.Sorted(maps.Keys(all)) {
			v, path := all[key], itemPath(f, key)
			own := given[key]
			for _, below := range a.place.below {
				v = below.Of(v)
				if own.IsValid() {
					own = below.Of(own)
				}
			}
			if len(a.place.below) > 0 {
				path += "." + a.name
				if v.IsValid() && v.IsZero() {
					v = reflect.Value{}
				}
				if own.IsValid() && own.IsZero() {
					own = reflect.Value{}
				}
			}
			if a.checks.Required && !v.IsValid() && (len(a.place.below) < 2 || a.place.below[0].Of(all[key]).IsValid()) {
				errs.Add(codec.FieldError{Path: path, Problem: fmt.Sprintf("is missing, and %s demands it", b.Source), Hint: "add it"})
			}
			if fixed(a.checks.CanEdit) && own.IsValid() {
				want := usual[key]
				for _, below := range a.place.below {
					if want.IsValid() {
						want = below.Of(want)
					}
				}
				if a.checks.Default != nil && (!want.IsValid() || want.IsZero()) {
					want = reflect.New(own.Type()).Elem()
					if want.CanInt() {
						want.SetInt(a.checks.Default.amount)
					} else {
						want.SetString(a.checks.Default.Text)
					}
				}
				if want.IsValid() && want.IsZero() && len(a.place.below) > 0 {
					want = reflect.Value{}
				}
				e.unchanged(own, want, b, path, errs)
			}
			judgeValue(v, a.place, len(a.place.below) == 0, &a.checks, b.Source, path, errs)
		}
	}
}

func itemPath(f *schema.Field, key string) string { return f.Path + "." + codec.Shorten(key) }

// judgeValue finds whether a value is within its bounds. What is absent is.
func judgeValue(v reflect.Value, p place, entry bool, c *Checks, by Source, path string, errs *codec.Errors) {
	if !v.IsValid() {
		return
	}
	if p.leaf().Kind == schema.Texts && !entry {
		for i := range v.Len() {
			judgeValue(v.Index(i), place{field: p.leaf()}, true, c, by, fmt.Sprintf("%s[%d]", path, i), errs)
		}
		return
	}
	text := ""
	bad := func(problem, hint string, allowed ...string) {
		errs.Add(codec.FieldError{Path: path, Value: text, Problem: problem, Hint: hint, Allowed: allowed})
	}
	if len(c.Options) > 0 {
		text = textOf(v)
		if text != "" && !slices.ContainsFunc(c.Options, func(o Option) bool { return o.Text == text }) {
			allowed := shown(c.Options)
			bad(fmt.Sprintf("%s is none of the options of %s", strconv.Quote(codec.Shorten(text)), by), "write one of "+strings.Join(allowed, ", "), allowed...)
		}
	}
	if !v.CanInt() || c.Min == nil && c.Max == nil && c.Step == nil {
		return
	}
	n := v.Int()
	switch {
	case c.Min != nil && n < c.Min.amount:
		text = textOf(v)
		bad(fmt.Sprintf("%s is less than %s, the least of %s", text, c.Min.Text, by), "write "+c.Min.Text+" or more")
	case c.Max != nil && n > c.Max.amount:
		text = textOf(v)
		bad(fmt.Sprintf("%s is more than %s, the most of %s", text, c.Max.Text, by), "write "+c.Max.Text+" or less")
	case c.Step != nil:
		from := int64(0)
		if c.Min != nil {
			from = c.Min.amount
		}
		if (n-from)%c.Step.amount == 0 {
			return
		}
		text = textOf(v)
		allowed := steps(v.Type(), from, c)
		hint := "write one of " + strings.Join(allowed, ", ")
		if allowed == nil {
			hint = fmt.Sprintf("write %s, and %s more as often as you like", amountText(v.Type(), from), c.Step.Text)
		}
		bad(fmt.Sprintf("%s is between the steps of %s by %s", text, c.Step.Text, by), hint, allowed...)
	}
}

// stepsShown is how many allowed values are listed.
const stepsShown = 20

// steps are the allowed values, where they are few.
func steps(t reflect.Type, from int64, c *Checks) (out []string) {
	if c.Max == nil || (c.Max.amount-from)/c.Step.amount >= stepsShown {
		return nil
	}
	for n := from; n <= c.Max.amount && n <= math.MaxInt64-c.Step.amount; n += c.Step.amount {
		out = append(out, amountText(t, n))
	}
	return out
}

func amountText(t reflect.Type, n int64) string {
	v := reflect.New(t).Elem()
	v.SetInt(n)
	return textOf(v)
}
