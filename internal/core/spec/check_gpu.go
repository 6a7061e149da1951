package spec

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/core/spec/codec"
	"github.com/musterhq/muster/internal/core/spec/schema"
)

// gpu checks that GPUs are asked for in one way.
func (v *validator) gpu(path string, g *GPU) {
	if g.Type != "" && g.Kind() == NoGPU {
		v.fail(path+".count", "0", "is missing beside type", "write how many, such as: count: 1")
	}
	for one := range strings.SplitSeq(g.Type, "|") {
		if g.Type != "" && strings.TrimFunc(one, betweenWords) == "" {
			v.fail(path+".type", g.Type, "has a type without a word", "write types with | between, such as: a100|h100")
			break
		}
	}
	if g.Share > 0 && g.Memory > 0 {
		v.fail(path+".memory", g.Memory.String(), "cannot stand beside share", "keep one of the two: a part of each GPU, or bytes of it")
	}
	v.burst(path, g)
	if g.MIG == "" {
		return
	}
	for _, other := range []struct {
		name  string
		given bool
	}{{"count", g.Count != 0}, {"share", g.Share != 0}, {"memory", g.Memory != 0}} {
		if other.given {
			v.fail(path+".mig", string(g.MIG), "cannot stand beside "+other.name, "remove one of the two; how many partitions there are is said in mig, such as: mig: {1g.10gb: 2}")
			return
		}
	}
}

// burst checks what may be used beyond a part.
func (v *validator) burst(path string, g *GPU) {
	for _, l := range []struct {
		name, part       string
		limit, of        int64
		text, ofText     string
		example, instead string
	}{
		{"shareLimit", "share", int64(g.ShareLimit), int64(g.Share), g.ShareLimit.String(), g.Share.String(), "0.5", "memoryLimit"},
		{"memoryLimit", "memory", int64(g.MemoryLimit), int64(g.Memory), g.MemoryLimit.String(), g.Memory.String(), "8Gi", "shareLimit"},
	} {
		at := path + "." + l.name
		switch {
		case l.limit == 0:
		case g.MIG != "":
			v.fail(at, l.text, "cannot stand beside mig: a partition has a fixed size", "remove it, or ask for "+l.part+" instead of mig")
		case l.of == 0 && (g.Share > 0 || g.Memory > 0):
			v.fail(at, l.text, "is not for this part of a GPU, which is not asked for by "+l.part, "write "+l.instead)
		case l.of == 0:
			v.fail(at, l.text, "has no "+l.part+" beside it: nothing is promised that it could go beyond", "write what is promised, such as: "+l.part+": "+l.example+", or remove it")
		case l.limit < l.of:
			v.fail(at, l.text, "is less than "+l.part+", "+l.ofText, "write "+l.ofText+" or more, or remove it: the limit is then the "+l.part+" itself")
		}
	}
}

// mig checks partitions that were not read from a document.
func (v *validator) mig(path string, m MIG) {
	plain, err := ParseMIG(string(m))
	switch e, ok := err.(codec.FieldError); {
	case ok:
		v.fail(path, string(m), e.Problem, e.Hint)
	case plain != m:
		v.fail(path, string(m), "is not written as ParseMIG writes it", "write "+string(plain))
	}
}

// maxNames is of how many names a map of counts may be.
const maxNames = 32

// counts checks names and their numbers.
func (v *validator) counts(f *schema.Field, m map[string]int) {
	path := f.At(v.indexes)
	if len(m) > maxNames {
		v.fail(path, strconv.Itoa(len(m)), fmt.Sprintf("has %d names, more than %d", len(m), maxNames), "leave out what it can do without")
		return
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		at := codec.Join(path, codec.Shorten(k))
		if problem, hint := f.Check(k); problem != "" {
			v.fail(at, k, problem, hint)
		}
		if n := m[k]; int64(n) < f.Lower || int64(n) > f.Upper {
			v.fail(at, strconv.Itoa(n), fmt.Sprintf("%d is outside %s to %s", n, f.Lowest, f.Highest), fmt.Sprintf("write a value from %s to %s, or remove it", f.Lowest, f.Highest))
		}
	}
}
