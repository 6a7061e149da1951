// Package mcli reads the YAML of one run of mcli as a document.
package mcli

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// gpusPerNode is how many GPUs a node of MosaicML's clusters has.
const gpusPerNode = 8

// BashWhereThere runs its first argument: mcli's commands are bash's, and an
// image without it has at least sh. The Python SDK writes the same.
const BashWhereThere = `if command -v bash >/dev/null; then exec bash -c "$0"; fi; exec sh -c "$0"`

// MaxPrefix is how long a prefix of names may be.
const MaxPrefix = 45

// Read reads the YAML of mcli run.
func Read(r *source.Reader, o *source.Map) *spec.Document {
	doc := &spec.Document{Kind: lifecycle.Distributed}
	m := &run{Reader: r, o: o, doc: doc}
	m.old()
	m.naming()
	if v := o.Consume("image"); v != nil {
		doc.Image = v.Text()
		doc.PullPolicy = "always"
		v.Kept("image")
		v.Translated("pullPolicy", "mcli always looks whether the tag has moved; layers that are here are not fetched again")
	}
	if v := o.Consume("command"); v != nil {
		if text := strings.TrimSpace(v.Text()); text != "" {
			doc.Command = spec.Command{Argv: []string{"/bin/sh", "-c", BashWhereThere, text}}
			v.Translated("command", "bash runs it on each node, or sh where the image has no bash")
		}
	}
	m.variables(o.Consume("env_variables"))
	m.compute(o.Map("compute"))
	service := isDeployment(o)
	m.scheduling(o.Map("scheduling"))
	for _, item := range o.Consume("integrations").List() {
		m.integration(item)
	}
	if v := o.Consume("parameters"); v != nil {
		if p, ok := v.Tree.Value().(map[string]any); ok && v.Map() != nil {
			doc.Parameters = p
			v.Kept("parameters")
		} else {
			v.Refuse(v.Tree.Found()+", expected a map", "write fields, as name: value")
		}
	}
	m.metadata(o.Consume("metadata"))
	m.tracker(o.Map("experiment_tracker"))
	if v := o.Consume("dependent_deployment"); v != nil {
		v.Refuse("a second container beside each task is not taken", "submit the model as a workload of kind inference")
	}
	if service {
		m.deployment()
	}
	o.Finish(source.Reasons{"partitions": "deprecated", "optimization_level": "deprecated", "platform": "the clusters of the server are meant"}, nil, false)
	if len(r.Errors) > 0 {
		return nil
	}
	r.ApplyAnnotation(doc)
	return doc
}

type run struct {
	*source.Reader
	o   *source.Map
	doc *spec.Document
	// Of deprecated fields at the top.
	gpus, gpuType *source.Value

	world       string // the number of processes of all nodes
	computeLine int    // where the GPUs are said
}

// old reads what stood at the top in former versions.
func (m *run) old() {
	m.gpus, m.gpuType = m.o.Consume("gpu_num"), m.o.Consume("gpu_type")
	for _, name := range []string{"cluster", "instance", "cpus"} {
		if v := m.o.Consume(name); v != nil {
			v.Ignored("the scheduler chooses where it runs")
		}
	}
}

// naming reads the name, to which mcli adds six characters.
func (m *run) naming() {
	v := m.o.Consume("name")
	if v == nil {
		v = m.o.Consume("run_name")
	}
	if v != nil {
		text := v.Text()
		m.doc.NamePrefix = text
		if name := source.NameFrom(text, 56); name != text {
			m.doc.NamePrefix = name
			v.Translated("namePrefix", "as mcli, it makes a name of it and adds six characters")
		} else {
			v.Translated("namePrefix", "as mcli, it adds six characters")
		}
		if n := len(m.doc.NamePrefix); n > MaxPrefix {
			m.doc.NamePrefix = strings.TrimRight(m.doc.NamePrefix[:MaxPrefix], "-")
			v.Translated("namePrefix", fmt.Sprintf("its first %d of %d characters", MaxPrefix, n))
		}
		if m.doc.NamePrefix == "" {
			v.Refuse("holds no letter or digit", "write a name")
		}
	}
	if v := m.o.Consume("parent_name"); v != nil {
		m.doc.Annotations = source.Set(m.doc.Annotations, "parent-name", v.Text())
		v.Kept("annotations.parent-name")
	}
}

