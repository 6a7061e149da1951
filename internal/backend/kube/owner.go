package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/musterhq/muster/internal/backend/kube/apicall"
)

// owner is an object that made pods, or what made them.
type owner struct {
	version, kind, space, name string
	uid                        types.UID
	labels, notes              map[string]string
	above                      *metav1.OwnerReference // who made it; nil: nobody
	spec                       map[string]any         // of kinds that may be gangs
	done                       string                 // conditions that say how it ended: succeeded, failed; empty: it has not
	gone                       bool                   // it is not there any more, or about to go
	unread                     error                  // why nothing more is known of it
	at                         time.Time              // when it was read
}

// hidden reports whether it is there and cannot be read, which may be mended.
func (o *owner) hidden() bool { return o.unread != nil && !o.gone }

func (o *owner) String() string { return o.kind + " " + o.space + "/" + o.name }

// owners reads who made pods. What was read of an object is kept: who made it
// and what it is called never change.
type owners struct {
	client kubernetes.Interface
	again  time.Duration // after which what could not be read is asked for again

	mu        sync.Mutex
	known     map[types.UID]*owner
	resources map[string]map[string]string // by group and version: plural by kind
}

// ownersKept bounds what is remembered.
const ownersKept = 20_000

func newOwners(client kubernetes.Interface) *owners {
	return &owners{client: client, again: recheckLast, known: map[types.UID]*owner{}, resources: map[string]map[string]string{}}
}

// Kinds whose objects each stand for one run, of which those above make many.
var manyRuns = map[string]bool{"CronJob": true, "ScheduledWorkflow": true, "CronWorkflow": true, "ScheduledSparkApplication": true, "Node": true}

// depth bounds how far up makers are followed.
const depth = 8

// chain are those who made an object with these references, the nearest first.
// One that cannot be read ends it, and
// is read again after a while. It fails where asking again may help.
func (o *owners) chain(ctx context.Context, space string, refs []metav1.OwnerReference) ([]*owner, error) {
	var out []*owner
	for next := makerOf(refs); next != nil && len(out) < depth; {
		if manyRuns[next.Kind] {
			break
		}
		x, err := o.read(ctx, space, next, false)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
		next = x.above
	}
	return out, nil
}

// makerOf is who made an object: whoever controls it, else the first that it
// belongs to.
func makerOf(refs []metav1.OwnerReference) *metav1.OwnerReference {
	for i := range refs {
		if refs[i].Controller != nil && *refs[i].Controller {
			return &refs[i]
		}
	}
	if len(refs) > 0 {
		return &refs[0]
	}
	return nil
}

// read is what is known of an object, asked for where it is not, or where it is
// to be fresh. That it is not there or may not be read is an answer, too.
func (o *owners) read(ctx context.Context, space string, ref *metav1.OwnerReference, fresh bool) (*owner, error) {
	o.mu.Lock()
	x := o.known[ref.UID]
	o.mu.Unlock()
	if x != nil && !fresh && !(x.hidden() && time.Since(x.at) >= o.again) {
		return x, nil
	}
	x = &owner{version: ref.APIVersion, kind: ref.Kind, space: space, name: ref.Name, uid: ref.UID, at: time.Now()}
	err := o.fill(ctx, x)
	switch {
	case err == nil:
	case apierrors.IsNotFound(err), errors.Is(err, errNoKind):
		x.gone, x.unread = apierrors.IsNotFound(err), err
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err), apierrors.IsMethodNotSupported(err):
		x.unread = err
	default:
		return nil, fmt.Errorf("%s: %w", x, err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.known) >= ownersKept {
		clear(o.known)
	}
	o.known[ref.UID] = x
	return x, nil
}

// errNoKind says that the API server has no such kind.
var errNoKind = errors.New("the cluster does not have this kind")

// Kinds of which it is enough to know who made them; whether a kind is a gang
// shows in its fields.
var plainKinds = map[string]string{
	"apps/v1/ReplicaSet": "replicasets", "apps/v1/Deployment": "deployments", "apps/v1/StatefulSet": "statefulsets",
	"apps/v1/DaemonSet": "daemonsets", "v1/ReplicationController": "replicationcontrollers", "v1/Pod": "pods", "batch/v1/Job": "jobs",
}

