package kubernetes

import (
	"fmt"
	"math"
	"strings"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/hosts"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// replicated reads what sets of replicas have in common; nil where there is no
// template.
func (k *reader) replicated(o *source.Map, doc *spec.Document) *source.Map {
	s := o.Map("spec")
	doc.Kind = lifecycle.Inference
	if s == nil || !s.Has("template") {
		k.missingTemplate(o, "spec.template")
		return nil
	}
	one := 1
	doc.Replicas = &one
	if v := s.Consume("replicas"); v != nil {
		n := v.Integer(0)
		doc.Replicas = &n
		v.Kept("replicas")
	}
	return s
}

// ofReplicas converts the pod template of a set of independent replicas.
func (k *reader) ofReplicas(o, s *source.Map, doc *spec.Document) {
	if restart := k.template(s.Map("template"), doc, ""); restart != nil {
		restart.Ignored("replicas are always started again")
	}
	k.noTopology(doc, o.Tree.Line, "replicas stand alone: near and apart say where they are")
}

// replicaSet is a service without a way to change it.
func (k *reader) replicaSet(o *source.Map, doc *spec.Document) *spec.Document {
	s := k.replicated(o, doc)
	if s == nil {
		return nil
	}
	k.ofReplicas(o, s, doc)
	s.Finish(source.Reasons{"selector": "replicas belong to their workload"}, source.Reasons{"minReadySeconds": "a replica counts once its probe answers"}, false)
	return doc
}

// statefulSet is a service each of whose replicas is there once at most.
func (k *reader) statefulSet(o *source.Map, doc *spec.Document) *spec.Document {
	s := k.replicated(o, doc)
	if s == nil {
		return nil
	}
	none, one := 0, 1
	doc.Update = spec.Update{MaxSurge: &none, MaxUnavailable: &one}
	if u := s.Map("updateStrategy"); u != nil {
		kind := u.Consume("type")
		if r := u.Map("rollingUpdate"); r != nil {
			if v := r.Consume("maxUnavailable"); v != nil && v.Tree.Kind == codec.TreeNumber {
				n := v.Integer(1)
				doc.Update.MaxUnavailable = &n
				v.Kept("update.maxUnavailable")
			} else if v != nil {
				v.Dropped("it is a number of replicas, not a part of them")
			}
			r.Finish(nil, source.Reasons{"partition": "all replicas are replaced"}, false)
		}
		if kind.Text() == "OnDelete" {
			kind.Dropped("replicas are replaced when the document changes")
		} else if kind != nil {
			kind.Translated("update", "one after another, and none is there twice")
		}
		u.Finish(nil, nil, false)
	}
	const together = "all replicas start together, not one after another"
	switch v := s.Consume("podManagementPolicy"); {
	case v.Text() == "Parallel":
		v.Ignored("all start together")
	case *doc.Replicas <= 1:
		v.Ignored("there is one")
	case v != nil:
		v.Approximated("replicas", together)
	default:
		k.Note(source.Note{Line: s.Tree.Line, Field: source.FieldPath(s.Path, "podManagementPolicy"), Fate: source.Approximated, To: "replicas", Reason: together, Lossy: true})
	}
	k.claimTemplates(s.Consume("volumeClaimTemplates"))
	defer k.claimTemplates(nil)
	if v := s.Consume("serviceName"); *doc.Replicas > 1 {
		v.Dropped("replicas have no names for each other: $POD_INDEX numbers them, and one that is replaced gets a new number")
	} else if v != nil {
		v.Translated("annotations."+hosts.Annotation, "containers on machines of Muster's own know its pod by that name")
	}
	if *doc.Replicas == 1 && doc.Name != "" {
		k.onlyPod = doc.Name + "-0"
		defer func() { k.onlyPod = "" }()
		k.namedAlone(doc, k.onlyPod, entryText(s.Tree, "serviceName"))
	}
	k.ofReplicas(o, s, doc)
	s.Finish(source.Reasons{
		"selector": "replicas belong to their workload", "revisionHistoryLimit": "attempts are kept",
		"persistentVolumeClaimRetentionPolicy": "no claims are made",
	}, source.Reasons{
		"ordinals":        "replicas are numbered from 0",
		"minReadySeconds": "a replica counts once its probe answers",
	}, false)
	return doc
}

// notebook is a workspace, as Kubeflow's are.
func (k *reader) notebook(o *source.Map, doc *spec.Document) *spec.Document {
	s := o.Map("spec")
	if s == nil || !s.Has("template") {
		k.missingTemplate(o, "spec.template")
		return nil
	}
	doc.Kind, doc.Restart = lifecycle.Workspace, "always"
	if restart := k.template(s.Map("template"), doc, doc.Name); restart != nil {
		restart.Ignored("a notebook is always started again")
	}
	doc.Near, doc.Apart = "", ""
	s.Finish(nil, nil, false)
	k.noTopology(doc, o.Tree.Line, "a single task has no topology")
	return doc
}

// The defaults of Knative, where a Service does not say otherwise.
const (
	knativePort   = 8080
	knativeTarget = 100 // requests at once of a replica
	mostReplicas  = 1000
)

// knative is a service that follows its requests, down to none.
func (k *reader) knative(o *source.Map, doc *spec.Document) *spec.Document {
	s := o.Map("spec")
	doc.Kind = lifecycle.Inference
	t := s.Map("template")
	if t == nil {
		k.missingTemplate(o, "spec.template")
		return nil
	}
	a := &scaler{first: -1, concurrency: knativeTarget}
	k.scaling = a
	k.meta(t.Map("metadata"), doc, false)
	k.scaling = nil
	p := t.Map("spec")
	if p == nil {
		k.missingTemplate(t, "spec")
		return nil
	}
	if v := p.Consume("containerConcurrency"); v != nil {
		if n := v.Integer(0); n > 0 {
			a.concurrency = n
			v.Approximated("autoscale.concurrency", "a replica is to work on so many requests; more are not held back")
		} else {
			v.Ignored("it does not bound them")
		}
	}
	for _, name := range []string{"timeoutSeconds", "responseStartTimeoutSeconds", "idleTimeoutSeconds"} {
		p.Consume(name).Dropped("requests are not ended by their length")
	}
	if restart := k.podSpec(p, doc, ""); restart != nil {
		restart.Ignored("replicas are always started again")
	}
	t.Finish(nil, nil, false)
	a.into(doc)
	if len(doc.Ports) == 0 {
		doc.Ports = []spec.Port{{Port: knativePort}}
		k.Note(source.Note{Line: p.Tree.Line, Field: source.FieldPath(p.Path, "containers[0].ports"), Fate: source.Translated, To: "ports", Reason: "a container of Knative that does not say otherwise listens on 8080"})
	}
	if v := s.Consume("traffic"); v != nil {
		v.Dropped("all requests go to the newest generation, once its replicas are ready")
	}
	s.Finish(nil, nil, false)
	k.noTopology(doc, o.Tree.Line, "replicas stand alone: near and apart say where they are")
	return doc
}

// scaler is what annotations of Knative's autoscaler say.
type scaler struct {
	least, most, first, concurrency int
	down                            spec.Duration
}

// readScale reads one annotation of Knative's autoscaler.
func readScale(a *scaler, name string, v *source.Value) {
	number := func(least int) int {
		q, err := spec.ParseQuantity(strings.TrimSpace(v.Text()))
		if n := q.Milli() / 1000; err == nil && n >= int64(least) && n <= math.MaxInt32 {
			return int(n)
		}
		v.Refuse(fmt.Sprintf("%q is not a number from %d", source.Shorten(v.Tree.Text), least), "write it in digits")
		return least
	}
	switch name {
	case "min-scale", "minScale":
		a.least = number(0)
		v.Translated("autoscale.min", "")
	case "max-scale", "maxScale":
		a.most = number(0)
		v.Translated("autoscale.max", "")
	case "initial-scale", "initialScale":
		a.first = number(0)
		v.Translated("replicas", "")
	case "target":
		a.concurrency = max(1, number(1))
		v.Translated("autoscale.concurrency", "")
	case "scale-down-delay", "scale-to-zero-pod-retention-period", "window", "stable-window":
		d, err := spec.ParseDuration(v.Text())
		if err != nil {
			v.Refuse(source.ProblemOf(err), source.HintOf(err))
			return
		}
		a.down = max(a.down, d)
		v.Approximated("autoscale.scaleDown", "replicas go after so long without need")
	case "class":
		if strings.HasPrefix(v.Text(), "kpa") {
			v.Ignored("replicas follow requests")
		} else {
			v.Dropped("replicas follow requests under way, not load")
		}
	case "metric":
		if v.Text() == "concurrency" {
			v.Ignored("replicas follow requests under way")
		} else {
			v.Dropped("replicas follow requests under way, not " + source.Shorten(v.Text()))
		}
	default:
		v.Dropped("the autoscaler here has min, max, concurrency and scaleDown")
	}
}

// into writes the scale into a document. Who sets no bound has as many
// replicas as there can be; quotas bound them.
func (a *scaler) into(doc *spec.Document) {
	if a.most == 0 || a.most > mostReplicas {
		a.most = mostReplicas
	}
	a.least = min(a.least, a.most)
	doc.Autoscale = &spec.Autoscale{Min: a.least, Max: a.most, Concurrency: a.concurrency, ScaleDown: a.down}
	first := max(1, a.least)
	if a.first >= 0 {
		first = min(max(a.first, a.least), a.most)
	}
	doc.Replicas = &first
}
