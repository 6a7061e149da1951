// Package podspec makes the pods of our tasks, and what goes with them: secrets,
// volumes, the parts of GPUs, what a namespace wants of all its pods. It asks
// nobody.
package podspec

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/apicall"
	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/resources"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// Builder makes pods for a cluster. It remembers what namespaces were found to
// want of pods.
type Builder struct {
	cluster  *cluster.Cluster
	policies policies
}

// New makes pods for c.
func New(c *cluster.Cluster) *Builder { return &Builder{cluster: c} }

// Blueprint is all that is made for one task.
type Blueprint struct {
	Pod    *corev1.Pod
	Secret *corev1.Secret // what nobody may read in the pod; nil: nothing
}

// Build makes the pod of a task. It is bound by whoever creates it.
func (p *Builder) Build(a *backend.Assignment) (*Blueprint, error) {
	if a.As != nil { // as whom, the machine knew that it was for; here it would be anybody
		return nil, apicall.Refuse(lifecycle.ReasonContainerCannot, "it was submitted when tasks of this server ran as who submitted them, and in a cluster they do not; submit it again")
	}
	if a.Image == "" {
		return nil, apicall.Refuse(lifecycle.ReasonContainerCannot, "image is not set: in a cluster tasks run in containers; set image, or choose a node of another backend")
	}
	space := p.cluster.Namespaces.Of(a.About.Project)
	meta := metav1.ObjectMeta{Name: naming.PodName(a.About.Name, a.ID), Namespace: space, Labels: p.Labels(a), Annotations: Notes(a)}
	b := &Blueprint{Pod: &corev1.Pod{ObjectMeta: meta}}
	keep := secretOf(meta)
	main := corev1.Container{
		Name: naming.Container, Image: a.Image, ImagePullPolicy: pullPolicy(a.Pull), WorkingDir: a.Workdir,
		Env: environment(a, keep), Resources: Requirements(a, p.cluster.NodeInfo.GpuResource(p.cluster.NodeName(a.Node))), TTY: a.TTY, Stdin: a.TTY || a.Stdin, StdinOnce: a.Stdin && !a.TTY,
		TerminationMessagePolicy: corev1.TerminationMessageReadFile,
	}
	for _, port := range a.Ports {
		main.Ports = append(main.Ports, corev1.ContainerPort{ContainerPort: int32(port)})
	}
	main.ReadinessProbe = readinessOf(a)
	no, yes := false, true
	grace := int64(30)
	if a.Grace > 0 {
		grace = Seconds(a.Grace)
	}
	spec := &b.Pod.Spec
	*spec = corev1.PodSpec{
		SchedulerName: naming.SchedulerName, RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: &grace,
		Hostname: naming.HostName(a.ID), AutomountServiceAccountToken: &no, EnableServiceLinks: &no,
		ShareProcessNamespace: &yes, // the first process of a namespace is deaf to SIGTERM unless it asks for it
		Tolerations:           tolerations(a), SecurityContext: security(a),
	}
	if a.Gang > 1 || len(a.Ports) > 0 {
		spec.Subdomain = naming.ServiceName(a.ID)
	}
	if p.cluster.Options.RuntimeClass != "" && len(a.Devices) > 0 {
		spec.RuntimeClassName = &p.cluster.Options.RuntimeClass
	}
	v := &volumes{spec: spec, main: &main, secret: keep}
	if err := v.mount(p, a); err != nil {
		return nil, err
	}
	if err := v.command(a); err != nil {
		return nil, err
	}
	v.credentials(a)
	v.fractions(p, a, b.Pod)
	v.claim(p, a, b.Pod)
	for i, step := range a.Init {
		c := main
		c.Name, c.Command, c.Args, c.Ports, c.TTY, c.Stdin = "init-"+strconv.Itoa(i), naming.Escape(retried(step)), nil, nil, false, false
		c.ReadinessProbe = nil
		spec.InitContainers = append(spec.InitContainers, c)
	}
	spec.Containers = []corev1.Container{main}
	p.Apply(b.Pod, a)
	if len(keep.Data) > 0 {
		keep.Immutable = &yes
		b.Secret = keep
		meta.Annotations[naming.NoteSecret] = "yes"
	}
	return b, nil
}

