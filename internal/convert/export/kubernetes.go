package export

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// toKubernetes writes the object that is nearest to doc.
func toKubernetes(doc *spec.Document, over string) ([]byte, codec.Errors) {
	switch {
	case doc.Image == "":
		return nil, codec.Errors{{Path: "image", Problem: "is missing: pods run in containers", Hint: "write an image"}}
	case doc.Slurm != nil:
		return nil, codec.Errors{{Path: "slurm", Problem: "is a script of Slurm", Hint: "export it as sbatch"}}
	case doc.Array != nil && doc.Array.Grid != nil:
		return nil, codec.Errors{{Path: "array.grid", Problem: "gives each task parameters of its own, which pods do not have", Hint: "submit one workload for each combination"}}
	}
	var t codec.Tree
	switch {
	case doc.Kind.Replicated():
		t = deploymentOf(doc)
	case doc.Kind.Interactive():
		t = podOf(doc)
	case !doc.Kind.Ranked():
		t = jobOf(doc)
	case doc.Framework == "pytorch":
		t = operatedOf(doc, "PyTorchJob", "pytorchReplicaSpecs", "pytorch", "Master")
	case doc.Framework == "tensorflow":
		t = operatedOf(doc, "TFJob", "tfReplicaSpecs", "tensorflow", "Chief")
	case doc.Framework == "xgboost":
		t = operatedOf(doc, "XGBoostJob", "xgbReplicaSpecs", "xgboost", "Master")
	case doc.Framework == "mpi":
		t = mpiOf(doc)
	default:
		t = jobSetOf(doc)
	}
	for i, name := range t.Names {
		if name == "metadata" {
			t.Items[i] = metadataOf(doc, over)
		}
	}
	return t.YAML(), nil
}

// metadataOf names the object, and says in annotations what only some know.
func metadataOf(doc *spec.Document, over string) codec.Tree {
	labels := pairTree(doc.Labels)
	annotations := pairTree(doc.Annotations)
	g := doc.Resources.GPU
	switch g.Kind() {
	case spec.ShareGPU:
		annotations.Put("gpu-fraction", codec.Text(g.Share.String()))
	case spec.MemoryGPU:
		annotations.Put("gpu-memory", codec.Text(fmt.Sprint(g.Memory.Units()>>20)))
	}
	if (g.Kind() == spec.ShareGPU || g.Kind() == spec.MemoryGPU) && g.Count > 1 {
		annotations.Put("gpu-fraction-num-devices", codec.Text(fmt.Sprint(g.Count)))
	}
	annotations.Put("kueue.x-k8s.io/podset-required-topology", codec.Text(doc.Topology.Required))
	annotations.Put("kueue.x-k8s.io/podset-preferred-topology", codec.Text(doc.Topology.Preferred))
	annotations.Put(source.OverlayName, codec.Text(over))
	m := codec.Map()
	if doc.NamePrefix != "" {
		m.Put("generateName", codec.Text(doc.NamePrefix+"-"))
	}
	m.Put("name", codec.Text(doc.Name))
	if doc.Project != "default" {
		m.Put("namespace", codec.Text(doc.Project))
	}
	m.Put("labels", labels)
	m.Put("annotations", annotations)
	return m
}

func objectOf(version, kind string, spec_ codec.Tree) codec.Tree {
	t := of("apiVersion", version, "kind", kind)
	t.Names, t.Items = append(t.Names, "metadata"), append(t.Items, codec.Map())
	t.Put("spec", spec_)
	return t
}

// forPods is doc as its first task is, where that differs.
func forPods(doc *spec.Document, master bool) *spec.Document {
	m := doc.Master
	if !master || m == nil {
		return doc
	}
	d := doc.Clone()
	if m.Image != "" {
		d.Image = m.Image
	}
	d.Command, d.Args = doc.Command, doc.Args
	if len(m.Command.Argv) > 0 {
		d.Command, d.Args = m.Command, m.Args
	} else if len(m.Args) > 0 {
		d.Args = m.Args
	}
	for name, text := range m.Env {
		d.Env = source.Set(d.Env, name, text)
	}
	if m.Resources != nil {
		d.Resources = *m.Resources
	}
	return d
}