// fill asks the API server for an object.
func (o *owners) fill(ctx context.Context, x *owner) error {
	resource, plain := plainKinds[x.version+"/"+x.kind]
	if !plain {
		var err error
		if resource, err = o.resource(x.version, x.kind); err != nil {
			return err
		}
	}
	root := "/apis/" + x.version
	if x.version == "v1" {
		root = "/api/v1"
	}
	accept := "application/json"
	if plain && x.kind != "Job" { // a Job says how it ended
		accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	}
	ctx, cancel := context.WithTimeout(ctx, apicall.Timeout)
	defer cancel()
	raw, err := o.client.Discovery().RESTClient().Get().AbsPath(root, "namespaces", x.space, resource, x.name).SetHeader("Accept", accept).DoRaw(ctx)
	if err != nil {
		return err
	}
	return x.parse(raw)
}

// parse takes over what an object says.
func (x *owner) parse(raw []byte) error {
	var is struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     map[string]any    `json:"spec"`
		Status   struct {
			Conditions []struct{ Type, Status string } `json:"conditions"`
			JobStatus  any                             `json:"jobStatus"` // RayJob
			State      any                             `json:"state"`     // Volcano's Job
		} `json:"status"`
	}
	if err := json.Unmarshal(raw, &is); err != nil {
		var status *json.UnmarshalTypeError
		if !errors.As(err, &status) { // of a kind that is none of ours a field may be anything
			return err
		}
	}
	if is.Metadata.UID != x.uid {
		x.gone = true // another has its name
		return nil
	}
	x.labels, x.notes, x.gone = is.Metadata.Labels, is.Metadata.Annotations, is.Metadata.DeletionTimestamp != nil
	x.above = makerOf(is.Metadata.OwnerReferences)
	if _, plain := plainKinds[x.version+"/"+x.kind]; !plain {
		x.spec = is.Spec
	}
	x.done = doneBy(is.Status.JobStatus, field(is.Status.State, "phase"))
	for _, c := range is.Status.Conditions {
		if c.Status != string(corev1.ConditionTrue) {
			continue
		}
		switch c.Type {
		case "Complete", "Completed", "Succeeded":
			x.done = "succeeded"
		case "Failed":
			x.done = "failed"
		}
	}
	return nil
}

// doneBy reads the words of kinds that say by a field of their status how they
// ended; empty: they have not, or do not say it so.
func doneBy(words ...any) string {
	for _, w := range words {
		switch w {
		case "SUCCEEDED", "Completed":
			return "succeeded"
		case "FAILED", "STOPPED", "Failed", "Aborted", "Terminated":
			return "failed"
		}
	}
	return ""
}

// resource is what a kind is called in paths.
func (o *owners) resource(version, kind string) (string, error) {
	if _, err := schema.ParseGroupVersion(version); err != nil {
		return "", fmt.Errorf("%s %s: %w", version, kind, errNoKind)
	}
	o.mu.Lock()
	name, ok := o.resources[version][kind]
	o.mu.Unlock()
	if ok {
		return name, nil
	}
	list, err := o.client.Discovery().ServerResourcesForGroupVersion(version)
	if err != nil {
		if apierrors.IsNotFound(err) {
			return "", fmt.Errorf("%s %s: %w", version, kind, errNoKind)
		}
		return "", err
	}
	names := map[string]string{}
	for _, r := range list.APIResources {
		if _, sub := names[r.Kind]; !sub && r.Namespaced {
			names[r.Kind] = r.Name
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.resources[version] = names
	if name, ok = names[kind]; !ok {
		return "", fmt.Errorf("%s %s: %w", version, kind, errNoKind)
	}
	return name, nil
}

// forget drops what is known of objects.
func (o *owners) forget(chain []*owner) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, x := range chain {
		delete(o.known, x.uid)
	}
}

// refresh reads a chain anew.
func (o *owners) refresh(ctx context.Context, chain []*owner) ([]*owner, error) {
	out := make([]*owner, len(chain))
	for i, x := range chain {
		ref := metav1.OwnerReference{APIVersion: x.version, Kind: x.kind, Name: x.name, UID: x.uid}
		var err error
		if out[i], err = o.read(ctx, x.space, &ref, true); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// recheck is after how long it is asked again whether what is not complete, or
// has no pods, is so still: the pause doubles up to the last.
const recheckFirst, recheckLast = 2 * time.Second, time.Minute
