// Package servedmodels has the runtimes that KServe chooses for models by their
// formats, and makes documents of them.
package servedmodels

import (
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
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
}

// Of is the model of a predictor: under its name, or under model with its format. It
// is nil where none is named, and where what names it was refused.
func Of(p *source.Map) *Model {
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
	doc.Image, doc.Command = m.image, spec.Command{Argv: m.argv}
	args := slices.Clone(m.args)
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
	} else if len(r.Errors) == 0 && !m.o.Has("args") && !m.o.Has("env") {
		r.Refuse(m.o.Tree.Line, source.FieldPath(m.o.Path, "storageUri"), "", "is missing", "write where the model lies")
	}
	asked := m.o.Has("resources")
	own(m.o)
	doc.Args = append(args, doc.Args...)
	if !asked {
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
