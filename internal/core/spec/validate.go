package spec

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/nearest"
)

const (
	// MaxName is how many characters a workload's name may have, and others that
	// are written by the same rule.
	MaxName   = 52
	maxPrefix = MaxName - 7
	// maxArgument is Linux's limit for one argument or variable, in bytes.
	maxArgument = 128<<10 - 1
	// maxText is the longest name of anything, in bytes: that of a file.
	maxText        = 4095
	maxLabels      = 64
	maxAnnotations = 256 << 10
)

// Validate returns every reason why no backend could run d as it stands; nil
// when there is none. Defaults need not have been filled in. Of a document that
// names assets it finds what is wrong whatever they say; see Assemble.
func Validate(d *Document) Errors {
	v := validator{doc: d, kind: d.Kind}
	if v.kind == "" {
		v.kind = lifecycle.Training
	}
	if d.Template != "" { // of which even the kind may be
		return nil
	}
	v.schema(root(), reflect.ValueOf(d).Elem())
	switch {
	case d.Name != "" && d.NamePrefix != "":
		v.fail("namePrefix", d.NamePrefix, "cannot stand beside name", "remove one of the two")
	case len(d.NamePrefix) > maxPrefix:
		v.fail("namePrefix", d.NamePrefix, fmt.Sprintf("is longer than %d characters", maxPrefix), "shorten it: '-' and six characters follow")
	}
	v.labels()
	if d.Environment != "" || d.Compute != "" {
		return v.errs // the rest can be judged once it is known what they say
	}
	v.command()
	v.container()
	v.where()
	v.integrations()
	v.tasks()
	v.service()
	v.notifications()
	v.retry()
	return v.errs
}

type validator struct {
	doc     *Document
	kind    lifecycle.Kind
	indexes []int // in the lists around what is being checked
	errs    Errors
}

func (v *validator) fail(path, value, problem, hint string, allowed ...string) {
	v.errs.add(FieldError{Path: path, Value: value, Problem: problem, Hint: hint, Allowed: allowed})
}

// schema checks what the struct tags say: words, bounds, forms, kinds and what
// must be there.
func (v *validator) schema(f *field, value reflect.Value) {
	for _, c := range f.fields {
		fv := value.Field(c.index)
		switch {
		case c.pointer && fv.IsNil():
			continue
		case c.pointer:
			fv = fv.Elem()
		case fv.IsZero():
			if c.required {
				v.missing(c)
			}
			continue
		}
		if !c.isFor(v.kind) {
			v.fail(c.at(v.indexes), "", fmt.Sprintf("is for kind %s; this is %s", strings.Join(c.only, " or "), shorten(string(v.kind))), "remove it, or write kind: "+c.only[0])
			continue
		}
		v.field(c, fv)
	}
}

func (v *validator) field(c *field, fv reflect.Value) {
	switch c.kind {
	case fieldObject:
		v.schema(c, fv)
	case fieldList:
		v.indexes = append(v.indexes, 0)
		for i := range fv.Len() {
			v.indexes[len(v.indexes)-1] = i
			v.schema(c.item, fv.Index(i))
		}
		v.indexes = v.indexes[:len(v.indexes)-1]
	case fieldText:
		v.judged(c, -1, fv.String(), maxText)
	case fieldTexts:
		for i := range fv.Len() {
			v.judged(c, i, fv.Index(i).String(), maxArgument)
		}
		if c.required && fv.Len() == 0 {
			v.missing(c)
		}
	case fieldTextMap:
		switch c.form {
		case formVariable:
			v.variables(c.at(v.indexes), fv.Interface().(map[string]string))
		case formKey:
			v.selector(c.at(v.indexes), fv.Interface().(map[string]string))
		}
	case fieldCounts:
		v.counts(c, fv.Interface().(map[string]int))
	case fieldParameters:
		if _, ok := mapNode(fv.Interface().(Parameters)); !ok {
			e := errParameters
			e.Path = c.at(v.indexes)
			v.errs.add(e)
		}
	case fieldInts:
		for i := range fv.Len() {
			v.bounds(c, i, fv.Index(i))
		}
	case fieldInt:
		v.bounds(c, -1, fv)
	case fieldScalar:
		switch c.typ {
		case commandType:
			v.program(c.at(v.indexes), fv.Interface().(Command))
		case migType:
			v.mig(c.at(v.indexes), MIG(fv.String()))
		default:
			v.bounds(c, -1, fv)
		}
	}
}

