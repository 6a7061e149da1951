package convert

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// dstackPrelude gives commands of dstack their variables.
const dstackPrelude = `export DSTACK_RUN_NAME="$MUSTER_WORKLOAD" DSTACK_NODE_RANK="${NODE_RANK:-0}" DSTACK_MASTER_NODE_IP="${MASTER_ADDR:-127.0.0.1}" DSTACK_WORKING_DIR="$PWD" DSTACK_REPO_DIR="$PWD"
export DSTACK_NODES_IPS="$(printf '%s\n' ${MUSTER_TASK_ADDRESSES:-127.0.0.1})"
`

type dstackRun struct {
	*reader
	o     *object
	doc   *spec.Document
	nodes int
}

// dstack reads a task, dev-environment or service of dstack.
func (r *reader) dstack(o *object) *spec.Document {
	d := &dstackRun{reader: r, o: o, doc: &spec.Document{Kind: lifecycle.Training}, nodes: 1}
	kind := o.take("type")
	switch kind.text() {
	case "task":
	case "dev-environment":
		d.doc.Kind = lifecycle.Workspace
	case "service":
		d.doc.Kind = lifecycle.Inference
	case "fleet", "volume", "gateway":
		kind.refuse("a "+kind.t.Text+" is not work", "machines are nodes of the server; import tasks, dev-environments and services")
		return nil
	default:
		if kind == nil {
			r.refuse(o.t.Line, "type", "", "is missing", "write task, dev-environment or service")
		} else {
			kind.refuse(fmt.Sprintf("%q is not a type", shorten(kind.t.Text)), "allowed are task, dev-environment and service")
		}
		return nil
	}
	kind.translated("kind", "")
	d.general()
	d.environment(o.take("env"))
	if v := o.take("resources"); v != nil {
		d.resources(v)
	}
	d.size()
	d.commands()
	d.service()
	d.ends()
	o.done(dstackHarmless, dstackLossy, true)
	return d.doc
}

var dstackHarmless = nothing{
	"ide": "attach with muster exec, or by a port", "version": "the image has it", "backends": "the scheduler chooses where it runs", "regions": "the scheduler chooses where it runs", "instance_types": "the scheduler chooses where it runs",
	"availability_zones": "the scheduler chooses where it runs", "fleets": "the scheduler chooses where it runs", "max_price": "nodes have no price", "creation_policy": "machines are there", "idle_duration": "machines are there",
	"reservation": "the scheduler chooses where it runs", "gateway": "replicas are reached through the server", "model": "replicas are reached through the server", "auth": "the server's own counts", "https": "the server's own counts",
	"strip_prefix": "the server's own counts", "tags": "labels say it", "nvcc": "the image has it", "single_branch": "", "startup_order": "all start together", "home_dir": "the image has it", "tags_": "",
}

var dstackLossy = nothing{
	"registry_auth": "muster secret create makes a secret of type docker; write pullSecret", "python": "", "docker": "there is no engine in a task", "privileged": "tasks get no further rights", "user": "write runAs", "files": "files are not copied; write volumes",
	"repos": "code is not copied; write integrations", "schedule": "it is queued once, at once", "inactivity_duration": "write idleLimit", "rate_limits": "there are none", "replica_groups": "", "entrypoint": "", "router": "replicas are reached through the server",
	"instances": "write nodeSelector", "hooks": "",
}

func (d *dstackRun) general() {
	o, doc := d.o, d.doc
	if v := o.take("name"); v != nil {
		doc.Name = v.name("name")
	}
	if v := o.take("image"); v != nil {
		doc.Image = v.text()
		v.kept("image")
	}
	if v := o.take("entrypoint"); v != nil && doc.Image != "" && !o.has("commands") {
		words, err := ShellWords(v.text())
		if err != nil {
			v.refuse(err.Error(), "close it")
		}
		doc.Command = spec.Command{Argv: words}
		v.translated("command", "")
	} else if v != nil {
		v.lost("the commands run by themselves")
	}
	if v := o.take("python"); v != nil {
		v.lost("without an image a task runs on the machine, with its Python")
	}
	if v := o.take("working_dir"); v != nil {
		doc.Workdir = v.text()
		v.kept("workdir")
	}
	if v := o.take("spot_policy"); v != nil {
		v.harmless("whether it may be preempted is said by preemptible")
	}
	if v := o.take("priority"); v != nil {
		n := v.whole(0)
		if n > 100 {
			v.refuse(fmt.Sprintf("%d is more than 100", n), "write 0 to 100")
			return
		}
		doc.Priority = spec.UsualPriority(doc) + spec.Priority(n)
		v.translated("priority", "0, which is what dstack takes where it is not told, is what its kind has here")
	}
	for i, item := range o.take("volumes").list() {
		d.volume(i, item)
	}
	for _, item := range o.take("ports").list() {
		d.port(item)
	}
}

