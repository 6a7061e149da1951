package convert

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// skyPrelude gives a script of SkyPilot its variables.
const skyPrelude = `export SKYPILOT_NODE_RANK="${NODE_RANK:-0}" SKYPILOT_TASK_ID="$MUSTER_WORKLOAD_ID"
export SKYPILOT_NODE_IPS="$(printf '%s\n' ${MUSTER_TASK_ADDRESSES:-127.0.0.1})"
`

// skypilot reads a task, or a pipeline of several.
func (r *reader) skypilot(trees []spec.Tree) {
	pipeline, trees := r.pipeline(trees)
	for i := range trees {
		if o := r.object(&trees[i], ""); o != nil {
			r.add(r.sky(o))
		}
	}
	r.chain(pipeline)
}

// pipeline takes the tasks of a pipeline apart from the first document, which
// has its name only.
func (r *reader) pipeline(trees []spec.Tree) (name string, tasks []spec.Tree) {
	if len(trees) < 2 || len(trees[0].Names) != 1 || trees[0].Names[0] != "name" {
		return "", trees
	}
	n := Note{Line: trees[0].Line, Field: "name", Value: trees[0].Items[0].Text, Fate: Translated, To: "name", Reason: "its tasks are found by their names, which begin with it"}
	if len(trees) == 2 {
		n.Fate, n.To, n.Reason = Ignored, "", "it is of a pipeline with one task"
	}
	r.note(n)
	return asName(trees[0].Items[0].Text, 30), trees[1:]
}

// chain gives the tasks of a pipeline names, and has each wait for the one
// before.
func (r *reader) chain(pipeline string) {
	if len(r.docs) < 2 {
		return
	}
	for i, doc := range r.docs {
		name := strings.Trim(pipeline+"-"+strconv.Itoa(i+1)+"-"+doc.NamePrefix, "-")
		doc.Name, doc.NamePrefix = strings.TrimRight(name[:min(len(name), spec.MaxName)], "-"), ""
		if i > 0 {
			doc.After = []spec.Dependency{{Workload: r.docs[i-1].Name}}
		}
	}
}

type skyTask struct {
	*reader
	doc   *spec.Document
	nodes int
}

// sky reads a task of SkyPilot.
func (r *reader) sky(o *object) *spec.Document {
	t := &skyTask{reader: r, doc: &spec.Document{Kind: lifecycle.Training}, nodes: 1}
	doc := t.doc
	if v := o.take("name"); v != nil {
		if doc.NamePrefix = asName(v.text(), 45); doc.NamePrefix == "" {
			v.refuse("holds no letter or digit", "write a name")
		}
		v.translated("namePrefix", "jobs may have the same name, workloads not")
	}
	if v := o.take("num_nodes"); v != nil {
		t.nodes = v.whole(1)
		v.translated("workers", "")
	}
	for _, name := range []string{"envs", "secrets"} {
		t.variables(o.take(name), name)
	}
	if v := o.take("resources"); v != nil {
		t.resources(v)
	}
	if t.nodes > 1 {
		doc.Kind, doc.Workers = lifecycle.Distributed, t.nodes
	}
	t.workdir(o.take("workdir"))
	names, values := o.take("file_mounts").pairs()
	for i, at := range names {
		t.fileMount(at, values[i])
	}
	if v := o.take("setup"); v != nil && strings.TrimSpace(v.text()) != "" {
		doc.Init = []spec.Init{{Command: spec.Command{Argv: []string{"/bin/bash", "-c", v.text()}}}}
		v.translated("init[0]", "each task does it before it counts as running")
	}
	run := o.take("run")
	if text := strings.TrimSpace(run.text()); text != "" {
		doc.Command = spec.Command{Argv: []string{"/bin/bash", "-c", skyPrelude + run.text()}}
		run.translated("command", "each task runs it, with the variables of SkyPilot")
	} else {
		r.refuse(o.t.Line, "run", "", "is missing: a task without a command only makes machines", "write what it runs")
	}
	doc.Env = put(doc.Env, "SKYPILOT_NUM_NODES", strconv.Itoa(t.nodes))
	doc.Env = put(doc.Env, "SKYPILOT_NUM_GPUS_PER_NODE", strconv.Itoa(doc.Resources.GPU.Devices()))
	o.done(nothing{"config": "the server's own counts", "experimental": "the server's own counts"},
		nothing{"volumes": "write volumes with claim", "storage_mounts": "mount it on the nodes and write volumes", "service": "write kind: inference", "pool": "pools of the server are named in resources", "inputs": "", "outputs": "", "event_callback": "write notifications"}, true)
	return doc
}