// readinessOf lets the cluster's own services know which replicas are ready, as
// ours do.
func readinessOf(a *backend.Assignment) *corev1.Probe {
	r := a.Ready
	if r == nil {
		return nil
	}
	p := &corev1.Probe{PeriodSeconds: wholeSeconds(r.Period), TimeoutSeconds: wholeSeconds(r.Timeout), FailureThreshold: int32(max(r.Failures, 1))}
	if at := intstr.FromInt32(int32(r.Port)); r.Path != "" {
		p.HTTPGet = &corev1.HTTPGetAction{Path: r.Path, Port: at}
	} else {
		p.TCPSocket = &corev1.TCPSocketAction{Port: at}
	}
	return p
}

func wholeSeconds(d time.Duration) int32 { return int32(min(Seconds(d), 1<<30)) }

// Labels are how a pod is found, by us and by people.
func (p *Builder) Labels(a *backend.Assignment) map[string]string {
	m := map[string]string{}
	for k, v := range a.About.Labels {
		if len(validation.IsQualifiedName(k)) == 0 && len(validation.IsValidLabelValue(v)) == 0 {
			m[k] = v
		}
	}
	for k, v := range map[string]string{
		naming.LabelManaged: naming.Managed, naming.LabelWorkload: string(a.ID.Workload), naming.LabelAttempt: strconv.Itoa(a.ID.Attempt), naming.LabelIndex: strconv.Itoa(a.ID.Index),
		naming.LabelProject: string(a.About.Project), naming.LabelName: a.About.Name, naming.LabelKind: string(a.About.Kind), naming.LabelRole: a.About.Role,
	} {
		if len(validation.IsValidLabelValue(v)) == 0 {
			m[k] = v
		}
	}
	return p.cluster.Marked(m)
}

// Notes are what a pod says of its task.
func Notes(a *backend.Assignment) map[string]string {
	m := map[string]string{}
	for k, v := range a.About.Annotations {
		if len(validation.IsQualifiedName(k)) == 0 {
			m[k] = v
		}
	}
	m[naming.NoteTask], m[naming.NoteUser], m[naming.NoteAsked] = a.ID.String(), a.About.User, resources.DescribeAsked(a.CPU, a.Memory)
	if len(a.Devices) > 0 {
		m[naming.NoteDevices] = naming.DevicesNote(a.Devices)
	}
	if a.PullRetries != 0 {
		m[naming.NotePulls] = strconv.Itoa(a.PullRetries)
	}
	return m
}

func pullPolicy(p backend.PullPolicy) corev1.PullPolicy {
	switch p {
	case backend.PullAlways:
		return corev1.PullAlways
	case backend.PullNever:
		return corev1.PullNever
	default:
		return corev1.PullIfNotPresent
	}
}

// Requirements are what the kubelet counts and limits. CPU is a share and no cap,
// as on every backend; memory is both. gpus is what its node has GPUs as.
func Requirements(a *backend.Assignment, gpus corev1.ResourceName) corev1.ResourceRequirements {
	r := corev1.ResourceRequirements{Requests: corev1.ResourceList{}, Limits: corev1.ResourceList{}}
	if a.CPU > 0 {
		r.Requests[corev1.ResourceCPU] = *resource.NewMilliQuantity(a.CPU, resource.DecimalSI)
	}
	if a.Memory > 0 {
		q := *resource.NewQuantity(a.Memory, resource.BinarySI)
		r.Requests[corev1.ResourceMemory], r.Limits[corev1.ResourceMemory] = q, q
	}
	if n := naming.WholeDevices(a); n > 0 {
		r.Limits[gpus] = *resource.NewQuantity(int64(n), resource.DecimalSI)
	}
	for profile, n := range a.MIG.All() {
		r.Limits[corev1.ResourceName(resources.MigPrefix+profile)] = *resource.NewQuantity(int64(n), resource.DecimalSI)
	}
	for name, n := range a.Extended {
		r.Limits[corev1.ResourceName(name)] = *resource.NewQuantity(int64(n), resource.DecimalSI)
	}
	return r
}

