package convert

import (
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core/spec"
)

var containerHarmless = nothing{
	"name":                     "a task has one container",
	"terminationMessagePath":   "the log has it",
	"terminationMessagePolicy": "the log has it",
	"stdinOnce":                "whoever attaches may leave",
	"resizePolicy":             "tasks keep their resources",
}

var containerLossy = nothing{
	"lifecycle":         "there are no hooks; SIGTERM tells a task to end",
	"livenessProbe":     "a task lives as long as its process",
	"startupProbe":      "a replica is ready when its readiness probe says so",
	"volumeDevices":     "there are no block devices",
	"restartPolicy":     "the workload's retry says it",
	"restartPolicyRule": "the workload's retry says it",
}

// container reads the container of a task.
func (k *k8sReader) container(o *object, doc *spec.Document, volumes map[string]*volumeSource) {
	if o == nil {
		return
	}
	if v := o.take("image"); v != nil {
		doc.Image = v.text()
		v.kept("image")
	} else {
		k.refuse(o.t.Line, below(o.path, "image"), "", "is missing", "write the image that the container runs")
	}
	k.pullPolicy(o.take("imagePullPolicy"), o, doc)
	k.environment(o, doc)
	if v := o.take("command"); v != nil {
		doc.Command = spec.Command{Argv: k.expanded(v, doc)}
		v.kept("command")
	}
	if v := o.take("args"); v != nil {
		doc.Args = k.expanded(v, doc)
		v.kept("args")
	}
	if v := o.take("workingDir"); v != nil {
		doc.Workdir = v.text()
		v.kept("workdir")
	}
	for _, flag := range []struct {
		name string
		to   *bool
	}{{"tty", &doc.TTY}, {"stdin", &doc.Stdin}} {
		if v := o.take(flag.name); v != nil {
			*flag.to = v.truth()
			v.kept(flag.name)
		}
	}
	k.resources(o.object("resources"), doc)
	k.mounts(o.take("volumeMounts"), doc, volumes)
	for _, item := range o.take("ports").list() {
		k.port(item, doc)
	}
	k.security(o.take("securityContext"), doc)
	if v := o.take("readinessProbe"); v != nil {
		k.readiness(v, doc)
	}
	o.done(containerHarmless, containerLossy, false)
}

// pullPolicy is what Kubernetes does: without one, images without a tag and
// latest are looked for each time.
func (k *k8sReader) pullPolicy(v *value, o *object, doc *spec.Document) {
	if v != nil {
		p, ok := pullPolicies[v.text()]
		if !ok {
			v.refuse(fmt.Sprintf("%q is not a policy", shorten(v.t.Text)), "allowed are Always, IfNotPresent and Never")
			return
		}
		if p != "missing" { // as it is where nothing is said
			doc.PullPolicy = p
		}
		v.translated("pullPolicy", "")
		return
	}
	name, _, digest := strings.Cut(doc.Image, "@")
	tag := ""
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		tag = name[i+1:]
	}
	if !digest && (tag == "" || tag == "latest") && doc.Image != "" {
		doc.PullPolicy = "always"
		k.note(Note{Line: o.t.Line, Field: below(o.path, "imagePullPolicy"), Fate: Translated, To: "pullPolicy", Reason: "Kubernetes looks for latest each time"})
	}
}

