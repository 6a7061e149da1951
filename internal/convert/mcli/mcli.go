// Package mcli reads the YAML of one run of mcli as a document.
package mcli

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// mcliNode is how many GPUs a node of MosaicML's clusters has.
const mcliNode = 8

// BashWhereThere runs its first argument: mcli's commands are bash's, and an
// image without it has at least sh. The Python SDK writes the same.
const BashWhereThere = `if command -v bash >/dev/null; then exec bash -c "$0"; fi; exec sh -c "$0"`

// MaxPrefix is how long a prefix of names may be.
const MaxPrefix = 45

// Read reads the YAML of mcli run.
func Read(r *source.Reader, o *source.Map) *spec.Document {
	doc := &spec.Document{Kind: lifecycle.Distributed}
	m := &mcliRun{Reader: r, o: o, doc: doc}
	m.old()
	m.naming()
	if v := o.Take("image"); v != nil {
		doc.Image = v.Text()
		doc.PullPolicy = "always"
		v.Kept("image")
		v.Translated("pullPolicy", "mcli always looks whether the tag has moved; layers that are here are not fetched again")
	}
	if v := o.Take("command"); v != nil {
		if text := strings.TrimSpace(v.Text()); text != "" {
			doc.Command = spec.Command{Argv: []string{"/bin/sh", "-c", BashWhereThere, text}}
			v.Translated("command", "bash runs it on each node, or sh where the image has no bash")
		}
	}
	m.variables(o.Take("env_variables"))
	m.compute(o.Map("compute"))
	m.scheduling(o.Map("scheduling"))
	for _, item := range o.Take("integrations").List() {
		m.integration(item)
	}
	if v := o.Take("parameters"); v != nil {
		if p, ok := v.T.Value().(map[string]any); ok && v.Map() != nil {
			doc.Parameters = p
			v.Kept("parameters")
		} else {
			v.Refuse(v.T.Found()+", expected a map", "write fields, as name: value")
		}
	}
	m.metadata(o.Take("metadata"))
	m.tracker(o.Map("experiment_tracker"))
	if v := o.Take("dependent_deployment"); v != nil {
		v.Refuse("a second container beside each task is not taken", "submit the model as a workload of kind inference")
	}
	o.Done(source.Nothing{"partitions": "deprecated", "optimization_level": "deprecated", "platform": "the clusters of the server are meant"}, nil, false)
	if len(r.Errs) > 0 {
		return nil
	}
	r.Overlaid(doc)
	return doc
}

type mcliRun struct {
	*source.Reader
	o   *source.Map
	doc *spec.Document
	// Of deprecated fields at the top.
	gpus, gpuType *source.Value
}

// old reads what stood at the top in former versions.
func (m *mcliRun) old() {
	m.gpus, m.gpuType = m.o.Take("gpu_num"), m.o.Take("gpu_type")
	for _, name := range []string{"cluster", "instance", "cpus"} {
		if v := m.o.Take(name); v != nil {
			v.Harmless("the scheduler chooses where it runs")
		}
	}
}

// naming reads the name, to which mcli adds six characters.
func (m *mcliRun) naming() {
	v := m.o.Take("name")
	if v == nil {
		v = m.o.Take("run_name")
	}
	if v != nil {
		text := v.Text()
		m.doc.NamePrefix = text
		if name := source.AsName(text, 56); name != text {
			m.doc.NamePrefix = name
			v.Translated("namePrefix", "as mcli, it makes a name of it and adds six characters")
		} else {
			v.Translated("namePrefix", "as mcli, it adds six characters")
		}
		if len(m.doc.NamePrefix) > MaxPrefix {
			v.Refuse(fmt.Sprintf("has %d characters, more than %d", len(m.doc.NamePrefix), MaxPrefix), "shorten it")
		}
		if m.doc.NamePrefix == "" {
			v.Refuse("holds no letter or digit", "write a name")
		}
	}
	if v := m.o.Take("parent_name"); v != nil {
		m.doc.Annotations = source.Put(m.doc.Annotations, "parent-name", v.Text())
		v.Kept("annotations.parent-name")
	}
}

