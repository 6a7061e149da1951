// Package dstack reads the configuration of one run of dstack as a document.
package dstack

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// prelude gives commands of dstack their variables.
const prelude = `export DSTACK_RUN_NAME="$MUSTER_WORKLOAD" DSTACK_NODE_RANK="${NODE_RANK:-0}" DSTACK_MASTER_NODE_IP="${MASTER_ADDR:-127.0.0.1}" DSTACK_WORKING_DIR="$PWD" DSTACK_REPO_DIR="$PWD"
export DSTACK_NODES_IPS="$(printf '%s\n' ${MUSTER_TASK_ADDRESSES:-127.0.0.1})"
`

type run struct {
	*source.Reader
	o     *source.Map
	doc   *spec.Document
	nodes int
	image bool     // of dstack's own
	first []string // commands before its own
	entry []string // an entrypoint that runs its command as a script
	from  source.Place
}

// Import reads a file that comes from a place, as convert.Import does one from anywhere.
func Import(data []byte, from source.Place) (*source.Result, error) {
	r := &source.Reader{Format: source.Dstack}
	if trees, ok := r.Trees(data); ok {
		if o := r.Single(trees); o != nil {
			r.Add(Read(r, o, from))
		}
	}
	return r.Result()
}

// Read reads a task, dev-environment or service of dstack, that comes from a place.
func Read(r *source.Reader, o *source.Map, from source.Place) *spec.Document {
	d := &run{Reader: r, o: o, doc: &spec.Document{Kind: lifecycle.Training}, nodes: 1, from: from}
	kind := o.Consume("type")
	switch kind.Text() {
	case "task":
	case "dev-environment":
		d.doc.Kind = lifecycle.Workspace
	case "service":
		d.doc.Kind = lifecycle.Inference
	case "fleet", "volume", "gateway":
		r.Beside(source.Note{Line: o.Tree.Line, Last: source.LastLine(o.Tree), Field: "type", Value: kind.Tree.Text, Fate: source.Ignored, Reason: notWork[kind.Tree.Text]})
		return nil
	default:
		if kind == nil {
			r.Refuse(o.Tree.Line, "type", "", "is missing", "write task, dev-environment or service")
		} else {
			kind.Refuse(fmt.Sprintf("%q is not a type", source.Shorten(kind.Tree.Text)), "allowed are task, dev-environment and service")
		}
		return nil
	}
	kind.Translated("kind", "")
	d.general()
	d.environment(o.Consume("env"))
	if v := o.Consume("resources"); v != nil {
		d.resources(v)
	}
	d.size()
	d.commands()
	d.service()
	d.ends()
	o.Finish(ignored, dropped, true)
	return d.doc
}

// notWork is why what dstack has beside runs needs nothing here.
var notWork = map[string]string{
	"fleet":   "machines are the nodes of the server, and are there: muster node list shows them",
	"volume":  "runs that name it see the data volume of that name: muster datavolume create makes it, once",
	"gateway": "replicas are reached through the server",
}

var ignored = source.Reasons{
	"ide": "attach with muster exec, or by a port", "version": "the image has it", "backends": "the scheduler chooses where it runs", "regions": "the scheduler chooses where it runs", "instance_types": "the scheduler chooses where it runs",
	"availability_zones": "the scheduler chooses where it runs", "fleets": "the scheduler chooses where it runs", "max_price": "nodes have no price", "creation_policy": "machines are there", "idle_duration": "machines are there",
	"reservation": "the scheduler chooses where it runs", "gateway": "replicas are reached through the server", "model": "replicas are reached through the server", "auth": "the server's own counts", "https": "the server's own counts",
	"strip_prefix": "the server's own counts", "tags": "labels say it", "single_branch": "", "startup_order": "all start together", "home_dir": "the image has it", "tags_": "",
}

var dropped = source.Reasons{
	"registry_auth": "muster secret create makes a secret of type docker; write pullSecret", "docker": "there is no engine in a task", "privileged": "tasks get no further rights", "user": "write runAs", "files": "files are not copied; write volumes",
	"schedule": "it is queued once, at once", "inactivity_duration": "write idleLimit", "rate_limits": "there are none", "replica_groups": "", "entrypoint": "", "router": "replicas are reached through the server",
	"instances": "write nodeSelector", "hooks": "",
}