// volume reads NAME:PATH or /HOST:PATH.
func (d *dstackRun) volume(i int, item *value) {
	text := ""
	if item.t.Scalar() {
		text = item.t.Text
	} else {
		o := item.object()
		if o == nil {
			return
		}
		origin := o.take("name")
		if origin == nil {
			origin = o.take("instance_path")
		}
		text = origin.text() + ":" + o.take("path").text()
		o.done(nil, nothing{"optional": "what a document names must be there"}, true)
	}
	from, at, ok := strings.Cut(text, ":")
	switch {
	case !ok:
		item.refuse(fmt.Sprintf("%q is not a volume", shorten(text)), "write it like /data:/data")
	case !strings.HasPrefix(from, "/"):
		item.lost("volumes of a cloud are not known; mount it on the nodes and write volumes")
	case d.doc.Image == "" && !d.o.has("image") && from != at:
		item.lost("a process of the machine sees its own files; write an image, or use the path itself")
	default:
		d.doc.Volumes = append(d.doc.Volumes, spec.Volume{HostPath: from, Path: at})
		item.translated(fmt.Sprintf("volumes[%d]", len(d.doc.Volumes)-1), "")
	}
}

func (d *dstackRun) port(item *value) {
	text := item.t.Text
	if item.t.Kind == spec.TreeMap {
		o := item.object()
		text = o.take("container_port").text()
		o.done(nothing{"local_port": "muster port-forward chooses it"}, nil, true)
	}
	if i := strings.LastIndexByte(text, ':'); i >= 0 {
		text = text[i+1:]
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 65535 {
		item.refuse(fmt.Sprintf("%q is not a port", shorten(item.t.Text)), "write it like 8000 or 8001:8000")
		return
	}
	d.doc.Ports = append(d.doc.Ports, spec.Port{Port: n})
	item.translated(fmt.Sprintf("ports[%d]", len(d.doc.Ports)-1), "")
}

// environment reads env: a map, or a list of NAME=value and NAME, whose value
// is the submitter's.
func (d *dstackRun) environment(v *value) {
	if v == nil {
		return
	}
	if v.t.Kind == spec.TreeMap {
		names, values := v.pairs()
		for i, name := range names {
			d.variable(values[i], name, values[i].text(), values[i].t.Kind != spec.TreeNull)
		}
		return
	}
	for _, item := range v.list() {
		name, text, has := strings.Cut(item.text(), "=")
		d.variable(item, name, text, has)
	}
}

func (d *dstackRun) variable(item *value, name, text string, has bool) {
	secret, is := strings.CutPrefix(strings.TrimSpace(text), "${{ secrets.")
	secret, closed := strings.CutSuffix(secret, "}}")
	secret = strings.TrimSpace(secret)
	switch {
	case !has:
		item.lost("it has no value; write one, or add --env " + shorten(name))
	case is && closed:
		d.doc.Secrets = append(d.doc.Secrets, spec.SecretUse{Name: asName(secret, 52), Env: name})
		item.translated(fmt.Sprintf("secrets[%d]", len(d.doc.Secrets)-1), "muster secret create "+asName(secret, 52)+" makes it")
	case strings.Contains(text, "${{"):
		item.lost("values that only dstack knows are not there")
	default:
		d.doc.Env = put(d.doc.Env, name, text)
		item.kept("env." + name)
	}
}

// size reads how many nodes there are.
func (d *dstackRun) size() {
	if v := d.o.take("nodes"); v != nil {
		d.nodes = v.whole(1)
		v.translated("workers", "")
	}
	if v := d.o.take("groups"); v != nil {
		v.refuse("several groups of nodes are not taken", "write nodes; a master may differ in its command")
	}
	if d.nodes > 1 && d.doc.Kind == lifecycle.Training {
		d.doc.Kind, d.doc.Workers = lifecycle.Distributed, d.nodes
	} else if d.nodes > 1 {
		d.refuse(d.o.t.Line, "nodes", strconv.Itoa(d.nodes), "is for tasks", "write type: task")
	}
	if v := d.o.take("stop_criteria"); v != nil {
		switch {
		case d.nodes == 1:
			v.harmless("there is one node")
		case v.text() == "master-done":
			d.doc.CleanPolicy = "running"
			v.translated("cleanPolicy", "")
		case v.text() == "all-done":
			v.translated("cleanPolicy", "")
		default:
			v.refuse(fmt.Sprintf("%q is not known", shorten(v.t.Text)), "allowed are all-done and master-done")
		}
	}
}

// commands reads what runs. As dstack does, one failing ends all.
func (d *dstackRun) commands() {
	var first []string
	if v := d.o.take("init"); v != nil {
		first = v.texts()
		v.translated("command", "")
	}
	v := d.o.take("commands")
	lines := append(first, v.texts()...)
	switch {
	case len(lines) > 0 && d.doc.Kind != lifecycle.Workspace:
		v.translated("command", "one after another, as long as they succeed")
	case d.doc.Kind == lifecycle.Workspace:
		lines = append(lines, "exec sleep infinity")
		d.note(Note{Line: d.o.t.Line, Field: "type", Fate: Approximated, To: "command", Reason: "no editor is started in it; it waits for muster exec", Lossy: true})
		v.translated("command", "")
	case len(d.doc.Command.Argv) > 0 || d.doc.Image != "":
		return // the image has its own
	default:
		d.refuse(d.o.t.Line, "commands", "", "is missing", "write what it runs")
		return
	}
	for i, l := range lines {
		lines[i] = grouped(strings.TrimSpace(l))
	}
	lines = slices.DeleteFunc(lines, func(l string) bool { return l == "" })
	d.doc.Command = spec.Command{Argv: []string{"/bin/sh", "-c", dstackPrelude + strings.Join(lines, " && ")}}
	gpus := d.doc.Resources.GPU.Devices()
	for name, n := range map[string]int{"DSTACK_NODES_NUM": d.nodes, "DSTACK_GPUS_NUM": gpus * d.nodes, "DSTACK_GPUS_PER_NODE": gpus} {
		d.doc.Env = put(d.doc.Env, name, strconv.Itoa(n))
	}
}

// grouped is a command that && may follow: one in the background, one with a
// comment at its end or of several lines is put in braces.
func grouped(line string) string {
	if strings.HasSuffix(line, "&&") || !strings.HasSuffix(line, "&") && !strings.HasSuffix(line, ";") && !strings.ContainsAny(line, "#\n") {
		return line
	}
	return "{ " + line + "\n}"
}

// service reads what only services have.
func (d *dstackRun) service() {
	o, doc := d.o, d.doc
	port, replicas, scaling := o.take("port"), o.take("replicas"), o.object("scaling")
	probes := o.take("probes")
	if doc.Kind != lifecycle.Inference {
		for _, v := range []*value{port, replicas, probes} {
			if v != nil {
				v.refuse("is for services", "remove it, or write type: service")
			}
		}
		return
	}
	if port == nil {
		d.refuse(o.t.Line, "port", "", "is missing", "write the port on which it listens")
		return
	}
	d.port(port)
	if replicas != nil {
		d.replicas(replicas, scaling)
	}
	if scaling != nil {
		scaling.done(nothing{"scale_up_delay": "requests wait for a replica"}, nil, true)
	}
	for i, item := range probes.list() {
		p := item.object()
		if i > 0 || p == nil {
			item.lost("a replica is asked in one way")
			continue
		}
		doc.Probe = &spec.Probe{Path: p.take("url").text()}
		if doc.Probe.Path == "" {
			doc.Probe.Path = "/"
		}
		for name, to := range map[string]*spec.Duration{"interval": &doc.Probe.Period, "timeout": &doc.Probe.Timeout} {
			if v := p.take(name); v != nil {
				*to, _ = dstackTime(v)
			}
		}
		item.translated("probe", "")
		p.done(nothing{"type": "over HTTP", "ready_after": "one right answer suffices", "until_ready": ""}, nothing{"method": "it is asked with GET", "headers": "none are sent", "body": "it is asked with GET"}, true)
	}
}

func (d *dstackRun) replicas(v *value, scaling *object) {
	least, most, ranged := strings.Cut(v.text(), "..")
	n, err := strconv.Atoi(least)
	m := n
	if least == "" && ranged {
		n, err = 0, nil
	}
	if ranged && err == nil {
		m, err = strconv.Atoi(most)
	}
	if err != nil || n < 0 || m < n || m > 1000 {
		v.refuse(fmt.Sprintf("%q is not a number of replicas", shorten(v.t.Text)), "write it like 2 or 1..4")
		return
	}
	if m == n {
		d.doc.Replicas = &n
		v.kept("replicas")
		return
	}
	target := 1
	if t := scaling.take("target"); t != nil {
		if f, ok := t.decimal(); ok && f >= 1 {
			target = int(f)
		}
		t.approximated("autoscale.concurrency", "requests under way at once, not those of a second")
	}
	if t := scaling.take("metric"); t != nil {
		t.approximated("autoscale", "replicas follow requests under way")
	}
	if t := scaling.take("scale_down_delay"); t != nil {
		if down, ok := dstackTime(t); ok {
			d.doc.Autoscale = &spec.Autoscale{ScaleDown: down}
		}
		t.translated("autoscale.scaleDown", "")
	}
	a := spec.Autoscale{Min: n, Max: m, Concurrency: target}
	if d.doc.Autoscale != nil {
		a.ScaleDown = d.doc.Autoscale.ScaleDown
	}
	d.doc.Autoscale = &a
	v.translated("autoscale", "")
}