// tolerations are those of the document, and of nodes that are silent: what
// then becomes of a task is decided by the control plane, not by the cluster.
func tolerations(a *backend.Assignment) []corev1.Toleration {
	out := []corev1.Toleration{
		{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
		{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
	}
	for _, t := range a.About.Tolerations {
		k := corev1.Toleration{Key: t.Key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffect(t.Effect)}
		if t.Value != "" {
			k.Operator, k.Value = corev1.TolerationOpEqual, t.Value
		}
		out = append(out, k)
	}
	return out
}

func security(a *backend.Assignment) *corev1.PodSecurityContext {
	if a.UID == nil && a.GID == nil {
		return nil
	}
	s := &corev1.PodSecurityContext{}
	if a.UID != nil {
		u := int64(*a.UID)
		s.RunAsUser = &u
	}
	if a.GID != nil {
		g := int64(*a.GID)
		s.RunAsGroup = &g
	}
	claims := slices.ContainsFunc(a.Mounts, func(m backend.Mount) bool { return m.Claim != "" })
	if group := cmp.Or(s.RunAsGroup, s.RunAsUser); claims && *group > 0 { // else a new volume is root's alone
		unless := corev1.FSGroupChangeOnRootMismatch
		s.FSGroup, s.FSGroupChangePolicy = group, &unless
	}
	return s
}

// environment is a's, with what is secret held elsewhere.
func environment(a *backend.Assignment, keep *corev1.Secret) []corev1.EnvVar {
	last := map[string]int{}
	for i, kv := range a.Env {
		name, _, _ := strings.Cut(kv, "=")
		last[name] = i
	}
	out := []corev1.EnvVar{{Name: "MUSTER_TASK_ID", Value: a.ID.String()}}
	if len(a.Devices) == 0 && a.MIG == "" {
		// An image may ask for all GPUs where its runtime gives them unasked.
		out = append(out, corev1.EnvVar{Name: "NVIDIA_VISIBLE_DEVICES", Value: "void"}, corev1.EnvVar{Name: "CUDA_VISIBLE_DEVICES"})
	}
	for i, kv := range a.Env {
		name, value, _ := strings.Cut(kv, "=")
		switch {
		case last[name] != i:
		case slices.Contains(a.Secret, name) && keep.Name != "":
			key := "env-" + naming.Digest(name)
			keep.Data[key] = []byte(value)
			out = append(out, corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: keep.Name}, Key: key}}})
		default:
			out = append(out, corev1.EnvVar{Name: name, Value: naming.Escape([]string{value})[0]})
		}
	}
	return out
}

// secretOf is what of a task nobody may read in its pod, so far empty.
func secretOf(pod metav1.ObjectMeta) *corev1.Secret {
	m := metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, Labels: pod.Labels, Annotations: map[string]string{naming.NoteTask: pod.Annotations[naming.NoteTask]}}
	return &corev1.Secret{ObjectMeta: m, Type: corev1.SecretTypeOpaque, Data: map[string][]byte{}}
}

// retried is the command of a step of the start, with its further tries: the
// kubelet would start the whole pod again.
func retried(step backend.Init) []string {
	if step.Retries == 0 {
		return step.Argv
	}
	script := `n=0; wait=1
until "$@"; do
	code=$?
	[ "$n" -lt "$0" ] || exit "$code"
	n=$((n+1)); sleep "$wait"; wait=$((wait*2)); [ "$wait" -le 60 ] || wait=60
done`
	return append([]string{"/bin/sh", "-c", script, strconv.Itoa(step.Retries)}, step.Argv...)
}

// Seconds is a grace as Kubernetes counts it. Less than one would end a pod
// without waiting for its node to say so.
func Seconds(d time.Duration) int64 { return max(int64(math.Ceil(d.Seconds())), 1) }