// variables reads env_variables: a map, or a list of key and value.
func (m *run) variables(v *source.Value) {
	if v == nil {
		return
	}
	if v.Tree.Kind == codec.TreeList {
		for _, item := range v.List() {
			o := item.Map()
			if o == nil {
				continue
			}
			name, text := o.Consume("key").Text(), o.Consume("value")
			m.doc.Env = source.Set(m.doc.Env, name, text.Text())
			o.Finish(nil, nil, false)
			item.Kept("env." + name)
		}
		return
	}
	names, values := v.Pairs()
	for i, name := range names {
		m.doc.Env = source.Set(m.doc.Env, name, values[i].Text())
		values[i].Kept("env." + name)
	}
}

// compute reads how large the run is: GPUs are of all nodes together.
func (m *run) compute(c *source.Map) {
	gpus, kind := c.Consume("gpus"), c.Consume("gpu_type")
	if gpus == nil {
		gpus = m.gpus
	} else if m.gpus != nil && m.gpus.Integer(0) != gpus.Integer(0) {
		m.gpus.Refuse(fmt.Sprintf("is %s, and compute.gpus %s", m.gpus.Tree.Text, gpus.Tree.Text), "keep one of them")
	}
	if kind == nil {
		kind = m.gpuType
	}
	nodes, n := 1, 0
	nv := c.Consume("nodes")
	if nv != nil {
		nodes = nv.Integer(1)
		nv.Translated("workers", "")
	}
	if gpus != nil {
		n = gpus.Integer(0)
	}
	per := n
	switch {
	case n == 0 && nv != nil && gpus == nil && kind.Text() != "none":
		per = gpusPerNode
		nv.Translated("resources.gpu", "a node has 8 GPUs")
	case nv != nil && n%nodes != 0:
		gpus.Refuse(fmt.Sprintf("%d GPUs are not divided evenly among %d nodes", n, nodes), "make them agree")
		return
	case nv != nil:
		per = n / nodes
	case n > gpusPerNode && n%gpusPerNode != 0:
		gpus.Refuse(fmt.Sprintf("%d GPUs are not whole nodes of %d", n, gpusPerNode), "write a multiple of 8, or nodes")
		return
	case n > gpusPerNode:
		per, nodes = gpusPerNode, n/gpusPerNode
	}
	if gpus != nil {
		gpus.Translated("resources.gpu", fmt.Sprintf("%d on each of %d nodes", per, nodes))
	}
	m.doc.Workers, m.doc.Resources.GPU.Count = nodes, per
	world := per * nodes
	if per == 0 {
		world = nodes
	}
	if _, given := m.doc.Env["WORLD_SIZE"]; !given { // what Composer's launcher reads
		m.world = strconv.Itoa(world)
		m.doc.Env = source.Set(m.doc.Env, "WORLD_SIZE", m.world)
	}
	if gpus != nil {
		m.computeLine = gpus.Line
	}
	m.gpuTypeOf(kind, per)
	m.computeRest(c)
}

func (m *run) gpuTypeOf(v *source.Value, per int) {
	if v == nil {
		return
	}
	text := v.Text()
	kind, lost := source.GPUType(text)
	switch {
	case text == "none" || text == "None":
		if per > 0 {
			v.Refuse(fmt.Sprintf("is none beside %d GPUs", per), "make them agree")
			return
		}
		v.Translated("resources.gpu", "")
	case per == 0:
		v.Ignored("there are no GPUs")
	case lost != "":
		m.doc.Resources.GPU.Type = kind
		v.Approximated("resources.gpu.type", "of "+kind+" any fits, not only those of "+lost)
	default:
		m.doc.Resources.GPU.Type = kind
		v.Translated("resources.gpu.type", "")
	}
}

