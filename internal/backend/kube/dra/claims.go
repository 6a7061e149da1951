package dra

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/affinity"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/resources"
	"github.com/musterhq/muster/internal/core/spec"
)

// Pods of others ask for GPUs by resource claims too. A claim that nobody has
// allocated has to be understood whole, since nobody else would see to the rest
// of it. One that is allocated keeps its pods where its devices are, which are
// counted as those of the claim and not once more.

// NoteAllocated says on a claim for which pod, by UID, we have allocated it.
const NoteAllocated = "muster.dev/allocated-for"

// Claims are the claims that pods of others name.
type Claims struct {
	mu      sync.Mutex
	Claims  map[string]*resourcev1.ResourceClaim // by namespace/name
	Classes map[string]*resourcev1.DeviceClass
	pods    map[string]map[types.UID]*corev1.Pod // that name a claim and have not ended, by its namespace/name
	blind   string                               // why claims cannot be seen; empty: they can
	unread  string                               // likewise for classes
	back    map[types.UID]bool                   // pods whose claims are being given back
}

// NewClaims knows no claims yet.
func NewClaims() *Claims {
	return &Claims{Claims: map[string]*resourcev1.ResourceClaim{}, Classes: map[string]*resourcev1.DeviceClass{}, pods: map[string]map[types.UID]*corev1.Pod{}, back: map[types.UID]bool{}}
}

// Reference is a claim that a pod names.
type Reference struct {
	Name string
	own  bool // it was made for this pod alone
}

// ReferencesOf are the claims of a pod, each once; why they are not known yet, where
// one has yet to be made.
func ReferencesOf(pod *corev1.Pod) (out []Reference, bars string) {
	for i := range pod.Spec.ResourceClaims {
		r := &pod.Spec.ResourceClaims[i]
		ref := Reference{own: r.ResourceClaimName == nil}
		if !ref.own {
			ref.Name = *r.ResourceClaimName
		} else {
			n := slices.IndexFunc(pod.Status.ResourceClaimStatuses, func(s corev1.PodResourceClaimStatus) bool { return s.Name == r.Name })
			if n < 0 {
				bars = fmt.Sprintf("its resource claim %s has not been made yet, which the cluster does from a ResourceClaimTemplate", r.Name)
				if r.ResourceClaimTemplateName != nil {
					bars += " (" + pod.Namespace + "/" + *r.ResourceClaimTemplateName + ")"
				}
				continue
			}
			if pod.Status.ResourceClaimStatuses[n].ResourceClaimName == nil {
				continue // it was found to need none
			}
			ref.Name = *pod.Status.ResourceClaimStatuses[n].ResourceClaimName
		}
		if !slices.Contains(out, ref) {
			out = append(out, ref)
		}
	}
	return out, bars
}

// PodSeen notes which claims a pod names, and says which of them others name too.
// gone: it does so no more.
func (w *Claims) PodSeen(pod *corev1.Pod, gone bool) (shared []string) {
	refs, _ := ReferencesOf(pod)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range refs {
		key := pod.Namespace + "/" + r.Name
		switch {
		case gone:
			if delete(w.pods[key], pod.UID); len(w.pods[key]) == 0 {
				delete(w.pods, key)
			}
		default:
			if w.pods[key] == nil {
				w.pods[key] = map[types.UID]*corev1.Pod{}
			}
			w.pods[key][pod.UID] = pod
		}
		if len(w.pods[key]) > 1 || gone && len(w.pods[key]) > 0 {
			shared = append(shared, key)
		}
	}
	return shared
}

// PodsOf are the pods that name a claim; of an empty name: any.
func (w *Claims) PodsOf(key string) (out []types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if key != "" {
		return slices.Collect(maps.Keys(w.pods[key]))
	}
	for _, pods := range w.pods {
		out = slices.AppendSeq(out, maps.Keys(pods))
	}
	return out
}

// SetUnavailable notes why claims, or classes, cannot be seen.
func (w *Claims) SetUnavailable(blind, unread string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.blind, w.unread = blind, unread
}

// ClaimSeen takes over what a claim is like, and returns its namespace/name.
func (w *Claims) ClaimSeen(c *resourcev1.ResourceClaim) string {
	key := c.Namespace + "/" + c.Name
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Claims[key] = c
	return key
}

