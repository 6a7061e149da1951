package kube

import (
	"context"
	"strings"

	"github.com/musterhq/muster/internal/core"
)

// Namespace is that of a project, which is made where it is missing.
func (p *Plane) Namespace(ctx context.Context, project core.ProjectID) (string, error) {
	if err := p.sync(ctx); err != nil {
		return "", err
	}
	name := p.spaces.of(project)
	return name, p.ready(ctx, name, project)
}

// Project is the one that a namespace belongs to: by its label, else by its
// name. false: it is nobody's, or being deleted.
func (p *Plane) Project(ctx context.Context, namespace string) (core.ProjectID, bool, error) {
	if err := p.sync(ctx); err != nil {
		return "", false, err
	}
	project, ok := p.spaces.whose(namespace)
	return project, ok, nil
}

func (n *namespaces) whose(name string) (core.ProjectID, bool) {
	n.mu.Lock()
	project, labelled := n.project[name]
	alive := n.there[name]
	n.mu.Unlock()
	if labelled || !alive {
		return project, alive
	}
	bare, ok := strings.CutPrefix(name, n.prefix)
	if project = core.ProjectID(bare); !ok || bare == "" || n.of(project) != name {
		return "", false // the project has a namespace of its own
	}
	return project, true
}