var commandType, migType = reflect.TypeFor[Command](), reflect.TypeFor[MIG]()

// item is the path of f, or of its item where i is not negative.
func (v *validator) item(f *field, i int) string {
	path := f.at(v.indexes)
	if i >= 0 {
		path += "[" + strconv.Itoa(i) + "]"
	}
	return path
}

func (v *validator) missing(f *field) {
	path := f.at(v.indexes)
	switch {
	case f.kind == fieldInt:
		v.fail(path, "", "is missing or 0", fmt.Sprintf("write a value from %s to %s", f.lowest, f.highest))
	case len(f.enum) > 0:
		v.fail(path, "", "is missing", "write one of "+strings.Join(f.enum, ", "), f.enum...)
	default:
		v.fail(path, "", "is missing", fmt.Sprintf("add it, such as: %s: %s", f.name, f.example))
	}
}

// judged checks a text, or the item i of a list of texts.
func (v *validator) judged(f *field, i int, s string, most int) {
	if s == "" && i < 0 { // absent
		return
	}
	if len(f.enum) > 0 && !slices.Contains(f.enum, s) {
		v.unknown(f, i, s)
		return
	}
	problem, hint := "", ""
	if f.check != nil {
		problem, hint = f.check(s)
	}
	if problem == "" {
		problem, hint = unfit(s, most)
	}
	if problem != "" {
		v.fail(v.item(f, i), s, problem, hint)
	}
}

func (v *validator) unknown(f *field, i int, s string) {
	hint := ""
	if near := nearest.Word(s, f.enum); near != "" {
		hint = didYouMean(near)
	}
	if f.path == "kind" && s == string(lifecycle.External) {
		hint = "pods that someone else made are found, not submitted; allowed: " + strings.Join(f.enum, ", ")
	}
	v.fail(v.item(f, i), s, fmt.Sprintf("%q is not known", shorten(s)), hint, f.enum...)
}

func (v *validator) bounds(f *field, i int, fv reflect.Value) {
	n := fv.Int()
	if n == 0 && i < 0 && f.lower > 0 || n >= f.lower && n <= f.upper { // a zero of an optional field is absent
		return
	}
	text := strconv.FormatInt(n, 10)
	if s, ok := fv.Interface().(fmt.Stringer); ok {
		text = s.String()
	}
	switch {
	case f.highest == "":
		v.fail(v.item(f, i), text, text+" is less than "+f.lowest, "write at least "+f.lowest)
	default:
		v.fail(v.item(f, i), text, fmt.Sprintf("%s is outside %s to %s", text, f.lowest, f.highest), fmt.Sprintf("write a value from %s to %s", f.lowest, f.highest))
	}
}

func (v *validator) labels() {
	d := v.doc
	if len(d.Labels) > maxLabels {
		v.fail("labels", strconv.Itoa(len(d.Labels)), fmt.Sprintf("has %d labels, more than %d", len(d.Labels), maxLabels), "keep longer lists in annotations")
	}
	for _, k := range slices.Sorted(maps.Keys(d.Labels)) {
		if value, problem, hint := labelForm(k, d.Labels[k]); problem != "" {
			v.fail(join("labels", shorten(k)), value, problem, hint)
		}
	}
	total := 0
	for _, k := range slices.Sorted(maps.Keys(d.Annotations)) {
		total += len(k) + len(d.Annotations[k])
		if !word(k, "_-./", 253) || k == "" {
			v.fail(join("annotations", shorten(k)), k, fmt.Sprintf("%q is not an annotation's name", shorten(k)), "use letters, digits and '_', '-', '.', '/' between them")
		}
	}
	if total > maxAnnotations {
		v.fail("annotations", strconv.Itoa(total), fmt.Sprintf("have %d bytes, more than %d", total, maxAnnotations), "put large text into a file")
	}
}