// ClaimGone takes over that a claim is not there any more, and returns its
// namespace/name.
func (w *Claims) ClaimGone(c *resourcev1.ResourceClaim) string {
	key := c.Namespace + "/" + c.Name
	w.mu.Lock()
	defer w.mu.Unlock()
	if is := w.Claims[key]; is != nil && is.UID == c.UID {
		delete(w.Claims, key)
	}
	return key
}

// ClassSeen takes over what a class is like; nil: it is gone.
func (w *Claims) ClassSeen(name string, c *resourcev1.DeviceClass) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Classes[name] = c; c == nil {
		delete(w.Classes, name)
	}
}

// Allocate is what a claim is to have of the devices of a node that are left: nil where
// it asks for more, or has its devices. at is where these are.
func (w *Claims) Allocate(pod *corev1.Pod, r Reference, c *resourcev1.ResourceClaim, node string, left []Device) (n int, at []affinity.Selector, is *resourcev1.AllocationResult, bars string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, at, bars = w.weigh(pod, r, c)
	if n > 0 && n <= len(left) {
		is = w.allocate(c, node, left)
	}
	return n, at, is, bars
}

// BeginRelease notes that the claims of a pod are about to be given back, where some have
// been allocated for it and nobody is about that yet.
func (w *Claims) BeginRelease(pod *corev1.Pod) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	refs, _ := ReferencesOf(pod)
	if w.back[pod.UID] || !slices.ContainsFunc(refs, func(r Reference) bool {
		c := w.Claims[pod.Namespace+"/"+r.Name]
		return c != nil && c.Status.Allocation != nil && AllocatedFor(c, pod)
	}) {
		return false
	}
	w.back[pod.UID] = true
	return true
}

// EndRelease notes that the claims of a pod have been given back.
func (w *Claims) EndRelease(pod types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.back, pod)
}

// Requirements adds to what a pod needs, and to where it may go, what follows from its
// claims; bars is why it cannot be placed because of them.
func (w *Claims) Requirements(pod *corev1.Pod, n *backend.Needs, at *backend.Where) (bars string) {
	if len(pod.Spec.ResourceClaims) == 0 {
		return ""
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.blind != "" {
		return fmt.Sprintf("it has the resource claim %s, and %s", pod.Spec.ResourceClaims[0].Name, w.blind)
	}
	refs, bars := ReferencesOf(pod)
	if bars != "" {
		return bars
	}
	gpus := 0
	for _, r := range refs {
		k, where, bars := w.weigh(pod, r, w.Claims[pod.Namespace+"/"+r.Name])
		if bars == "" {
			bars = affinity.Confine(at, where)
		}
		if bars != "" {
			return bars
		}
		gpus += k
	}
	switch {
	case gpus == 0:
		return ""
	case n.GPU.Count > 0 || n.GPU.MIG != "":
		return "it asks for GPUs by resource claims and as resources of a device plugin at once: no node gives both"
	}
	n.GPU.Count = gpus
	at.Terms = append(at.Terms, spec.NodeTerm{Key: naming.LabelDriver, Op: "In", Values: []string{Driver}})
	return ""
}

// weigh is how many GPUs a pod is to be given by a claim, or where its devices
// are, of one that has some already. The lock is held.
func (w *Claims) weigh(pod *corev1.Pod, r Reference, c *resourcev1.ResourceClaim) (gpus int, at []affinity.Selector, bars string) {
	key := pod.Namespace + "/" + r.Name
	switch {
	case c == nil:
		return 0, nil, fmt.Sprintf("its resource claim %s is not there", key)
	case r.own && !metav1.IsControlledBy(c, pod):
		return 0, nil, fmt.Sprintf("its resource claim %s was made for another pod", key)
	case c.DeletionTimestamp != nil:
		return 0, nil, fmt.Sprintf("its resource claim %s is being deleted", key)
	case c.Status.Allocation != nil && !AllocatedFor(c, pod):
		if len(c.Status.ReservedFor) >= resourcev1.ResourceClaimReservedForMaxSize && !ReservedFor(c, pod) {
			return 0, nil, fmt.Sprintf("its resource claim %s has %d users, which is as many as it may have", key, len(c.Status.ReservedFor))
		}
		if s := c.Status.Allocation.NodeSelector; s != nil {
			place := affinity.SelectorOf(s)
			if len(place) == 0 {
				return 0, nil, fmt.Sprintf("its resource claim %s has devices that no node can use (status.allocation.nodeSelector)", key)
			}
			at = []affinity.Selector{place}
		}
		return 0, at, ""
	}
	if first := w.first(key); first != nil && first.UID != pod.UID && c.Status.Allocation == nil {
		return 0, nil, fmt.Sprintf("its resource claim %s is pod %s's too and has no devices yet: pods that share a claim go where its devices are, once the first has its place; those that start together need one each (resourceClaimTemplateName)", key, first.Name)
	}
	gpus, bars = w.asks(c)
	if bars != "" {
		bars = fmt.Sprintf("its resource claim %s cannot be met: %s", key, bars)
	}
	return gpus, nil, bars
}

// AllocatedFor reports whether we have allocated a claim, or are about to, for a pod that
// has it alone as long as it has no place.
func AllocatedFor(c *resourcev1.ResourceClaim, pod *corev1.Pod) bool {
	others := func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID != pod.UID }
	return c.Annotations[NoteAllocated] == string(pod.UID) && (pod.Spec.NodeName != "" || !slices.ContainsFunc(c.Status.ReservedFor, others))
}

