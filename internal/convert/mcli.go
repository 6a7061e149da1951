package convert

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// mcliNode is how many GPUs a node of MosaicML's clusters has.
const mcliNode = 8

// bashWhereThere runs its first argument: mcli's commands are bash's, and an
// image without it has at least sh. The Python SDK writes the same.
const bashWhereThere = `if command -v bash >/dev/null; then exec bash -c "$0"; fi; exec sh -c "$0"`

// maxPrefix is how long a prefix of names may be.
const maxPrefix = 45

// mcli reads the YAML of mcli run.
func (r *reader) mcli(o *object) *spec.Document {
	doc := &spec.Document{Kind: lifecycle.Distributed}
	m := &mcliRun{reader: r, o: o, doc: doc}
	m.old()
	m.naming()
	if v := o.take("image"); v != nil {
		doc.Image = v.text()
		doc.PullPolicy = "always"
		v.kept("image")
		v.translated("pullPolicy", "mcli always looks whether the tag has moved; layers that are here are not fetched again")
	}
	if v := o.take("command"); v != nil {
		if text := strings.TrimSpace(v.text()); text != "" {
			doc.Command = spec.Command{Argv: []string{"/bin/sh", "-c", bashWhereThere, text}}
			v.translated("command", "bash runs it on each node, or sh where the image has no bash")
		}
	}
	m.variables(o.take("env_variables"))
	m.compute(o.object("compute"))
	m.scheduling(o.object("scheduling"))
	for _, item := range o.take("integrations").list() {
		m.integration(item)
	}
	if v := o.take("parameters"); v != nil {
		if p, ok := v.t.Value().(map[string]any); ok && v.object() != nil {
			doc.Parameters = p
			v.kept("parameters")
		} else {
			v.refuse(v.t.Found()+", expected a map", "write fields, as name: value")
		}
	}
	m.metadata(o.take("metadata"))
	m.tracker(o.object("experiment_tracker"))
	if v := o.take("dependent_deployment"); v != nil {
		v.refuse("a second container beside each task is not taken", "submit the model as a workload of kind inference")
	}
	o.done(nothing{"partitions": "deprecated", "optimization_level": "deprecated", "platform": "the clusters of the server are meant"}, nil, false)
	if len(r.errs) > 0 {
		return nil
	}
	r.overlaid(doc)
	return doc
}

type mcliRun struct {
	*reader
	o   *object
	doc *spec.Document
	// Of deprecated fields at the top.
	gpus, gpuType *value
}

// old reads what stood at the top in former versions.
func (m *mcliRun) old() {
	m.gpus, m.gpuType = m.o.take("gpu_num"), m.o.take("gpu_type")
	for _, name := range []string{"cluster", "instance", "cpus"} {
		if v := m.o.take(name); v != nil {
			v.harmless("the scheduler chooses where it runs")
		}
	}
}

// naming reads the name, to which mcli adds six characters.
func (m *mcliRun) naming() {
	v := m.o.take("name")
	if v == nil {
		v = m.o.take("run_name")
	}
	if v != nil {
		text := v.text()
		m.doc.NamePrefix = text
		if name := asName(text, 56); name != text {
			m.doc.NamePrefix = name
			v.translated("namePrefix", "as mcli, it makes a name of it and adds six characters")
		} else {
			v.translated("namePrefix", "as mcli, it adds six characters")
		}
		if len(m.doc.NamePrefix) > maxPrefix {
			v.refuse(fmt.Sprintf("has %d characters, more than %d", len(m.doc.NamePrefix), maxPrefix), "shorten it")
		}
		if m.doc.NamePrefix == "" {
			v.refuse("holds no letter or digit", "write a name")
		}
	}
	if v := m.o.take("parent_name"); v != nil {
		m.doc.Annotations = put(m.doc.Annotations, "parent-name", v.text())
		v.kept("annotations.parent-name")
	}
}

// variables reads env_variables: a map, or a list of key and value.
func (m *mcliRun) variables(v *value) {
	if v == nil {
		return
	}
	if v.t.Kind == spec.TreeList {
		for _, item := range v.list() {
			o := item.object()
			if o == nil {
				continue
			}
			name, text := o.take("key").text(), o.take("value")
			m.doc.Env = put(m.doc.Env, name, text.text())
			o.done(nil, nil, false)
			item.kept("env." + name)
		}
		return
	}
	names, values := v.pairs()
	for i, name := range names {
		m.doc.Env = put(m.doc.Env, name, values[i].text())
		values[i].kept("env." + name)
	}
}

