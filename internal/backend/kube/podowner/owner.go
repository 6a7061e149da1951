// Package podowner reads who made the pods of others, and what these and their
// makers say: which pods start together, of which project they are, and how they
// want to be scheduled. It is given pods, asks the API server for their owners, and
// gives gangs and scheduling; it remembers what owners said and no pods.
package podowner

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

// Owner is an object that made pods, or what made them.
type Owner struct {
	version, Kind, space, Name string
	Uid                        types.UID
	Labels, notes              map[string]string
	above                      *metav1.OwnerReference // who made it; nil: nobody
	Spec                       map[string]any         // of kinds that may be gangs
	Done                       string                 // conditions that say how it ended: succeeded, failed; empty: it has not
	Gone                       bool                   // it is not there any more, or about to go
	Unread                     error                  // why nothing more is known of it
	at                         time.Time              // when it was read
}

// Hidden reports whether it is there and cannot be read, which may be mended.
func (o *Owner) Hidden() bool { return o.Unread != nil && !o.Gone }

// String is an owner as messages have it.
func (o *Owner) String() string { return o.Kind + " " + o.space + "/" + o.Name }

// Reader reads who made pods. What was read of an object is kept: who made it
// and what it is called never change.
type Reader struct {
	client kubernetes.Interface
	Again  time.Duration // after which what could not be read is asked for again

	mu        sync.Mutex
	Known     map[types.UID]*Owner
	resources map[string]map[string]string // by group and version: plural by kind
}

// MaxKept bounds what is remembered.
const MaxKept = 20_000

// NewReader reads owners through the API server.
func NewReader(client kubernetes.Interface) *Reader {
	return &Reader{client: client, Again: LongestRecheck, Known: map[types.UID]*Owner{}, resources: map[string]map[string]string{}}
}

// Kinds whose objects each stand for one run, of which those above make many.
var manyRuns = map[string]bool{"CronJob": true, "ScheduledWorkflow": true, "CronWorkflow": true, "ScheduledSparkApplication": true, "Node": true}

// depth bounds how far up makers are followed.
const depth = 8

// Chain are those who made an object with these references, the nearest first.
// One that cannot be read ends it, and
// is read again after a while. It fails where asking again may help.
func (o *Reader) Chain(ctx context.Context, space string, refs []metav1.OwnerReference) ([]*Owner, error) {
	var out []*Owner
	for next := ControllerOf(refs); next != nil && len(out) < depth; {
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

// ControllerOf is who made an object: whoever controls it, else the first that it
// belongs to.
func ControllerOf(refs []metav1.OwnerReference) *metav1.OwnerReference {
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
func (o *Reader) read(ctx context.Context, space string, ref *metav1.OwnerReference, fresh bool) (*Owner, error) {
	o.mu.Lock()
	x := o.Known[ref.UID]
	o.mu.Unlock()
	if x != nil && !fresh && !(x.Hidden() && time.Since(x.at) >= o.Again) {
		return x, nil
	}
	x = &Owner{version: ref.APIVersion, Kind: ref.Kind, space: space, Name: ref.Name, Uid: ref.UID, at: time.Now()}
	err := o.fill(ctx, x)
	switch {
	case err == nil:
	case apierrors.IsNotFound(err), errors.Is(err, errNoKind):
		x.Gone, x.Unread = apierrors.IsNotFound(err), err
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err), apierrors.IsMethodNotSupported(err):
		x.Unread = err
	default:
		return nil, fmt.Errorf("%s: %w", x, err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.Known) >= MaxKept {
		clear(o.Known)
	}
	o.Known[ref.UID] = x
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
func (o *Reader) fill(ctx context.Context, x *Owner) error {
	resource, plain := plainKinds[x.version+"/"+x.Kind]
	if !plain {
		var err error
		if resource, err = o.resource(x.version, x.Kind); err != nil {
			return err
		}
	}
	root := "/apis/" + x.version
	if x.version == "v1" {
		root = "/api/v1"
	}
	accept := "application/json"
	if plain && x.Kind != "Job" { // a Job says how it ended
		accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	}
	ctx, cancel := context.WithTimeout(ctx, apicall.Timeout)
	defer cancel()
	raw, err := o.client.Discovery().RESTClient().Get().AbsPath(root, "namespaces", x.space, resource, x.Name).SetHeader("Accept", accept).DoRaw(ctx)
	if err != nil {
		return err
	}
	return x.parse(raw)
}

// parse takes over what an object says.
func (x *Owner) parse(raw []byte) error {
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
	if is.Metadata.UID != x.Uid {
		x.Gone = true // another has its name
		return nil
	}
	x.Labels, x.notes, x.Gone = is.Metadata.Labels, is.Metadata.Annotations, is.Metadata.DeletionTimestamp != nil
	x.above = ControllerOf(is.Metadata.OwnerReferences)
	if _, plain := plainKinds[x.version+"/"+x.Kind]; !plain {
		x.Spec = is.Spec
	}
	x.Done = doneBy(is.Status.JobStatus, field(is.Status.State, "phase"))
	for _, c := range is.Status.Conditions {
		if c.Status != string(corev1.ConditionTrue) {
			continue
		}
		switch c.Type {
		case "Complete", "Completed", "Succeeded":
			x.Done = "succeeded"
		case "Failed":
			x.Done = "failed"
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
func (o *Reader) resource(version, kind string) (string, error) {
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

// Forget drops what is known of objects.
func (o *Reader) Forget(chain []*Owner) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, x := range chain {
		delete(o.Known, x.Uid)
	}
}

// Refresh reads a chain anew.
func (o *Reader) Refresh(ctx context.Context, chain []*Owner) ([]*Owner, error) {
	out := make([]*Owner, len(chain))
	for i, x := range chain {
		ref := metav1.OwnerReference{APIVersion: x.version, Kind: x.Kind, Name: x.Name, UID: x.Uid}
		var err error
		if out[i], err = o.read(ctx, x.space, &ref, true); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// recheck is after how long it is asked again whether what is not complete, or
// has no pods, is so still: the pause doubles up to the last.
const FirstRecheck, LongestRecheck = 2 * time.Second, time.Minute
