package kubernetes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

var containerIgnored = source.Reasons{
	"name":                     "a task has one container",
	"terminationMessagePath":   "the log has it",
	"terminationMessagePolicy": "the log has it",
	"stdinOnce":                "whoever attaches may leave",
	"resizePolicy":             "tasks keep their resources",
}

var containerDropped = source.Reasons{
	"lifecycle":         "there are no hooks; SIGTERM tells a task to end",
	"livenessProbe":     "a task lives as long as its process",
	"startupProbe":      "a replica is ready when its readiness probe says so",
	"volumeDevices":     "there are no block devices",
	"restartPolicy":     "the workload's retry says it",
	"restartPolicyRule": "the workload's retry says it",
}

// container reads the container of a task.
func (k *reader) container(o *source.Map, doc *spec.Document, volumes map[string]*volumeSource) {
	if o == nil {
		return
	}
	if v := o.Consume("image"); v != nil {
		doc.Image = v.Text()
		v.Kept("image")
	} else if doc.Image == "" { // else it is known already
		k.Refuse(o.Tree.Line, source.FieldPath(o.Path, "image"), "", "is missing", "write the image that the container runs")
	}
	k.pullPolicy(o.Consume("imagePullPolicy"), o, doc)
	readResources(o.Map("resources"), doc)
	k.environment(o, doc)
	if v := o.Consume("command"); v != nil {
		doc.Command = spec.Command{Argv: k.expandedCommand(v, doc)}
		v.Kept("command")
	}
	if v := o.Consume("args"); v != nil {
		doc.Args = k.expandedCommand(v, doc)
		v.Kept("args")
	}
	if v := o.Consume("workingDir"); v != nil {
		doc.Workdir = v.Text()
		v.Kept("workdir")
	}
	for _, flag := range []struct {
		name string
		to   *bool
	}{{"tty", &doc.TTY}, {"stdin", &doc.Stdin}} {
		if v := o.Consume(flag.name); v != nil {
			*flag.to = v.Bool()
			v.Kept(flag.name)
		}
	}
	k.readMounts(o.Consume("volumeMounts"), doc, volumes)
	for _, item := range o.Consume("ports").List() {
		readPort(item, doc)
	}
	readSecurity(o.Consume("securityContext"), doc)
	if v := o.Consume("readinessProbe"); v != nil {
		readReadiness(v, doc)
	}
	o.Finish(containerIgnored, containerDropped, false)
}

// pullPolicy is what Kubernetes does: without one, images without a tag and
// latest are looked for each time.
func (k *reader) pullPolicy(v *source.Value, o *source.Map, doc *spec.Document) {
	if v != nil {
		p, ok := source.PullPolicies[v.Text()]
		if !ok {
			v.Refuse(fmt.Sprintf("%q is not a policy", source.Shorten(v.Tree.Text)), "allowed are Always, IfNotPresent and Never")
			return
		}
		if p != "missing" { // as it is where nothing is said
			doc.PullPolicy = p
		}
		v.Translated("pullPolicy", "")
		return
	}
	name, _, digest := strings.Cut(doc.Image, "@")
	tag := ""
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		tag = name[i+1:]
	}
	if !digest && (tag == "" || tag == "latest") && doc.Image != "" {
		doc.PullPolicy = "always"
		k.Note(source.Note{Line: o.Tree.Line, Field: source.FieldPath(o.Path, "imagePullPolicy"), Fate: source.Translated, To: "pullPolicy", Reason: "Kubernetes looks for latest each time"})
	}
}