func (m *run) computeRest(c *source.Map) {
	if c == nil {
		return
	}
	if v := c.Consume("cpus"); v != nil {
		if n := v.Integer(0); n > 0 && m.doc.Workers > 0 {
			m.doc.Resources.CPU = spec.Quantity(n) * 1000 / spec.Quantity(m.doc.Workers)
			v.Translated("resources.cpu", "on all nodes together")
		}
	}
	if v := c.Consume("node_names"); v != nil {
		m.doc.NodeAffinity = []spec.NodeTerm{{Key: "kubernetes.io/hostname", Op: "In", Values: v.Texts()}}
		v.Translated("nodeAffinity", "")
	}
	c.Finish(source.Reasons{"cluster": "the scheduler chooses where it runs", "instance": "the scheduler chooses where it runs"}, nil, false)
}

// Priorities are those of runs; auto and medium are what all runs have that say
// nothing.
var Priorities = map[string]spec.Priority{"auto": spec.Train, "lowest": spec.VeryLow, "low": spec.Low, "medium": spec.Train, "high": spec.High, "highest": spec.VeryHigh}

// scheduling reads order and limits; a run is not preempted where it does not
// say so.
func (m *run) scheduling(s *source.Map) {
	no := false
	m.doc.Preemptible = &no
	none := 0
	m.doc.Retry.System = &none
	if s == nil {
		return
	}
	if v := s.Consume("priority"); v != nil {
		if p, ok := Priorities[v.Text()]; ok {
			m.doc.Priority = p
			v.Translated("priority", "")
		} else {
			v.Refuse(fmt.Sprintf("%q is not a priority", source.Shorten(v.Tree.Text)), "allowed are auto, lowest, low, medium, high and highest")
		}
	}
	for _, name := range []string{"preemptible", "resumable"} {
		if v := s.Consume(name); v != nil {
			yes := v.Bool()
			m.doc.Preemptible = &yes
			v.Kept("preemptible")
		}
	}
	if v := s.Consume("max_retries"); v != nil {
		if m.doc.Retry.Limit = v.Integer(0); m.doc.Retry.Limit > source.MaxRetries {
			m.doc.Retry.Limit = source.MaxRetries
			v.Approximated("retry.limit", "it is at most 1000")
		} else {
			v.Translated("retry.limit", "")
		}
	}
	for _, name := range []string{"retry_on_system_failure", "retryOnSystemFailure"} {
		if v := s.Consume(name); v != nil {
			if v.Bool() {
				m.doc.Retry.System = nil
			}
			v.Translated("retry.system", "")
		}
	}
	if v := s.Consume("max_duration"); v != nil {
		if hours, ok := v.Number(); ok && hours > 0 && hours < 100*366*24 {
			m.doc.MaxDuration = spec.Duration(math.Floor(hours*3600+1e-6)) * 1e9
			v.Translated("maxDuration", "a bare number is hours")
		} else if ok {
			v.Refuse("is not a time in hours", "write more than 0")
		}
	}
	s.Finish(nil, nil, false)
}

// metadata converts metadata to annotations, which have strings as values.
func (m *run) metadata(v *source.Value) {
	names, values := v.Pairs()
	for i, name := range names {
		item := values[i]
		if item.Tree.Scalar() {
			m.doc.Annotations = source.Set(m.doc.Annotations, name, item.Tree.Text)
			item.Kept("annotations." + name)
			continue
		}
		data, err := json.Marshal(item.Tree.Value())
		if err != nil {
			item.Refuse("cannot be written", "write plain values")
			continue
		}
		m.doc.Annotations = source.Set(m.doc.Annotations, name, string(data))
		item.Translated("annotations."+name, "as JSON")
	}
}

func (m *run) tracker(o *source.Map) {
	if o == nil {
		return
	}
	if w := o.Map("wandb"); w != nil {
		in := &spec.Wandb{Project: w.Consume("project").Text(), Entity: w.Consume("entity").Text()}
		m.add("experiment_tracker.wandb", w, spec.Integration{Wandb: in})
	}
	if f := o.Map("mlflow"); f != nil {
		in := &spec.Mlflow{Experiment: f.Consume("experiment_path").Text(), TrackingURI: f.Consume("tracking_uri").Text()}
		m.add("experiment_tracker.mlflow", f, spec.Integration{Mlflow: in})
	}
	o.Finish(nil, nil, false)
}