// variables reads env_variables: a map, or a list of key and value.
func (m *mcliRun) variables(v *source.Value) {
	if v == nil {
		return
	}
	if v.T.Kind == spec.TreeList {
		for _, item := range v.List() {
			o := item.Map()
			if o == nil {
				continue
			}
			name, text := o.Take("key").Text(), o.Take("value")
			m.doc.Env = source.Put(m.doc.Env, name, text.Text())
			o.Done(nil, nil, false)
			item.Kept("env." + name)
		}
		return
	}
	names, values := v.Pairs()
	for i, name := range names {
		m.doc.Env = source.Put(m.doc.Env, name, values[i].Text())
		values[i].Kept("env." + name)
	}
}

// compute reads how large the run is: GPUs are of all nodes together.
func (m *mcliRun) compute(c *source.Map) {
	gpus, kind := c.Take("gpus"), c.Take("gpu_type")
	if gpus == nil {
		gpus = m.gpus
	} else if m.gpus != nil && m.gpus.Whole(0) != gpus.Whole(0) {
		m.gpus.Refuse(fmt.Sprintf("is %s, and compute.gpus %s", m.gpus.T.Text, gpus.T.Text), "keep one of them")
	}
	if kind == nil {
		kind = m.gpuType
	}
	nodes, n := 1, 0
	nv := c.Take("nodes")
	if nv != nil {
		nodes = nv.Whole(1)
		nv.Translated("workers", "")
	}
	if gpus != nil {
		n = gpus.Whole(0)
	}
	per := n
	switch {
	case n == 0 && nv != nil && gpus == nil && kind.Text() != "none":
		per = mcliNode
		nv.Translated("resources.gpu", "a node has 8 GPUs")
	case nv != nil && n%nodes != 0:
		gpus.Refuse(fmt.Sprintf("%d GPUs are not divided evenly among %d nodes", n, nodes), "make them agree")
		return
	case nv != nil:
		per = n / nodes
	case n > mcliNode && n%mcliNode != 0:
		gpus.Refuse(fmt.Sprintf("%d GPUs are not whole nodes of %d", n, mcliNode), "write a multiple of 8, or nodes")
		return
	case n > mcliNode:
		per, nodes = mcliNode, n/mcliNode
	}
	if gpus != nil {
		gpus.Translated("resources.gpu", fmt.Sprintf("%d on each of %d nodes", per, nodes))
	}
	m.doc.Workers, m.doc.Resources.GPU.Count = nodes, per
	world := per * nodes
	if per == 0 {
		world = nodes
	}
	if _, said := m.doc.Env["WORLD_SIZE"]; !said { // what Composer's launcher reads
		m.doc.Env = source.Put(m.doc.Env, "WORLD_SIZE", strconv.Itoa(world))
	}
	m.gpuTypeOf(kind, per)
	m.computeRest(c)
}

func (m *mcliRun) gpuTypeOf(v *source.Value, per int) {
	if v == nil {
		return
	}
	text := v.Text()
	model, size, sized := strings.Cut(strings.ToLower(text), "_")
	switch {
	case text == "none" || text == "None":
		if per > 0 {
			v.Refuse(fmt.Sprintf("is none beside %d GPUs", per), "make them agree")
			return
		}
		v.Translated("resources.gpu", "")
	case per == 0:
		v.Harmless("there are no GPUs")
	case sized:
		m.doc.Resources.GPU.Type = model
		v.Approximated("resources.gpu.type", "of "+model+" any fits, not only those of "+size)
	default:
		m.doc.Resources.GPU.Type = model
		v.Translated("resources.gpu.type", "")
	}
}