// rendezvous are variables that the platform sets for the tasks of a gang, and
// which a manifest sets to names of its own cluster.
var rendezvous = []string{"MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "NODE_RANK"}

// environment reads env and envFrom. JSON has them in order, of which the last
// of a name counts.
func (k *reader) environment(o *source.Map, doc *spec.Document) {
	for _, item := range o.Consume("env").List() {
		e := item.Map()
		if e == nil {
			continue
		}
		name, v, from := e.Consume("name").Text(), e.Consume("value"), e.Consume("valueFrom")
		switch {
		case name == "":
			item.Refuse("has no name", "write one")
		case v != nil && from != nil:
			from.Refuse("stands beside value", "keep one of the two")
		case from != nil:
			k.valueFrom(name, item, from.Map(), doc)
		default:
			text := v.Text()
			doc.Env = source.Set(doc.Env, name, k.expand(text, doc))
			item.Kept("env." + name)
		}
		e.Finish(nil, nil, false)
	}
	for _, item := range o.Consume("envFrom").List() {
		readEnvFrom(k, item, doc)
	}
}

// valueFrom reads a variable that refers to something.
func (k *reader) valueFrom(name string, v *source.Value, o *source.Map, doc *spec.Document) {
	if s := o.Map("secretKeyRef"); s != nil {
		secret, key := s.Consume("name"), s.Consume("key")
		s.Finish(source.Reasons{"optional": "secrets that a document names must be there"}, nil, false)
		if secret == nil {
			v.Refuse("names no secret", "write its name")
			return
		}
		use := spec.SecretUse{Name: secretOf(k, secret.Text(), key.Text()), Env: name}
		doc.Secrets = append(doc.Secrets, use)
		v.Translated(fmt.Sprintf("secrets[%d]", len(doc.Secrets)-1), fmt.Sprintf("muster secret create %s makes it, with the value of the key %s", source.Shorten(use.Name), source.Shorten(key.Text())))
		return
	}
	if c := o.Map("configMapKeyRef"); c != nil {
		config, key := c.Consume("name"), c.Consume("key")
		if text, here := k.configs[config.Text()][key.Text()]; here {
			doc.Env = source.Set(doc.Env, name, text)
			v.Translated("env."+name, "the ConfigMap is in the file")
			return
		}
		if c.Consume("optional").Bool() {
			v.Ignored("it may be missing")
			return
		}
		v.Dropped("the ConfigMap is not in the file; write the value")
		return
	}
	if f := o.Map("fieldRef"); f != nil {
		readFieldRef(k, name, v, f.Consume("fieldPath").Text(), doc)
		f.Finish(source.Reasons{"apiVersion": "it is the pod's"}, nil, false)
		return
	}
	if f := o.Map("resourceFieldRef"); f != nil {
		resourceFieldRef(name, v, f, doc)
		return
	}
	v.Dropped("a task's variables have values; write it")
}

// expandedCommand is a list of arguments with $(NAME) replaced, as Kubernetes does.
func (k *reader) expandedCommand(v *source.Value, doc *spec.Document) []string {
	argv := v.Texts()
	for i, a := range argv {
		argv[i] = k.expand(a, doc)
	}
	return argv
}

// expand replaces $(NAME) of known variables, and $$ by $. Of what the task
// alone knows a hole is left.
func (k *reader) expand(s string, doc *spec.Document) string {
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
		name, bracket := strings.CutPrefix(name, "(")
		if text, known := doc.Env[name]; closed && bracket && (known || isKnown(k, doc, name)) {
			if !known {
				text = variable(name)
			}
			b.WriteString(text)
			i += len(name) + 2
			continue
		}
		b.WriteByte('$')
	}
	return b.String()
}

// readResources reads what a container asks for. Of CPU the request counts, which
// is what it is promised; of memory the limit, which it may use.
func readResources(o *source.Map, doc *spec.Document) {
	if o == nil {
		return
	}
	requests, limits := o.Map("requests"), o.Map("limits")
	o.Finish(nil, source.Reasons{"claims": "GPUs are asked for by resources.gpu"}, false)
	r := &doc.Resources
	pick := func(name string, first, second *source.Map) spec.Quantity {
		v, other := first.Consume(name), second.Consume(name)
		if v == nil {
			v, other = other, nil
		}
		if v == nil {
			return 0
		}
		q := v.Quantity()
		v.Kept("resources." + name)
		if other != nil && other.Quantity() != q {
			if name == "cpu" {
				other.Ignored("what is promised counts; a task may take more where its node has it")
			} else {
				other.Translated("resources."+name, "what it may use is promised too")
			}
		} else {
			other.Kept("resources." + name)
		}
		return q
	}
	r.CPU = pick("cpu", requests, limits)
	r.Memory = pick("memory", limits, requests)
	readGPUs(requests, limits, &r.GPU)
	readExtended(requests, limits, r)
	const other = "there is no such resource; write nodeSelector for nodes that have it"
	for _, list := range []*source.Map{requests, limits} {
		if list == nil {
			continue
		}
		unneeded, lost := source.Reasons{"ephemeral-storage": "disk is neither counted nor limited"}, source.Reasons{}
		for _, name := range list.Tree.Names {
			switch {
			case strings.HasPrefix(name, "hugepages-"):
				lost[name] = "huge pages are of use as volumes only, and documents have none such"
			default:
				lost[name] = other
			}
		}
		list.Finish(unneeded, lost, false)
	}
}