// podSpecOf is the spec of a task's pod.
func podSpecOf(d *spec.Document, container, restart string) codec.Tree {
	volumes, mounts := volumesOf(d)
	c := of("name", container, "image", d.Image, "imagePullPolicy", map[string]string{"always": "Always", "never": "Never"}[d.PullPolicy])
	if d.PullPolicy == "" || d.PullPolicy == "missing" {
		c.Put("imagePullPolicy", codec.Text("IfNotPresent"))
	}
	c.Put("command", texts(escaped(d.Command.Argv)))
	c.Put("args", texts(escaped(d.Args)))
	c.Put("workingDir", codec.Text(d.Workdir))
	env := pairsOf(d)
	c.Put("env", env)
	c.Put("resources", resourcesOf(d.Resources))
	c.Put("volumeMounts", mounts)
	ports := list()
	for _, p := range d.Ports {
		ports.Items = append(ports.Items, of("name", p.Name, "containerPort", p.Port))
	}
	c.Put("ports", ports)
	if d.TTY {
		c.Put("tty", truthTree(true))
	}
	if d.Stdin {
		c.Put("stdin", truthTree(true))
	}
	if p := d.Probe; p != nil && d.Kind.Replicated() {
		c.Put("readinessProbe", probeOf(d, p))
	}
	t := codec.Map()
	t.Put("restartPolicy", codec.Text(restart))
	if u := d.RunAs; u != nil {
		s := codec.Map()
		if u.User != nil {
			s.Put("runAsUser", numberTree(*u.User))
		}
		if u.Group != nil {
			s.Put("runAsGroup", numberTree(*u.Group))
		}
		t.Put("securityContext", s)
	}
	inits := list()
	for i, step := range d.Init {
		inits.Items = append(inits.Items, of("name", fmt.Sprintf("init-%d", i), "image", d.Image, "command", texts(escaped(step.Command.Argv))))
	}
	if s := int(d.MaxDuration.Std().Seconds()); s > 0 && d.Retry.Limit > 0 && !d.Kind.Replicated() {
		t.Put("activeDeadlineSeconds", numberTree(s)) // of one attempt
	}
	t.Put("initContainers", inits)
	t.Put("containers", list(c))
	t.Put("volumes", volumes)
	if s := int(d.GracePeriod.Std().Seconds()); s > 0 {
		t.Put("terminationGracePeriodSeconds", numberTree(s))
	}
	if d.PullSecret != "" {
		t.Put("imagePullSecrets", list(of("name", d.PullSecret)))
	}
	t.Put("nodeSelector", pairTree(d.NodeSelector))
	placesOf(d, &t)
	return t
}

// escaped keeps Kubernetes from expanding what it would take for a variable.
func escaped(argv []string) []string {
	out := make([]string, len(argv))
	for i, a := range argv {
		if out[i] = a; strings.Contains(a, "$(") {
			out[i] = strings.ReplaceAll(strings.ReplaceAll(a, "$$", "$$$$"), "$(", "$$(")
		}
	}
	return out
}

// pairsOf is env, with secrets by their names.
func pairsOf(d *spec.Document) codec.Tree {
	t := list()
	env := pairTree(d.Env)
	for i, name := range env.Names {
		e := of("name", name)
		e.Names, e.Items = append(e.Names, "value"), append(e.Items, codec.Text(escaped([]string{env.Items[i].Text})[0]))
		t.Items = append(t.Items, e)
	}
	for _, s := range d.Secrets {
		if s.Env != "" {
			t.Items = append(t.Items, of("name", s.Env, "valueFrom", of("secretKeyRef", of("name", s.Name, "key", "value"))))
		}
	}
	return t
}

func resourcesOf(r spec.Resources) codec.Tree {
	requests, limits := codec.Map(), codec.Map()
	if r.CPU > 0 {
		requests.Put("cpu", codec.Text(r.CPU.String()))
	}
	if r.Memory > 0 {
		text := strings.Replace(r.Memory.String(), "K", "k", 1)
		if strings.HasSuffix(r.Memory.String(), "Ki") {
			text = r.Memory.String()
		}
		requests.Put("memory", codec.Text(text))
		limits.Put("memory", codec.Text(text))
	}
	switch g := r.GPU; g.Kind() {
	case spec.WholeGPU:
		limits.Put("nvidia.com/gpu", codec.Text(fmt.Sprint(g.Count)))
	case spec.MIGGPU:
		for part := range strings.SplitSeq(string(g.MIG), ",") {
			profile, n, _ := strings.Cut(part, "=")
			limits.Put("nvidia.com/mig-"+profile, codec.Text(n))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Extended)) {
		limits.Put(name, codec.Text(fmt.Sprint(r.Extended[name])))
	}
	return of("requests", requests, "limits", limits)
}