func (d *run) general() {
	o, doc := d.o, d.doc
	if v := o.Consume("name"); v != nil {
		doc.Name = v.Name("name")
	}
	if v := o.Consume("image"); v != nil {
		doc.Image = v.Text()
		v.Kept("image")
	}
	d.ownImage()
	if v := o.Consume("entrypoint"); v != nil && doc.Image != "" && !o.Has("commands") {
		words, err := source.ShellWords(v.Text())
		if err != nil {
			v.Refuse(err.Error(), "close it")
		}
		doc.Command = spec.Command{Argv: words}
		v.Translated("command", "")
	} else if v != nil && !d.scripted(v) {
		v.Dropped("the commands run by themselves")
	}
	if v := o.Consume("working_dir"); v != nil {
		doc.Workdir = v.Text()
		v.Kept("workdir")
	}
	if v := o.Consume("spot_policy"); v != nil {
		v.Ignored("whether it may be preempted is said by preemptible")
	}
	if v := o.Consume("priority"); v != nil {
		n := v.Integer(0)
		if n > 100 {
			v.Refuse(fmt.Sprintf("%d is more than 100", n), "write 0 to 100")
			return
		}
		doc.Priority = spec.UsualPriority(doc) + spec.Priority(n)
		v.Translated("priority", "0, which is what dstack takes where it is not told, is what its kind has here")
	}
	for _, item := range o.Consume("repos").List() {
		d.repo(item)
	}
	for i, item := range o.Consume("volumes").List() {
		d.volume(i, item)
	}
	for _, item := range o.Consume("ports").List() {
		d.port(item)
	}
}

// baseImage is what dstack runs where no image is named, with Python by uv
// (src/dstack/version.py and get_default_image of its server, read in November
// 2026).
const baseImage = "dstackai/base:0.14-%s-ubuntu24.04"

// ownImage is dstack's own image, where none is named, with the Python that is.
func (d *run) ownImage() {
	python, nvcc := d.o.Consume("python"), d.o.Consume("nvcc")
	if d.doc.Image != "" {
		python.Ignored("the image has it")
		nvcc.Ignored("the image has it")
		return
	}
	flavor := "base"
	if nvcc.Bool() {
		flavor = "devel"
	}
	nvcc.Translated("image", "")
	d.image, d.doc.Image = true, fmt.Sprintf(baseImage, flavor)
	d.Note(source.Note{Line: d.o.Tree.Line, Field: "image", Fate: source.Translated, To: "image", Reason: "dstack runs in its own image where none is named"})
	version := ""
	if python != nil {
		text := python.Text()
		if strings.Trim(text, "0123456789.") != "" || text == "" {
			python.Refuse(fmt.Sprintf("%q is not a version", source.Shorten(text)), "write it like 3.12")
			return
		}
		version = " --python " + text
		python.Translated("command", "a virtual environment with it, as dstack makes one")
	}
	d.first = []string{"uv venv" + version + " --seed --quiet /tmp/.venv", ". /tmp/.venv/bin/activate"}
}

// scripted reads an entrypoint that is a shell, which takes a single command as its
// script.
func (d *run) scripted(v *source.Value) bool {
	words, err := source.ShellWords(v.Text())
	commands := source.Entry(d.o.Tree, "commands")
	if err != nil || len(words) < 2 || words[len(words)-1] != "-c" || len(commands.Items) != 1 {
		return false
	}
	d.entry = words
	v.Translated("command", "")
	return true
}

// shell is what commands are for: bash in dstack's own image.
func (d *run) shell(name string) string {
	switch {
	case strings.HasPrefix(name, "/"):
		return name
	case name != "":
		return "/bin/" + name
	case d.image:
		return "/bin/bash"
	}
	return "/bin/sh"
}

// repo reads a repository that is cloned: its address, with a path behind a
// colon, or a map.
func (d *run) repo(item *source.Value) {
	url, at := "", ""
	branch, hash := "", ""
	if item.Tree.Kind == codec.TreeMap {
		o := item.Map()
		url, at = o.Consume("url").Text(), o.Consume("path").Text()
		branch, hash = o.Consume("branch").Text(), o.Consume("hash").Text()
		if local := o.Consume("local_path"); local != nil {
			url = local.Text()
			if at != "" {
				url += ":" + at
			}
		}
		o.Finish(nil, nil, false)
	} else if url = item.Text(); strings.HasPrefix(url, "https://") {
		if i := strings.LastIndexByte(url, ':'); i > len("https:") {
			url, at = url[:i], url[i+1:]
		}
	}
	if local, isLocal := localRepo(url); isLocal {
		d.localRepo(item, local)
		return
	}
	if !strings.HasPrefix(url, "https://") {
		item.Dropped("only repositories at https:// are cloned; write its address so, or integrations")
		return
	}
	g := &spec.Git{Repo: url, Branch: branch, Commit: hash}
	if strings.HasPrefix(at, "/") {
		item.Dropped("repositories are cloned below the working directory; write integrations")
		return
	}
	g.Path = at
	d.doc.Integrations = append(d.doc.Integrations, spec.Integration{Git: g})
	item.Translated(fmt.Sprintf("integrations[%d]", len(d.doc.Integrations)-1), "it is cloned")
}

