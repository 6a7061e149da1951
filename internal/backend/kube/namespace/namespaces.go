// Package namespace knows which namespace is whose project. It is told of namespaces
// and asks nobody.
package namespace

import (
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	klabels "k8s.io/apimachinery/pkg/labels"

	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/core"
)

// Namespaces knows which namespace is whose project.
type Namespaces struct {
	prefix string

	mu      sync.Mutex
	own     map[core.ProjectID]string // by label; of several one that is said to be its home, else the first by name
	home    map[string]bool           // said to be its project's home
	there   map[string]bool           // false: it is being deleted
	project map[string]core.ProjectID
	further map[string][]string // projects that its pods may name beside
	labels  map[string]klabels.Set
}

// New knows no namespaces yet. prefix stands before the names of projects.
func New(prefix string) *Namespaces {
	return &Namespaces{prefix: prefix, own: map[core.ProjectID]string{}, home: map[string]bool{}, there: map[string]bool{}, project: map[string]core.ProjectID{}, further: map[string][]string{}, labels: map[string]klabels.Set{}}
}

// Of is the namespace of a project's own tasks. One that is called after it stays
// so when others are labelled, whose pods are to be its.
func (n *Namespaces) Of(project core.ProjectID) string {
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
func (n *Namespaces) before(a, b string) bool {
	if n.home[a] != n.home[b] {
		return n.home[a]
	}
	return a < b
}

// Made takes over the answer to the creation of a namespace, unless the watch was
// faster: that has told as much, or more.
func (n *Namespaces) Made(ns *corev1.Namespace) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, known := n.there[ns.Name]; !known {
		n.takeOver(ns)
	}
}

// Seen takes over what the watch tells a namespace is like, and returns the
// namespaces whose pods may be of other projects than before.
func (n *Namespaces) Seen(ns *corev1.Namespace) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.takeOver(ns)
}

// takeOver is what follows from what a namespace is like. The lock is held.
func (n *Namespaces) takeOver(ns *corev1.Namespace) []string {
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

// Owned are the namespaces that are there and belong to projects by their label.
func (n *Namespaces) Owned() map[string]core.ProjectID {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := make(map[string]core.ProjectID, len(n.project))
	for name, project := range n.project {
		if n.there[name] {
			out[name] = project
		}
	}
	return out
}

// Labels is what labels a namespace has.
func (n *Namespaces) Labels(name string) klabels.Set {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.labels[name]
}

// Deleting reports whether a namespace is being deleted.
func (n *Namespaces) Deleting(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	alive, known := n.there[name]
	return known && !alive
}

// Gone forgets a namespace, and returns those whose pods may be of other projects
// than before.
func (n *Namespaces) Gone(name string) []string {
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
func (n *Namespaces) drop(name string) {
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

// ProjectOf is the project of a namespace; false: it is nobody's, or being deleted.
func (n *Namespaces) ProjectOf(name string) (core.ProjectID, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	project := n.named(name)
	return project, project != "" && n.there[name]
}

// named is the project that a namespace, which may be on its way out, belongs
// to; empty: it is nobody's. The lock is held.
func (n *Namespaces) named(name string) core.ProjectID {
	if project := n.project[name]; project != "" {
		return project
	}
	bare, ok := strings.CutPrefix(name, n.prefix)
	if _, elsewhere := n.own[core.ProjectID(bare)]; !ok || elsewhere {
		return "" // the project has a namespace of its own
	}
	return core.ProjectID(bare)
}

// ProjectsOf are the project of a namespace, and those that its pods may name beside.
func (n *Namespaces) ProjectsOf(name string) (own core.ProjectID, more []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.named(name), n.further[name]
}

// State reports whether a namespace is there and not being deleted, whether it is
// known, and which project its label names, if it has one.
func (n *Namespaces) State(name string) (alive, known bool, project core.ProjectID, labelled bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	alive, known = n.there[name]
	project, labelled = n.project[name]
	return alive, known, project, labelled
}