// rendezvous are variables that the platform sets for the tasks of a gang, and
// which a manifest sets to names of its own cluster.
var rendezvous = []string{"MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "NODE_RANK"}

// environment reads env and envFrom. JSON has them in order, of which the last
// of a name counts.
func (k *k8sReader) environment(o *object, doc *spec.Document) {
	for _, item := range o.take("env").list() {
		e := item.object()
		if e == nil {
			continue
		}
		name, v, from := e.take("name").text(), e.take("value"), e.take("valueFrom")
		switch {
		case name == "":
			item.refuse("has no name", "write one")
		case v != nil && from != nil:
			from.refuse("stands beside value", "keep one of the two")
		case from != nil:
			k.valueFrom(name, item, from.object(), doc)
		default:
			text := v.text()
			doc.Env = put(doc.Env, name, expand(text, doc.Env))
			item.kept("env." + name)
		}
		e.done(nil, nil, false)
	}
	for _, item := range o.take("envFrom").list() {
		e := item.object()
		if c := e.object("configMapRef"); c != nil {
			v := c.take("name")
			files, here := k.configs[v.text()]
			if here && v != nil && !e.has("prefix") {
				for name, text := range files {
					if _, said := doc.Env[name]; !said { // env wins over envFrom
						doc.Env = put(doc.Env, name, text)
					}
				}
				v.translated("env", "the ConfigMap is in the file")
				c.done(nothing{"optional": "it is there"}, nil, false)
				e.done(nil, nil, false)
				continue
			}
		}
		item.lost("what is not in the file cannot be copied; write env, or secrets by name")
	}
}

// valueFrom reads a variable that refers to something.
func (k *k8sReader) valueFrom(name string, v *value, o *object, doc *spec.Document) {
	if s := o.object("secretKeyRef"); s != nil {
		secret, key := s.take("name"), s.take("key")
		s.done(nothing{"optional": "secrets that a document names must be there"}, nil, false)
		if secret == nil {
			v.refuse("names no secret", "write its name")
			return
		}
		doc.Secrets = append(doc.Secrets, spec.SecretUse{Name: secret.text(), Env: name})
		v.translated(fmt.Sprintf("secrets[%d]", len(doc.Secrets)-1), fmt.Sprintf("muster secret create %s makes it, with the value of the key %s", shorten(secret.t.Text), shorten(key.text())))
		return
	}
	if c := o.object("configMapKeyRef"); c != nil {
		config, key := c.take("name"), c.take("key")
		if text, here := k.configs[config.text()][key.text()]; here {
			doc.Env = put(doc.Env, name, text)
			v.translated("env."+name, "the ConfigMap is in the file")
			return
		}
		v.lost("the ConfigMap is not in the file; write the value")
		return
	}
	if f := o.object("fieldRef"); f != nil {
		k.fieldRef(name, v, f.take("fieldPath").text())
		return
	}
	v.lost("a task's variables have values; write it")
}

// fieldRef knows the fields of a pod that the platform tells its tasks by the
// same name.
func (k *k8sReader) fieldRef(name string, v *value, path string) {
	switch {
	case strings.Contains(path, "job-completion-index") && name == "JOB_COMPLETION_INDEX":
		v.translated("", "tasks of arrays have it")
	case path == "metadata.name" && name == "JOB_NAME":
		v.translated("", "tasks have it")
	default:
		v.lost("there is no such field; tasks have MUSTER_WORKLOAD, MUSTER_TASK_INDEX and MUSTER_NODE")
	}
}

// expanded is a list of arguments with $(NAME) replaced, as Kubernetes does.
func (k *k8sReader) expanded(v *value, doc *spec.Document) []string {
	argv := v.texts()
	for i, a := range argv {
		argv[i] = expand(a, doc.Env)
	}
	return argv
}

// expand replaces $(NAME) of known variables, and $$ by $.
func expand(s string, env map[string]string) string {
	if !strings.Contains(s, "$(") && !strings.Contains(s, "$$(") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '$' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		if s[i+1] == '$' {
			b.WriteByte('$')
			i++
			continue
		}
		name, _, closed := strings.Cut(s[i+1:], ")")
		if text, known := env[strings.TrimPrefix(name, "(")]; closed && known && strings.HasPrefix(name, "(") {
			b.WriteString(text)
			i += len(name) + 1
			continue
		}
		b.WriteByte('$')
	}
	return b.String()
}

// resources reads what a container asks for. Of CPU the request counts, which
// is what it is promised; of memory the limit, which it may use.
func (k *k8sReader) resources(o *object, doc *spec.Document) {
	if o == nil {
		return
	}
	requests, limits := o.object("requests"), o.object("limits")
	o.done(nil, nothing{"claims": "GPUs are asked for by resources.gpu"}, false)
	r := &doc.Resources
	pick := func(name string, first, second *object, why string) spec.Quantity {
		v, other := first.take(name), second.take(name)
		if v == nil {
			v, other = other, nil
		}
		if v == nil {
			return 0
		}
		q := v.quantity()
		v.kept("resources." + name)
		if other != nil && other.quantity() != q {
			other.approximated("resources."+name, why)
		} else {
			other.kept("resources." + name)
		}
		return q
	}
	r.CPU = pick("cpu", requests, limits, "what is promised counts")
	r.Memory = pick("memory", limits, requests, "what it may use is promised too")
	k.gpus(requests, limits, &r.GPU)
	k.extended(requests, limits, r)
	const other = "there is no such resource; write nodeSelector for nodes that have it"
	for _, list := range []*object{requests, limits} {
		if list == nil {
			continue
		}
		lost := nothing{"ephemeral-storage": "disk is neither counted nor limited"}
		for _, name := range list.t.Names {
			switch {
			case strings.HasPrefix(name, "hugepages-"):
				lost[name] = "huge pages are of use as volumes only, and documents have none such"
			case lost[name] == "":
				lost[name] = other
			}
		}
		list.done(nil, lost, false)
	}
}

