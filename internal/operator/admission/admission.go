// Package admission answers the API server of a cluster, which asks before an object of
// a workload is written or deleted: it notes in the object who makes it, which nobody
// but the API server knows, and lets who may not delete a workload not delete its object.
//
// It is a help and no guard: whoever reaches it may ask anything. That what an object
// says of its author is true is for a ValidatingAdmissionPolicy of the API server itself.
package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/rbac"
)

// NoteAuthor is the annotation of an object that says who has made it, or has changed its
// spec last, as the API server calls them.
const NoteAuthor = "muster.dev/submitted-by"

// NoteWorkload is the annotation of an object that the server has made: of which workload.
const NoteWorkload = "muster.dev/workload-id"

// reviewMost bounds a question in bytes: two objects, of at most 1.5 MiB each, with what
// JSON makes of them.
const reviewMost = 8 << 20

// deleteWithin bounds how long it may take to find out whether somebody may delete.
const deleteWithin = 5 * time.Second

// As is a client with the rights of whom the API server calls so, and what they are called
// here.
type As func(name string) (*client.Client, string, error)

// Handler answers at /note and at /delete. all sees every workload.
func Handler(all *client.Client, as As, log *slog.Logger) http.Handler {
	h := &handler{all: all, as: as, log: log}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /note", h.answer(h.note))
	mux.HandleFunc("POST /delete", h.answer(h.delete))
	return mux
}

type handler struct {
	all *client.Client
	as  As
	log *slog.Logger
}

// answer decodes a question and encodes what f says of it.
func (h *handler) answer(f func(context.Context, *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, reviewMost))
		if err == nil {
			err = json.Unmarshal(text, &review)
		}
		if err == nil && review.Request == nil {
			err = errors.New("it asks nothing")
		}
		if err != nil {
			http.Error(w, "this is no AdmissionReview of admission.k8s.io/v1: "+err.Error(), http.StatusBadRequest)
			return
		}
		response, err := f(r.Context(), review.Request)
		if err != nil {
			h.log.Warn("a question of the API server has no answer", "object", review.Request.Namespace+"/"+review.Request.Name, "err", err)
			http.Error(w, "there is no answer now; try again", http.StatusServiceUnavailable)
			return
		}
		response.UID = review.Request.UID
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: response}) // who has asked may be gone
	}
}

// objectOf reads an object; nil: there is none.
func objectOf(raw []byte) (*unstructured.Unstructured, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(raw); err != nil {
		return nil, fmt.Errorf("an object cannot be read: %w", err)
	}
	return u, nil
}

// patch is one step of a JSON patch.
type patch struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// note has an object say who it is of: who makes it, and whoever changes its spec. What
// it says otherwise is put right, whoever copies one of another's need not know.
func (h *handler) note(_ context.Context, r *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
	yes := &admissionv1.AdmissionResponse{Allowed: true}
	is, err := objectOf(r.Object.Raw)
	if err != nil || is == nil {
		return yes, err
	}
	was, err := objectOf(r.OldObject.Raw)
	if err != nil {
		return nil, err
	}
	author, workload := r.UserInfo.Username, ""
	if was != nil {
		workload = was.GetAnnotations()[NoteWorkload]
		if reflect.DeepEqual(was.Object["spec"], is.Object["spec"]) {
			author = was.GetAnnotations()[NoteAuthor]
		}
	}
	notes := is.GetAnnotations()
	var steps []patch
	for _, n := range []struct{ name, value string }{{NoteAuthor, author}, {NoteWorkload, workload}} {
		path := "/metadata/annotations/" + strings.ReplaceAll(n.name, "/", "~1")
		switch _, there := notes[n.name]; {
		case n.value == notes[n.name] && there == (n.value != ""):
		case n.value == "":
			steps = append(steps, patch{"remove", path, nil})
		default:
			if notes == nil && len(steps) == 0 {
				steps = append(steps, patch{"add", "/metadata/annotations", map[string]string{}})
			}
			steps = append(steps, patch{"add", path, n.value})
		}
	}
	if len(steps) == 0 {
		return yes, nil
	}
	if yes.Patch, err = json.Marshal(steps); err != nil {
		return nil, err
	}
	kind := admissionv1.PatchTypeJSONPatch
	yes.PatchType = &kind
	return yes, nil
}

// delete refuses who may not delete the workload of an object. An object of none is for
// the cluster's own rules.
func (h *handler) delete(ctx context.Context, r *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
	yes := &admissionv1.AdmissionResponse{Allowed: true}
	was, err := objectOf(r.OldObject.Raw)
	if err != nil || was == nil {
		return yes, err
	}
	id, _, _ := unstructured.NestedString(was.Object, "status", "id")
	if id == "" {
		return yes, nil
	}
	ctx, cancel := context.WithTimeout(ctx, deleteWithin)
	defer cancel()
	err = h.mayDelete(ctx, r.UserInfo.Username, id)
	var p *api.Problem
	switch {
	case err == nil:
		return yes, nil
	case errors.As(err, &p) && p.Status >= 400 && p.Status < 500:
		text := p.Detail
		if p.Hint != "" {
			text += " (" + p.Hint + ")"
		}
		return &admissionv1.AdmissionResponse{Result: &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: text}}, nil
	}
	return nil, err
}

// mayDelete refuses whoever may not delete a workload: one that is gone already,
// everybody may.
func (h *handler) mayDelete(ctx context.Context, name, id string) error {
	w, err := h.all.Workload(ctx, client.AllProjects, id)
	var p *api.Problem
	if errors.As(err, &p) && p.Status == http.StatusNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	c, name, err := h.as(name)
	if err != nil {
		return err
	}
	defer c.Close()
	q := client.Question{Verb: rbac.Delete, Noun: rbac.NounOf(lifecycle.Kind(w.Kind)), Scope: w.Project, Own: w.User == name}
	d, err := c.Access.CanI(ctx, q)
	if err != nil || d.Allowed {
		return err
	}
	return &api.Problem{Status: http.StatusForbidden, Code: "forbidden", Detail: d.Message + ": the workload of this object is not theirs to delete", Hint: d.Hint}
}