// ReservedFor reports whether a claim is reserved for a pod.
func ReservedFor(c *resourcev1.ResourceClaim, pod *corev1.Pod) bool {
	return slices.ContainsFunc(c.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID == pod.UID })
}

// first is the pod that is to have a claim first of those that name it: one that
// has its place, else the oldest. The lock is held.
func (w *Claims) first(key string) (out *corev1.Pod) {
	for _, p := range w.pods[key] {
		if out == nil || older(p, out) < 0 {
			out = p
		}
	}
	return out
}

func older(a, b *corev1.Pod) int {
	if (a.Spec.NodeName == "") != (b.Spec.NodeName == "") {
		return cmp.Compare(b.Spec.NodeName, a.Spec.NodeName)
	}
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.UID, b.UID))
}

// asks is how many GPUs a claim asks for; bars is what of it is not understood.
// The lock is held.
func (w *Claims) asks(c *resourcev1.ResourceClaim) (n int, bars string) {
	d := &c.Spec.Devices
	if len(d.Requests) == 0 {
		return 0, "spec.devices.requests is empty"
	}
	if len(d.Constraints) > 0 {
		return 0, "spec.devices.constraints are not understood; a claim without them is"
	}
	for i := range d.Requests {
		r := &d.Requests[i]
		at := "spec.devices.requests[" + r.Name + "]"
		x := r.Exactly
		if x == nil {
			return 0, at + " has no exactly: of firstAvailable and the like nothing is understood; name one class under exactly"
		}
		at += ".exactly"
		switch {
		case x.AllocationMode != resourcev1.DeviceAllocationModeExactCount && x.AllocationMode != "":
			return 0, fmt.Sprintf("%s.allocationMode is %s; understood is %s, with a count", at, x.AllocationMode, resourcev1.DeviceAllocationModeExactCount)
		case x.AdminAccess != nil && *x.AdminAccess:
			return 0, at + ".adminAccess is true: access to devices that others have is not given"
		case x.Capacity != nil:
			return 0, at + ".capacity asks for a part of a device: whole ones are given only"
		}
		if bars := w.class(x.DeviceClassName, at, x.Selectors); bars != "" {
			return 0, bars
		}
		n += int(min(max(x.Count, 1), resources.MostDevices))
	}
	if n > resourcev1.AllocationResultsMaxSize {
		return 0, fmt.Sprintf("its requests are for %d devices together; a claim has room for %d", n, resourcev1.AllocationResultsMaxSize)
	}
	return n, ""
}

