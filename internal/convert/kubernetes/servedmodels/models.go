// Package servedmodels has the runtimes that KServe chooses for models by their
// formats, and makes documents of them.
package servedmodels

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// modelRuntime is what serves models of a format: the image and arguments of the
// ClusterServingRuntime that KServe chooses for it.
type modelRuntime struct {
	name, image string
	argv        []string
	args        []string // {{.Name}} is the service's
	fetches     string   // the argument that may also be where a model lies, in these schemes
	schemes     []string
}

// kserveVersion is the release of KServe whose runtimes these are (config/runtimes of its
// repository, read in November 2026).
const kserveVersion = "v0.14.0"

// modelsDir is where a runtime finds its model.
const modelsDir = "/mnt/models"

// anywhere are the schemes that KServe's own servers read, by kserve.storage.
var anywhere = []string{"gs", "s3", "hf", "https", "http", "hdfs", "webhdfs"}

func kserveServer(name, server string, more ...string) modelRuntime {
	return modelRuntime{name: name, image: "kserve/" + server + ":" + kserveVersion, fetches: "--model_dir=", schemes: anywhere,
		args: append([]string{"--model_name={{.Name}}", "--model_dir=" + modelsDir, "--http_port=8080"}, more...)}
}

var triton = modelRuntime{
	name: "kserve-tritonserver", image: "nvcr.io/nvidia/tritonserver:23.05-py3", fetches: "--model-store=", schemes: []string{"gs", "s3"},
	args: []string{"tritonserver", "--model-store=" + modelsDir, "--grpc-port=9000", "--http-port=8080", "--allow-grpc=true", "--allow-http=true"},
}

// modelRuntimes are those of formats of models.
var modelRuntimes = map[string]modelRuntime{
	"sklearn": kserveServer("kserve-sklearnserver", "sklearnserver"), "xgboost": kserveServer("kserve-xgbserver", "xgbserver", "--nthread=1"),
	"lightgbm": kserveServer("kserve-lgbserver", "lgbserver", "--nthread=1"), "pmml": kserveServer("kserve-pmmlserver", "pmmlserver"),
	"paddle": kserveServer("kserve-paddleserver", "paddleserver"),
	"huggingface": {name: "kserve-huggingfaceserver", image: "kserve/huggingfaceserver:" + kserveVersion, fetches: "--model_dir=", schemes: anywhere,
		args: []string{"--model_name={{.Name}}", "--model_dir=" + modelsDir}},
	"tensorflow": {name: "kserve-tensorflow-serving", image: "tensorflow/serving:2.6.2", fetches: "--model_base_path=", schemes: []string{"gs", "s3"},
		argv: []string{"/usr/bin/tensorflow_model_server"},
		args: []string{"--model_name={{.Name}}", "--port=9000", "--rest_api_port=8080", "--model_base_path=" + modelsDir, "--rest_api_timeout_in_ms=60000"}},
	"pytorch": {name: "kserve-torchserve", image: "pytorch/torchserve-kfs:0.9.0",
		args: []string{"torchserve", "--start", "--model-store=" + modelsDir + "/model-store", "--ts-config=" + modelsDir + "/config/config.properties"}},
	"triton": triton, "tensorrt": triton, "onnx": triton,
}

// Model is a model that a predictor names, and what serves it.
type Model struct {
	modelRuntime
	o *source.Map
	// Own is the spec of a runtime of the file that serves it; nil: one of KServe's own
	// does.
	Own *codec.Tree
}

// Runtimes are the specs of the runtimes of a file, by their names.
type Runtimes map[string]*codec.Tree

// find is the runtime of that name, or where none is named one that is chosen for the
// format by itself.
func (r Runtimes) find(name, format string) (string, *codec.Tree) {
	if name != "" {
		return name, r[name]
	}
	for _, name := range source.SortedKeys(r) {
		formats := source.Entry(r[name], "supportedModelFormats")
		if formats == nil {
			continue
		}
		for i := range formats.Items {
			f, by := source.Entry(&formats.Items[i], "name"), source.Entry(&formats.Items[i], "autoSelect")
			if f != nil && by != nil && f.Text == format && by.Text == "true" {
				return name, r[name]
			}
		}
	}
	return "", nil
}

// Of is the model of a predictor: under its name, or under model with its format. It
// is nil where none is named, and where what names it was refused. Runtimes of the
// file stand before those of KServe.
func Of(p *source.Map, runtimes Runtimes) *Model {
	for _, format := range source.SortedKeys(modelRuntimes) {
		if v := p.Consume(format); v != nil {
			o := v.Map()
			if o == nil {
				return nil
			}
			v.Translated("image", "the runtime that KServe "+kserveVersion+" chooses for it: "+modelRuntimes[format].name)
			return &Model{modelRuntime: modelRuntimes[format], o: o}
		}
	}
	v := p.Consume("model")
	if v == nil {
		return nil
	}
	o := v.Map()
	if o == nil {
		return nil
	}
	f := o.Map("modelFormat")
	format := f.Consume("name")
	f.Consume("version").Ignored("the runtime reads it")
	f.Finish(nil, nil, false)
	is, known := modelRuntimes[format.Text()]
	runtime := o.Consume("runtime")
	if name, own := runtimes.find(runtime.Text(), format.Text()); own != nil {
		runtime.Translated("image", "the runtime is in the file")
		format.Translated("image", "the runtime of the file that serves it: "+source.Shorten(name))
		return &Model{modelRuntime: modelRuntime{name: name}, o: o, Own: own}
	}
	switch {
	case !known && format == nil:
		v.Refuse("names no format", "write modelFormat: {name: sklearn}")
		return nil
	case !known:
		format.Refuse(fmt.Sprintf("%q is no format that KServe's own runtimes read", source.Shorten(format.Tree.Text)), "write spec.predictor.containers with the runtime's image and arguments; kubectl get clusterservingruntimes shows them")
		return nil
	case runtime != nil && runtime.Text() != is.name && !o.Has("image"):
		runtime.Refuse(fmt.Sprintf("%q is a runtime of the cluster's own", source.Shorten(runtime.Tree.Text)), "write spec.predictor.containers with its image and arguments: kubectl get clusterservingruntime "+source.Shorten(runtime.Tree.Text)+" -o yaml")
		return nil
	}
	runtime.Translated("image", "")
	format.Translated("image", "the runtime that KServe "+kserveVersion+" chooses for it: "+is.name)
	return &Model{modelRuntime: is, o: o}
}