// compute reads how large the run is: GPUs are of all nodes together.
func (m *mcliRun) compute(c *object) {
	gpus, kind := c.take("gpus"), c.take("gpu_type")
	if gpus == nil {
		gpus = m.gpus
	} else if m.gpus != nil && m.gpus.whole(0) != gpus.whole(0) {
		m.gpus.refuse(fmt.Sprintf("is %s, and compute.gpus %s", m.gpus.t.Text, gpus.t.Text), "keep one of them")
	}
	if kind == nil {
		kind = m.gpuType
	}
	nodes, n := 1, 0
	nv := c.take("nodes")
	if nv != nil {
		nodes = nv.whole(1)
		nv.translated("workers", "")
	}
	if gpus != nil {
		n = gpus.whole(0)
	}
	per := n
	switch {
	case n == 0 && nv != nil && gpus == nil && kind.text() != "none":
		per = mcliNode
		nv.translated("resources.gpu", "a node has 8 GPUs")
	case nv != nil && n%nodes != 0:
		gpus.refuse(fmt.Sprintf("%d GPUs are not divided evenly among %d nodes", n, nodes), "make them agree")
		return
	case nv != nil:
		per = n / nodes
	case n > mcliNode && n%mcliNode != 0:
		gpus.refuse(fmt.Sprintf("%d GPUs are not whole nodes of %d", n, mcliNode), "write a multiple of 8, or nodes")
		return
	case n > mcliNode:
		per, nodes = mcliNode, n/mcliNode
	}
	if gpus != nil {
		gpus.translated("resources.gpu", fmt.Sprintf("%d on each of %d nodes", per, nodes))
	}
	m.doc.Workers, m.doc.Resources.GPU.Count = nodes, per
	world := per * nodes
	if per == 0 {
		world = nodes
	}
	if _, said := m.doc.Env["WORLD_SIZE"]; !said { // what Composer's launcher reads
		m.doc.Env = put(m.doc.Env, "WORLD_SIZE", strconv.Itoa(world))
	}
	m.gpuTypeOf(kind, per)
	m.computeRest(c)
}

func (m *mcliRun) gpuTypeOf(v *value, per int) {
	if v == nil {
		return
	}
	text := v.text()
	model, size, sized := strings.Cut(strings.ToLower(text), "_")
	switch {
	case text == "none" || text == "None":
		if per > 0 {
			v.refuse(fmt.Sprintf("is none beside %d GPUs", per), "make them agree")
			return
		}
		v.translated("resources.gpu", "")
	case per == 0:
		v.harmless("there are no GPUs")
	case sized:
		m.doc.Resources.GPU.Type = model
		v.approximated("resources.gpu.type", "of "+model+" any fits, not only those of "+size)
	default:
		m.doc.Resources.GPU.Type = model
		v.translated("resources.gpu.type", "")
	}
}

func (m *mcliRun) computeRest(c *object) {
	if c == nil {
		return
	}
	if v := c.take("cpus"); v != nil {
		if n := v.whole(0); n > 0 && m.doc.Workers > 0 {
			m.doc.Resources.CPU = spec.Quantity(n) * 1000 / spec.Quantity(m.doc.Workers)
			v.translated("resources.cpu", "on all nodes together")
		}
	}
	if v := c.take("node_names"); v != nil {
		m.doc.NodeAffinity = []spec.NodeTerm{{Key: "kubernetes.io/hostname", Op: "In", Values: v.texts()}}
		v.translated("nodeAffinity", "")
	}
	c.done(nothing{"cluster": "the scheduler chooses where it runs", "instance": "the scheduler chooses where it runs"}, nil, false)
}

// mcliPriorities are those of runs; auto and medium are what all runs have that say
// nothing.
var mcliPriorities = map[string]spec.Priority{"auto": spec.Train, "lowest": spec.VeryLow, "low": spec.Low, "medium": spec.Train, "high": spec.High, "highest": spec.VeryHigh}

// scheduling reads order and limits; a run is not preempted where it does not
// say so.
func (m *mcliRun) scheduling(s *object) {
	no := false
	m.doc.Preemptible = &no
	none := 0
	m.doc.Retry.System = &none
	if s == nil {
		return
	}
	if v := s.take("priority"); v != nil {
		if p, ok := mcliPriorities[v.text()]; ok {
			m.doc.Priority = p
			v.translated("priority", "")
		} else {
			v.refuse(fmt.Sprintf("%q is not a priority", shorten(v.t.Text)), "allowed are auto, lowest, low, medium, high and highest")
		}
	}
	for _, name := range []string{"preemptible", "resumable"} {
		if v := s.take(name); v != nil {
			yes := v.truth()
			m.doc.Preemptible = &yes
			v.kept("preemptible")
		}
	}
	if v := s.take("max_retries"); v != nil {
		if m.doc.Retry.Limit = v.whole(0); m.doc.Retry.Limit > maxRetries {
			m.doc.Retry.Limit = maxRetries
			v.approximated("retry.limit", "it is at most 1000")
		} else {
			v.translated("retry.limit", "")
		}
	}
	for _, name := range []string{"retry_on_system_failure", "retryOnSystemFailure"} {
		if v := s.take(name); v != nil {
			if v.truth() {
				m.doc.Retry.System = nil
			}
			v.translated("retry.system", "")
		}
	}
	if v := s.take("max_duration"); v != nil {
		if hours, ok := v.decimal(); ok && hours > 0 && hours < 100*366*24 {
			m.doc.MaxDuration = spec.Duration(math.Floor(hours*3600+1e-6)) * 1e9
			v.translated("maxDuration", "a bare number is hours")
		} else if ok {
			v.refuse("is not a time in hours", "write more than 0")
		}
	}
	s.done(nil, nil, false)
}