func (m *mcliRun) computeRest(c *source.Map) {
	if c == nil {
		return
	}
	if v := c.Take("cpus"); v != nil {
		if n := v.Whole(0); n > 0 && m.doc.Workers > 0 {
			m.doc.Resources.CPU = spec.Quantity(n) * 1000 / spec.Quantity(m.doc.Workers)
			v.Translated("resources.cpu", "on all nodes together")
		}
	}
	if v := c.Take("node_names"); v != nil {
		m.doc.NodeAffinity = []spec.NodeTerm{{Key: "kubernetes.io/hostname", Op: "In", Values: v.Texts()}}
		v.Translated("nodeAffinity", "")
	}
	c.Done(source.Nothing{"cluster": "the scheduler chooses where it runs", "instance": "the scheduler chooses where it runs"}, nil, false)
}

// McliPriorities are those of runs; auto and medium are what all runs have that say
// nothing.
var McliPriorities = map[string]spec.Priority{"auto": spec.Train, "lowest": spec.VeryLow, "low": spec.Low, "medium": spec.Train, "high": spec.High, "highest": spec.VeryHigh}

// scheduling reads order and limits; a run is not preempted where it does not
// say so.
func (m *mcliRun) scheduling(s *source.Map) {
	no := false
	m.doc.Preemptible = &no
	none := 0
	m.doc.Retry.System = &none
	if s == nil {
		return
	}
	if v := s.Take("priority"); v != nil {
		if p, ok := McliPriorities[v.Text()]; ok {
			m.doc.Priority = p
			v.Translated("priority", "")
		} else {
			v.Refuse(fmt.Sprintf("%q is not a priority", source.Shorten(v.T.Text)), "allowed are auto, lowest, low, medium, high and highest")
		}
	}
	for _, name := range []string{"preemptible", "resumable"} {
		if v := s.Take(name); v != nil {
			yes := v.Truth()
			m.doc.Preemptible = &yes
			v.Kept("preemptible")
		}
	}
	if v := s.Take("max_retries"); v != nil {
		if m.doc.Retry.Limit = v.Whole(0); m.doc.Retry.Limit > source.MaxRetries {
			m.doc.Retry.Limit = source.MaxRetries
			v.Approximated("retry.limit", "it is at most 1000")
		} else {
			v.Translated("retry.limit", "")
		}
	}
	for _, name := range []string{"retry_on_system_failure", "retryOnSystemFailure"} {
		if v := s.Take(name); v != nil {
			if v.Truth() {
				m.doc.Retry.System = nil
			}
			v.Translated("retry.system", "")
		}
	}
	if v := s.Take("max_duration"); v != nil {
		if hours, ok := v.Decimal(); ok && hours > 0 && hours < 100*366*24 {
			m.doc.MaxDuration = spec.Duration(math.Floor(hours*3600+1e-6)) * 1e9
			v.Translated("maxDuration", "a bare number is hours")
		} else if ok {
			v.Refuse("is not a time in hours", "write more than 0")
		}
	}
	s.Done(nil, nil, false)
}

// metadata becomes annotations, whose values are texts.
func (m *mcliRun) metadata(v *source.Value) {
	names, values := v.Pairs()
	for i, name := range names {
		item := values[i]
		if item.T.Scalar() {
			m.doc.Annotations = source.Put(m.doc.Annotations, name, item.T.Text)
			item.Kept("annotations." + name)
			continue
		}
		data, err := json.Marshal(item.T.Value())
		if err != nil {
			item.Refuse("cannot be written", "write plain values")
			continue
		}
		m.doc.Annotations = source.Put(m.doc.Annotations, name, string(data))
		item.Translated("annotations."+name, "as JSON")
	}
}

