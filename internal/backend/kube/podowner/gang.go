package podowner

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/musterhq/muster/internal/backend/kube/apicall"
)

// Labels and annotations by which others say which pods belong together.
const (
	NoteMin       = "muster.dev/min-members"
	KueueGroup    = "kueue.x-k8s.io/pod-group-name"
	KueueCount    = "kueue.x-k8s.io/pod-group-total-count"
	SetName       = "leaderworkerset.sigs.k8s.io/name"
	SetIndex      = "leaderworkerset.sigs.k8s.io/group-index"
	SetSize       = "leaderworkerset.sigs.k8s.io/size"
	launcherReady = "WaitForWorkersReady"
)

// PodGroups are the objects in which others say how many pods of a label start
// together (scheduler-plugins' coscheduling, Volcano, KAI).
var PodGroups = []struct{ Label, Path string }{
	{"scheduling.x-k8s.io/pod-group", "/apis/scheduling.x-k8s.io/v1alpha1"},
	{"scheduling.k8s.io/group-name", "/apis/scheduling.volcano.sh/v1beta1"},
	{"pod-group-name", "/apis/scheduling.run.ai/v2alpha2"},
}

// Gang is with whom a pod starts.
type Gang struct {
	Part string // of what its maker makes; empty: all of it
	Min  int    // below 2: it starts by itself
	Note string // what its users should know
	Bars string // why nobody can tell; empty: that is known
	// unsure says that asking again may help, after a while.
	Unsure bool
}

// GangOf is with whom a pod of these makers starts. It fails where asking
// again may help.
func (o *Reader) GangOf(ctx context.Context, pod *corev1.Pod, chain []*Owner) (Gang, error) {
	if text := LabelOf(pod, chain, NoteMin); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > mostMembers {
			return Gang{Bars: fmt.Sprintf("%s is %q: write a whole number from 1 to %d", NoteMin, text, mostMembers)}, nil
		}
		return Gang{Min: n}, nil
	}
	if name := pod.Labels[KueueGroup]; name != "" {
		n, err := strconv.Atoi(pod.Annotations[KueueCount])
		if err != nil || n < 1 || n > mostMembers {
			return Gang{Part: name, Bars: fmt.Sprintf("it has the label %s, and its annotation %s is %q: write how many pods the group has", KueueGroup, KueueCount, pod.Annotations[KueueCount])}, nil
		}
		return Gang{Part: name, Min: n}, nil
	}
	for _, g := range PodGroups {
		name := pod.Labels[g.Label]
		if name == "" {
			name = pod.Annotations[g.Label]
		}
		if name != "" {
			return o.podGroup(ctx, pod.Namespace, g.Path, name)
		}
	}
	if size, err := strconv.Atoi(pod.Annotations[SetSize]); err == nil && pod.Labels[SetName] != "" {
		c := Gang{Part: pod.Labels[SetIndex], Min: size}
		for _, x := range chain {
			if policy, _ := x.Spec["startupPolicy"].(string); x.Kind == "LeaderWorkerSet" && policy == "LeaderReady" {
				c.Min = 1 // the others are made once the first runs
			}
		}
		return c, nil
	}
	for _, x := range chain {
		if n, ok := GangSize(x.Spec); ok {
			return Gang{Min: n}, nil
		}
		if x.Unread != nil && !x.Gone {
			return Gang{Note: fmt.Sprintf("%s cannot be read (%v), so its pods are placed one by one; the annotation %s says how many start together", x, x.Unread, NoteMin)}, nil
		}
	}
	return Gang{}, nil
}

// mostMembers bounds what is taken for a number of pods.
const mostMembers = 100_000