// Container is that of the runtime, with what the model says over it: own reads that
// as a container.
func (m *Model) Container(r *source.Reader, doc *spec.Document, own func(*source.Map)) {
	args := slices.Clone(m.args)
	if m.Own != nil {
		args = slices.Clone(doc.Args)
		doc.Args, doc.Command.Argv = nil, slices.Clone(doc.Command.Argv)
		m.named(r, doc, args)
	} else {
		doc.Image, doc.Command = m.image, spec.Command{Argv: m.argv}
	}
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "{{.Name}}", doc.Name)
	}
	m.o.Consume("protocolVersion").Ignored("the runtime speaks both of version 1 and 2")
	m.o.Consume("runtimeVersion").Dropped("write image for another version of the runtime")
	for _, name := range []string{"storage"} {
		if v := m.o.Consume(name); v != nil {
			v.Refuse("names what a secret of the cluster knows", "write storageUri, and the credentials as env")
		}
	}
	if v := m.o.Consume("storageUri"); v != nil {
		m.from(v, args, doc)
	} else if m.Own == nil && len(r.Errors) == 0 && !m.o.Has("args") && !m.o.Has("env") {
		r.Refuse(m.o.Tree.Line, source.FieldPath(m.o.Path, "storageUri"), "", "is missing", "write where the model lies")
	}
	asked := m.o.Has("resources")
	runtimes := doc.Resources
	own(m.o)
	if m.Own != nil {
		over(&doc.Resources, runtimes)
	}
	doc.Args = append(args, doc.Args...)
	if !asked && m.Own == nil {
		doc.Resources.CPU, doc.Resources.Memory = 1000, spec.Quantity(2<<30)*1000
		r.Note(source.Note{Line: m.o.Tree.Line, Field: source.FieldPath(m.o.Path, "resources"), Fate: source.Translated, To: "resources", Reason: "1 CPU and 2Gi, which the runtime says"})
	}
}

// from has the runtime read its model where it lies: a claim, or a place that the
// runtime itself fetches it from, as KServe's initializer would have done before.
func (m *Model) from(v *source.Value, args []string, doc *spec.Document) {
	scheme, rest, is := strings.Cut(v.Text(), "://")
	switch {
	case is && scheme == "pvc":
		claim, path, _ := strings.Cut(rest, "/")
		at := modelsDir
		if path = strings.Trim(path, "/"); path != "" { // a volume is the whole claim
			at = "/mnt/pvc"
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], modelsDir, at+"/"+path)
			}
			for i := range doc.Command.Argv {
				doc.Command.Argv[i] = strings.ReplaceAll(doc.Command.Argv[i], modelsDir, at+"/"+path)
			}
			for name, text := range doc.Env {
				doc.Env[name] = strings.ReplaceAll(text, modelsDir, at+"/"+path)
			}
		}
		doc.Volumes = append(doc.Volumes, spec.Volume{Path: at, Claim: claim, ReadOnly: true})
		v.Translated("volumes", "")
	case is && slices.Contains(m.schemes, scheme):
		for i := range args {
			if strings.HasPrefix(args[i], m.fetches) {
				args[i] = m.fetches + v.Text()
			}
		}
		v.Translated("args", "the runtime fetches it when it starts; where that takes keys, write them as env")
	default:
		v.Refuse(fmt.Sprintf("%s does not fetch models from %q", m.name, source.Shorten(v.Tree.Text)), "put it on a claim and write pvc://CLAIM/PATH, or write spec.predictor.containers with an image that has it")
	}
}

// named puts the service's name where a runtime of the file has it, in args and in what
// the document has of it. Other templates of KServe are not known.
func (m *Model) named(r *source.Reader, doc *spec.Document, args []string) {
	in := func(text string) string {
		text = strings.ReplaceAll(text, "{{.Name}}", doc.Name)
		if strings.Contains(text, "{{") && strings.Contains(text, "}}") {
			r.Refuse(m.Own.Line, "containers", text, "has a template that is not filled in here", "write what it stands for; {{.Name}} is known")
		}
		return text
	}
	for i := range args {
		args[i] = in(args[i])
	}
	for i := range doc.Command.Argv {
		doc.Command.Argv[i] = in(doc.Command.Argv[i])
	}
	for name, text := range doc.Env {
		doc.Env[name] = in(text)
	}
}

// over gives a model what its runtime asks for and it does not say itself.
func over(r *spec.Resources, runtimes spec.Resources) {
	r.CPU, r.Memory, r.SHM = cmp.Or(r.CPU, runtimes.CPU), cmp.Or(r.Memory, runtimes.Memory), cmp.Or(r.SHM, runtimes.SHM)
	if r.GPU.Kind() == spec.NoGPU {
		r.GPU = runtimes.GPU
	}
	if r.Extended == nil {
		r.Extended = runtimes.Extended
	}
}