// variables reads envs and secrets. One without a value has that of whoever
// submits it, which no file tells.
func (t *skyTask) variables(v *value, field string) {
	if v == nil {
		return
	}
	o := v.object()
	if o == nil {
		return
	}
	for i, name := range o.t.Names {
		item := &value{r: t.reader, t: &o.t.Items[i], path: below(field, name), line: o.t.Lines[i]}
		switch {
		case field == "secrets":
			t.doc.Secrets = append(t.doc.Secrets, spec.SecretUse{Name: asName(name, 52), Env: name})
			item.translated(fmt.Sprintf("secrets[%d]", len(t.doc.Secrets)-1), fmt.Sprintf("muster secret create %s makes it; values of secrets are never in documents", asName(name, 52)))
		case item.t.Kind == spec.TreeNull:
			item.lost("it has no value; write one, or add --env " + shorten(name))
		default:
			t.doc.Env = put(t.doc.Env, name, item.text())
			item.kept("env." + name)
		}
	}
}

func (t *skyTask) workdir(v *value) {
	switch {
	case v == nil:
	case v.t.Kind == spec.TreeMap:
		o := v.object()
		g := &spec.Git{Repo: o.take("url").text(), Path: "."}
		if ref := o.take("ref").text(); isHexCommit(ref) {
			g.Commit = ref
		} else {
			g.Branch = ref
		}
		t.doc.Integrations = append(t.doc.Integrations, spec.Integration{Git: g})
		v.translated("integrations[0]", "")
		o.done(nil, nil, true)
	case t.doc.Image != "":
		v.lost("a container sees what its volumes say; write volumes, or build the code into the image")
	default:
		t.doc.Workdir = v.text()
		v.translated("workdir", "it is not copied: tasks work in the directory itself")
	}
}

// fileMount reads a path of the machine that a task sees.
func (t *skyTask) fileMount(at string, v *value) {
	source := v.t.Text
	if v.t.Kind == spec.TreeMap || strings.Contains(source, "://") {
		v.lost("buckets are not mounted; mount it on the nodes and write volumes, or fetch it in setup")
		return
	}
	if !strings.HasPrefix(source, "/") || !strings.HasPrefix(at, "/") {
		v.lost("paths are not copied, and only absolute ones can be mounted")
		return
	}
	if t.doc.Image == "" && source != at {
		v.lost("a process of the machine sees its own files; write an image, or use the path itself")
		return
	}
	t.doc.Volumes = append(t.doc.Volumes, spec.Volume{Path: at, HostPath: source})
	v.approximated(fmt.Sprintf("volumes[%d]", len(t.doc.Volumes)-1), "it is the directory of the node, not a copy of the submitter's")
}

var skyHarmless = nothing{
	"cloud": "the scheduler chooses where it runs", "region": "the scheduler chooses where it runs", "zone": "the scheduler chooses where it runs", "infra": "the scheduler chooses where it runs",
	"instance_type": "the scheduler chooses where it runs", "disk_size": "disk is neither counted nor limited", "disk_tier": "disk is neither counted nor limited", "network_tier": "the network is the nodes'",
	"autostop": "resources are free once it has ended", "_cluster_config_overrides": "the server's own counts", "priority": "",
}