// podGroup is the company that an object of that name describes.
func (o *Reader) podGroup(ctx context.Context, space, root, name string) (Gang, error) {
	ctx, cancel := context.WithTimeout(ctx, apicall.Timeout)
	defer cancel()
	raw, err := o.client.Discovery().RESTClient().Get().AbsPath(root, "namespaces", space, "podgroups", name).SetHeader("Accept", "application/json").DoRaw(ctx)
	c := Gang{Part: name}
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		c.Bars = fmt.Sprintf("how many pods start with it stands in the PodGroup %s/%s, which cannot be read: %v", space, name, err)
		c.Unsure = true
		return c, nil
	case err != nil:
		return c, err
	}
	var is struct {
		Spec struct {
			MinMember int `json:"minMember"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(raw, &is); err != nil || is.Spec.MinMember < 0 || is.Spec.MinMember > mostMembers {
		c.Bars = fmt.Sprintf("the PodGroup %s/%s does not say in spec.minMember how many pods start together", space, name)
		return c, nil
	}
	c.Min = is.Spec.MinMember
	return c, nil
}

// GangSize is how many pods an object starts together, by the fields that kinds of
// gangs have; false: it is none.
func GangSize(spec map[string]any) (int, bool) {
	if spec == nil {
		return 0, false
	}
	if inner, ok := spec["rayClusterSpec"].(map[string]any); ok { // RayJob
		return GangSize(inner)
	}
	switch {
	case spec["headGroupSpec"] != nil: // RayCluster
		n := 1
		for _, g := range objects(spec["workerGroupSpecs"]) {
			n += number(g, "minReplicas", number(g, "replicas", 1)) * number(g, "numOfHosts", 1)
		}
		return n, true
	case spec["replicatedJobs"] != nil: // JobSet
		return jobSet(spec)
	case spec["minAvailable"] != nil && spec["tasks"] != nil: // Volcano's Job
		return number(spec, "minAvailable", 1), true
	}
	for _, key := range slices.Sorted(maps.Keys(spec)) { // PyTorchJob, MPIJob and their like
		if roles, ok := spec[key].(map[string]any); ok && strings.HasSuffix(key, "ReplicaSpecs") {
			return replicaSpecs(spec, roles), true
		}
	}
	return 0, false
}

func jobSet(spec map[string]any) (int, bool) {
	if order, _ := field(spec, "startupPolicy", "startupPolicyOrder").(string); order == "InOrder" {
		return 0, false // the later ones are made once the first run
	}
	n := 0
	for _, j := range objects(spec["replicatedJobs"]) {
		if len(objects(j["dependsOn"])) > 0 {
			continue
		}
		job, _ := field(j, "template", "spec").(map[string]any)
		pods := number(job, "parallelism", 1)
		if c := number(job, "completions", pods); c < pods {
			pods = c
		}
		n += number(j, "replicas", 1) * pods
	}
	return n, true
}

func replicaSpecs(spec, roles map[string]any) int {
	if n := number(mapAt(spec, "runPolicy", "schedulingPolicy"), "minAvailable", 0); n > 0 {
		return n
	}
	least := number(mapAt(spec, "elasticPolicy"), "minReplicas", 0)
	late, _ := spec["launcherCreationPolicy"].(string)
	n := 0
	for role, what := range roles {
		r, _ := what.(map[string]any)
		switch {
		case role == "Launcher" && late == launcherReady:
		case role == "Worker" && least > 0:
			n += least
		default:
			n += number(r, "replicas", 1)
		}
	}
	return n
}

// field is what stands at a path of names; nil: nothing.
func field(in any, path ...string) any {
	for _, name := range path {
		m, ok := in.(map[string]any)
		if !ok {
			return nil
		}
		in = m[name]
	}
	return in
}

func mapAt(in any, path ...string) map[string]any {
	m, _ := field(in, path...).(map[string]any)
	return m
}

func objects(in any) []map[string]any {
	list, _ := in.([]any)
	var out []map[string]any
	for _, x := range list {
		if m, ok := x.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// number is a whole number of an object, within reason.
func number(m map[string]any, name string, usual int) int {
	if n, ok := m[name].(float64); ok && n >= 0 && n <= mostMembers {
		return int(n)
	}
	return usual
}

// Labels that say which part a pod plays and which of these it is.
var (
	roleLabels  = []string{"muster.dev/role", "training.kubeflow.org/replica-type", "training.kubeflow.org/job-role", "jobset.sigs.k8s.io/replicatedjob-name", "ray.io/node-type", "ray.io/group", "volcano.sh/task-spec"}
	IndexLabels = []string{"training.kubeflow.org/replica-index", "leaderworkerset.sigs.k8s.io/worker-index", "batch.kubernetes.io/job-completion-index", "apps.kubernetes.io/pod-index", "kueue.x-k8s.io/pod-group-pod-index"}
)

// firstRoles go before all others.
var firstRoles = map[string]bool{"master": true, "launcher": true, "head": true, "leader": true, "chief": true, "driver": true, "coordinator": true}

// RoleOf is the part that a pod plays, and where it stands among the others.
func RoleOf(pod *corev1.Pod) (role string, rank int) {
	role = "pod"
	if r := firstOf(pod.Labels, roleLabels); r != "" {
		role = strings.ToLower(r)
	} else if pod.Labels[SetName] != "" {
		role = "worker"
		if pod.Labels[IndexLabels[1]] == "0" {
			role = "leader"
		}
	}
	i, err := strconv.Atoi(firstOf(pod.Labels, IndexLabels))
	if err != nil || i < 0 || i > mostMembers {
		i = 0
	}
	if !firstRoles[role] {
		i += mostMembers
	}
	return role, i
}

func firstOf(m map[string]string, names []string) string {
	for _, n := range names {
		if v := m[n]; v != "" {
			return v
		}
	}
	return ""
}
