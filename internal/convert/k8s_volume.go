package convert

import (
	"fmt"
	"path"
	"strings"

	"github.com/musterhq/muster/internal/core/spec"
)

// volumeSource is a volume of a pod before something mounts it.
type volumeSource struct {
	at      *value
	volume  spec.Volume
	memory  bool   // an emptyDir in memory
	why     string // it cannot be had; empty: it can
	near    string // it is only near to what was asked for
	mounted bool
}

// volumeSources reads the volumes of a pod by name.
func (k *k8sReader) volumeSources(v *value) map[string]*volumeSource {
	sources := map[string]*volumeSource{}
	for _, item := range v.list() {
		o := item.object()
		if o == nil {
			continue
		}
		name := o.take("name").text()
		if _, twice := sources[name]; twice {
			item.refuse(fmt.Sprintf("the name %q stands twice", shorten(name)), "give each volume its own")
			continue
		}
		s := &volumeSource{at: item}
		sources[name] = s
		k.volumeSource(o, s)
	}
	return sources
}

func (k *k8sReader) volumeSource(o *object, s *volumeSource) {
	switch {
	case o.has("hostPath"):
		h := o.object("hostPath")
		s.volume.HostPath = strings.TrimRight(h.take("path").text(), "/")
		if s.volume.HostPath == "" {
			s.volume.HostPath = "/"
		}
		s.volume.Create = h.take("type").text() == "DirectoryOrCreate"
		h.done(nil, nil, false)
	case o.has("persistentVolumeClaim"):
		c := o.object("persistentVolumeClaim")
		s.volume.Claim = c.take("claimName").text()
		if c.take("readOnly").truth() {
			s.volume.ReadOnly = true
		}
		c.done(nil, nil, false)
	case o.has("emptyDir"):
		k.emptyDir(o.take("emptyDir"), s)
	case o.has("configMap"):
		k.configMap(o.object("configMap"), s)
	case o.has("secret"):
		c := o.object("secret")
		s.volume.Secret = c.take("secretName").text()
		s.near = "the secret is one file, and its path is that file"
		c.done(nothing{"defaultMode": "its file is for its user only", "optional": "secrets that a document names must be there"}, nothing{"items": "the secret is one file"}, false)
	default:
		s.why = "such volumes are not known; mount them on the nodes and write hostPath, or make a claim"
	}
	o.done(nil, nothing{
		"nfs": "", "csi": "", "projected": "", "downwardAPI": "", "ephemeral": "", "image": "", "iscsi": "", "cephfs": "", "rbd": "", "azureFile": "", "gcePersistentDisk": "", "awsElasticBlockStore": "",
	}, false)
}

func (k *k8sReader) emptyDir(v *value, s *volumeSource) {
	s.volume.Temporary = &spec.Temporary{}
	if v == nil { // emptyDir: with nothing after it
		s.near = "it lies in memory"
		return
	}
	o := v.object()
	if size := o.take("sizeLimit"); size != nil {
		s.volume.Temporary.Size = size.quantity()
	}
	s.memory = o.take("medium").text() == "Memory"
	if !s.memory {
		s.near = "it lies in memory"
	}
	o.done(nil, nil, false)
}

func (k *k8sReader) configMap(o *object, s *volumeSource) {
	files, here := k.configs[o.take("name").text()]
	if !here {
		s.why = "the ConfigMap is not in the file; write volumes with config"
	}
	s.volume.Config = map[string]string{}
	for name, text := range files {
		s.volume.Config[name] = text
	}
	for i, item := range o.take("items").list() {
		e := item.object()
		if i == 0 {
			s.volume.Config = map[string]string{}
		}
		key, at := e.take("key").text(), e.take("path").text()
		e.done(nothing{"mode": "files of documents can be read by all"}, nil, false)
		if text, known := files[key]; known {
			s.volume.Config[at] = text
		}
	}
	if here && len(s.volume.Config) == 0 {
		s.why = "the ConfigMap has no such files"
	}
	o.done(nothing{"defaultMode": "files of documents can be read by all", "optional": "it is there"}, nil, false)
}

// mounts reads what a container mounts.
func (k *k8sReader) mounts(v *value, doc *spec.Document, sources map[string]*volumeSource) {
	for _, item := range v.list() {
		o := item.object()
		if o == nil {
			continue
		}
		name, at := o.take("name").text(), o.take("mountPath").text()
		s := sources[name]
		if s == nil {
			item.refuse(fmt.Sprintf("there is no volume %q", shorten(name)), "add it to volumes, or remove the mount")
			continue
		}
		m := s.volume
		m.Path = at
		m.ReadOnly = o.take("readOnly").truth() || m.ReadOnly
		sub := o.take("subPath").text()
		o.done(nothing{"mountPropagation": "the backend sees to it"}, nothing{"subPathExpr": "paths have no variables", "recursiveReadOnly": "what lies below is as it is"}, false)
		k.mount(item, s, m, sub, doc)
	}
}

func (k *k8sReader) mount(item *value, s *volumeSource, m spec.Volume, sub string, doc *spec.Document) {
	first := !s.mounted
	s.mounted = true
	to := fmt.Sprintf("volumes[%d]", len(doc.Volumes))
	switch {
	case s.why != "":
		item.lost(s.why)
		if first {
			s.at.lost(s.why)
		}
		return
	case strings.TrimRight(m.Path, "/") == "/dev/shm" && m.Temporary != nil:
		if m.Temporary.Size > 0 {
			doc.Resources.SHM = m.Temporary.Size
			item.translated("resources.shm", "")
			s.at.translated("resources.shm", "")
			return
		}
		item.translated(to, "it lies in memory")
		s.at.translated(to, "it lies in memory")
	case sub != "" && m.HostPath != "":
		m.HostPath = path.Join(m.HostPath, sub)
		item.translated(to, "the path below the volume is mounted")
		s.at.translated(to, "")
	case sub != "" && m.Config[sub] != "":
		m.Config = map[string]string{path.Base(m.Path): m.Config[sub]}
		m.Path = path.Dir(m.Path)
		item.approximated(to, "the file lies in a volume of its own, with nothing beside it")
		s.at.translated(to, "")
	case sub != "":
		item.lost("only whole volumes are mounted, and paths below directories of the node")
		if first {
			s.at.lost("what mounts it mounts a part of it")
		}
		return
	case s.near != "":
		item.kept(to)
		if first {
			s.at.approximated(to, s.near)
		}
	default:
		item.kept(to)
		if first {
			s.at.translated(to, "")
		}
	}
	doc.Volumes = append(doc.Volumes, m)
}
