package spec

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/core/lifecycle"
)

const (
	maxName   = 52
	maxPrefix = maxName - 7
	// maxArgument is Linux's limit for one argument or variable, in bytes.
	maxArgument    = 128<<10 - 1
	maxLabels      = 64
	maxAnnotations = 256 << 10
)

// Validate returns every reason why no plane could run d as it stands; nil
// when there is none. Defaults need not have been filled in.
func Validate(d *Document) Errors {
	v := validator{doc: d, kind: d.Kind}
	if v.kind == "" {
		v.kind = lifecycle.Training
	}
	v.schema(root, reflect.ValueOf(d).Elem())
	v.name("name", d.Name)
	v.name("namePrefix", d.NamePrefix)
	switch {
	case d.Name != "" && d.NamePrefix != "":
		v.fail("namePrefix", d.NamePrefix, "cannot stand beside name", "remove one of the two")
	case len(d.NamePrefix) > maxPrefix:
		v.fail("namePrefix", d.NamePrefix, fmt.Sprintf("is longer than %d characters", maxPrefix), "shorten it: '-' and six characters follow")
	}
	v.name("project", d.Project)
	v.labels()
	v.command()
	v.environment()
	v.consistent()
	return v.errs
}

type validator struct {
	doc  *Document
	kind lifecycle.Kind
	errs Errors
}

func (v *validator) fail(path, value, problem, hint string, allowed ...string) {
	v.errs.add(FieldError{Path: path, Value: value, Problem: problem, Hint: hint, Allowed: allowed})
}

// schema checks what the struct tags say: words, bounds, kinds.
func (v *validator) schema(f *field, value reflect.Value) {
	for _, c := range f.fields {
		fv := value.Field(c.index)
		if c.pointer {
			if fv.IsNil() {
				continue
			}
			fv = fv.Elem()
		}
		if c.only != "" && c.only != string(v.kind) && (c.pointer || !fv.IsZero()) {
			v.fail(c.path, "", fmt.Sprintf("is for kind %s; this is %s", c.only, shorten(string(v.kind))), "remove it, or write kind: "+c.only)
			continue
		}
		switch c.kind {
		case fieldObject:
			v.schema(c, fv)
		case fieldText:
			v.word(c, fv.String())
		case fieldInt, fieldScalar:
			v.bounds(c, fv)
		}
	}
}

func (v *validator) word(f *field, s string) {
	if len(f.enum) == 0 || s == "" || slices.Contains(f.enum, s) {
		return
	}
	hint := ""
	if near := nearest(s, f.enum); near != "" {
		hint = didYouMean(near)
	}
	if f.path == "kind" && s == string(lifecycle.External) {
		hint = "pods that someone else made are found, not submitted; allowed: " + strings.Join(f.enum, ", ")
	}
	v.fail(f.path, s, fmt.Sprintf("%q is not known", shorten(s)), hint, f.enum...)
}

func (v *validator) bounds(f *field, fv reflect.Value) {
	if !fv.CanInt() {
		return
	}
	n := fv.Int()
	if n == 0 && !f.required || n >= f.lower && n <= f.upper {
		return
	}
	text := strconv.FormatInt(n, 10)
	if s, ok := fv.Interface().(fmt.Stringer); ok {
		text = s.String()
	}
	switch {
	case f.highest == "":
		v.fail(f.path, text, text+" is less than "+f.lowest, "write at least "+f.lowest)
	default:
		v.fail(f.path, text, fmt.Sprintf("%s is outside %s to %s", text, f.lowest, f.highest), fmt.Sprintf("write a value from %s to %s", f.lowest, f.highest))
	}
}

func (v *validator) name(path, s string) {
	const rule = "use lower-case letters, digits and '-', beginning and ending with a letter or digit, at most 52 characters"
	switch {
	case s == "":
	case len(s) > maxName:
		v.fail(path, s, fmt.Sprintf("has %d characters, more than %d", len([]rune(s)), maxName), rule)
	case !label(s):
		v.fail(path, s, fmt.Sprintf("%q is not a name", shorten(s)), rule)
	}
}

func label(s string) bool {
	for i := range len(s) {
		edge := i == 0 || i == len(s)-1
		if c := s[i]; !(c >= 'a' && c <= 'z' || digit(c) || c == '-' && !edge) {
			return false
		}
	}
	return true
}