// localRepo reports whether a repository is a directory of who submits it.
func localRepo(url string) (string, bool) {
	return url, url != "" && (url[0] == '.' || url[0] == '/' || url[0] == '~')
}

// repoPath is where dstack has a repository that does not say it, and where its commands
// then begin.
const repoPath = "/workflow"

// localRepo has tasks see a directory of who submits it: DIR, or DIR:PATH.
func (d *run) localRepo(item *source.Value, local string) {
	local, at, _ := strings.Cut(local, ":")
	dir, known := d.from.Absolute(local)
	if !known {
		item.Dropped("where the path begins is not known: muster run -f and dstack apply know it; write it in full, or integrations")
		return
	}
	rest, home := strings.CutPrefix(at, "~")
	switch {
	case at == "" || at == ".":
		at = repoPath
	case home:
		at = path.Join("/root", rest)
	case !path.IsAbs(at):
		at = path.Join(repoPath, at)
	}
	d.doc.Volumes = append(d.doc.Volumes, spec.Volume{Path: at, HostPath: dir})
	if d.doc.Workdir == "" {
		d.doc.Workdir = at
	}
	item.Translated("volumes", "it is not copied: tasks see the directory itself")
}

// volume reads NAME:PATH or /HOST:PATH.
func (d *run) volume(i int, item *source.Value) {
	text := ""
	if item.Tree.Scalar() {
		text = item.Tree.Text
	} else {
		o := item.Map()
		if o == nil {
			return
		}
		origin := o.Consume("name")
		if origin != nil && !origin.Tree.Scalar() {
			if names := origin.List(); len(names) > 0 {
				origin = names[0]
			}
		}
		if origin == nil {
			origin = o.Consume("instance_path")
		}
		text = origin.Text() + ":" + o.Consume("path").Text()
		o.Finish(nil, source.Reasons{"optional": "what a document names must be there"}, true)
	}
	from, at, ok := strings.Cut(text, ":")
	switch {
	case !ok:
		item.Refuse(fmt.Sprintf("%q is not a volume", source.Shorten(text)), "write it like /data:/data")
	case !strings.HasPrefix(from, "/"):
		d.dataVolume(item, from, at)
	case d.doc.Image == "" && !d.o.Has("image") && from != at:
		item.Dropped("a process of the machine sees its own files; write an image, or use the path itself")
	default:
		d.doc.Volumes = append(d.doc.Volumes, spec.Volume{HostPath: from, Path: at})
		item.Translated(fmt.Sprintf("volumes[%d]", len(d.doc.Volumes)-1), "")
	}
}

// dataVolume has tasks see a volume of dstack's, which is a data volume of that name. Of
// several names, which are one volume in several places, the first is taken.
func (d *run) dataVolume(item *source.Value, called, at string) {
	name := source.NameFrom(called, spec.MaxName)
	if name == "" || strings.Contains(called, "${{") {
		item.Dropped("which volume it is cannot be told; write data, with the name of a data volume")
		return
	}
	d.doc.Data = append(d.doc.Data, spec.DataUse{Name: name, Path: at})
	item.Translated(fmt.Sprintf("data[%d]", len(d.doc.Data)-1), "a data volume of that name: muster datavolume create "+name+" makes it, once")
}

