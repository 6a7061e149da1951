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
	"github.com/musterhq/muster/internal/core/spec/codec"
	"github.com/musterhq/muster/internal/core/spec/schema"
)

const (
	maxPrefix = MaxName - 7
	// maxArgument is Linux's limit for one argument or variable, in bytes.
	maxArgument = 128<<10 - 1
	// maxText is the longest name of anything, in bytes: that of a file.
	maxText        = 4095
	maxAnnotations = 256 << 10
)

// Validate returns every reason why no backend could run d as it stands; nil
// when there is none. Defaults need not have been filled in. Of a document that
// names assets it finds what is wrong whatever they say; see Assemble.
func Validate(d *Document) codec.Errors {
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
	errs    codec.Errors
}

func (v *validator) fail(path, value, problem, hint string, allowed ...string) {
	v.errs.Add(codec.FieldError{Path: path, Value: value, Problem: problem, Hint: hint, Allowed: allowed})
}

// schema checks what the struct tags say: words, bounds, forms, kinds and what
// must be there.
func (v *validator) schema(f *schema.Field, value reflect.Value) {
	for _, c := range f.Fields {
		fv := value.Field(c.Index)
		switch {
		case c.Pointer && fv.IsNil():
			continue
		case c.Pointer:
			fv = fv.Elem()
		case fv.IsZero():
			if c.Required {
				v.missing(c)
			}
			continue
		}
		if !c.IsFor(string(v.kind)) {
			v.fail(c.At(v.indexes), "", fmt.Sprintf("is for kind %s; this is %s", strings.Join(c.Only, " or "), codec.Shorten(string(v.kind))), "remove it, or write kind: "+c.Only[0])
			continue
		}
		v.field(c, fv)
	}
}

func (v *validator) field(c *schema.Field, fv reflect.Value) {
	switch c.Kind {
	case schema.Object:
		v.schema(c, fv)
	case schema.List:
		v.indexes = append(v.indexes, 0)
		for i := range fv.Len() {
			v.indexes[len(v.indexes)-1] = i
			v.schema(c.Item, fv.Index(i))
		}
		v.indexes = v.indexes[:len(v.indexes)-1]
	case schema.Text:
		v.judged(c, -1, fv.String(), maxText)
	case schema.Texts:
		for i := range fv.Len() {
			v.judged(c, i, fv.Index(i).String(), maxArgument)
		}
		if c.Required && fv.Len() == 0 {
			v.missing(c)
		}
	case schema.TextMap:
		switch c.Form {
		case formVariable:
			v.variables(c.At(v.indexes), fv.Interface().(map[string]string))
		case formKey:
			v.selector(c.At(v.indexes), fv.Interface().(map[string]string))
		}
	case schema.Counts:
		v.counts(c, fv.Interface().(map[string]int))
	case schema.Parameters:
		if _, ok := codec.MapNode(fv.Interface().(Parameters)); !ok {
			e := errParameters
			e.Path = c.At(v.indexes)
			v.errs.Add(e)
		}
	case schema.Ints:
		for i := range fv.Len() {
			v.bounds(c, i, fv.Index(i))
		}
	case schema.Int:
		v.bounds(c, -1, fv)
	case schema.Scalar:
		switch c.Typ {
		case commandType:
			v.program(c.At(v.indexes), fv.Interface().(Command))
		case migType:
			v.mig(c.At(v.indexes), MIG(fv.String()))
		default:
			v.bounds(c, -1, fv)
		}
	}
}

var commandType, migType = reflect.TypeFor[Command](), reflect.TypeFor[MIG]()

// item is the path of f, or of its item where i is not negative.
func (v *validator) item(f *schema.Field, i int) string {
	path := f.At(v.indexes)
	if i >= 0 {
		path += "[" + strconv.Itoa(i) + "]"
	}
	return path
}

func (v *validator) missing(f *schema.Field) {
	path := f.At(v.indexes)
	switch {
	case f.Kind == schema.Int:
		v.fail(path, "", "is missing or 0", fmt.Sprintf("write a value from %s to %s", f.Lowest, f.Highest))
	case len(f.Enum) > 0:
		v.fail(path, "", "is missing", "write one of "+strings.Join(f.Enum, ", "), f.Enum...)
	default:
		v.fail(path, "", "is missing", fmt.Sprintf("add it, such as: %s: %s", f.Name, f.Example))
	}
}