// class is why the devices of a class, of which more is asked, are not known to
// be GPUs; empty: they are. The lock is held.
func (w *Claims) class(name, at string, more []resourcev1.DeviceSelector) (bars string) {
	class := w.Classes[name]
	switch {
	case class == nil && w.unread != "":
		return fmt.Sprintf("what %s.deviceClassName %s means cannot be read: %s", at, name, w.unread)
	case class == nil:
		return fmt.Sprintf("%s.deviceClassName is %s, and there is no such DeviceClass", at, name)
	}
	gpus := false
	for i, s := range class.Spec.Selectors {
		about, bars := selects(&s)
		if bars != "" {
			return fmt.Sprintf("%s.deviceClassName is %s, in which spec.selectors[%d] %s", at, name, i, bars)
		}
		gpus = gpus || about
	}
	for i, s := range more {
		about, bars := selects(&s)
		if bars != "" {
			return fmt.Sprintf("%s.selectors[%d] %s", at, i, bars)
		}
		gpus = gpus || about
	}
	if !gpus {
		return fmt.Sprintf("%s.deviceClassName is %s, which may be any device: a selector has to say %s", at, name, gpuTerms[0])
	}
	return ""
}

// gpuTerms are what selectors say of GPUs that all have which we know. There is
// no machine for CEL here: expressions of other terms are not understood.
var gpuTerms = []string{`device.driver == "` + Driver + `"`, `device.attributes["` + Driver + `"].type == "gpu"`}

// selects reports whether a selector is for GPUs; bars is why it is not
// understood.
func selects(s *resourcev1.DeviceSelector) (gpus bool, bars string) {
	if s.CEL == nil {
		return false, "is no CEL expression"
	}
	plain := strings.NewReplacer("'", `"`, " ", "", "\t", "", "\n", "", "\r", "", "(", "", ")", "") // none of it matters between terms that all must hold
	var known []string
	for _, t := range gpuTerms {
		known = append(known, plain.Replace(t))
	}
	for _, term := range strings.Split(plain.Replace(s.CEL.Expression), "&&") {
		if !slices.Contains(known, term) {
			return false, fmt.Sprintf("is %q; understood are %s, also both with &&", s.CEL.Expression, strings.Join(gpuTerms, " and "))
		}
	}
	return true, ""
}

// allocate is what a claim, whose requests are understood, has of devices of a
// node: the first of them. The lock is held.
func (w *Claims) allocate(c *resourcev1.ResourceClaim, node string, devices []Device) *resourcev1.AllocationResult {
	out := NewAllocation(node)
	set := map[string][]string{} // requests by class
	var classes []string
	for i := range c.Spec.Devices.Requests {
		r := &c.Spec.Devices.Requests[i]
		n := int(max(r.Exactly.Count, 1))
		for _, d := range devices[:n] {
			result := ResultOf(r.Name, d)
			result.Tolerations = r.Exactly.Tolerations
			out.Devices.Results = append(out.Devices.Results, result)
		}
		devices = devices[n:]
		class := r.Exactly.DeviceClassName
		if set[class] == nil {
			classes = append(classes, class)
		}
		set[class] = append(set[class], r.Name)
	}
	for _, name := range classes {
		for _, x := range w.Classes[name].Spec.Config {
			out.Devices.Config = append(out.Devices.Config, resourcev1.DeviceAllocationConfiguration{
				Source: resourcev1.AllocationConfigSourceClass, Requests: set[name], DeviceConfiguration: x.DeviceConfiguration,
			})
		}
	}
	for _, x := range c.Spec.Devices.Config {
		out.Devices.Config = append(out.Devices.Config, resourcev1.DeviceAllocationConfiguration{
			Source: resourcev1.AllocationConfigSourceClaim, Requests: x.Requests, DeviceConfiguration: x.DeviceConfiguration,
		})
	}
	return out
}

// NewAllocation is one of devices of a node, which has none yet.
func NewAllocation(node string) *resourcev1.AllocationResult {
	return &resourcev1.AllocationResult{NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchFields: []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
	}}}}
}

// ResultOf says in an allocation that a request has a device.
func ResultOf(request string, d Device) resourcev1.DeviceRequestAllocationResult {
	return resourcev1.DeviceRequestAllocationResult{Request: request, Driver: d.Driver, Pool: d.Name, Device: d.Device}
}
