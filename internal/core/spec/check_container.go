package spec

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/core/spec/codec"
)

const needsImage = "needs an image"

// container checks what stands around the command: the image and its build,
// secrets, volumes and ports.
func (v *validator) container() {
	d := v.doc
	if d.PullSecret != "" && !v.image() {
		v.fail("pullSecret", d.PullSecret, needsImage, "write an image, or remove it")
	}
	if d.TTY && d.Array != nil && d.Size() > 1 {
		v.fail("tty", "true", "is not for arrays of several tasks", "remove it, or run one task")
	}
	v.resources("resources", &d.Resources, v.image())
	v.build()
	paths := map[string]string{} // where something lies in the container, and which field says so
	if len(d.Secrets) > 0 {
		v.secrets(paths)
	}
	for i := range d.Volumes {
		v.volume(fmt.Sprintf("volumes[%d]", i), &d.Volumes[i], paths)
	}
	if len(d.Ports) > 0 {
		v.ports()
	}
}

func (v *validator) build() {
	b := v.doc.Build
	if b == nil {
		return
	}
	if b.CodePath != "" && b.Code == "" {
		v.fail("build.codePath", b.CodePath, "is for code, which is missing", "write code: the directory that goes there")
	}
	for i, line := range b.Run {
		if strings.TrimSpace(line) == "" {
			v.fail(fmt.Sprintf("build.run[%d]", i), line, "is empty", "write a command, or remove it")
		}
	}
	if b.Dockerfile == "" {
		if b.Base == "" && v.doc.Image == "" {
			v.fail("build.base", "", "is missing", "write the image to build upon, such as: base: python:3.12-slim")
		}
		return
	}
	if b.Code == "" {
		v.fail("build.code", "", "is missing beside dockerfile", "write the directory that the Dockerfile lies in, such as: code: .")
	}
	for _, other := range []struct {
		name  string
		given bool
	}{{"pip", len(b.Pip) > 0}, {"apt", len(b.Apt) > 0}, {"run", len(b.Run) > 0}, {"env", len(b.Env) > 0}} {
		if other.given {
			v.fail("build."+other.name, "", "cannot stand beside dockerfile", "write it into the Dockerfile, or remove dockerfile")
		}
	}
}

// secrets refuses two that would be the same variable or file.
func (v *validator) secrets(paths map[string]string) {
	variables := map[string]string{}
	for i, s := range v.doc.Secrets {
		path := fmt.Sprintf("secrets[%d]", i)
		at, key, problem := path+".env", s.Env, "is also the variable of "
		if s.Env == "" { // by its type, which is known later; twice the same secret is twice the same variable
			at, key, problem = path, "secret "+s.Name, fmt.Sprintf("%q stands without env also at ", codec.Shorten(s.Name))
		}
		switch earlier, twice := variables[key]; {
		case s.Name == "" && s.Env == "": // said already
		case twice:
			v.fail(at, key, problem+earlier, "give each its own env, or remove one")
		default:
			variables[key] = path
		}
		if _, both := v.doc.Env[s.Env]; both {
			v.fail(at, s.Env, "is also a variable of env", "remove one of the two")
		}
		if s.Path != "" && !v.image() {
			v.fail(path+".path", s.Path, needsImage, "write an image, or remove it: a process finds its file by the variable")
		}
		v.place(path, s.Path, paths)
	}
}

// place refuses what would lie over all of the container, or over something
// else.
func (v *validator) place(field, path string, paths map[string]string) {
	at := field + ".path"
	if path == "" {
		return
	}
	key := strings.TrimRight(path, "/")
	switch earlier, twice := paths[key]; {
	case key == "":
		v.fail(at, path, "would hide the whole container", "write a directory or file below '/'")
	case twice:
		v.fail(at, path, "is also the path of "+earlier, "give each its own path")
	default:
		paths[key] = field
	}
}

// maxFileName bounds the names of files: backends put words of their own before
// them, and file systems take 255 bytes.
const maxFileName = 200

func (v *validator) volume(path string, o *Volume, paths map[string]string) {
	sources := o.sources()
	switch len(sources) {
	case 0:
		v.fail(path, "", "has no source", "add one of "+strings.Join(volumeSources, ", "), volumeSources...)
	case 1:
	default:
		v.fail(path, "", "has several sources: "+strings.Join(sources, ", "), "keep one of them")
	}
	v.place(path, o.Path, paths)
	if o.Create && o.HostPath == "" {
		v.fail(path+".create", "true", "is for hostPath, which is missing", "remove it, or write hostPath")
	}
	for _, name := range slices.Sorted(maps.Keys(o.Config)) {
		if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") || len(name) > maxFileName {
			v.fail(codec.Join(path+".config", codec.Shorten(name)), name, fmt.Sprintf("%q is not a file's name", codec.Shorten(name)), fmt.Sprintf("write a plain name without '/', at most %d bytes", maxFileName))
		}
	}
	if v.image() {
		return
	}
	const hint = "write an image: processes of the machine see its own files"
	for _, s := range sources {
		if s != "hostPath" {
			v.fail(path+"."+s, "", needsImage, hint)
		}
	}
	if o.HostPath != "" && strings.TrimRight(o.HostPath, "/") != strings.TrimRight(o.Path, "/") {
		v.fail(path+".path", o.Path, "differs from hostPath, which "+needsImage, "write the same path, or an image")
	}
	if o.ReadOnly {
		v.fail(path+".readOnly", "true", needsImage, hint)
	}
}

var volumeSources = []string{"hostPath", "temporary", "config", "secret", "claim"}

func (o *Volume) sources() (names []string) {
	for i, given := range [...]bool{o.HostPath != "", o.Temporary != nil, len(o.Config) > 0, o.Secret != "", o.Claim != ""} {
		if given {
			names = append(names, volumeSources[i])
		}
	}
	return names
}

func (v *validator) ports() {
	numbers, names := map[int]int{}, map[string]int{}
	for i, p := range v.doc.Ports {
		path := fmt.Sprintf("ports[%d]", i)
		if earlier, twice := numbers[p.Port]; twice && p.Port != 0 {
			v.fail(path+".port", strconv.Itoa(p.Port), fmt.Sprintf("%d is also ports[%d]", p.Port, earlier), "remove one of the two")
		} else {
			numbers[p.Port] = i
		}
		if earlier, twice := names[p.Name]; twice && p.Name != "" {
			v.fail(path+".name", p.Name, fmt.Sprintf("%q is also the name of ports[%d]", p.Name, earlier), "give each its own name")
		} else {
			names[p.Name] = i
		}
	}
}