// judged checks a text, or the item i of a list of texts.
func (v *validator) judged(f *schema.Field, i int, s string, most int) {
	if s == "" && i < 0 { // absent
		return
	}
	if len(f.Enum) > 0 && !slices.Contains(f.Enum, s) {
		v.unknown(f, i, s)
		return
	}
	problem, hint := "", ""
	if f.Check != nil {
		problem, hint = f.Check(s)
	}
	if problem == "" {
		problem, hint = unfit(s, most)
	}
	if problem != "" {
		v.fail(v.item(f, i), s, problem, hint)
	}
}

func (v *validator) unknown(f *schema.Field, i int, s string) {
	hint := ""
	if near := nearest.Word(s, f.Enum); near != "" {
		hint = codec.DidYouMean(near)
	}
	if f.Path == "kind" && lifecycle.Kind(s).Foreign() {
		hint = "pods that someone else made are found, not submitted; allowed: " + strings.Join(f.Enum, ", ")
	}
	v.fail(v.item(f, i), s, fmt.Sprintf("%q is not known", codec.Shorten(s)), hint, f.Enum...)
}

func (v *validator) bounds(f *schema.Field, i int, fv reflect.Value) {
	n := fv.Int()
	if n == 0 && i < 0 && f.Lower > 0 || n >= f.Lower && n <= f.Upper { // a zero of an optional field is absent
		return
	}
	text := strconv.FormatInt(n, 10)
	if s, ok := fv.Interface().(fmt.Stringer); ok {
		text = s.String()
	}
	switch {
	case f.Highest == "":
		v.fail(v.item(f, i), text, text+" is less than "+f.Lowest, "write at least "+f.Lowest)
	default:
		v.fail(v.item(f, i), text, fmt.Sprintf("%s is outside %s to %s", text, f.Lowest, f.Highest), fmt.Sprintf("write a value from %s to %s", f.Lowest, f.Highest))
	}
}

func (v *validator) labels() {
	d := v.doc
	if len(d.Labels) > maxLabels {
		v.fail("labels", strconv.Itoa(len(d.Labels)), fmt.Sprintf("has %d labels, more than %d", len(d.Labels), maxLabels), "keep longer lists in annotations")
	}
	for _, k := range slices.Sorted(maps.Keys(d.Labels)) {
		if value, problem, hint := labelForm(k, d.Labels[k]); problem != "" {
			v.fail(codec.Join("labels", codec.Shorten(k)), value, problem, hint)
		}
	}
	total := 0
	for _, k := range slices.Sorted(maps.Keys(d.Annotations)) {
		total += len(k) + len(d.Annotations[k])
		if !word(k, "_-./", 253) || k == "" {
			v.fail(codec.Join("annotations", codec.Shorten(k)), k, fmt.Sprintf("%q is not an annotation's name", codec.Shorten(k)), "use letters, digits and '_', '-', '.', '/' between them")
		}
	}
	if total > maxAnnotations {
		v.fail("annotations", strconv.Itoa(total), fmt.Sprintf("have %d bytes, more than %d", total, maxAnnotations), "put large text into a file")
	}
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

func (v *validator) variables(path string, m map[string]string) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		at := codec.Join(path, codec.Shorten(k))
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
	return v.kind.Ranked() && d.Framework == mpi && d.Master != nil && len(d.Master.Command.Argv) > 0
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
			hint = codec.DidYouMean(fmt.Sprintf("%dGi", n))
		}
		v.fail(path+".memory", r.Memory.String(), fmt.Sprintf("%s is %d bytes, less than any program needs", r.Memory, r.Memory.Units()), hint)
	}
	if r.SHM > 0 && !image {
		v.fail(path+".shm", r.SHM.String(), needsImage, "write an image, or remove it: processes of the machine share its /dev/shm")
	}
}

func (v *validator) notifications() {
	if n := len(v.doc.Notifications); n > notificationsMost {
		v.fail("notifications", fmt.Sprint(n), fmt.Sprintf("are %d, more than %d", n, notificationsMost), "let one receiver pass it on")
		return
	}
	for i := range v.doc.Notifications {
		field, value, problem, hint := v.doc.Notifications[i].Check()
		if problem == "" {
			continue
		}
		path := fmt.Sprintf("notifications[%d]", i)
		if field != "" {
			path += "." + field
		}
		v.fail(path, value, problem, hint)
	}
}
