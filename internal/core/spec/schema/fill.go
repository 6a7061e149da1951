package schema

import "reflect"

// Fill gives the fields of v that say nothing their defaults, those that are for a
// kind, which may be the default of a field before them. zeros are the bits of the fields that were written as zero.
func (f *Field) Fill(v reflect.Value, kind func() string, zeros uint64) {
	for _, c := range f.filled {
		fv := v.Field(c.Index)
		switch {
		case !c.IsFor(kind()):
		case c.Kind == Object && !c.Pointer:
			c.Fill(fv, kind, zeros)
		case c.Kind == Object && !fv.IsNil():
			c.Fill(fv.Elem(), kind, zeros)
		case !c.Fallback.IsValid() || !fv.IsZero() || zeros&c.Bit != 0 && c.Bit != 0:
		case c.Pointer:
			fv.Set(reflect.New(c.Typ))
			fv.Elem().Set(c.Fallback)
		default:
			fv.Set(c.Fallback)
		}
	}
}

// In is what v, a struct that the top of f is the schema of, has at f, which is not
// below a list; invalid where something around it is absent.
func (f *Field) In(v reflect.Value) reflect.Value {
	if f.parent == nil {
		return v
	}
	return f.Of(f.parent.In(v))
}

// Of is what v, a struct that f is a field of, has there; invalid: it is absent.
func (f *Field) Of(v reflect.Value) reflect.Value {
	if !v.IsValid() {
		return v
	}
	v = v.Field(f.Index)
	if !f.Pointer {
		return v
	}
	if v.IsNil() {
		return reflect.Value{}
	}
	return v.Elem()
}

// Under fills what v leaves out with what base says, which v then shares: maps entry
// by entry, lists whole. zeros and those of base are the bits of the fields that were
// written as zero; those of what v has become are returned.
func (f *Field) Under(v, base reflect.Value, zeros, ofBase uint64) uint64 {
	for _, c := range f.Fields {
		fv, bv := v.Field(c.Index), base.Field(c.Index)
		switch {
		case c.Pointer && fv.IsNil():
			fv.Set(bv)
			zeros |= ofBase & c.bits
		case c.Kind == Object && !c.Pointer:
			zeros = c.Under(fv, bv, zeros, ofBase)
		case c.Kind == Object && !bv.IsNil():
			zeros = c.Under(fv.Elem(), bv.Elem(), zeros, ofBase)
		case c.Pointer:
		case c.Kind == TextMap || c.Kind == Counts || c.Kind == Parameters:
			if bv.Len() == 0 {
				continue
			}
			both := reflect.MakeMap(fv.Type())
			for _, m := range []reflect.Value{bv, fv} {
				for it := m.MapRange(); it.Next(); {
					both.SetMapIndex(it.Key(), it.Value())
				}
			}
			fv.Set(both)
		case fv.IsZero() && zeros&c.Bit == 0:
			fv.Set(bv)
			zeros |= ofBase & c.Bit
		}
	}
	return zeros
}

// Around is the struct in v that f is a field of, v being one that the top of f is the
// schema of; invalid where it is absent.
func (f *Field) Around(v reflect.Value) reflect.Value { return f.parent.In(v) }

// Make is what v has at f, with what lies around it made where it is absent.
func (f *Field) Make(v reflect.Value) reflect.Value {
	if f.parent == nil {
		return v
	}
	at := f.parent.Make(v).Field(f.Index)
	if !f.Pointer {
		return at
	}
	if at.IsNil() {
		at.Set(reflect.New(f.Typ))
	}
	return at.Elem()
}
