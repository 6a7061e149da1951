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
