package kubernetes

import (
	"fmt"
	"strings"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// podIgnored are fields of a pod that change nothing of what it computes.
var podIgnored = source.Reasons{
	"schedulerName":         "the scheduler is Muster's",
	"dnsPolicy":             "the backend sees to names",
	"enableServiceLinks":    "there are no services",
	"subdomain":             "tasks find each other by MASTER_ADDR",
	"setHostnameAsFQDN":     "tasks find each other by MASTER_ADDR",
	"preemptionPolicy":      "the project's rules say who displaces whom",
	"priority":              "the class says it",
	"nodeName":              "the scheduler chooses the node",
	"serviceAccount":        "the newer serviceAccountName says it",
	"hostname":              "hosts are named by the backend",
	"terminationMessage":    "the log has it",
	"schedulingGates":       "admission checks are the project's",
	"readinessGates":        "a replica is ready when its probe says so",
	"shareProcessNamespace": "there is one container",
}

var podDropped = source.Reasons{
	"serviceAccountName":           "tasks have no account in the cluster",
	"automountServiceAccountToken": "tasks have no account in the cluster",
	"hostNetwork":                  "tasks share no network with their node, where they run in containers",
	"hostIPC":                      "tasks share no memory with their node; write resources.shm",
	"hostPID":                      "tasks see their own processes only",
	"hostAliases":                  "there are no names of one's own",
	"hostUsers":                    "the backend sees to user namespaces",
	"dnsConfig":                    "the backend sees to names",
	"runtimeClassName":             "the backend chooses the runtime",
	"topologySpreadConstraints":    "write near or apart",
	"resourceClaims":               "GPUs are asked for by resources.gpu",
	"resources":                    "resources are of the container",
	"overhead":                     "the backend knows it",
	"ephemeralContainers":          "they are not part of a workload",
	"os":                           "nodes are Linux",
}

// podSpec reads the spec of a pod into doc; the result is its restartPolicy.
// The container that counts is the one of that name; where there is none, the
// first that asks for GPUs.
func (k *reader) podSpec(o *source.Map, doc *spec.Document, mainName string) (restart *source.Value) {
	return k.podSpecOf(o, doc, func(volumes map[string]*volumeSource) { k.containers(o, doc, volumes, mainName) })
}

// podSpecOf is podSpec where something else says what the container is.
func (k *reader) podSpecOf(o *source.Map, doc *spec.Document, containers func(volumes map[string]*volumeSource)) (restart *source.Value) {
	if o == nil {
		return nil
	}
	restart = o.Consume("restartPolicy")
	volumes := k.volumeSources(o.Consume("volumes"))
	readSecurity(o.Consume("securityContext"), doc)
	containers(volumes)
	for _, v := range volumes {
		if !v.mounted {
			v.at.Ignored("nothing mounts it")
		}
	}
	if v := o.Consume("terminationGracePeriodSeconds"); v != nil {
		doc.GracePeriod = source.Seconds(v.Integer(0))
		v.Translated("gracePeriod", "")
		if doc.GracePeriod == 0 {
			doc.GracePeriod = 1
			v.Approximated("gracePeriod", "as short as can be")
		}
	}
	if v := o.Consume("activeDeadlineSeconds"); v != nil {
		doc.MaxDuration = shorter(doc.MaxDuration, source.Seconds(v.Integer(1)))
		v.Translated("maxDuration", "")
	}
	if v := o.Consume("priorityClassName"); v != nil {
		readPriority(doc, v)
	}
	for i, item := range o.Consume("imagePullSecrets").List() {
		s := item.Map()
		v := s.Consume("name")
		switch {
		case v == nil:
		case i > 0:
			v.Dropped("a workload names one secret for its image; write others for its user")
		default:
			doc.PullSecret = v.Text()
			v.Kept("pullSecret")
		}
		s.Finish(nil, nil, false)
	}
	readPlacement(o, doc)
	o.Finish(podIgnored, podDropped, false)
	return restart
}

func readSecurity(v *source.Value, doc *spec.Document) {
	if v == nil {
		return
	}
	o := v.Map()
	id := func(name string, to string) *int {
		u := o.Consume(name)
		if u == nil {
			return nil
		}
		n := u.Integer(0)
		u.Kept(to)
		return &n
	}
	user, group := id("runAsUser", "runAs.user"), id("runAsGroup", "runAs.group")
	if user != nil || group != nil {
		if doc.RunAs == nil {
			doc.RunAs = &spec.RunAs{}
		}
		if user != nil { // the container's own wins over the pod's
			doc.RunAs.User = user
		}
		if group != nil {
			doc.RunAs.Group = group
		}
	}
	o.Finish(source.Reasons{
		"runAsNonRoot": "runAs says who it runs as", "allowPrivilegeEscalation": "tasks get no further rights",
		"readOnlyRootFilesystem": "what a container writes goes with it", "seccompProfile": "the backend has its own",
		"fsGroupChangePolicy": "there is no fsGroup", "procMount": "the backend has its own",
	}, source.Reasons{
		"fsGroup": "volumes keep their owners", "supplementalGroups": "a task has one group", "capabilities": "tasks get no further rights",
		"privileged": "tasks get no further rights", "sysctls": "the backend sets none", "seLinuxOptions": "the backend sets none", "appArmorProfile": "the backend has its own",
	}, false)
}

// containers reads the container that counts and accounts for the others.
func (k *reader) containers(o *source.Map, doc *spec.Document, volumes map[string]*volumeSource, mainName string) {
	list := o.Consume("containers")
	if list == nil {
		k.Refuse(o.Tree.Line, source.FieldPath(o.Path, "containers"), "", "is missing", "write one container")
		return
	}
	items := list.List()
	if len(items) == 0 {
		list.Refuse("is empty", "write one container")
		return
	}
	main := 0
	for i := len(items) - 1; i >= 0; i-- {
		if asksGPU(items[i].Tree) {
			main = i
		}
	}
	for i := range items {
		if mainName != "" && entryText(items[i].Tree, "name") == mainName {
			main = i
		}
	}
	for i, item := range items {
		if i == main {
			k.container(item.Map(), doc, volumes)
			continue
		}
		if asksGPU(item.Tree) {
			item.Refuse("asks for GPUs beside another container that does", "tasks have one container; put the GPUs there")
			continue
		}
		item.Dropped("tasks have one container; what this one does is missing")
	}
	readInitContainers(o.Consume("initContainers"), doc)
}

func entryText(t *codec.Tree, name string) string {
	if e := source.Entry(t, name); e != nil {
		return e.Text
	}
	return ""
}

func asksGPU(container *codec.Tree) bool {
	resources := source.Entry(container, "resources")
	if resources == nil {
		return false
	}
	for _, list := range resources.Items {
		for i, name := range list.Names {
			if isGPU(name) && list.Items[i].Text != "0" {
				return true
			}
		}
	}
	return false
}

// readInitContainers of the same image become steps of a task's start.
func readInitContainers(v *source.Value, doc *spec.Document) {
	for _, item := range v.List() {
		o := item.Map()
		if o == nil {
			continue
		}
		image := entryText(item.Tree, "image")
		if image != doc.Image || entryText(item.Tree, "restartPolicy") == "Always" || asksGPU(item.Tree) {
			item.Dropped("what runs before a command runs in the same image; write init")
			continue
		}
		argv := append(o.Consume("command").Texts(), o.Consume("args").Texts()...)
		if len(argv) == 0 {
			item.Dropped("it names no command, and the image's own is the task's")
			continue
		}
		doc.Init = append(doc.Init, spec.Init{Command: spec.Command{Argv: argv}})
		item.Translated(fmt.Sprintf("init[%d]", len(doc.Init)-1), "it runs in the task's own environment")
		o.Finish(source.Reasons{
			"name": "steps have no names", "image": "the task's own", "resources": "the task's own", "volumeMounts": "the task's own",
			"imagePullPolicy": "the task's own", "terminationMessagePath": "the log has it", "terminationMessagePolicy": "the log has it",
		}, source.Reasons{"env": "steps run in the task's environment", "envFrom": "steps run in the task's environment", "workingDir": "steps run in the task's directory", "securityContext": "steps run as the task does"}, false)
	}
}

// readPlacement reads on which nodes a pod may be.
func readPlacement(o *source.Map, doc *spec.Document) {
	names, values := o.Consume("nodeSelector").Pairs()
	for i, name := range names {
		doc.NodeSelector = source.Set(doc.NodeSelector, name, values[i].Text())
		values[i].Kept("nodeSelector." + name)
	}
	for _, item := range o.Consume("tolerations").List() {
		readToleration(item, doc)
	}
	a := o.Map("affinity")
	if a == nil {
		return
	}
	if n := a.Map("nodeAffinity"); n != nil {
		readNodeAffinity(n, doc)
	}
	if v := a.Consume("podAntiAffinity"); v != nil {
		readAntiAffinity(v, doc)
	}
	a.Finish(nil, source.Reasons{"podAffinity": "write near: the label of nodes that all tasks must have the same of"}, false)
}

func readToleration(item *source.Value, doc *spec.Document) {
	o := item.Map()
	if o == nil {
		return
	}
	t := spec.Toleration{Key: o.Consume("key").Text(), Effect: o.Consume("effect").Text()}
	op, v := o.Consume("operator"), o.Consume("value")
	switch {
	case op != nil && op.Text() == "Exists":
		if v != nil {
			v.Refuse("stands beside operator Exists", "remove one of the two")
		}
	case op != nil && op.Text() != "Equal":
		op.Refuse(fmt.Sprintf("%q is not an operator", source.Shorten(op.Tree.Text)), "allowed are Equal and Exists")
	default:
		t.Value = v.Text()
	}
	if s := o.Consume("tolerationSeconds"); s != nil {
		s.Dropped("a toleration holds for as long as the task runs")
	}
	o.Finish(nil, nil, false)
	if t == (spec.Toleration{}) { // every taint: of each effect, since one without any is none here
		for _, effect := range []string{"NoSchedule", "PreferNoSchedule", "NoExecute"} {
			doc.Tolerations = append(doc.Tolerations, spec.Toleration{Effect: effect})
		}
		item.Translated("tolerations", "every taint is tolerated")
		return
	}
	doc.Tolerations = append(doc.Tolerations, t)
	item.Kept(fmt.Sprintf("tolerations[%d]", len(doc.Tolerations)-1))
}

func readNodeAffinity(o *source.Map, doc *spec.Document) {
	if v := o.Consume("preferredDuringSchedulingIgnoredDuringExecution"); v != nil {
		v.Dropped("nodes are chosen by what they must be, not by what would be nice")
	}
	v := o.Consume("requiredDuringSchedulingIgnoredDuringExecution")
	if v == nil {
		o.Finish(nil, nil, false)
		return
	}
	required := v.Map()
	terms := required.Consume("nodeSelectorTerms").List()
	for i, term := range terms {
		t := term.Map()
		if t == nil {
			continue
		}
		if len(terms) > 1 {
			doc.NodeAffinityAny = append(doc.NodeAffinityAny, spec.NodeChoice{})
		}
		for _, item := range t.Consume("matchExpressions").List() {
			e := item.Map()
			if e == nil {
				continue
			}
			n := spec.NodeTerm{Key: e.Consume("key").Text(), Op: e.Consume("operator").Text(), Values: e.Consume("values").Texts()}
			e.Finish(nil, nil, false)
			if len(terms) > 1 {
				last := &doc.NodeAffinityAny[len(doc.NodeAffinityAny)-1]
				last.Terms = append(last.Terms, n)
				item.Kept(fmt.Sprintf("nodeAffinityAny[%d].terms[%d]", i, len(last.Terms)-1))
				continue
			}
			doc.NodeAffinity = append(doc.NodeAffinity, n)
			item.Kept(fmt.Sprintf("nodeAffinity[%d]", len(doc.NodeAffinity)-1))
		}
		t.Finish(nil, source.Reasons{"matchFields": "nodes are chosen by their labels"}, false)
	}
	required.Finish(nil, nil, false)
	o.Finish(nil, nil, false)
}

// readAntiAffinity knows the form that keeps pods of one workload on different
// nodes.
func readAntiAffinity(v *source.Value, doc *spec.Document) {
	required := source.Entry(v.Tree, "requiredDuringSchedulingIgnoredDuringExecution")
	if required != nil && len(v.Tree.Names) == 1 && len(required.Items) == 1 {
		if key := entryText(&required.Items[0], "topologyKey"); key != "" && source.Entry(&required.Items[0], "namespaceSelector") == nil {
			doc.Apart = key
			v.Approximated("apart", "its own tasks are kept apart, not those of others")
			return
		}
	}
	v.Dropped("write apart: the label of nodes that every task must have another of")
}

// isGPU reports whether a resource of Kubernetes is GPUs.
func isGPU(name string) bool {
	return name == "nvidia.com/gpu" || name == "amd.com/gpu" || name == "gpu.intel.com/i915" || strings.HasPrefix(name, "nvidia.com/mig-")
}