// add takes an integration over that was read from o.
func (m *run) add(field string, o *source.Map, in spec.Integration) {
	m.doc.Integrations = append(m.doc.Integrations, in)
	m.Note(source.Note{Line: o.Tree.Line, Last: source.LastLine(o.Tree), Field: field, Fate: source.Translated, To: fmt.Sprintf("integrations[%d]", len(m.doc.Integrations)-1)})
	o.Finish(nil, source.Reasons{"model_registry_path": "write publish", "artifact_location": "", "tags": "", "name": ""}, false)
}

// integration reads one item of integrations.
func (m *run) integration(item *source.Value) {
	o := item.Map()
	if o == nil {
		return
	}
	kind := o.Consume("integration_type")
	var in spec.Integration
	switch kind.Text() {
	case "git_repo":
		in.Git = m.git(o)
	case "pip_packages":
		in.Pip = &spec.Pip{Packages: o.Consume("packages").Texts(), Upgrade: o.Consume("upgrade").Bool()}
	case "apt_packages":
		in.Apt = &spec.Apt{Packages: o.Consume("packages").Texts()}
	case "wandb":
		in.Wandb = &spec.Wandb{Project: o.Consume("project").Text(), Entity: o.Consume("entity").Text(), Group: o.Consume("group").Text(), JobType: o.Consume("job_type").Text(), Tags: o.Consume("tags").Texts()}
	case "comet_ml":
		in.Comet = &spec.Comet{Project: o.Consume("project").Text(), Workspace: o.Consume("workspace").Text()}
	case "mlflow":
		in.Mlflow = &spec.Mlflow{Experiment: o.Consume("experiment_name").Text(), TrackingURI: o.Consume("tracking_uri").Text()}
	case "":
		item.Refuse("has no integration_type", "write one, such as git_repo")
		return
	default:
		kind.Refuse(fmt.Sprintf("%q is not an integration", source.Shorten(kind.Tree.Text)), "allowed are git_repo, pip_packages, apt_packages, wandb, comet_ml and mlflow")
		return
	}
	if in.Pip != nil && slices.Contains(in.Pip.Packages, "") || in.Apt != nil && len(in.Apt.Packages) == 0 || in.Pip != nil && len(in.Pip.Packages) == 0 {
		item.Refuse("names no packages", "write packages")
		return
	}
	m.doc.Integrations = append(m.doc.Integrations, in)
	item.Translated(fmt.Sprintf("integrations[%d]", len(m.doc.Integrations)-1), "")
	o.Finish(nil, nil, false)
}

// hash is a commit as Git writes it, whole or its beginning.
var hash = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Fa-f]{4,64}$`) })

func (m *run) git(o *source.Map) *spec.Git {
	branch, commit := o.Consume("git_branch"), o.Consume("git_commit")
	g := &spec.Git{
		Repo: o.Consume("git_repo").Text(), Branch: branch.Text(), Commit: commit.Text(),
		Path: strings.TrimPrefix(o.Consume("path").Text(), "/"), Pip: o.Consume("pip_install").Text(), Host: o.Consume("host").Text(),
	}
	if g.Commit != "" && !hash().MatchString(g.Commit) { // mcli checks out whatever is written there
		g.Branch, g.Commit = g.Commit, ""
		commit.Translated("integrations.git.branch", "the name of a tag or branch")
		if branch != nil {
			branch.Ignored("git_commit says what is checked out")
		}
	}
	ssh := o.Consume("ssh_clone")
	if strings.Contains(g.Repo, "://") || strings.HasPrefix(g.Repo, "git@") {
		g.Host = ""
		ssh.Ignored("the repository says how it is cloned")
		return g
	}
	if ssh != nil { // where it is not said, the user's secrets decide: mcli demands one, and so does this
		yes := ssh.Bool()
		g.SSH = &yes
		ssh.Kept("integrations.git.ssh")
	}
	return g
}