func probeOf(d *spec.Document, p *spec.Probe) codec.Tree {
	port := p.Port
	if port == 0 && len(d.Ports) > 0 {
		port = d.Ports[0].Port
	}
	how := of("port", port)
	kind := "tcpSocket"
	if p.Path != "" {
		kind, how = "httpGet", of("path", p.Path, "port", port)
	}
	t := of(kind, how)
	for name, d := range map[string]spec.Duration{"periodSeconds": p.Period, "timeoutSeconds": p.Timeout} {
		if s := int(d.Std().Seconds()); s > 0 {
			t.Put(name, numberTree(s))
		}
	}
	if p.Failures > 0 {
		t.Put("failureThreshold", numberTree(p.Failures))
	}
	return t
}

// volumesOf are the volumes of a pod and where they are mounted. ConfigMaps
// are not part of it; what documents hold of files only muster import sees.
func volumesOf(d *spec.Document) (volumes, mounts codec.Tree) {
	volumes, mounts = list(), list()
	add := func(at string, readOnly bool, source ...any) {
		name := fmt.Sprintf("volume-%d", len(volumes.Items))
		volumes.Items = append(volumes.Items, of(append([]any{"name", name}, source...)...))
		mounts.Items = append(mounts.Items, of("name", name, "mountPath", at, "readOnly", readOnly))
	}
	if d.Resources.SHM > 0 {
		add("/dev/shm", false, "emptyDir", of("medium", "Memory", "sizeLimit", d.Resources.SHM.String()))
	}
	for _, v := range d.Volumes {
		switch {
		case v.HostPath != "":
			kind := ""
			if v.Create {
				kind = "DirectoryOrCreate"
			}
			add(v.Path, v.ReadOnly, "hostPath", of("path", v.HostPath, "type", kind))
		case v.Claim != "":
			add(v.Path, v.ReadOnly, "persistentVolumeClaim", of("claimName", v.Claim))
		case v.Temporary != nil:
			size := ""
			if v.Temporary.Size > 0 {
				size = v.Temporary.Size.String()
			}
			at := of("medium", "Memory", "sizeLimit", size)
			if v.Temporary.Disk {
				at = of("sizeLimit", size)
			}
			add(v.Path, v.ReadOnly, "emptyDir", at)
		case v.Secret != "":
			add(path.Clean(v.Path), v.ReadOnly, "secret", of("secretName", v.Secret))
		}
	}
	return volumes, mounts
}

// nodeChoices are the conditions on nodes as Kubernetes has them: sets of which one
// must hold, so that what holds in any case stands in each.
func nodeChoices(d *spec.Document) codec.Tree {
	every := d.NodeAffinityAny
	if len(every) == 0 && len(d.NodeAffinity) > 0 {
		every = []spec.NodeChoice{{}}
	}
	out := list()
	for _, c := range every {
		terms := list()
		for _, n := range slices.Concat(d.NodeAffinity, c.Terms) {
			terms.Items = append(terms.Items, of("key", n.Key, "operator", n.Op, "values", texts(n.Values)))
		}
		out.Items = append(out.Items, of("matchExpressions", terms))
	}
	return out
}

// placesOf is where a pod may run.
func placesOf(d *spec.Document, t *codec.Tree) {
	tolerations := list()
	for _, o := range d.Tolerations {
		e := of("key", o.Key, "operator", "Exists", "effect", o.Effect)
		if o.Value != "" {
			e = of("key", o.Key, "operator", "Equal", "value", o.Value, "effect", o.Effect)
		}
		tolerations.Items = append(tolerations.Items, e)
	}
	t.Put("tolerations", tolerations)
	if choices := nodeChoices(d); len(choices.Items) > 0 {
		t.Put("affinity", of("nodeAffinity", of("requiredDuringSchedulingIgnoredDuringExecution", of("nodeSelectorTerms", choices))))
	}
	if d.Priority != 0 && d.Priority != spec.UsualPriority(d) {
		if name := d.Priority.String(); name[0] > '9' {
			t.Put("priorityClassName", codec.Text(name))
		}
	}
}
