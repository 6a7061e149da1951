// Package nodeinfo knows the nodes of a cluster and what others hold of them. It is
// told of nodes, of pods and of devices, and gives the nodes that the control plane
// schedules on; it asks nobody.
package nodeinfo

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/internal/backend/kube/affinity"
	"github.com/musterhq/muster/internal/backend/kube/dra"
	"github.com/musterhq/muster/internal/backend/kube/resources"
	"github.com/musterhq/muster/internal/core"
)

// Nodes are its nodes, with what others hold of them.
type Nodes struct {
	prefix string
	mine   func(labels map[string]string) bool // whether we made what has them

	mu        sync.Mutex
	Sites     map[string]*site
	on        map[types.UID]string // where each foreign pod is counted
	changed   map[string]bool
	Wake      chan struct{}
	announced map[string]core.Node // as last told
	claims    *dra.Devices
	// asked is what else some pod asks for that we are to place, by name: beside
	// extended resources only that is told of nodes.
	asked  map[string]bool
	reach  map[string]restriction  // where volumes can be used that tasks ask for, by label; not everywhere
	latest map[string]*corev1.Node // what machines said last; nil: some node has changed
}

// site is a node. It may be known by its pods only.
type site struct {
	node   *corev1.Node
	others map[types.UID]resources.Usage
	Ours   map[core.TaskID][]core.Share
	excess map[core.TaskID]resources.Usage // what tasks of ours take that they were not placed with
	beside map[types.UID]bool              // pods of ours that are no tasks
}

// New knows no nodes yet. mine reports whether labels are of what this installation
// made.
func New(prefix string, mine func(map[string]string) bool) *Nodes {
	return &Nodes{
		prefix: prefix, mine: mine, Sites: map[string]*site{}, on: map[types.UID]string{}, changed: map[string]bool{}, Wake: make(chan struct{}, 1),
		announced: map[string]core.Node{}, asked: map[string]bool{}, claims: dra.NewDevices(), reach: map[string]restriction{},
	}
}

// site is that of a node, made where it is not known. The lock is held.
func (c *Nodes) site(name string) *site {
	s := c.Sites[name]
	if s == nil {
		s = &site{others: map[types.UID]resources.Usage{}, Ours: map[core.TaskID][]core.Share{}, excess: map[core.TaskID]resources.Usage{}, beside: map[types.UID]bool{}}
		c.Sites[name] = s
	}
	return s
}

// touch notes that a node has to be looked at. The lock is held.
func (c *Nodes) touch(name string) {
	c.changed[name] = true
	select {
	case c.Wake <- struct{}{}:
	default:
	}
}

// Seen takes over what a node is like, and says for whom it matters among pods
// that wait because of where others are: heartbeats do for nobody.
func (c *Nodes) Seen(n *corev1.Node) affinity.Affected {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.site(n.Name)
	was := s.node
	s.node, c.latest = n, nil
	c.touch(n.Name)
	if was != nil && maps.Equal(was.Labels, n.Labels) && reflect.DeepEqual(was.Spec.Taints, n.Spec.Taints) {
		return affinity.AffectsNone
	}
	return affinity.AffectsAll
}

// Gone takes over that a node is not there any more.
func (c *Nodes) Gone(name string) affinity.Affected {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.site(name)
	s.node, c.latest = nil, nil
	c.touch(name)
	return affinity.AffectsAll
}

// ForeignPod counts a pod that we did not place; of one that has ended, or has no
// node, nothing.
func (c *Nodes) ForeignPod(pod *corev1.Pod) {
	name := pod.Spec.NodeName
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		name = ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if was, ok := c.on[pod.UID]; ok && was != name {
		c.leave(pod.UID, was)
	}
	if name == "" {
		return
	}
	u := resources.UsageOf(pod)
	s := c.site(name)
	if was, ok := s.others[pod.UID]; ok && was.Equal(u) {
		return
	}
	s.others[pod.UID], c.on[pod.UID] = u, name
	c.touch(name)
}

// ForeignPodGone counts a foreign pod no more.
func (c *Nodes) ForeignPodGone(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if name, ok := c.on[uid]; ok {
		c.leave(uid, name)
	}
}

// leave takes a foreign pod off its node. The lock is held.
func (c *Nodes) leave(uid types.UID, name string) {
	delete(c.on, uid)
	if s := c.Sites[name]; s != nil {
		delete(s.others, uid)
		c.touch(name)
	}
}

// Track notes what a pod asks for by name.
func (c *Nodes) Track(counted map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range counted {
		if c.asked[name] {
			continue
		}
		c.asked[name] = true
		c.touchAll()
	}
}