// resources reads what each node has.
func (t *skyTask) resources(v *value) {
	o := v.object()
	if o == nil {
		return
	}
	t.accelerators(o.take("accelerators"))
	r := &t.doc.Resources
	if c := o.take("cpus"); c != nil {
		if n, ok := atLeast(c.text()); ok {
			r.CPU = n
			c.translated("resources.cpu", "")
		} else {
			c.refuse("is not a number of CPUs", "write it like 8 or 8+")
		}
	}
	if m := o.take("memory"); m != nil {
		text := m.text()
		if q, ok := skyMemory(text); ok {
			r.Memory = q
			m.translated("resources.memory", "a bare number is GB: powers of 1024")
		} else {
			m.refuse("is not an amount of memory", "write it like 32 or 32+")
		}
	}
	if s := o.take("use_spot"); s != nil {
		yes := s.truth()
		t.doc.Preemptible = &yes
		s.translated("preemptible", "")
	}
	if i := o.take("image_id"); i != nil {
		image, docker := strings.CutPrefix(i.text(), "docker:")
		if docker {
			t.doc.Image = image
			i.translated("image", "")
		} else {
			i.lost("it is an image of machines")
		}
	}
	if v := o.take("ports"); v != nil {
		for _, p := range v.texts() {
			n, err := strconv.Atoi(p)
			if err != nil || n < 1 {
				v.refuse(fmt.Sprintf("%q is not a port", shorten(p)), "write numbers; ranges are not taken")
				break
			}
			t.doc.Ports = append(t.doc.Ports, spec.Port{Port: n})
		}
		v.kept("ports")
	}
	names, values := o.take("labels").pairs()
	for i, name := range names {
		t.doc.Labels = put(t.doc.Labels, name, values[i].text())
		values[i].kept("labels." + name)
	}
	t.recovery(o.take("job_recovery"))
	if p := o.take("priority"); p != nil {
		p.lost("numbers of SkyPilot mean nothing here; write priority")
	}
	for _, name := range []string{"any_of", "ordered"} {
		if a := o.take(name); a != nil {
			a.lost("it is one of several ways to have it; all of a document must hold")
		}
	}
	o.done(skyHarmless, nothing{"spot_recovery": "write job_recovery", "volumes": "write volumes"}, true)
}

func (t *skyTask) recovery(v *value) {
	if v == nil {
		return
	}
	if v.t.Scalar() {
		v.translated("retry.system", "what was taken away is tried again")
		return
	}
	o := v.object()
	if n := o.take("max_restarts_on_errors"); n != nil {
		t.doc.Retry.Limit = min(n.whole(0), maxRetries)
		n.translated("retry.limit", "")
	}
	for _, c := range o.take("recover_on_exit_codes").texts() {
		if code, err := strconv.Atoi(c); err == nil {
			t.doc.Retry.Rules = []spec.RetryRule{{ExitCodes: append(codesOf(t.doc.Retry.Rules), code), Action: "retryFree"}}
		}
	}
	if len(t.doc.Retry.Rules) > 0 {
		v.translated("retry.rules", "")
	}
	o.done(nothing{"strategy": "what was taken away is tried again wherever there is room"}, nil, true)
}

func codesOf(rules []spec.RetryRule) []int {
	if len(rules) == 0 {
		return nil
	}
	return rules[0].ExitCodes
}

// accelerators reads NAME[:N], a map of it, or a list or set of several, of
// which all must be the same number.
func (t *skyTask) accelerators(v *value) {
	if v == nil {
		return
	}
	var all []string
	switch v.t.Kind {
	case spec.TreeMap:
		names, values := v.pairs()
		for i, name := range names {
			if n := values[i]; n.t.Kind == spec.TreeNull {
				all = append(all, name)
			} else {
				all = append(all, name+":"+n.text())
			}
		}
	default:
		all = v.texts()
	}
	g := spec.GPU{}
	for i, text := range all {
		name, count, counted := strings.Cut(text, ":")
		one := spec.GPU{Count: 1, Type: gpuModel(name)}
		if counted {
			if n, err := strconv.Atoi(count); err == nil && n > 0 && n <= 1024 {
				one.Count = n
			} else if share, err := spec.ParseShare(count); err == nil {
				one.Share = share
			} else {
				v.refuse(fmt.Sprintf("%q is not a number of GPUs", shorten(text)), "write it like H100:8")
				return
			}
		}
		if i > 0 && (one.Count != g.Count || one.Share != g.Share) {
			v.refuse("names different numbers of GPUs", "write one of them")
			return
		}
		if i > 0 && one.Type != g.Type {
			one.Type = ""
		}
		g = one
	}
	if strings.HasPrefix(strings.ToLower(strings.Join(all, "")), "tpu") {
		v.refuse("TPUs are not known", "ask for GPUs")
		return
	}
	t.doc.Resources.GPU = g
	if len(all) > 1 {
		v.approximated("resources.gpu", "any GPU fits")
		return
	}
	if len(all) == 1 && strings.Contains(all[0], "-") {
		v.approximated("resources.gpu", "on each node; of "+g.Type+" any fits")
		return
	}
	v.translated("resources.gpu", "on each node")
}

// atLeast reads a number that may have a + behind it.
func atLeast(text string) (spec.Quantity, bool) {
	q, err := spec.ParseQuantity(strings.TrimSuffix(text, "+"))
	return q, err == nil && !strings.ContainsAny(text, "kKMGTPi")
}
