package kube

import (
	"context"
	"strings"

	"github.com/musterhq/muster/internal/core"
)

// Namespace is that of a project, which is made where it is missing.
func (p *Backend) Namespace(ctx context.Context, project core.ProjectID) (string, error) {
	if err := p.sync(ctx); err != nil {
		return "", err
	}
	name := p.spaces.of(project)
	return name, p.ready(ctx, name, project)
}

// Project is the one that a namespace belongs to: by its label, else by its
// name. false: it is nobody's, or being deleted.
func (p *Backend) Project(ctx context.Context, namespace string) (core.ProjectID, bool, error) {
	if err := p.sync(ctx); err != nil {
		return "", false, err
	}
	project, ok := p.spaces.whose(namespace)
	return project, ok, nil
}

func (n *namespaces) whose(name string) (core.ProjectID, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	project := n.named(name)
	return project, project != "" && n.there[name]
}

// named is the project that a namespace, which may be on its way out, belongs
// to; empty: it is nobody's. The lock is held.
func (n *namespaces) named(name string) core.ProjectID {
	if project := n.project[name]; project != "" {
		return project
	}
	bare, ok := strings.CutPrefix(name, n.prefix)
	if _, elsewhere := n.own[core.ProjectID(bare)]; !ok || elsewhere {
		return "" // the project has a namespace of its own
	}
	return core.ProjectID(bare)
}

// projects are the project of a namespace, and those that its pods may name beside.
func (n *namespaces) projects(name string) (own core.ProjectID, more []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.named(name), n.further[name]
}