func (m *mcliRun) tracker(o *source.Map) {
	if o == nil {
		return
	}
	if w := o.Map("wandb"); w != nil {
		in := &spec.Wandb{Project: w.Take("project").Text(), Entity: w.Take("entity").Text()}
		m.add("experiment_tracker.wandb", w, spec.Integration{Wandb: in})
	}
	if f := o.Map("mlflow"); f != nil {
		in := &spec.Mlflow{Experiment: f.Take("experiment_path").Text(), TrackingURI: f.Take("tracking_uri").Text()}
		m.add("experiment_tracker.mlflow", f, spec.Integration{Mlflow: in})
	}
	o.Done(nil, nil, false)
}

// add takes an integration over that was read from o.
func (m *mcliRun) add(field string, o *source.Map, in spec.Integration) {
	m.doc.Integrations = append(m.doc.Integrations, in)
	m.Note(source.Note{Line: o.T.Line, Last: source.LastLine(o.T), Field: field, Fate: source.Translated, To: fmt.Sprintf("integrations[%d]", len(m.doc.Integrations)-1)})
	o.Done(nil, source.Nothing{"model_registry_path": "write publish", "artifact_location": "", "tags": "", "name": ""}, false)
}

// integration reads one item of integrations.
func (m *mcliRun) integration(item *source.Value) {
	o := item.Map()
	if o == nil {
		return
	}
	kind := o.Take("integration_type")
	var in spec.Integration
	switch kind.Text() {
	case "git_repo":
		in.Git = m.git(o)
	case "pip_packages":
		in.Pip = &spec.Pip{Packages: o.Take("packages").Texts(), Upgrade: o.Take("upgrade").Truth()}
	case "apt_packages":
		in.Apt = &spec.Apt{Packages: o.Take("packages").Texts()}
	case "wandb":
		in.Wandb = &spec.Wandb{Project: o.Take("project").Text(), Entity: o.Take("entity").Text(), Group: o.Take("group").Text(), JobType: o.Take("job_type").Text(), Tags: o.Take("tags").Texts()}
	case "comet_ml":
		in.Comet = &spec.Comet{Project: o.Take("project").Text(), Workspace: o.Take("workspace").Text()}
	case "mlflow":
		in.Mlflow = &spec.Mlflow{Experiment: o.Take("experiment_name").Text(), TrackingURI: o.Take("tracking_uri").Text()}
	case "":
		item.Refuse("has no integration_type", "write one, such as git_repo")
		return
	default:
		kind.Refuse(fmt.Sprintf("%q is not an integration", source.Shorten(kind.T.Text)), "allowed are git_repo, pip_packages, apt_packages, wandb, comet_ml and mlflow")
		return
	}
	if in.Pip != nil && slices.Contains(in.Pip.Packages, "") || in.Apt != nil && len(in.Apt.Packages) == 0 || in.Pip != nil && len(in.Pip.Packages) == 0 {
		item.Refuse("names no packages", "write packages")
		return
	}
	m.doc.Integrations = append(m.doc.Integrations, in)
	item.Translated(fmt.Sprintf("integrations[%d]", len(m.doc.Integrations)-1), "")
	o.Done(nil, nil, false)
}

func (m *mcliRun) git(o *source.Map) *spec.Git {
	g := &spec.Git{
		Repo: o.Take("git_repo").Text(), Branch: o.Take("git_branch").Text(), Commit: o.Take("git_commit").Text(),
		Path: strings.TrimPrefix(o.Take("path").Text(), "/"), Pip: o.Take("pip_install").Text(), Host: o.Take("host").Text(),
	}
	ssh := o.Take("ssh_clone")
	if strings.Contains(g.Repo, "://") || strings.HasPrefix(g.Repo, "git@") {
		g.Host = ""
		ssh.Harmless("the repository says how it is cloned")
		return g
	}
	if ssh != nil { // where it is not said, the user's secrets decide: mcli demands one, and so does this
		yes := ssh.Truth()
		g.SSH = &yes
		ssh.Kept("integrations.git.ssh")
	}
	return g
}
