package convert

import (
	"fmt"
	"strings"

	"github.com/musterhq/muster/internal/core/spec"
)

// podHarmless are fields of a pod that change nothing of what it computes.
var podHarmless = nothing{
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

var podLossy = nothing{
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
func (k *k8sReader) podSpec(o *object, doc *spec.Document, mainName string) (restart *value) {
	if o == nil {
		return nil
	}
	restart = o.take("restartPolicy")
	volumes := k.volumeSources(o.take("volumes"))
	k.security(o.take("securityContext"), doc)
	k.containers(o, doc, volumes, mainName)
	for _, v := range volumes {
		if !v.mounted {
			v.at.harmless("nothing mounts it")
		}
	}
	if v := o.take("terminationGracePeriodSeconds"); v != nil {
		doc.GracePeriod = seconds(v.whole(0))
		v.translated("gracePeriod", "")
		if doc.GracePeriod == 0 {
			doc.GracePeriod = 1
			v.approximated("gracePeriod", "as short as can be")
		}
	}
	if v := o.take("activeDeadlineSeconds"); v != nil {
		doc.MaxDuration = shorter(doc.MaxDuration, seconds(v.whole(1)))
		v.translated("maxDuration", "")
	}
	if v := o.take("priorityClassName"); v != nil {
		k.priority(doc, v)
	}
	for i, item := range o.take("imagePullSecrets").list() {
		s := item.object()
		v := s.take("name")
		switch {
		case v == nil:
		case i > 0:
			v.lost("a workload names one secret for its image; write others for its user")
		default:
			doc.PullSecret = v.text()
			v.kept("pullSecret")
		}
		s.done(nil, nil, false)
	}
	k.where(o, doc)
	o.done(podHarmless, podLossy, false)
	return restart
}

func (k *k8sReader) security(v *value, doc *spec.Document) {
	if v == nil {
		return
	}
	o := v.object()
	id := func(name string, to string) *int {
		u := o.take(name)
		if u == nil {
			return nil
		}
		n := u.whole(0)
		u.kept(to)
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
	o.done(nothing{
		"runAsNonRoot": "runAs says who it runs as", "allowPrivilegeEscalation": "tasks get no further rights",
		"readOnlyRootFilesystem": "what a container writes goes with it", "seccompProfile": "the backend has its own",
		"fsGroupChangePolicy": "there is no fsGroup", "procMount": "the backend has its own",
	}, nothing{
		"fsGroup": "volumes keep their owners", "supplementalGroups": "a task has one group", "capabilities": "tasks get no further rights",
		"privileged": "tasks get no further rights", "sysctls": "the backend sets none", "seLinuxOptions": "the backend sets none", "appArmorProfile": "the backend has its own",
	}, false)
}

// containers reads the container that counts and accounts for the others.
func (k *k8sReader) containers(o *object, doc *spec.Document, volumes map[string]*volumeSource, mainName string) {
	list := o.take("containers")
	if list == nil {
		k.refuse(o.t.Line, below(o.path, "containers"), "", "is missing", "write one container")
		return
	}
	items := list.list()
	if len(items) == 0 {
		list.refuse("is empty", "write one container")
		return
	}
	main := 0
	for i := len(items) - 1; i >= 0; i-- {
		if asksGPU(items[i].t) {
			main = i
		}
	}
	for i := range items {
		if mainName != "" && entryText(items[i].t, "name") == mainName {
			main = i
		}
	}
	for i, item := range items {
		if i == main {
			k.container(item.object(), doc, volumes)
			continue
		}
		if asksGPU(item.t) {
			item.refuse("asks for GPUs beside another container that does", "tasks have one container; put the GPUs there")
			continue
		}
		item.lost("tasks have one container; what this one does is missing")
	}
	k.initContainers(o.take("initContainers"), doc)
}

func entryText(t *spec.Tree, name string) string {
	if e := entry(t, name); e != nil {
		return e.Text
	}
	return ""
}

func asksGPU(container *spec.Tree) bool {
	resources := entry(container, "resources")
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

// initContainers of the same image become steps of a task's start.
func (k *k8sReader) initContainers(v *value, doc *spec.Document) {
	for _, item := range v.list() {
		o := item.object()
		if o == nil {
			continue
		}
		image := entryText(item.t, "image")
		if image != doc.Image || entryText(item.t, "restartPolicy") == "Always" || asksGPU(item.t) {
			item.lost("what runs before a command runs in the same image; write init")
			continue
		}
		argv := append(o.take("command").texts(), o.take("args").texts()...)
		if len(argv) == 0 {
			item.lost("it names no command, and the image's own is the task's")
			continue
		}
		doc.Init = append(doc.Init, spec.Init{Command: spec.Command{Argv: argv}})
		item.translated(fmt.Sprintf("init[%d]", len(doc.Init)-1), "it runs in the task's own environment")
		o.done(nothing{
			"name": "steps have no names", "image": "the task's own", "resources": "the task's own", "volumeMounts": "the task's own",
			"imagePullPolicy": "the task's own", "terminationMessagePath": "the log has it", "terminationMessagePolicy": "the log has it",
		}, nothing{"env": "steps run in the task's environment", "envFrom": "steps run in the task's environment", "workingDir": "steps run in the task's directory", "securityContext": "steps run as the task does"}, false)
	}
}

// where reads on which nodes a pod may be.
func (k *k8sReader) where(o *object, doc *spec.Document) {
	names, values := o.take("nodeSelector").pairs()
	for i, name := range names {
		doc.NodeSelector = put(doc.NodeSelector, name, values[i].text())
		values[i].kept("nodeSelector." + name)
	}
	for _, item := range o.take("tolerations").list() {
		k.toleration(item, doc)
	}
	a := o.object("affinity")
	if a == nil {
		return
	}
	if n := a.object("nodeAffinity"); n != nil {
		k.nodeAffinity(n, doc)
	}
	if v := a.take("podAntiAffinity"); v != nil {
		k.antiAffinity(v, doc)
	}
	a.done(nil, nothing{"podAffinity": "write near: the label of nodes that all tasks must have the same of"}, false)
}

func (k *k8sReader) toleration(item *value, doc *spec.Document) {
	o := item.object()
	if o == nil {
		return
	}
	t := spec.Toleration{Key: o.take("key").text(), Effect: o.take("effect").text()}
	op, v := o.take("operator"), o.take("value")
	switch {
	case op != nil && op.text() == "Exists":
		if v != nil {
			v.refuse("stands beside operator Exists", "remove one of the two")
		}
	case op != nil && op.text() != "Equal":
		op.refuse(fmt.Sprintf("%q is not an operator", shorten(op.t.Text)), "allowed are Equal and Exists")
	default:
		t.Value = v.text()
	}
	if s := o.take("tolerationSeconds"); s != nil {
		s.lost("a toleration holds for as long as the task runs")
	}
	o.done(nil, nil, false)
	if t == (spec.Toleration{}) { // every taint: of each effect, since one without any is none here
		for _, effect := range []string{"NoSchedule", "PreferNoSchedule", "NoExecute"} {
			doc.Tolerations = append(doc.Tolerations, spec.Toleration{Effect: effect})
		}
		item.translated("tolerations", "every taint is tolerated")
		return
	}
	doc.Tolerations = append(doc.Tolerations, t)
	item.kept(fmt.Sprintf("tolerations[%d]", len(doc.Tolerations)-1))
}

func (k *k8sReader) nodeAffinity(o *object, doc *spec.Document) {
	if v := o.take("preferredDuringSchedulingIgnoredDuringExecution"); v != nil {
		v.lost("nodes are chosen by what they must be, not by what would be nice")
	}
	v := o.take("requiredDuringSchedulingIgnoredDuringExecution")
	if v == nil {
		o.done(nil, nil, false)
		return
	}
	required := v.object()
	terms := required.take("nodeSelectorTerms").list()
	if len(terms) > 1 {
		v.lost("it is one of several; all conditions of a document must hold")
		return
	}
	for _, term := range terms {
		t := term.object()
		for _, item := range t.take("matchExpressions").list() {
			e := item.object()
			if e == nil {
				continue
			}
			n := spec.NodeTerm{Key: e.take("key").text(), Op: e.take("operator").text(), Values: e.take("values").texts()}
			e.done(nil, nil, false)
			doc.NodeAffinity = append(doc.NodeAffinity, n)
			item.kept(fmt.Sprintf("nodeAffinity[%d]", len(doc.NodeAffinity)-1))
		}
		t.done(nil, nothing{"matchFields": "nodes are chosen by their labels"}, false)
	}
	required.done(nil, nil, false)
	o.done(nil, nil, false)
}

// antiAffinity knows the form that keeps pods of one workload on different
// nodes.
func (k *k8sReader) antiAffinity(v *value, doc *spec.Document) {
	required := entry(v.t, "requiredDuringSchedulingIgnoredDuringExecution")
	if required != nil && len(v.t.Names) == 1 && len(required.Items) == 1 {
		if key := entryText(&required.Items[0], "topologyKey"); key != "" && entry(&required.Items[0], "namespaceSelector") == nil {
			doc.Apart = key
			v.approximated("apart", "its own tasks are kept apart, not those of others")
			return
		}
	}
	v.lost("write apart: the label of nodes that every task must have another of")
}

// isGPU reports whether a resource of Kubernetes is GPUs.
func isGPU(name string) bool {
	return name == "nvidia.com/gpu" || name == "amd.com/gpu" || name == "gpu.intel.com/i915" || strings.HasPrefix(name, "nvidia.com/mig-")
}
