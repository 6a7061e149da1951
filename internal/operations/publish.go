package operations

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/launch"
	"github.com/musterhq/muster/internal/oci"
	"github.com/musterhq/muster/internal/store"
)

// Publish implements control.Hands: the model directory becomes an artifact in
// a registry, and where it is to be served the document of the workload that
// does is made.
func (h *Hands) Publish(ctx context.Context, w *core.Workload) (core.Published, *spec.Document, error) {
	p, serve, err := h.publish(ctx, w)
	return p, serve, explain(ctx, err)
}

func (h *Hands) publish(ctx context.Context, w *core.Workload) (core.Published, *spec.Document, error) {
	pub := w.Spec.Publish
	target := pub.Target
	if target == "" {
		var err error
		if target, err = h.target(w, "publish.target"); err != nil {
			return core.Published{}, nil, err
		}
	}
	dir := launch.ModelDir(w, h.Models)
	switch st, err := os.Stat(dir); {
	case errors.Is(err, os.ErrNotExist):
		return core.Published{}, nil, fmt.Errorf("publish.model: the workload has written nothing to %s", pub.Model)
	case err != nil:
		return core.Published{}, nil, err
	case !st.IsDir():
		return core.Published{}, nil, fmt.Errorf("publish.model: %s is not a directory", pub.Model)
	}
	creds, err := h.Credentials(ctx, w, pub.Secret)
	if err != nil {
		return core.Published{}, nil, err
	}
	notes := map[string]string{
		"org.opencontainers.image.title": w.Name, "org.opencontainers.image.created": w.Attempts[w.Attempt].EndedAt.UTC().Format(time.RFC3339),
		"org.musterhq.workload": string(w.ID), "org.musterhq.project": string(w.Project), "org.musterhq.attempt": fmt.Sprint(w.Attempt),
	}
	for k, v := range pub.Metadata {
		notes[k] = v
	}
	a, err := h.Registry.PushArtifact(ctx, dir, target, oci.ArtifactOptions{Annotations: notes, Credentials: creds})
	if err != nil {
		return core.Published{}, nil, err
	}
	out := core.Published{Ref: a.Ref, Digest: a.Digest, Size: a.Size, Files: len(a.Files)}
	if pub.Serve == nil {
		return out, nil, nil
	}
	model, err := h.fetch(ctx, a, creds)
	if err != nil {
		return out, nil, fmt.Errorf("the model is published as %s, and cannot be fetched to be served: %w", a.Ref, err)
	}
	doc, err := serving(w, model, a)
	return out, doc, err
}

// fetch brings an artifact to this machine, once.
func (h *Hands) fetch(ctx context.Context, a oci.Artifact, creds []oci.Credential) (string, error) {
	dir := filepath.Join(h.Models, "by-digest", strings.ReplaceAll(a.Digest, ":", "-"))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "new-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	if err := os.Chmod(tmp, 0o755); err != nil { // replicas may run as anyone
		return "", err
	}
	if _, err := h.Registry.PullArtifact(ctx, a.Ref, tmp, oci.PullOptions{Credentials: creds}); err != nil {
		return "", err
	}
	if err := os.Rename(tmp, dir); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	return dir, nil
}

// modelPath is where a served model is in a container.
const modelPath = "/model"

// serving is the document of the workload that serves a model.
func serving(w *core.Workload, model string, a oci.Artifact) (*spec.Document, error) {
	s := w.Spec.Publish.Serve
	doc := &spec.Document{
		Kind: lifecycle.Inference, Name: s.Name, Project: string(w.Project), Priority: w.Spec.Priority,
		Labels:      w.Spec.Labels,
		Annotations: map[string]string{"musterhq.org/model": a.Ref, "musterhq.org/trained-by": w.Name},
		Image:       s.Image, Command: s.Command, Env: map[string]string{"MODEL_DIR": model}, Workdir: w.Spec.Workdir,
		Ports: []spec.Port{{Port: s.Port}}, Probe: s.Probe,
	}
	if doc.Name == "" {
		doc.Name = w.Name + "-serve"
	}
	if s.Image != "" {
		doc.Workdir = ""
		doc.Env["MODEL_DIR"] = modelPath
		doc.Volumes = []spec.Volume{{Path: modelPath, HostPath: model, ReadOnly: true}}
	}
	for k, v := range s.Env {
		doc.Env[k] = v
	}
	if s.Resources != nil {
		doc.Resources = *s.Resources
	}
	if s.Replicas > 0 {
		doc.Replicas = &s.Replicas
	}
	doc.Complete()
	if errs := spec.Validate(doc); len(errs) > 0 {
		return nil, fmt.Errorf("publish.serve: %w", errs)
	}
	return doc, nil
}

// followEvery is how often a service is looked at that is to run.
const followEvery = 200 * time.Millisecond

// crashesMost is how often a replica of a service may fail before it has ever
// run for its deployment to count as failed: as often as an image is pulled.
const crashesMost = 5

// crashed is the replica of a service that has failed so often; nil: none has.
func (h *Hands) crashed(ctx context.Context, s *core.Workload) (*core.Task, error) {
	tasks, err := h.Store.Tasks(ctx, s.ID, s.Attempt)
	if err != nil {
		return nil, err
	}
	for i := range tasks {
		if t := &tasks[i]; t.Failures >= crashesMost && !t.Ready {
			return t, nil
		}
	}
	return nil, nil
}

// Follow implements control.Hands.
func (h *Hands) Follow(ctx context.Context, w *core.Workload) error {
	patience := time.NewTimer(h.FollowFor)
	defer patience.Stop()
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		s, err := h.Store.ByName(ctx, w.Project, w.Published.Service)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return fmt.Errorf("its service %s was deleted before it ran", w.Published.Service)
		case err != nil:
			return explain(ctx, err)
		case s.Phase == lifecycle.Running && !updating(s):
			return nil
		case s.Phase.End():
			return fmt.Errorf("its service %s is %s: %s", s.Name, s.Phase, s.Message)
		}
		t, err := h.crashed(ctx, s)
		if err != nil {
			return explain(ctx, err)
		}
		if t != nil {
			return fmt.Errorf("its service %s does not come up: replica %d failed %d times, last with: %s", s.Name, t.ID.Index, t.Failures, s.Message)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-patience.C:
			return fmt.Errorf("its service %s did not run within %v; it is %s: %s", w.Published.Service, h.FollowFor, s.Phase, s.Message)
		case <-tick.C:
		}
	}
}

// updating reports whether replicas of another generation still serve.
func updating(w *core.Workload) bool {
	for _, c := range w.Conditions {
		if c.Type == lifecycle.Updating {
			return true
		}
	}
	return false
}