// gpus reads GPUs, of which limits and requests must say the same.
func (k *k8sReader) gpus(requests, limits *object, g *spec.GPU) {
	found, mig := "", map[string]int{}
	for _, list := range []*object{limits, requests} {
		if list == nil {
			continue
		}
		for _, name := range list.t.Names {
			if !isGPU(name) {
				continue
			}
			v := list.take(name)
			n := v.whole(0)
			profile, isMIG := strings.CutPrefix(name, "nvidia.com/mig-")
			key := name
			if isMIG {
				key = "mig"
			}
			switch {
			case n == 0:
				v.kept("resources.gpu")
				continue
			case found != "" && found != key:
				v.refuse(fmt.Sprintf("stands beside %s: GPUs are asked for in two ways", found), "keep one of them")
				continue
			case isMIG:
				if before, said := mig[profile]; said && before != n {
					v.refuse(fmt.Sprintf("is %d, and %d in limits", n, before), "write the same number in both")
				}
				mig[profile] = n
				v.translated("resources.gpu.mig", "")
			case g.Share > 0 || g.Memory > 0:
				v.refuse("stands beside an annotation that asks for a part of a GPU", "keep one of the two")
			case g.Count != 0 && g.Count != n:
				v.refuse(fmt.Sprintf("is %d, and %d in limits", n, g.Count), "write the same number in both")
			default:
				g.Count = n
				v.translated("resources.gpu.count", "")
			}
			found = key
			if name == "gpu.intel.com/i915" {
				v.approximated("resources.gpu.count", "any GPU fits")
			}
		}
	}
	if len(mig) > 0 {
		g.MIG = migOf(mig)
	}
}

func migOf(m map[string]int) spec.MIG {
	var parts []string
	for profile, n := range m {
		parts = append(parts, fmt.Sprintf("%s=%d", profile, n))
	}
	slices.Sort(parts)
	text := strings.Join(parts, ",")
	if mig, err := spec.ParseMIG(text); err == nil {
		return mig
	}
	return spec.MIG(text) // which validation refuses
}

func (k *k8sReader) port(item *value, doc *spec.Document) {
	o := item.object()
	if o == nil {
		return
	}
	p := spec.Port{Name: o.take("name").text()}
	v := o.take("containerPort")
	if v == nil {
		item.refuse("has no containerPort", "write it")
		return
	}
	p.Port = v.whole(1)
	if proto := o.take("protocol"); proto != nil && proto.text() != "TCP" {
		proto.lost("ports are of TCP")
	}
	o.done(nothing{"hostPort": "tasks are reached through the server", "hostIP": "tasks are reached through the server"}, nil, false)
	for i, earlier := range doc.Ports {
		if earlier.Port == p.Port {
			item.harmless(fmt.Sprintf("it is ports[%d] again", i))
			return
		}
	}
	doc.Ports = append(doc.Ports, p)
	item.kept(fmt.Sprintf("ports[%d]", len(doc.Ports)-1))
}

// readiness reads when a replica is ready; of other kinds it means nothing.
func (k *k8sReader) readiness(v *value, doc *spec.Document) {
	if doc.Kind != "inference" {
		v.lost("only replicas of a service are asked whether they are ready")
		return
	}
	o := v.object()
	p := &spec.Probe{}
	if h := o.object("httpGet"); h != nil {
		p.Path = h.take("path").text()
		if p.Path == "" {
			p.Path = "/"
		}
		p.Port = k.portNumber(h.take("port"), doc)
		h.done(nothing{"scheme": "replicas are asked over HTTP"}, nothing{"host": "the replica itself is asked", "httpHeaders": "none are sent"}, false)
	} else if t := o.object("tcpSocket"); t != nil {
		p.Port = k.portNumber(t.take("port"), doc)
		t.done(nil, nothing{"host": "the replica itself is asked"}, false)
	} else {
		v.lost("replicas are asked over HTTP or TCP")
		return
	}
	for name, to := range map[string]*spec.Duration{"periodSeconds": &p.Period, "timeoutSeconds": &p.Timeout} {
		if s := o.take(name); s != nil {
			*to = seconds(s.whole(1))
		}
	}
	if f := o.take("failureThreshold"); f != nil {
		p.Failures = f.whole(1)
	}
	doc.Probe = p
	v.translated("probe", "")
	o.done(nothing{"initialDelaySeconds": "it is asked from the start, and counts once it answers", "successThreshold": "one right answer suffices"}, nil, false)
}

// portNumber is a port by number or by name.
func (k *k8sReader) portNumber(v *value, doc *spec.Document) int {
	if v == nil {
		return 0
	}
	if v.t.Kind == spec.TreeNumber {
		return v.whole(1)
	}
	for _, p := range doc.Ports {
		if p.Name == v.text() {
			return p.Port
		}
	}
	v.refuse(fmt.Sprintf("no port has the name %q", shorten(v.t.Text)), "write its number")
	return 0
}
