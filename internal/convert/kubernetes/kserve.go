package kubernetes

import (
	"github.com/musterhq/muster/internal/convert/kubernetes/servedmodels"
	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// inferenceService is a service whose predictor says its container, or a model and its
// format, for which KServe has runtimes.
func (k *reader) inferenceService(o *source.Map, doc *spec.Document) *spec.Document {
	s := o.Map("spec")
	p := s.Map("predictor")
	if p == nil {
		k.missingTemplate(o, "spec.predictor")
		return nil
	}
	doc.Kind = lifecycle.Inference
	served := servedmodels.Of(p, k.servings)
	if !p.Has("containers") && served == nil {
		if len(k.Errors) == 0 {
			k.Refuse(p.Tree.Line, source.FieldPath(p.Path, "containers"), "", "is missing, and no model is named", "write spec.predictor.containers, or spec.predictor.model with its modelFormat and storageUri")
		}
		return nil
	}
	a := &scaler{first: -1, least: 1, concurrency: 1}
	if v := p.Consume("minReplicas"); v != nil {
		a.least = v.Integer(0)
		v.Translated("autoscale.min", "")
	}
	if v := p.Consume("maxReplicas"); v != nil {
		a.most = v.Integer(0)
		v.Translated("autoscale.max", "")
	}
	a.most = max(a.most, a.least, 1)
	metric := p.Consume("scaleMetric")
	concurrent := metric == nil || metric.Text() == "concurrency"
	if v := p.Consume("containerConcurrency"); v != nil && v.Integer(0) > 0 {
		a.concurrency = v.Integer(0)
		v.Approximated("autoscale.concurrency", "a replica is to work on so many requests; more are not held back")
	} else {
		v.Ignored("it does not bound them")
	}
	if v := p.Consume("scaleTarget"); v != nil {
		a.concurrency = max(1, v.Integer(0))
		if concurrent {
			v.Translated("autoscale.concurrency", "")
		} else {
			v.Approximated("autoscale.concurrency", "requests under way at once, not "+source.Shorten(metric.Text()))
		}
	}
	if !concurrent {
		metric.Approximated("autoscale", "replicas follow requests under way")
	} else {
		metric.Translated("autoscale", "")
	}
	p.Consume("timeout").Dropped("requests are not ended by their length")
	p.Consume("canaryTrafficPercent").Dropped("all requests go to the newest generation, once its replicas are ready")
	for _, name := range []string{"deploymentStrategy", "batcher", "logger", "workerSpec"} {
		p.Consume(name).Dropped("replicas have one container")
	}
	for _, name := range []string{"labels", "annotations"} {
		p.Consume(name).Ignored("they are of what the cluster makes")
	}
	containers := func(volumes map[string]*volumeSource) { k.containers(p, doc, volumes, "kserve-container") }
	if served != nil {
		containers = func(volumes map[string]*volumeSource) {
			if served.Own != nil {
				k.servingRuntime(served.Own, doc)
			}
			served.Container(k.Reader, doc, func(o *source.Map) { k.container(o, doc, volumes) })
		}
	}
	if restart := k.podSpecOf(p, doc, containers); restart != nil {
		restart.Ignored("replicas are always started again")
	}
	if a.least == a.most {
		n := a.least
		doc.Replicas = &n
	} else {
		a.into(doc)
	}
	if len(doc.Ports) == 0 {
		doc.Ports = []spec.Port{{Port: knativePort}}
		k.Note(source.Note{Line: p.Tree.Line, Field: source.FieldPath(p.Path, "containers[0].ports"), Fate: source.Translated, To: "ports", Reason: "a container of KServe that does not say otherwise listens on 8080"})
	}
	s.Finish(nil, source.Reasons{"transformer": "write it as a Deployment", "explainer": "write it as a Deployment"}, false)
	k.noTopology(doc, o.Tree.Line, "replicas stand alone: near and apart say where they are")
	return doc
}

// servingRuntime reads a runtime of the file, which is the pod that models are served
// by.
func (k *reader) servingRuntime(t *codec.Tree, doc *spec.Document) {
	o := k.Map(t, "spec")
	for _, name := range []string{"supportedModelFormats", "protocolVersions", "multiModel", "disabled", "grpcEndpoint", "grpcDataEndpoint", "httpDataEndpoint", "builtInAdapter", "storageHelper"} {
		o.Consume(name).Ignored("it says which models are served")
	}
	for _, name := range []string{"labels", "annotations"} {
		o.Consume(name).Ignored("they are of what the cluster makes")
	}
	o.Consume("replicas").Ignored("the service says how many there are")
	o.Consume("workerSpec").Dropped("replicas have one container")
	if restart := k.podSpec(o, doc, "kserve-container"); restart != nil {
		restart.Ignored("replicas are always started again")
	}
}
