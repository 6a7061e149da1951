package skypilot

import (
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// service reads what makes a task a service of several replicas.
func (t *task) service(v *source.Value) {
	if v == nil {
		return
	}
	o := v.Map()
	if o == nil {
		return
	}
	if t.nodes > 1 {
		v.Refuse("replicas of several nodes are not taken", "write num_nodes: 1")
		return
	}
	doc := t.doc
	doc.Kind = lifecycle.Inference
	if p := o.Consume("ports"); p != nil {
		doc.Ports = []spec.Port{{Port: p.Integer(1)}}
		p.Translated("ports", "")
	}
	t.readiness(o.Consume("readiness_probe"))
	if r := o.Consume("replicas"); r != nil {
		n := r.Integer(0)
		doc.Replicas = &n
		r.Kept("replicas")
	}
	if p := o.Map("replica_policy"); p != nil {
		t.policy(p)
	}
	if len(doc.Ports) == 0 {
		t.Refuse(o.Tree.Line, "service.ports", "", "is missing, as is resources.ports", "write the port on which a replica listens")
	}
	o.Finish(source.Reasons{"load_balancing_policy": "a request goes to the replica with the fewest"},
		source.Reasons{"tls": "replicas are reached through the server", "pool": "write replicas", "workers": "write replicas"}, true)
}

// readiness reads how a replica is asked whether it is ready: a path, or a map.
func (t *task) readiness(v *source.Value) {
	if v == nil {
		return
	}
	if v.Tree.Kind != codec.TreeMap {
		t.doc.Probe = &spec.Probe{Path: v.Text()}
		v.Translated("probe.path", "")
		return
	}
	o := v.Map()
	t.doc.Probe = &spec.Probe{Path: o.Consume("path").Text()}
	if n := o.Consume("timeout_seconds"); n != nil {
		t.doc.Probe.Timeout = source.Seconds(n.Integer(1))
	}
	if o.Has("post_data") { // which GET would not be answered for
		t.doc.Probe = nil
		v.Approximated("probe", "it is ready once its port accepts connections: replicas are asked with GET, without data")
		return
	}
	v.Translated("probe", "")
	o.Finish(source.Reasons{"initial_delay_seconds": "it is asked from the start, and counts once it answers"}, source.Reasons{"headers": "none are sent"}, true)
}

// policy reads how many replicas there are.
func (t *task) policy(o *source.Map) {
	least, most := o.Consume("min_replicas"), o.Consume("max_replicas")
	n := least.Integer(0)
	least.Translated("replicas", "")
	rate := o.Consume("target_qps_per_replica")
	if m := most.Integer(0); most != nil && m > n {
		a := &spec.Autoscale{Min: n, Max: m, Concurrency: 1}
		if f, ok := rate.Number(); ok && f >= 1 {
			a.Concurrency = int(f)
		}
		rate.Approximated("autoscale.concurrency", "requests under way at once, not those of a second")
		if d := o.Consume("downscale_delay_seconds"); d != nil {
			a.ScaleDown = source.Seconds(d.Integer(1))
			d.Translated("autoscale.scaleDown", "")
		}
		t.doc.Autoscale = a
		n = max(1, n)
		most.Translated("autoscale.max", "")
	} else {
		most.Translated("replicas", "")
		rate.Ignored("the number of replicas is fixed")
	}
	t.doc.Replicas = &n
	o.Finish(source.Reasons{"upscale_delay_seconds": "requests wait for a replica", "downscale_delay_seconds": "the number is fixed", "qps_window_size": "replicas follow requests under way",
		"dynamic_ondemand_fallback": "replicas are not preempted", "base_ondemand_fallback_replicas": "replicas are not preempted", "spot_placer": "replicas are not preempted"},
		source.Reasons{"num_overprovision": "replicas are not preempted"}, true)
}

// choices reads several ways to have what a task needs. Where they are about
// clouds alone any is as good; else the GPUs of the first are asked for.
func (t *task) choices(v *source.Value) {
	if v == nil {
		return
	}
	asks := false
	for _, item := range v.List() {
		if item.Tree.Kind != codec.TreeMap {
			item.Refuse(item.Tree.Found()+", expected a map", "write fields, as name: value")
			return
		}
		for _, name := range item.Tree.Names {
			if _, where := ignored[name]; !where && name != "use_spot" {
				asks = true
			}
		}
	}
	if !asks {
		v.Ignored("the scheduler chooses where it runs")
		return
	}
	none := t.doc.Resources.GPU == (spec.GPU{})
	if first := v.List()[0].Map(); none {
		t.accelerators(first.Consume("accelerators"))
		t.instance(first.Consume("instance_type"))
	}
	if t.anyOf(v.List(), none) {
		v.Translated("resources.gpu", "any of them, wherever there is room first")
		return
	}
	v.Approximated("resources.gpu", "it is one of several ways to have it; the GPUs of the first are asked for")
}

// anyOf asks for any of several GPUs, where that is all in which the choices differ and
// they have the same number of them; else false. With first none asked before the
// choices for some.
func (t *task) anyOf(choices []*source.Value, none bool) bool {
	own := t.doc.Resources.GPU
	if own.Kind() != spec.WholeGPU {
		return false
	}
	all := own
	for i, item := range choices {
		if i == 0 && none {
			continue // it is what is asked for
		}
		one := &task{Reader: &source.Reader{Format: t.Format}, doc: &spec.Document{}, from: t.from}
		o := (&source.Value{Reader: one.Reader, Tree: item.Tree, Path: item.Path, Line: item.Line}).Map()
		one.accelerators(o.Consume("accelerators"))
		one.instance(o.Consume("instance_type"))
		o.Consume("use_spot")
		o.Finish(ignored, nil, true)
		g := one.doc.Resources.GPU
		if len(one.Errors) > 0 || slices.ContainsFunc(one.Notes, func(n source.Note) bool { return n.Lossy }) || g.Kind() != spec.WholeGPU || g.Count != own.Count {
			return false
		}
		for kind := range strings.SplitSeq(g.Type, "|") {
			if !slices.Contains(strings.Split(all.Type, "|"), kind) {
				all.Type += "|" + kind
			}
		}
	}
	t.doc.Resources.GPU = all
	return true
}

// valueless is a variable whose value whoever submits has: a secret of theirs.
func (t *task) valueless(item *source.Value, name string) {
	secret := strings.Trim(source.NameFrom(name, spec.MaxName), "-")
	t.doc.Secrets = append(t.doc.Secrets, spec.SecretUse{Name: secret, Env: name})
	item.Translated("secrets", "its value is the submitter's: muster secret create "+secret+" makes it, or write it with --env "+source.Shorten(name)+"=value")
}