// metadata becomes annotations, whose values are texts.
func (m *mcliRun) metadata(v *value) {
	names, values := v.pairs()
	for i, name := range names {
		item := values[i]
		if item.t.Scalar() {
			m.doc.Annotations = put(m.doc.Annotations, name, item.t.Text)
			item.kept("annotations." + name)
			continue
		}
		data, err := json.Marshal(item.t.Value())
		if err != nil {
			item.refuse("cannot be written", "write plain values")
			continue
		}
		m.doc.Annotations = put(m.doc.Annotations, name, string(data))
		item.translated("annotations."+name, "as JSON")
	}
}

func (m *mcliRun) tracker(o *object) {
	if o == nil {
		return
	}
	if w := o.object("wandb"); w != nil {
		in := &spec.Wandb{Project: w.take("project").text(), Entity: w.take("entity").text()}
		m.add("experiment_tracker.wandb", w, spec.Integration{Wandb: in})
	}
	if f := o.object("mlflow"); f != nil {
		in := &spec.Mlflow{Experiment: f.take("experiment_path").text(), TrackingURI: f.take("tracking_uri").text()}
		m.add("experiment_tracker.mlflow", f, spec.Integration{Mlflow: in})
	}
	o.done(nil, nil, false)
}

// add takes an integration over that was read from o.
func (m *mcliRun) add(field string, o *object, in spec.Integration) {
	m.doc.Integrations = append(m.doc.Integrations, in)
	m.note(Note{Line: o.t.Line, Last: lastLine(o.t), Field: field, Fate: Translated, To: fmt.Sprintf("integrations[%d]", len(m.doc.Integrations)-1)})
	o.done(nil, nothing{"model_registry_path": "write publish", "artifact_location": "", "tags": "", "name": ""}, false)
}

// integration reads one item of integrations.
func (m *mcliRun) integration(item *value) {
	o := item.object()
	if o == nil {
		return
	}
	kind := o.take("integration_type")
	var in spec.Integration
	switch kind.text() {
	case "git_repo":
		in.Git = m.git(o)
	case "pip_packages":
		in.Pip = &spec.Pip{Packages: o.take("packages").texts(), Upgrade: o.take("upgrade").truth()}
	case "apt_packages":
		in.Apt = &spec.Apt{Packages: o.take("packages").texts()}
	case "wandb":
		in.Wandb = &spec.Wandb{Project: o.take("project").text(), Entity: o.take("entity").text(), Group: o.take("group").text(), JobType: o.take("job_type").text(), Tags: o.take("tags").texts()}
	case "comet_ml":
		in.Comet = &spec.Comet{Project: o.take("project").text(), Workspace: o.take("workspace").text()}
	case "mlflow":
		in.Mlflow = &spec.Mlflow{Experiment: o.take("experiment_name").text(), TrackingURI: o.take("tracking_uri").text()}
	case "":
		item.refuse("has no integration_type", "write one, such as git_repo")
		return
	default:
		kind.refuse(fmt.Sprintf("%q is not an integration", shorten(kind.t.Text)), "allowed are git_repo, pip_packages, apt_packages, wandb, comet_ml and mlflow")
		return
	}
	if in.Pip != nil && slices.Contains(in.Pip.Packages, "") || in.Apt != nil && len(in.Apt.Packages) == 0 || in.Pip != nil && len(in.Pip.Packages) == 0 {
		item.refuse("names no packages", "write packages")
		return
	}
	m.doc.Integrations = append(m.doc.Integrations, in)
	item.translated(fmt.Sprintf("integrations[%d]", len(m.doc.Integrations)-1), "")
	o.done(nil, nil, false)
}

func (m *mcliRun) git(o *object) *spec.Git {
	g := &spec.Git{
		Repo: o.take("git_repo").text(), Branch: o.take("git_branch").text(), Commit: o.take("git_commit").text(),
		Path: strings.TrimPrefix(o.take("path").text(), "/"), Pip: o.take("pip_install").text(), Host: o.take("host").text(),
	}
	ssh := o.take("ssh_clone")
	if strings.Contains(g.Repo, "://") || strings.HasPrefix(g.Repo, "git@") {
		g.Host = ""
		ssh.harmless("the repository says how it is cloned")
		return g
	}
	if ssh != nil { // where it is not said, the user's secrets decide: mcli demands one, and so does this
		yes := ssh.truth()
		g.SSH = &yes
		ssh.kept("integrations.git.ssh")
	}
	return g
}
