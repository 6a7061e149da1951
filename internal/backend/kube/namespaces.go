package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	klabels "k8s.io/apimachinery/pkg/labels"

	"github.com/musterhq/muster/internal/backend/kube/apicall"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/core"
)

// namespaces knows which namespace is whose project.
type namespaces struct {
	prefix string

	mu      sync.Mutex
	own     map[core.ProjectID]string // by label; of several one that is said to be its home, else the first by name
	home    map[string]bool           // said to be its project's home
	there   map[string]bool           // false: it is being deleted
	project map[string]core.ProjectID
	further map[string][]string // projects that its pods may name beside
	labels  map[string]klabels.Set
}

func newNamespaces(prefix string) *namespaces {
	return &namespaces{prefix: prefix, own: map[core.ProjectID]string{}, home: map[string]bool{}, there: map[string]bool{}, project: map[string]core.ProjectID{}, further: map[string][]string{}, labels: map[string]klabels.Set{}}
}

// of is the namespace of a project's own tasks. One that is called after it stays
// so when others are labelled, whose pods are to be its.
func (n *namespaces) of(project core.ProjectID) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	usual := n.prefix + string(project)
	own, labelled := n.own[project]
	if !labelled || n.project[usual] == project && !n.home[own] {
		return usual
	}
	return own
}

// before reports whether a comes before b of the namespaces of a project.
func (n *namespaces) before(a, b string) bool {
	if n.home[a] != n.home[b] {
		return n.home[a]
	}
	return a < b
}

// seen takes over what a namespace is like, and returns the namespaces whose pods
// may be of other projects than before.
func (n *namespaces) seen(ns *corev1.Namespace) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	before, more := n.project[ns.Name], n.further[ns.Name]
	n.drop(ns.Name)
	n.there[ns.Name], n.labels[ns.Name] = ns.DeletionTimestamp == nil, ns.Labels
	delete(n.further, ns.Name)
	for _, p := range strings.Split(ns.Annotations[naming.NoteProjects], ",") {
		if p = strings.TrimSpace(p); p != "" {
			n.further[ns.Name] = append(n.further[ns.Name], p)
		}
	}
	project := core.ProjectID(ns.Labels[naming.LabelProject])
	if project != "" {
		n.project[ns.Name] = project
		if ns.Annotations[naming.NoteHome] != "" {
			n.home[ns.Name] = true
		}
		if was, ok := n.own[project]; !ok || n.before(ns.Name, was) {
			n.own[project] = ns.Name
		}
	}
	switch {
	case project != before: // by their names others may be those of these projects
		return []string{ns.Name, n.prefix + string(before), n.prefix + string(project)}
	case !slices.Equal(more, n.further[ns.Name]):
		return []string{ns.Name}
	default:
		return nil
	}
}

// labelled is what labels a namespace has.
func (n *namespaces) labelled(name string) klabels.Set {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.labels[name]
}

// dying reports whether a namespace is being deleted.
func (n *namespaces) dying(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	alive, known := n.there[name]
	return known && !alive
}

// gone forgets a namespace, and returns those whose pods may be of other projects
// than before.
func (n *namespaces) gone(name string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var others []string
	if project := n.project[name]; project != "" {
		others = []string{n.prefix + string(project)}
	}
	n.drop(name)
	delete(n.there, name)
	delete(n.further, name)
	delete(n.labels, name)
	return others
}

// drop forgets a namespace's label.
func (n *namespaces) drop(name string) {
	project, ok := n.project[name]
	if !ok {
		return
	}
	delete(n.project, name)
	delete(n.home, name)
	if n.own[project] != name {
		return
	}
	delete(n.own, project)
	for other, p := range n.project {
		if was, ok := n.own[project]; p == project && (!ok || n.before(other, was)) {
			n.own[project] = other
		}
	}
}

// ready makes the namespace where it is missing.
func (p *Backend) ready(ctx context.Context, name string, project core.ProjectID) error {
	p.spaces.mu.Lock()
	alive, known := p.spaces.there[name]
	whose, marked := p.spaces.project[name]
	p.spaces.mu.Unlock()
	switch {
	case known && !alive:
		return apicall.Refuse(podstatus.ReasonSystem, "namespace %s is being deleted; once it is gone it is made again", name)
	case marked && whose != project:
		return apicall.Refuse(podstatus.ReasonSystem, "namespace %s, in which the pods of project %s would be, is that of project %s by its label %s: give %s another namespace with that label", name, project, whose, naming.LabelProject, project)
	case known:
		return nil
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{naming.LabelManaged: naming.Managed, naming.LabelProject: string(project)}}}
	made, err := p.client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{})
	switch {
	case err == nil:
		p.spaces.seen(made)
	case !apierrors.IsAlreadyExists(err):
		return fmt.Errorf("namespace %s: %w", name, err)
	}
	return nil
}