// touchAll notes that every node has to be looked at. The lock is held.
func (c *Nodes) touchAll() {
	for node := range c.Sites {
		c.touch(node)
	}
}

// Hold notes which devices of a node a task of ours has, so that foreign pods
// are not taken to hold these.
func (c *Nodes) Hold(name string, id core.TaskID, devices []core.Share) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.site(name)
	if _, ok := s.Ours[id]; ok {
		return
	}
	s.Ours[id] = devices
	if len(devices) > 0 {
		c.touch(name)
	}
}

// Exceed notes what a task of ours takes beyond what it was placed with.
func (c *Nodes) Exceed(name string, id core.TaskID, u resources.Usage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.site(name)
	if was := s.excess[id]; was.Equal(u) {
		return
	}
	s.excess[id] = u
	c.touch(name)
}

// Release takes over that a task of ours has left its node.
func (c *Nodes) Release(name string, id core.TaskID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.Sites[name]; s != nil {
		_, more := s.excess[id]
		if more || len(s.Ours[id]) > 0 || s.node == nil {
			c.touch(name)
		}
		delete(s.Ours, id)
		delete(s.excess, id)
	}
}

// GpuResource is what a node has its GPUs as; of one that is not known, or has
// none that way, NVIDIA's.
func (c *Nodes) GpuResource(name string) corev1.ResourceName {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.Sites[name]; s != nil && s.node != nil {
		return cmp.Or(resources.GPUResource(s.node), resources.GpuResources[0])
	}
	return resources.GpuResources[0]
}

// All are the nodes as the cluster has them; the map is never changed.
func (c *Nodes) All() map[string]*corev1.Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.latest == nil {
		c.latest = make(map[string]*corev1.Node, len(c.Sites))
		for name, s := range c.Sites {
			if s.node != nil {
				c.latest[name] = s.node
			}
		}
	}
	return c.latest
}

// List are all, by name.
func (c *Nodes) List() []core.Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]core.Node, 0, len(c.Sites))
	for name, s := range c.Sites {
		if s.node != nil {
			n := s.describe(c)
			c.announced[name] = n
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b core.Node) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// Watch calls seen with nodes that are not as they were last told. While seen
// runs, further changes gather.
func (c *Nodes) Watch(ctx context.Context, seen func(changed []core.Node, gone []core.NodeID)) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.Wake:
		}
		if changed, gone := c.Changes(); len(changed)+len(gone) > 0 {
			seen(changed, gone)
		}
	}
}

// Changes are the nodes that are not as they were last told, and those that are gone.
func (c *Nodes) Changes() (changed []core.Node, gone []core.NodeID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range c.changed {
		s := c.Sites[name]
		was, known := c.announced[name]
		if s == nil || s.node == nil {
			if s != nil && len(s.others)+len(s.Ours)+len(s.excess)+len(s.beside) == 0 {
				delete(c.Sites, name)
			}
			if known {
				delete(c.announced, name)
				gone = append(gone, was.ID)
			}
			continue
		}
		if n := s.describe(c); !known || !reflect.DeepEqual(was, n) {
			c.announced[name] = n
			changed = append(changed, n)
		}
	}
	clear(c.changed)
	slices.SortFunc(changed, func(a, b core.Node) int { return cmp.Compare(a.ID, b.ID) })
	slices.Sort(gone)
	return changed, gone
}

// owned are the devices, by number, that tasks of ours have.
func (s *site) owned() map[int]bool {
	own := map[int]bool{}
	for _, shares := range s.Ours {
		for _, d := range shares {
			own[d.Index] = true
		}
	}
	return own
}

// Find is a node as the cluster has it; nil: it has none of that name.
func (c *Nodes) Find(name string) *corev1.Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.Sites[name]; s != nil {
		return s.node
	}
	return nil
}

// IsFake reports whether nothing of a node is real, so that nobody there will say
// which device a pod has.
func (c *Nodes) IsFake(name string) bool {
	n := c.Find(name)
	return n != nil && n.Annotations[resources.NoteKwok] != ""
}

// AddReservation notes that a pod of ours that is no task is on a node.
func (c *Nodes) AddReservation(node string, pod types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.site(node)
	if !s.beside[pod] {
		s.beside[pod] = true
		c.touch(node)
	}
}

// RemoveReservation takes over that a reservation pod has left its node.
func (c *Nodes) RemoveReservation(node string, pod types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.Sites[node]; s != nil && s.beside[pod] {
		delete(s.beside, pod)
		c.touch(node)
	}
}
