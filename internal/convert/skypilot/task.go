// Package skypilot reads a task of SkyPilot, or a pipeline of several, as
// documents.
package skypilot

import (
	"fmt"
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

// prelude gives a script of SkyPilot its variables.
const prelude = `export SKYPILOT_NODE_RANK="${NODE_RANK:-0}" SKYPILOT_TASK_ID="$MUSTER_WORKLOAD_ID" SKYPILOT_JOB_RANK="${SKYPILOT_JOB_RANK:-0}" SKYPILOT_NUM_JOBS="${SKYPILOT_NUM_JOBS:-1}"
export SKYPILOT_NODE_IPS="$(printf '%s\n' ${MUSTER_TASK_ADDRESSES:-127.0.0.1})"
`

// setupPrelude gives a setup of SkyPilot the variables that it has there.
const setupPrelude = prelude + `export SKYPILOT_SETUP_NODE_RANK="$SKYPILOT_NODE_RANK" SKYPILOT_SETUP_NODE_IPS="$SKYPILOT_NODE_IPS"
export SKYPILOT_SETUP_NUM_GPUS_PER_NODE="$SKYPILOT_NUM_GPUS_PER_NODE"
`

// Read reads a task, or a pipeline of several, that comes from a place.
func Read(r *source.Reader, trees []codec.Tree, from source.Place) {
	pipeline, parallel, trees := pipeline(r, trees)
	for i := range trees {
		if o := r.Map(&trees[i], ""); o != nil {
			r.Add(sky(r, o, from))
		}
	}
	chain(r, pipeline, parallel)
}

// IsHeader reports whether the first of several documents is of them all: a pipeline's
// or job group's name, and how it is run.
func IsHeader(t *codec.Tree) bool {
	return source.Entry(t, "name") != nil && !slices.ContainsFunc(t.Names, func(name string) bool {
		return name != "name" && name != "execution" && name != "primary_tasks"
	})
}

// pipeline takes the tasks of a pipeline, or of a job group, whose tasks run beside
// each other, apart from the first document.
func pipeline(r *source.Reader, trees []codec.Tree) (name string, parallel bool, tasks []codec.Tree) {
	if len(trees) < 2 || !IsHeader(&trees[0]) {
		return "", false, trees
	}
	o := r.Map(&trees[0], "")
	head := o.Consume("name")
	if head == nil {
		return "", false, trees[1:]
	}
	switch v := o.Consume("execution"); v.Text() {
	case "", "serial":
		v.Translated("after", "")
	case "parallel":
		parallel = true
		v.Approximated("name", "its tasks are workloads of their own, which need not start together and do not know each other's addresses")
	default:
		v.Refuse("is not a way to run tasks", "allowed are serial and parallel")
	}
	o.Finish(nil, source.Reasons{"primary_tasks": "the others run on when these have ended; stop them then"}, false)
	n := source.Note{Line: head.Line, Field: "name", Value: head.Tree.Text, Fate: source.Translated, To: "name", Reason: "its tasks are found by their names, which begin with it"}
	if len(trees) == 2 {
		n.Fate, n.To, n.Reason = source.Ignored, "", "it is of a pipeline with one task"
	}
	r.Note(n)
	return source.NameFrom(head.Tree.Text, 30), parallel, trees[1:]
}

// chain gives the tasks of a pipeline names, and has each wait for the one
// before, unless they run beside each other.
func chain(r *source.Reader, pipeline string, parallel bool) {
	if len(r.Documents) < 2 {
		return
	}
	for i, doc := range r.Documents {
		name := strings.Trim(pipeline+"-"+strconv.Itoa(i+1)+"-"+doc.NamePrefix, "-")
		doc.Name, doc.NamePrefix = strings.TrimRight(name[:min(len(name), spec.MaxName)], "-"), ""
		if i > 0 && !parallel {
			doc.After = []spec.Dependency{{Workload: r.Documents[i-1].Name}}
		}
	}
}

type task struct {
	*source.Reader
	doc   *spec.Document
	nodes int
	from  source.Place
}

// sky reads a task of SkyPilot.
func sky(r *source.Reader, o *source.Map, from source.Place) *spec.Document {
	t := &task{Reader: r, doc: &spec.Document{Kind: lifecycle.Training}, nodes: 1, from: from}
	doc := t.doc
	if v := o.Consume("name"); v != nil {
		if doc.NamePrefix = source.NameFrom(v.Text(), 45); doc.NamePrefix == "" {
			v.Refuse("holds no letter or digit", "write a name")
		}
		v.Translated("namePrefix", "jobs may have the same name, workloads not")
	}
	if v := o.Consume("num_nodes"); v != nil {
		t.nodes = v.Integer(1)
		v.Translated("workers", "")
	}
	for _, name := range []string{"envs", "secrets"} {
		t.variables(o.Consume(name), name)
	}
	if v := o.Consume("resources"); v != nil {
		t.resources(v)
	}
	t.service(o.Consume("service"))
	if t.nodes > 1 {
		doc.Kind, doc.Workers = lifecycle.Distributed, t.nodes
	}
	t.workdir(o.Consume("workdir"))
	names, values := o.Consume("file_mounts").Pairs()
	for i, at := range names {
		t.fileMount(at, values[i])
	}
	t.volumes(o.Consume("volumes"))
	if v := o.Consume("setup"); v != nil && strings.TrimSpace(v.Text()) != "" {
		script := v.Text()
		if strings.Contains(script, "SKYPILOT_") {
			script = setupPrelude + script
		}
		doc.Init = []spec.Init{{Command: spec.Command{Argv: []string{"/bin/bash", "-c", script}}}}
		v.Translated("init[0]", "each task does it before it counts as running")
	}
	run := o.Consume("run")
	if text := strings.TrimSpace(run.Text()); text != "" {
		doc.Command = spec.Command{Argv: []string{"/bin/bash", "-c", prelude + run.Text()}}
		run.Translated("command", "each task runs it, with the variables of SkyPilot")
	} else {
		t.machines(o)
	}
	doc.Env = source.Set(doc.Env, "SKYPILOT_NUM_NODES", strconv.Itoa(t.nodes))
	doc.Env = source.Set(doc.Env, "SKYPILOT_NUM_GPUS_PER_NODE", strconv.Itoa(doc.Resources.GPU.Devices()))
	if e := source.Entry(o.Tree, "config"); e != nil {
		if k := source.Entry(e, "kubernetes"); k != nil && source.Entry(k, "pod_config") != nil {
			o.Consume("config").Dropped("what it adds to pods is missing; write env, volumes and resources")
		}
	}
	o.Finish(source.Reasons{"config": "the server's own counts", "experimental": "the server's own counts"},
		source.Reasons{"storage_mounts": "mount it on the nodes and write volumes", "pool": "pools of the server are named in resources", "inputs": "", "outputs": "", "event_callback": "write notifications"}, true)
	return doc
}

// machines is a task without a command: a cluster to work on, which is held until it
// is stopped. Here that is a workspace.
func (t *task) machines(o *source.Map) {
	switch {
	case t.nodes > 1:
		t.Refuse(o.Tree.Line, "run", "", fmt.Sprintf("is missing, and a workspace has one task, not %d", t.nodes), "write what each node runs, such as: sleep infinity")
	case !o.Has("resources") && len(t.doc.Init) == 0:
		t.Refuse(o.Tree.Line, "run", "", "is missing, and neither resources nor setup say what is wanted", "write what it runs")
	default:
		t.doc.Kind, t.doc.Command = lifecycle.Workspace, spec.Command{Argv: []string{"/bin/sh", "-c", "exec sleep infinity"}}
		t.Note(source.Note{Line: o.Tree.Line, Field: "run", Fate: source.Translated, To: "kind", Reason: "it runs nothing: a workspace that holds what it asks for until it is stopped"})
	}
}

// variables reads envs and secrets. One without a value has that of whoever
// submits it, which no file tells.
func (t *task) variables(v *source.Value, field string) {
	if v == nil {
		return
	}
	o := v.Map()
	if o == nil {
		return
	}
	for i, name := range o.Tree.Names {
		item := &source.Value{Reader: t.Reader, Tree: &o.Tree.Items[i], Path: source.FieldPath(field, name), Line: o.Tree.Lines[i]}
		switch {
		case field == "secrets":
			t.doc.Secrets = append(t.doc.Secrets, spec.SecretUse{Name: source.NameFrom(name, 52), Env: name})
			item.Translated(fmt.Sprintf("secrets[%d]", len(t.doc.Secrets)-1), fmt.Sprintf("muster secret create %s makes it; values of secrets are never in documents", source.NameFrom(name, 52)))
		case item.Tree.Kind == codec.TreeNull:
			t.valueless(item, name)
		default:
			t.doc.Env = source.Set(t.doc.Env, name, item.Text())
			item.Kept("env." + name)
		}
	}
}

var ignored = source.Reasons{
	"cloud": "the scheduler chooses where it runs", "region": "the scheduler chooses where it runs", "zone": "the scheduler chooses where it runs", "infra": "the scheduler chooses where it runs",
	"disk_size": "disk is neither counted nor limited", "disk_tier": "disk is neither counted nor limited", "network_tier": "the network is the nodes'",
	"autostop": "resources are free once it has ended", "_cluster_config_overrides": "the server's own counts", "priority": "",
	"max_hourly_cost": "nodes have no price", "local_disk": "disk is neither counted nor limited", "accelerator_args": "the nodes have what they have",
}

// resources reads what each node has.
func (t *task) resources(v *source.Value) {
	o := v.Map()
	if o == nil {
		return
	}
	t.accelerators(o.Consume("accelerators"))
	t.instance(o.Consume("instance_type"))
	r := &t.doc.Resources
	if c := o.Consume("cpus"); c != nil {
		if n, ok := atLeast(c.Text()); ok {
			r.CPU = n
			c.Translated("resources.cpu", "")
		} else {
			c.Refuse("is not a number of CPUs", "write it like 8 or 8+")
		}
	}
	if m := o.Consume("memory"); m != nil {
		text := m.Text()
		if q, ok := source.Memory(text); ok {
			r.Memory = q
			m.Translated("resources.memory", "a bare number is GB: powers of 1024")
		} else {
			m.Refuse("is not an amount of memory", "write it like 32 or 32+")
		}
	}
	if s := o.Consume("use_spot"); s != nil {
		yes := s.Bool()
		t.doc.Preemptible = &yes
		s.Translated("preemptible", "")
	}
	pods := false // whether it names an image of pods
	for _, name := range []string{"infra", "cloud"} {
		if e := source.Entry(o.Tree, name); e != nil {
			where, _, _ := strings.Cut(e.Text, "/")
			pods = pods || where == "k8s" || where == "kubernetes"
		}
	}
	if i := o.Consume("image_id"); i != nil && !i.Tree.Scalar() {
		i.Dropped("they are images of machines")
	} else if i != nil {
		image, docker := strings.CutPrefix(i.Text(), "docker:")
		if docker || pods || anImage().MatchString(image) {
			t.doc.Image = image
			i.Translated("image", "")
		} else {
			i.Dropped("it is an image of machines")
		}
	}
	if v := o.Consume("ports"); v != nil {
		for _, p := range v.Texts() {
			t.ports(v, p)
		}
		v.Kept("ports")
	}
	names, values := o.Consume("labels").Pairs()
	for i, name := range names {
		t.doc.Labels = source.Set(t.doc.Labels, name, values[i].Text())
		values[i].Kept("labels." + name)
	}
	t.recovery(o.Consume("job_recovery"))
	t.recovery(o.Consume("spot_recovery")) // as it was called before
	if p := o.Consume("priority"); p != nil {
		p.Dropped("numbers of SkyPilot mean nothing here; write priority")
	}
	for _, name := range []string{"any_of", "ordered", "candidates"} {
		t.choices(o.Consume(name))
	}
	o.Finish(ignored, source.Reasons{"volumes": "write volumes"}, true)
}

// anImage is how images of containers are named in registries, which no image of
// machines is: with a path and a version.
var anImage = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*(:\d+)?(/[a-z0-9][a-z0-9._-]*)+:[\w.-]+$`)
})

const mostPorts = 100

// ports reads a port or a range of them.
func (t *task) ports(v *source.Value, text string) {
	from, to, ranged := strings.Cut(text, "-")
	first, err := strconv.Atoi(from)
	last := first
	if err == nil && ranged {
		last, err = strconv.Atoi(to)
	}
	if err != nil || first < 1 || last < first || last-first >= mostPorts {
		v.Refuse(fmt.Sprintf("%q is not a port", source.Shorten(text)), fmt.Sprintf("write numbers, or ranges of at most %d", mostPorts))
		return
	}
	for n := first; n <= last; n++ {
		t.doc.Ports = append(t.doc.Ports, spec.Port{Port: n})
	}
}

func (t *task) recovery(v *source.Value) {
	if v == nil {
		return
	}
	if v.Tree.Scalar() {
		v.Translated("retry.system", "what was taken away is tried again")
		return
	}
	o := v.Map()
	if n := o.Consume("max_restarts_on_errors"); n != nil {
		t.doc.Retry.Limit = min(n.Integer(0), source.MaxRetries)
		n.Translated("retry.limit", "")
	}
	if n := o.Consume("min_nodes"); n != nil {
		if least := n.Integer(1); t.nodes > 1 {
			t.doc.MinWorkers = min(least, t.nodes)
			n.Translated("minWorkers", "it goes on with so many while others are tried again")
		} else {
			n.Ignored("there is one node")
		}
	}
	for _, c := range o.Consume("recover_on_exit_codes").Texts() {
		if code, err := strconv.Atoi(c); err == nil {
			t.doc.Retry.Rules = []spec.RetryRule{{ExitCodes: append(codesOf(t.doc.Retry.Rules), code), Action: "retryFree"}}
		}
	}
	if len(t.doc.Retry.Rules) > 0 {
		v.Translated("retry.rules", "")
	}
	o.Finish(source.Reasons{"strategy": "what was taken away is tried again wherever there is room"}, nil, true)
}

func codesOf(rules []spec.RetryRule) []int {
	if len(rules) == 0 {
		return nil
	}
	return rules[0].ExitCodes
}

// accelerators reads NAME[:N], a map of it, or a list or set of several, of
// which all must be the same number.
func (t *task) accelerators(v *source.Value) {
	if v == nil {
		return
	}
	var all []string
	switch v.Tree.Kind {
	case codec.TreeMap:
		for i, name := range v.Tree.Names { // a set, such as {A100:4, A100:8}, is a map of names
			if n := &v.Tree.Items[i]; n.Kind == codec.TreeNull {
				all = append(all, name)
			} else {
				all = append(all, name+":"+n.Text)
			}
		}
	default:
		all = v.Texts()
	}
	g := spec.GPU{}
	lost := ""
	for i, text := range all {
		name, count, counted := strings.Cut(text, ":")
		kind, more := source.GPUType(name)
		one := spec.GPU{Count: 1, Type: kind}
		if more != "" {
			lost = "on each node; of " + kind + " any fits, not only those of " + more
		}
		if counted {
			if n, err := strconv.Atoi(count); err == nil && n > 0 && n <= 1024 {
				one.Count = n
			} else if share, err := spec.ParseShare(count); err == nil {
				one.Share = share
			} else {
				v.Refuse(fmt.Sprintf("%q is not a number of GPUs", source.Shorten(text)), "write it like H100:8")
				return
			}
		}
		if i > 0 && (one.Count != g.Count || one.Share != g.Share) {
			t.doc.Resources.GPU = g
			v.Approximated("resources.gpu", "it names different numbers of GPUs; the first is asked for")
			return
		}
		if i > 0 && !slices.Contains(strings.Split(g.Type, "|"), one.Type) {
			one.Type = g.Type + "|" + one.Type
		} else if i > 0 {
			one.Type = g.Type
		}
		g = one
	}
	if strings.HasPrefix(strings.ToLower(strings.Join(all, "")), "tpu") {
		v.Refuse("TPUs are not known", "ask for GPUs")
		return
	}
	t.doc.Resources.GPU = g
	switch {
	case lost != "":
		v.Approximated("resources.gpu", lost)
	case len(all) > 1:
		v.Translated("resources.gpu", "on each node, any of them")
	default:
		v.Translated("resources.gpu", "on each node")
	}
}

// atLeast reads a number that may have a + behind it.
func atLeast(text string) (spec.Quantity, bool) {
	q, err := spec.ParseQuantity(strings.TrimSuffix(text, "+"))
	return q, err == nil && !strings.ContainsAny(text, "kKMGTPi")
}
