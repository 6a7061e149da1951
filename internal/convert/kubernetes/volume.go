package kubernetes

import (
	"fmt"
	"path"
	"strings"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
)

// volumeSource is a volume of a pod before something mounts it.
type volumeSource struct {
	at       *source.Value
	volume   spec.Volume
	memory   bool   // an emptyDir in memory
	why      string // it cannot be had; empty: it can
	near     string // it is only near to what was asked for
	mounted  bool
	optional bool              // it may be missing, and is
	files    map[string]string // of a Secret: paths by key
	secret   string            // the name of the Secret that they are of
}

// volumeSources reads the volumes of a pod by name.
func (k *reader) volumeSources(v *source.Value) map[string]*volumeSource {
	sources := map[string]*volumeSource{}
	for _, item := range v.List() {
		o := item.Map()
		if o == nil {
			continue
		}
		name := o.Consume("name").Text()
		if _, twice := sources[name]; twice {
			item.Refuse(fmt.Sprintf("the name %q stands twice", source.Shorten(name)), "give each volume its own")
			continue
		}
		s := &volumeSource{at: item}
		sources[name] = s
		k.volumeSource(o, s)
	}
	return sources
}

func (k *reader) volumeSource(o *source.Map, s *volumeSource) {
	switch {
	case o.Has("hostPath"):
		h := o.Map("hostPath")
		s.volume.HostPath = strings.TrimRight(h.Consume("path").Text(), "/")
		if s.volume.HostPath == "" {
			s.volume.HostPath = "/"
		}
		s.volume.Create = h.Consume("type").Text() == "DirectoryOrCreate"
		h.Finish(nil, nil, false)
	case o.Has("persistentVolumeClaim"):
		c := o.Map("persistentVolumeClaim")
		s.volume.Claim = c.Consume("claimName").Text()
		if c.Consume("readOnly").Bool() {
			s.volume.ReadOnly = true
		}
		c.Finish(nil, nil, false)
	case o.Has("emptyDir"):
		readEmptyDir(o.Consume("emptyDir"), s)
	case o.Has("configMap"):
		k.configMap(o.Map("configMap"), s)
	case o.Has("secret"):
		c := o.Map("secret")
		s.secret = c.Consume("secretName").Text()
		s.volume.Secret = s.secret
		if s.files = secretFiles(k, c, s.secret); len(s.files) == 0 {
			s.near = "the secret is one file, and its path is that file"
		}
		c.Finish(source.Reasons{"defaultMode": "its file is for its user only", "optional": "secrets that a document names must be there"}, nil, false)
	case o.Has("ephemeral"):
		ephemeral(o.Map("ephemeral"), s)
	default:
		s.why = "such volumes are not known; mount them on the nodes and write hostPath, or make a claim"
	}
	o.Finish(nil, source.Reasons{
		"nfs": "", "csi": "", "projected": "", "downwardAPI": "", "image": "", "iscsi": "", "cephfs": "", "rbd": "", "azureFile": "", "gcePersistentDisk": "", "awsElasticBlockStore": "",
	}, false)
}

func readEmptyDir(v *source.Value, s *volumeSource) {
	s.volume.Temporary = &spec.Temporary{}
	s.volume.Temporary.Disk = true
	if v == nil { // emptyDir: with nothing after it
		return
	}
	o := v.Map()
	if size := o.Consume("sizeLimit"); size != nil {
		s.volume.Temporary.Size = size.Quantity()
	}
	s.memory = o.Consume("medium").Text() == "Memory"
	s.volume.Temporary.Disk = !s.memory
	o.Finish(nil, nil, false)
}

func (k *reader) configMap(o *source.Map, s *volumeSource) {
	files, here := k.configs[o.Consume("name").Text()]
	optional := o.Consume("optional").Bool()
	if !here {
		s.why = "the ConfigMap is not in the file; write volumes with config"
	}
	s.volume.Config = map[string]string{}
	for name, text := range files {
		s.volume.Config[name] = text
	}
	for i, item := range o.Consume("items").List() {
		e := item.Map()
		if i == 0 {
			s.volume.Config = map[string]string{}
		}
		key, at := e.Consume("key").Text(), e.Consume("path").Text()
		e.Finish(source.Reasons{"mode": "files of documents can be read by all"}, nil, false)
		if text, known := files[key]; known {
			s.volume.Config[at] = text
		}
	}
	if here && len(s.volume.Config) == 0 {
		s.why = "the ConfigMap has no such files"
	}
	o.Finish(source.Reasons{"defaultMode": "files of documents can be read by all"}, nil, false)
	s.optional = optional && !here
}

// readMounts reads what a container mounts.
func (k *reader) readMounts(v *source.Value, doc *spec.Document, sources map[string]*volumeSource) {
	for _, item := range v.List() {
		o := item.Map()
		if o == nil {
			continue
		}
		name, at := o.Consume("name").Text(), o.Consume("mountPath").Text()
		s := sources[name]
		if s == nil {
			s = k.claims[name]
		}
		if s == nil {
			item.Refuse(fmt.Sprintf("there is no volume %q", source.Shorten(name)), "add it to volumes, or remove the mount")
			continue
		}
		m := s.volume
		m.Path = at
		m.ReadOnly = o.Consume("readOnly").Bool() || m.ReadOnly
		sub := o.Consume("subPath").Text()
		o.Finish(source.Reasons{"mountPropagation": "the backend sees to it"}, source.Reasons{"subPathExpr": "paths have no variables", "recursiveReadOnly": "what lies below is as it is"}, false)
		if len(s.files) > 0 {
			secretMount(k, item, s, m, sub, doc)
			continue
		}
		readMount(item, s, m, sub, doc)
	}
}

