package skypilot

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// Import reads a file that comes from a place, as convert.Import does one from anywhere.
func Import(data []byte, from source.Place) (*source.Result, error) {
	r := &source.Reader{Format: source.SkyPilot}
	if trees, ok := r.Trees(data); ok {
		Read(r, trees, from)
	}
	return r.Result()
}

func (t *task) workdir(v *source.Value) {
	switch {
	case v == nil:
	case v.Tree.Kind == codec.TreeMap:
		o := v.Map()
		g := &spec.Git{Repo: o.Consume("url").Text(), Path: "."}
		if ref := o.Consume("ref").Text(); source.IsCommit(ref) {
			g.Commit = ref
		} else {
			g.Branch = ref
		}
		t.doc.Integrations = append(t.doc.Integrations, spec.Integration{Git: g})
		v.Translated("integrations[0]", "")
		o.Finish(nil, nil, true)
	case t.doc.Image != "":
		dir, known := t.from.Absolute(v.Text())
		if !known {
			v.Dropped("a container sees what its volumes say, and where the path begins is not known: muster submit -f and sky launch know it; write it in full, or build the code into the image")
			return
		}
		t.doc.Volumes = append(t.doc.Volumes, spec.Volume{Path: workdirPath, HostPath: dir})
		t.doc.Workdir = workdirPath
		v.Translated("volumes", "it is not copied: tasks work in the directory itself")
	case v.Text() == "~" || strings.HasPrefix(v.Text(), "~/"):
		t.doc.Workdir = v.Text()
		v.Translated("workdir", "it is below the home directory of who submits it, and not copied: tasks work in the directory itself")
	default:
		t.doc.Workdir = v.Text()
		v.Translated("workdir", "it is not copied: tasks work in the directory itself")
	}
}

// workdirPath is where SkyPilot has the working directory: ~/sky_workdir, which in
// the image of a container is below the home of its root user.
var workdirPath = path.Join(imageHome, "sky_workdir")

// imageHome is the home directory of root in an image.
const imageHome = "/root"

// fileMount reads what a task finds at a path: a file of the machine that it is submitted
// from, or a bucket.
func (t *task) fileMount(at string, v *source.Value) {
	if v.Tree.Kind == codec.TreeMap || strings.Contains(v.Tree.Text, "://") {
		t.bucket(at, v)
		return
	}
	local := t.filled(v.Text())
	from, known := t.from.Absolute(local)
	if t.doc.Image == "" {
		to, there := t.from.Absolute(at) // its tasks are processes of the same user
		if path.IsAbs(at) && path.Clean(local) == path.Clean(at) {
			t.doc.Volumes = append(t.doc.Volumes, spec.Volume{Path: at, HostPath: local})
			v.Approximated(fmt.Sprintf("volumes[%d]", len(t.doc.Volumes)-1), "it is the directory of the node, not a copy of the submitter's")
			return
		}
		if path.Clean(local) == path.Clean(at) || known && there && from == to {
			v.Ignored("a process of the machine sees the files of who submits it")
			return
		}
		v.Dropped("a process of the machine sees its own files; write an image, or use the path itself")
		return
	}
	if !known {
		v.Dropped("where the path begins is not known: muster submit -f and sky launch know it; write it in full")
		return
	}
	t.doc.Volumes = append(t.doc.Volumes, spec.Volume{Path: inImage(at), HostPath: from})
	v.Translated("volumes", "it is not copied: tasks see the file or directory itself")
}

// inImage is a path of SkyPilot's in an image: below the home of root, and of the working
// directory where it is relative.
func inImage(at string) string {
	rest, home := strings.CutPrefix(at, "~")
	switch {
	case path.IsAbs(at):
		return path.Clean(at)
	case home && (rest == "" || rest[0] == '/'):
		return path.Join(imageHome, rest)
	}
	return path.Join(workdirPath, at)
}

// bucket reads a storage that a task sees at a path: a data volume of its name, since
// who may read a bucket, and how nodes mount it, is said once and not in every task.
func (t *task) bucket(at string, v *source.Value) {
	address := v.Tree.Text
	if v.Tree.Kind == codec.TreeMap {
		o := v.Map()
		name, from, mode := o.Consume("name"), o.Consume("source"), o.Consume("mode")
		address = t.filled(from.Text())
		if from != nil && from.Tree.Scalar() && !strings.Contains(address, "://") || from != nil && !from.Tree.Scalar() {
			v.Dropped("files are not copied into a bucket; write name alone, or a path without a bucket")
			return
		}
		if address == "" {
			address = t.filled(name.Text())
		}
		switch strings.ToUpper(mode.Text()) {
		case "", "MOUNT", "MOUNT_CACHED":
			mode.Ignored("a data volume is mounted")
		default:
			mode.Ignored("it is mounted and not copied")
		}
		o.Finish(source.Reasons{"store": "the data volume says it", "persistent": "data volumes stay", "_bucket_sub_path": "", "config": "the data volume says it"}, nil, true)
	} else {
		address = t.filled(address)
	}
	_, bare, _ := strings.Cut(address, "://")
	t.dataVolume(at, bare, address, v)
}

// dataVolume has tasks see the data volume that is called as something of SkyPilot's.
func (t *task) dataVolume(at, bare, called string, v *source.Value) {
	if bare == "" {
		bare = called
	}
	name := source.NameFrom(strings.Trim(bare, "/"), spec.MaxName)
	if name == "" || strings.Contains(bare, "$") {
		v.Dropped("which bucket it is cannot be told; write data, with the name of a data volume")
		return
	}
	t.doc.Data = append(t.doc.Data, spec.DataUse{Name: name, Path: inImage(at)})
	v.Translated("data", "a data volume of that name, which is "+source.Shorten(called)+" as the nodes mount it: muster datavolume create "+name+" makes it, once")
}

// volumes reads the volumes of a cluster, by the path at which they are.
func (t *task) volumes(v *source.Value) {
	names, values := v.Pairs()
	for i, at := range names {
		item := values[i]
		name := item.Text()
		if item.Tree.Kind == codec.TreeMap {
			o := item.Map()
			name = o.Consume("name").Text()
			o.Finish(nil, nil, true)
		}
		t.dataVolume(at, "", name, item)
	}
}

// filled is a text with the values of the task's variables in it, which SkyPilot puts
// there: ${NAME} and $NAME.
func (t *task) filled(text string) string {
	for _, name := range slices.Sorted(maps.Keys(t.doc.Env)) {
		value := t.doc.Env[name]
		text = strings.ReplaceAll(text, "${"+name+"}", value)
		if text == "$"+name {
			text = value
		}
	}
	return text
}