// readGPUs reads GPUs, of which limits and requests must say the same.
func readGPUs(requests, limits *source.Map, g *spec.GPU) {
	found, mig := "", map[string]int{}
	for _, list := range []*source.Map{limits, requests} {
		if list == nil {
			continue
		}
		for _, name := range list.Tree.Names {
			if !isGPU(name) {
				continue
			}
			v := list.Consume(name)
			n := v.Integer(0)
			profile, isMIG := strings.CutPrefix(name, "nvidia.com/mig-")
			key := name
			if isMIG {
				key = "mig"
			}
			switch {
			case n == 0:
				v.Kept("resources.gpu")
				continue
			case found != "" && found != key:
				v.Refuse(fmt.Sprintf("stands beside %s: GPUs are asked for in two ways", found), "keep one of them")
				continue
			case isMIG:
				if before, given := mig[profile]; given && before != n {
					v.Refuse(fmt.Sprintf("is %d, and %d in limits", n, before), "write the same number in both")
				}
				mig[profile] = n
				v.Translated("resources.gpu.mig", "")
			case g.Share > 0 || g.Memory > 0:
				v.Refuse("stands beside an annotation that asks for a part of a GPU", "keep one of the two")
			case g.Count != 0 && g.Count != n:
				v.Refuse(fmt.Sprintf("is %d, and %d in limits", n, g.Count), "write the same number in both")
			default:
				g.Count = n
				v.Translated("resources.gpu.count", "")
			}
			found = key
			if name == "gpu.intel.com/i915" {
				v.Approximated("resources.gpu.count", "any GPU fits")
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

func readPort(item *source.Value, doc *spec.Document) {
	o := item.Map()
	if o == nil {
		return
	}
	p := spec.Port{Name: o.Consume("name").Text()}
	v := o.Consume("containerPort")
	if v == nil {
		item.Refuse("has no containerPort", "write it")
		return
	}
	p.Port = v.Integer(1)
	if proto := o.Consume("protocol"); proto != nil && proto.Text() != "TCP" {
		proto.Dropped("ports are of TCP")
	}
	o.Finish(source.Reasons{"hostPort": "tasks are reached through the server", "hostIP": "tasks are reached through the server"}, nil, false)
	for i, earlier := range doc.Ports {
		if earlier.Port == p.Port {
			item.Ignored(fmt.Sprintf("it is ports[%d] again", i))
			return
		}
	}
	doc.Ports = append(doc.Ports, p)
	item.Kept(fmt.Sprintf("ports[%d]", len(doc.Ports)-1))
}

// readReadiness reads when a replica is ready; of other kinds it means nothing.
func readReadiness(v *source.Value, doc *spec.Document) {
	if !doc.Kind.Replicated() {
		v.Ignored("only replicas of a service are asked whether they are ready")
		return
	}
	o := v.Map()
	p := &spec.Probe{}
	if h := o.Map("httpGet"); h != nil {
		p.Path = h.Consume("path").Text()
		if p.Path == "" {
			p.Path = "/"
		}
		p.Port = readPortNumber(h.Consume("port"), doc)
		h.Finish(source.Reasons{"scheme": "replicas are asked over HTTP"}, source.Reasons{"host": "the replica itself is asked", "httpHeaders": "none are sent"}, false)
	} else if t := o.Map("tcpSocket"); t != nil {
		p.Port = readPortNumber(t.Consume("port"), doc)
		t.Finish(nil, source.Reasons{"host": "the replica itself is asked"}, false)
	} else {
		v.Dropped("replicas are asked over HTTP or TCP")
		return
	}
	for name, to := range map[string]*spec.Duration{"periodSeconds": &p.Period, "timeoutSeconds": &p.Timeout} {
		if s := o.Consume(name); s != nil {
			*to = source.Seconds(s.Integer(1))
		}
	}
	if f := o.Consume("failureThreshold"); f != nil {
		p.Failures = f.Integer(1)
	}
	doc.Probe = p
	v.Translated("probe", "")
	o.Finish(source.Reasons{"initialDelaySeconds": "it is asked from the start, and counts once it answers", "successThreshold": "one right answer suffices"}, nil, false)
}

// readPortNumber is a port by number or by name.
func readPortNumber(v *source.Value, doc *spec.Document) int {
	if v == nil {
		return 0
	}
	if v.Tree.Kind == codec.TreeNumber {
		return v.Integer(1)
	}
	for _, p := range doc.Ports {
		if p.Name == v.Text() {
			return p.Port
		}
	}
	v.Refuse(fmt.Sprintf("no port has the name %q", source.Shorten(v.Tree.Text)), "write its number")
	return 0
}