// secretMount mounts the keys of a Secret, each of which is a secret here.
func secretMount(k *reader, item *source.Value, s *volumeSource, m spec.Volume, sub string, doc *spec.Document) {
	s.mounted = true
	to := fmt.Sprintf("volumes[%d]", len(doc.Volumes))
	for _, key := range source.SortedKeys(s.files) {
		v := m
		v.Secret, v.Path = secretOf(k, s.secret, key), path.Join(m.Path, s.files[key])
		switch {
		case sub != "" && sub != s.files[key]:
			continue
		case sub != "":
			v.Path = m.Path
		}
		doc.Volumes = append(doc.Volumes, v)
	}
	item.Translated(to, "each key of the Secret is a secret, which muster secret create makes")
	s.at.Translated(to, "each key of the Secret is a secret, which muster secret create makes")
}

func readMount(item *source.Value, s *volumeSource, m spec.Volume, sub string, doc *spec.Document) {
	first := !s.mounted
	s.mounted = true
	to := fmt.Sprintf("volumes[%d]", len(doc.Volumes))
	switch {
	case s.optional:
		item.Ignored("it may be missing")
		s.at.Ignored("it may be missing")
		return
	case s.why != "":
		item.Dropped(s.why)
		if first {
			s.at.Dropped(s.why)
		}
		return
	case strings.TrimRight(m.Path, "/") == "/dev/shm" && m.Temporary != nil:
		m.Temporary.Disk = false
		if m.Temporary.Size > 0 {
			doc.Resources.SHM = m.Temporary.Size
			item.Translated("resources.shm", "")
			s.at.Translated("resources.shm", "")
			return
		}
		item.Translated(to, "it lies in memory")
		s.at.Translated(to, "it lies in memory")
	case sub != "" && m.HostPath != "":
		m.HostPath = path.Join(m.HostPath, sub)
		item.Translated(to, "the path below the volume is mounted")
		s.at.Translated(to, "")
	case sub != "" && m.Temporary != nil:
		item.Translated(to, "each path of it is a directory of its own")
		if first {
			s.at.Translated(to, "")
		}
	case sub != "" && m.Config[sub] != "":
		m.Config = map[string]string{path.Base(m.Path): m.Config[sub]}
		m.Path = path.Dir(m.Path)
		item.Approximated(to, "the file lies in a volume of its own, with nothing beside it")
		s.at.Translated(to, "")
	case sub != "":
		item.Dropped("only whole volumes are mounted, and paths below directories of the node")
		if first {
			s.at.Dropped("what mounts it mounts a part of it")
		}
		return
	case s.near != "":
		item.Kept(to)
		if first {
			s.at.Approximated(to, s.near)
		}
	default:
		item.Kept(to)
		if first {
			s.at.Translated(to, "")
		}
	}
	doc.Volumes = append(doc.Volumes, m)
}

// claimTemplates reads the claims that each replica of a set would have of its own.
// Nothing claims here: a replica has a directory of each, which ends with it.
func (k *reader) claimTemplates(v *source.Value) {
	k.claims = map[string]*volumeSource{}
	if v == nil {
		return
	}
	for _, item := range v.List() {
		o := item.Map()
		// What is said of them is told once, of all of them.
		s := &volumeSource{at: v, mounted: true, volume: spec.Volume{Temporary: claimed(o.Map("spec"))}}
		m := o.Map("metadata")
		k.claims[m.Consume("name").Text()] = s
	}
	v.Approximated("volumes", "no claims are made: each replica has a directory of its own, which ends with it; make a claim with kubectl and name it in volumes for what is to stay")
}

// ephemeral reads a claim that lives as long as its pod, as a directory of a task does.
func ephemeral(o *source.Map, s *volumeSource) {
	t := o.Map("volumeClaimTemplate")
	t.Consume("metadata").Ignored("it is of the claim")
	s.volume.Temporary = claimed(t.Map("spec"))
	t.Finish(nil, nil, false)
	o.Finish(nil, nil, false)
}

// claimed is a directory as large as a claim asks for.
func claimed(o *source.Map) *spec.Temporary {
	t := &spec.Temporary{Disk: true}
	r := o.Map("resources")
	q := r.Map("requests")
	if size := q.Consume("storage"); size != nil {
		t.Size = size.Quantity()
		size.Translated("volumes", "")
	}
	q.Finish(nil, nil, false)
	r.Finish(source.Reasons{"limits": "the size is what it asks for"}, nil, false)
	o.Finish(source.Reasons{
		"accessModes": "one task has it", "storageClassName": "it lies on the node's disk", "volumeMode": "it is a directory", "selector": "it is made for the task", "volumeName": "it is made for the task",
	}, source.Reasons{"dataSource": "it is empty at first", "dataSourceRef": "it is empty at first"}, false)
	return t
}