func (v *validator) labels() {
	d := v.doc
	if len(d.Labels) > maxLabels {
		v.fail("labels", strconv.Itoa(len(d.Labels)), fmt.Sprintf("has %d labels, more than %d", len(d.Labels), maxLabels), "keep longer lists in annotations")
	}
	for _, k := range slices.Sorted(maps.Keys(d.Labels)) {
		path, value := join("labels", shorten(k)), d.Labels[k]
		if !word(k, "_-./", 253) || k == "" {
			v.fail(path, k, fmt.Sprintf("%q is not a label's name", shorten(k)), "use letters, digits and '_', '-', '.', '/' between them")
		}
		if !word(value, "_-.", 63) {
			v.fail(path, value, fmt.Sprintf("%q is not a label's value", shorten(value)), "use at most 63 letters, digits and '_', '-', '.' between them; longer text belongs into annotations")
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

func (v *validator) command() {
	d := v.doc
	if len(d.Command.Argv) == 0 && d.Image == "" {
		v.fail("command", "", "is missing", "write what to run, such as: command: python3 train.py")
	}
	if len(d.Command.Argv) > 0 && d.Command.Argv[0] == "" {
		v.fail("command", "", "names no program", "write the program first, such as: [python3, train.py]")
	}
	for i, a := range d.Command.Argv {
		path := fmt.Sprintf("command[%d]", i)
		if _, ok := d.Command.line(); ok {
			path = "command"
		}
		v.text(path, a, maxArgument)
	}
	for i, a := range d.Args {
		v.text(fmt.Sprintf("args[%d]", i), a, maxArgument)
	}
	if _, ok := d.Command.line(); ok && len(d.Args) > 0 {
		v.fail("args", "", "cannot be appended to a command that is a line for the shell", "write command as a list, or put the arguments into the line")
	}
	v.text("workdir", d.Workdir, 4095)
	v.text("image", d.Image, 1024)
	v.text("resources.gpu.type", d.Resources.GPU.Type, 256)
	if strings.ContainsAny(d.Image, " \t\n") {
		v.fail("image", d.Image, fmt.Sprintf("%q is not an image's name", shorten(d.Image)), "write it like ghcr.io/acme/train:1.4")
	}
}

// text refuses what no program can be given.
func (v *validator) text(path, s string, most int) {
	switch {
	case strings.ContainsRune(s, 0):
		v.fail(path, s, "holds a NUL byte", "remove it; no program can be given one")
	case len(s) > most:
		v.fail(path, s, fmt.Sprintf("has %d bytes, more than %d", len(s), most), "put long text into a file")
	}
}

func (v *validator) environment() {
	for _, k := range slices.Sorted(maps.Keys(v.doc.Env)) {
		path := join("env", shorten(k))
		if !variable(k) {
			v.fail(path, k, fmt.Sprintf("%q is not a variable's name", shorten(k)), "use letters, digits and '_', not beginning with a digit")
		}
		v.text(path, v.doc.Env[k], maxArgument-len(k)-1)
	}
	if _, ok := mapNode(v.doc.Parameters); !ok {
		v.errs.add(errParameters)
	}
}

func variable(s string) bool {
	for i := range len(s) {
		if c := s[i]; !letter(c) && c != '_' && (i == 0 || !digit(c)) {
			return false
		}
	}
	return s != ""
}

// consistent checks fields against each other.
func (v *validator) consistent() {
	d := v.doc
	if v.kind == lifecycle.Distributed && d.Workers == 0 {
		v.fail("workers", "", "is missing", "write how many tasks the gang has, such as: workers: 2")
	}
	if a := d.Array; a != nil && v.kind == lifecycle.Training && a.Parallelism > a.Completions && a.Completions > 0 {
		v.fail("array.parallelism", strconv.Itoa(a.Parallelism), fmt.Sprintf("%d is more than the %d completions", a.Parallelism, a.Completions), "lower it, or leave it out to run as many as fit")
	}
	if g := d.Resources.GPU; g.Type != "" && g.Count == 0 {
		v.fail("resources.gpu.count", "0", "is missing beside type", "write how many, such as: count: 1")
	}
	if r := d.Retry; r.MaxBackoff > 0 && r.Backoff > r.MaxBackoff {
		v.fail("retry.backoff", r.Backoff.String(), fmt.Sprintf("%s is longer than maxBackoff, %s", r.Backoff, r.MaxBackoff), "raise retry.maxBackoff as well")
	}
}