// labelForm says what is wrong with a label, and which of its two texts that is.
func labelForm(name, value string) (which, problem, hint string) {
	if !word(name, "_-./", 253) || name == "" {
		return name, fmt.Sprintf("%q is not a label's name", shorten(name)), "use letters, digits and '_', '-', '.', '/' between them"
	}
	if !word(value, "_-.", 63) {
		return value, fmt.Sprintf("%q is not a label's value", shorten(value)), "use at most 63 letters, digits and '_', '-', '.' between them; longer text belongs into annotations"
	}
	return "", "", ""
}

// word reports whether s is made of letters and digits with others between.
func word(s, others string, most int) bool {
	if len(s) > most {
		return false
	}
	for i := range len(s) {
		edge := i == 0 || i == len(s)-1
		if !alnum(s[i]) && (edge || strings.IndexByte(others, s[i]) < 0) {
			return false
		}
	}
	return true
}

// program checks what is to be executed.
func (v *validator) program(path string, c Command) {
	if len(c.Argv) > 0 && c.Argv[0] == "" {
		v.fail(path, "", "names no program", "write the program first, such as: [python3, train.py]")
	}
	_, line := c.line()
	for i, a := range c.Argv {
		if problem, hint := unfit(a, maxArgument); problem != "" {
			at := path
			if !line {
				at = fmt.Sprintf("%s[%d]", path, i)
			}
			v.fail(at, a, problem, hint)
		}
	}
}

// unfit says why no program can be given s; "" when one can.
func unfit(s string, most int) (problem, hint string) {
	switch {
	case strings.IndexByte(s, 0) >= 0:
		return "holds a NUL byte", "remove it; no program can be given one"
	case len(s) > most:
		return fmt.Sprintf("has %d bytes, more than %d", len(s), most), "put long text into a file"
	}
	return "", ""
}

func (v *validator) variables(path string, m map[string]string) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		at := join(path, shorten(k))
		if problem, hint := variableForm(k); problem != "" {
			v.fail(at, k, problem, hint)
		}
		if problem, hint := unfit(m[k], maxArgument-len(k)-1); problem != "" {
			v.fail(at, m[k], problem, hint)
		}
	}
}

// command checks that there is one, and that arguments fit to it.
func (v *validator) command() {
	d := v.doc
	line := func(c Command) bool { _, ok := c.line(); return ok }
	const problem, hint = "cannot be appended to a command that is a line for the shell", "write command as a list, or put the arguments into the line"
	if len(d.Command.Argv) == 0 && !v.image() && !v.launcherOnly() {
		v.fail("command", "", "is missing", "write what to run, such as: command: python3 train.py")
	}
	if line(d.Command) && len(d.Args) > 0 {
		v.fail("args", "", problem, hint)
	}
	if m := d.Master; m != nil && len(m.Args) > 0 {
		if c := m.Command; line(c) || len(c.Argv) == 0 && line(d.Command) {
			v.fail("master.args", "", problem, hint)
		}
	}
}

// launcherOnly reports whether an mpi launcher's own command is the only one
// that is needed: the workers of mpi run the platform's.
func (v *validator) launcherOnly() bool {
	d := v.doc
	return v.kind == lifecycle.Distributed && d.Framework == mpi && d.Master != nil && len(d.Master.Command.Argv) > 0
}

// image reports whether the tasks run in containers.
func (v *validator) image() bool { return v.doc.Image != "" || v.doc.Build != nil }

// leastMemory is 1 MiB: no process starts in less, and a kernel that is told so
// fails in ways that do not name the cause.
const leastMemory = Quantity(1000 << 20)

// resources checks amounts that depend on each other, of tasks with an image
// or without.
func (v *validator) resources(path string, r *Resources, image bool) {
	if r == nil {
		return
	}
	v.gpu(path+".gpu", &r.GPU)
	if r.Memory > 0 && r.Memory < leastMemory {
		hint := "write 1Mi or more"
		if n := r.Memory.Units(); n < 1024 { // the suffix was forgotten
			hint = didYouMean(fmt.Sprintf("%dGi", n))
		}
		v.fail(path+".memory", r.Memory.String(), fmt.Sprintf("%s is %d bytes, less than any program needs", r.Memory, r.Memory.Units()), hint)
	}
	if r.SHM > 0 && !image {
		v.fail(path+".shm", r.SHM.String(), needsImage, "write an image, or remove it: processes of the machine share its /dev/shm")
	}
}
