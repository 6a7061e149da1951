package podgroup

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/affinity"
	"github.com/musterhq/muster/internal/backend/kube/dra"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/podowner"
	"github.com/musterhq/muster/internal/backend/kube/resources"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
)

// Asks is what a pod that others made needs, and where it may go; bars is why we
// cannot place it, empty where we can.
func Asks(pod *corev1.Pod) (n backend.Needs, w backend.Where, bars string) {
	u := resources.UsageOf(pod)
	n = backend.Needs{CPU: u.Cpu, Memory: u.Memory}
	for name, k := range u.Extra {
		if n.Counted == nil {
			n.Counted = map[string]int{}
		}
		n.Counted[name] = int(k)
	}
	switch {
	case len(u.Mig) > 0:
		var parts []string
		for profile, k := range u.Mig {
			parts = append(parts, profile+"="+strconv.Itoa(k))
		}
		slices.Sort(parts)
		mig, err := spec.ParseMIG(strings.Join(parts, ","))
		if err != nil {
			return n, w, err.Error()
		}
		if n.GPU.MIG = mig; u.Gpus > 0 {
			return n, w, "it asks for whole GPUs and for parts of them at once"
		}
	case strings.Contains(u.Vendor, " "):
		return n, w, "it asks for GPUs of " + u.Vendor + ": no node has both"
	case u.Gpus > 0:
		n.GPU.Count = u.Gpus
	}
	for _, mark := range fractionMarks {
		if v := podowner.LabelOf(pod, nil, mark); v != "" {
			return n, w, fmt.Sprintf("its annotation %s asks for a part of a GPU: a pod that was made elsewhere cannot be told which one. Submit it with muster, or let it ask for whole ones", mark)
		}
	}
	w, bars = affinity.WhereOf(pod)
	if u.Gpus > 0 {
		w.Terms = append(w.Terms, spec.NodeTerm{Key: naming.LabelVendor, Op: "In", Values: []string{u.Vendor}})
	}
	return n, w, bars
}

// fractionMarks ask for a part of a GPU (KAI, Run:ai).
var fractionMarks = []string{"gpu-fraction", "gpu-memory", "gpu-fraction-limit"}

// member is a pod as the control plane knows it.
func (o *foreignPod) member(w *dra.Claims) backend.Member {
	m := backend.Member{Key: string(o.Pod.UID), Name: o.Pod.Namespace + "/" + o.Pod.Name, Task: o.task}
	m.Role, m.Rank = podowner.RoleOf(o.Pod)
	if m.Needs, m.Where, m.Barred = Asks(o.Pod); m.Barred == "" {
		m.Barred = affinity.Confine(&m.Where, o.volumes)
	}
	if m.Barred == "" {
		m.Barred = w.Requirements(o.Pod, &m.Needs, &m.Where)
	}
	if o.refused != "" {
		m.Barred = o.refused
	}
	if o.task != (core.TaskID{}) {
		m.Barred = "" // it has its place
	}
	return m
}
