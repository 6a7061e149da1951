package operator

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/musterhq/muster/internal/operator/admission"
)

// Marks that tell who made what. An object that we made says of which workload
// it is, a workload that was applied as an object says of which.
const (
	manager    = "muster"
	noteID     = admission.NoteWorkload
	labelOwner = "app.kubernetes.io/managed-by"
	// labelFrom is the UID of the resource definition under which a workload was
	// applied: with another cluster, or the definition made anew, it is another,
	// and so the objects of one are never missed in the other.
	labelFrom = "muster.dev/from"
	// noteObject is NAMESPACE/UID/GENERATION of the object that it was made of.
	noteObject = "muster.dev/object"
)

var (
	workloads   = schema.GroupVersionResource{Group: group, Version: version, Resource: resource}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// shadow is what is kept in memory of an object: not its spec.
type shadow struct {
	metav1.ObjectMeta
	made   bool // by us
	status status
}

// id is the workload that the object is of; empty: none yet.
func (o *shadow) id() string {
	if o.status.ID != "" {
		return o.status.ID
	}
	if o.made {
		return o.Annotations[noteID]
	}
	return ""
}

func (o *shadow) key() string { return o.Namespace + "/" + o.Name }

// ref is the object as Events name it.
func (o *shadow) ref() *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: group + "/" + version, Kind: kind, Namespace: o.Namespace, Name: o.Name, UID: o.UID}
}

// slim keeps of an object what this package asks for.
func slim(in any) (any, error) {
	u, ok := in.(*unstructured.Unstructured)
	if !ok {
		return in, nil // it has been slimmed already, or tells that something is gone
	}
	return shadowOf(u), nil
}

func shadowOf(u *unstructured.Unstructured) *shadow {
	o := &shadow{ObjectMeta: metav1.ObjectMeta{
		Name: u.GetName(), Namespace: u.GetNamespace(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(),
		Generation: u.GetGeneration(), CreationTimestamp: u.GetCreationTimestamp(), DeletionTimestamp: u.GetDeletionTimestamp(),
	}}
	if id := u.GetAnnotations()[noteID]; id != "" {
		o.Annotations = map[string]string{noteID: id}
		// Who copies one of our objects copies its annotations too, but the
		// cluster itself says who wrote it.
		o.made = slices.ContainsFunc(u.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool { return m.Manager == manager && m.Subresource == "" })
	}
	if s, ok := u.Object["status"].(map[string]any); ok {
		// What someone else may have written there is none of ours.
		_ = runtime.DefaultUnstructuredConverter.FromUnstructured(s, &o.status)
	}
	return o
}

// byID is the index of objects by their workloads.
const byID = "id"

var indexers = cache.Indexers{byID: func(in any) ([]string, error) {
	if o, ok := in.(*shadow); ok && o.id() != "" {
		return []string{o.id()}, nil
	}
	return nil, nil
}}

// unstructuredOf is v as the API takes it.
func unstructuredOf(v any) (*unstructured.Unstructured, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(text); err != nil {
		return nil, fmt.Errorf("an object cannot be written: %w", err)
	}
	return u, nil
}

// header is how every object begins.
func header(meta map[string]any) map[string]any {
	return map[string]any{"apiVersion": group + "/" + version, "kind": kind, "metadata": meta}
}

// specOf is the document of an object; one without a spec is empty.
func specOf(u *unstructured.Unstructured) map[string]any {
	s, _ := u.Object["spec"].(map[string]any)
	if s == nil {
		s = map[string]any{}
	}
	return s
}

// hashOf tells specs from each other.
func hashOf(s map[string]any) string {
	text, err := json.Marshal(s) // sorts keys
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