func (d *run) port(item *source.Value) {
	text := item.Tree.Text
	if item.Tree.Kind == codec.TreeMap {
		o := item.Map()
		text = o.Consume("container_port").Text()
		o.Finish(source.Reasons{"local_port": "muster port-forward chooses it"}, nil, true)
	}
	if i := strings.LastIndexByte(text, ':'); i >= 0 {
		text = text[i+1:]
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 65535 {
		item.Refuse(fmt.Sprintf("%q is not a port", source.Shorten(item.Tree.Text)), "write it like 8000 or 8001:8000")
		return
	}
	d.doc.Ports = append(d.doc.Ports, spec.Port{Port: n})
	item.Translated(fmt.Sprintf("ports[%d]", len(d.doc.Ports)-1), "")
}

// environment reads env: a map, or a list of NAME=value and NAME, whose value
// is the submitter's.
func (d *run) environment(v *source.Value) {
	if v == nil {
		return
	}
	if v.Tree.Kind == codec.TreeMap {
		names, values := v.Pairs()
		for i, name := range names {
			d.variable(values[i], name, values[i].Text(), values[i].Tree.Kind != codec.TreeNull)
		}
		return
	}
	for _, item := range v.List() {
		name, text, has := strings.Cut(item.Text(), "=")
		d.variable(item, name, text, has)
	}
}

func (d *run) variable(item *source.Value, name, text string, has bool) {
	secret, is := strings.CutPrefix(strings.TrimSpace(text), "${{ secrets.")
	secret, closed := strings.CutSuffix(secret, "}}")
	secret = strings.TrimSpace(secret)
	switch {
	case !has:
		secret := source.NameFrom(name, spec.MaxName)
		d.doc.Secrets = append(d.doc.Secrets, spec.SecretUse{Name: secret, Env: name})
		item.Translated(fmt.Sprintf("secrets[%d]", len(d.doc.Secrets)-1), "its value is the submitter's: muster secret create "+secret+" makes it, or write it with --env "+source.Shorten(name)+"=value")
	case is && closed:
		d.doc.Secrets = append(d.doc.Secrets, spec.SecretUse{Name: source.NameFrom(secret, 52), Env: name})
		item.Translated(fmt.Sprintf("secrets[%d]", len(d.doc.Secrets)-1), "muster secret create "+source.NameFrom(secret, 52)+" makes it")
	case strings.Contains(text, "${{"):
		item.Dropped("values that only dstack knows are not there")
	default:
		d.doc.Env = source.Set(d.doc.Env, name, text)
		item.Kept("env." + name)
	}
}

// size reads how many nodes there are.
func (d *run) size() {
	if v := d.o.Consume("nodes"); v != nil {
		d.nodes = v.Integer(1)
		v.Translated("workers", "")
	}
	if v := d.o.Consume("groups"); v != nil {
		v.Refuse("several groups of nodes are not taken", "write nodes; a master may differ in its command")
	}
	if d.nodes > 1 && d.doc.Kind.Batch() {
		d.doc.Kind, d.doc.Workers = lifecycle.Distributed, d.nodes
	} else if d.nodes > 1 {
		d.Refuse(d.o.Tree.Line, "nodes", strconv.Itoa(d.nodes), "is for tasks", "write type: task")
	}
	if v := d.o.Consume("stop_criteria"); v != nil {
		switch {
		case d.nodes == 1:
			v.Ignored("there is one node")
		case v.Text() == "master-done":
			d.doc.CleanPolicy = "running"
			v.Translated("cleanPolicy", "")
		case v.Text() == "all-done":
			v.Translated("cleanPolicy", "")
		default:
			v.Refuse(fmt.Sprintf("%q is not known", source.Shorten(v.Tree.Text)), "allowed are all-done and master-done")
		}
	}
}

// commands reads what runs. As dstack does, one failing ends all.
func (d *run) commands() {
	var first []string
	for _, name := range []string{"build", "setup", "init"} { // the first two are of versions before 0.19
		if v := d.o.Consume(name); v != nil {
			first = append(first, v.Texts()...)
			v.Translated("command", "it comes first")
		}
	}
	v := d.o.Consume("commands")
	lines := append(first, v.Texts()...)
	switch {
	case len(lines) > 0 && !d.doc.Kind.Interactive():
		v.Translated("command", "one after another, as long as they succeed")
	case d.doc.Kind.Interactive():
		lines = append(lines, "exec sleep infinity")
		d.Note(source.Note{Line: d.o.Tree.Line, Field: "type", Fate: source.Translated, To: "command", Reason: "it waits for its user: muster exec, or an editor by muster ssh-config"})
		v.Translated("command", "")
	case len(d.doc.Command.Argv) > 0 || d.doc.Image != "":
		return // the image has its own
	default:
		d.Refuse(d.o.Tree.Line, "commands", "", "is missing", "write what it runs")
		return
	}
	for i, l := range lines {
		lines[i] = grouped(strings.TrimSpace(l))
	}
	lines = slices.DeleteFunc(lines, func(l string) bool { return l == "" })
	if d.nodes > 1 && strings.Contains(strings.Join(lines, "\n"), "DSTACK_MPI_HOSTFILE") {
		v.Dropped("there is no DSTACK_MPI_HOSTFILE, and tasks have no keys for each other: write an MPIJob, or framework: mpi, whose launcher reaches its workers")
	}
	shell := d.o.Consume("shell")
	entry := d.entry
	if entry == nil {
		entry = []string{d.shell(shell.Text()), "-c"}
	}
	d.doc.Command = spec.Command{Argv: append(slices.Clone(entry), prelude+strings.Join(append(d.first, lines...), " && "))}
	shell.Translated("command", "")
	gpus := d.doc.Resources.GPU.Devices()
	for name, n := range map[string]int{"DSTACK_NODES_NUM": d.nodes, "DSTACK_GPUS_NUM": gpus * d.nodes, "DSTACK_GPUS_PER_NODE": gpus} {
		d.doc.Env = source.Set(d.doc.Env, name, strconv.Itoa(n))
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
func (d *run) service() {
	o, doc := d.o, d.doc
	port, replicas, scaling := o.Consume("port"), o.Consume("replicas"), o.Map("scaling")
	probes := o.Consume("probes")
	if !doc.Kind.Replicated() {
		for _, v := range []*source.Value{port, replicas, probes} {
			if v != nil {
				v.Refuse("is for services", "remove it, or write type: service")
			}
		}
		return
	}
	if port == nil {
		d.Refuse(o.Tree.Line, "port", "", "is missing", "write the port on which it listens")
		return
	}
	d.port(port)
	if replicas != nil {
		d.replicas(replicas, scaling)
	}
	if scaling != nil {
		scaling.Finish(source.Reasons{"scale_up_delay": "requests wait for a replica"}, nil, true)
	}
	for i, item := range probes.List() {
		p := item.Map()
		if i > 0 || p == nil {
			item.Dropped("a replica is asked in one way")
			continue
		}
		doc.Probe = &spec.Probe{Path: p.Consume("url").Text()}
		if doc.Probe.Path == "" {
			doc.Probe.Path = "/"
		}
		for name, to := range map[string]*spec.Duration{"interval": &doc.Probe.Period, "timeout": &doc.Probe.Timeout} {
			if v := p.Consume(name); v != nil {
				*to, _ = durationOf(v)
			}
		}
		item.Translated("probe", "")
		p.Finish(source.Reasons{"type": "over HTTP", "ready_after": "one right answer suffices", "until_ready": ""}, source.Reasons{"method": "it is asked with GET", "headers": "none are sent", "body": "it is asked with GET"}, true)
	}
}

func (d *run) replicas(v *source.Value, scaling *source.Map) {
	if !v.Tree.Scalar() {
		v.Refuse("several groups of replicas are not taken", "write a file for each group, with its own commands")
		return
	}
	least, most, ranged := strings.Cut(v.Text(), "..")
	n, err := strconv.Atoi(least)
	m := n
	if least == "" && ranged {
		n, err = 0, nil
	}
	if ranged && err == nil {
		m, err = strconv.Atoi(most)
	}
	if err != nil || n < 0 || m < n || m > 1000 {
		v.Refuse(fmt.Sprintf("%q is not a number of replicas", source.Shorten(v.Tree.Text)), "write it like 2 or 1..4")
		return
	}
	if m == n {
		d.doc.Replicas = &n
		v.Kept("replicas")
		return
	}
	target := 1
	if t := scaling.Consume("target"); t != nil {
		if f, ok := t.Number(); ok && f >= 1 {
			target = int(f)
		}
		t.Approximated("autoscale.concurrency", "requests under way at once, not those of a second")
	}
	if t := scaling.Consume("metric"); t != nil {
		t.Approximated("autoscale", "replicas follow requests under way")
	}
	if t := scaling.Consume("scale_down_delay"); t != nil {
		if down, ok := durationOf(t); ok {
			d.doc.Autoscale = &spec.Autoscale{ScaleDown: down}
		}
		t.Translated("autoscale.scaleDown", "")
	}
	a := spec.Autoscale{Min: n, Max: m, Concurrency: target}
	if d.doc.Autoscale != nil {
		a.ScaleDown = d.doc.Autoscale.ScaleDown
	}
	d.doc.Autoscale = &a
	v.Translated("autoscale", "")
}
