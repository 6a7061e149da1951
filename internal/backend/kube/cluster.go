package kube

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

// cluster are its nodes, with what others hold of them.
type cluster struct {
	prefix string
	mine   func(labels map[string]string) bool // whether we made what has them

	mu      sync.Mutex
	sites   map[string]*site
	on      map[types.UID]string // where each foreign pod is counted
	changed map[string]bool
	wake    chan struct{}
	told    map[string]core.Node // as last told
	claims  *dra.Devices
	// asked is what else some pod asks for that we are to place, by name: beside
	// extended resources only that is told of nodes.
	asked  map[string]bool
	reach  map[string]reached      // where volumes can be used that tasks ask for, by label; not everywhere
	latest map[string]*corev1.Node // what machines said last; nil: some node has changed
}

// site is a node. It may be known by its pods only.
type site struct {
	node   *corev1.Node
	others map[types.UID]resources.Usage
	ours   map[core.TaskID][]core.Share
	excess map[core.TaskID]resources.Usage // what tasks of ours take that they were not placed with
	beside map[types.UID]bool              // pods of ours that are no tasks
}

func newCluster(prefix string, mine func(map[string]string) bool) *cluster {
	return &cluster{
		prefix: prefix, mine: mine, sites: map[string]*site{}, on: map[types.UID]string{}, changed: map[string]bool{}, wake: make(chan struct{}, 1),
		told: map[string]core.Node{}, asked: map[string]bool{}, claims: dra.NewDevices(), reach: map[string]reached{},
	}
}

// site is that of a node, made where it is not known. The lock is held.
func (c *cluster) site(name string) *site {
	s := c.sites[name]
	if s == nil {
		s = &site{others: map[types.UID]resources.Usage{}, ours: map[core.TaskID][]core.Share{}, excess: map[core.TaskID]resources.Usage{}, beside: map[types.UID]bool{}}
		c.sites[name] = s
	}
	return s
}

// touch notes that a node has to be looked at. The lock is held.
func (c *cluster) touch(name string) {
	c.changed[name] = true
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// node takes over what a node is like, and says for whom it matters among pods
// that wait because of where others are: heartbeats do for nobody.
func (c *cluster) node(n *corev1.Node) affinity.Affected {
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

func (c *cluster) nodeGone(name string) affinity.Affected {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.site(name)
	s.node, c.latest = nil, nil
	c.touch(name)
	return affinity.AffectsAll
}

// foreign counts a pod that we did not place; of one that has ended, or has no
// node, nothing.
func (c *cluster) foreign(pod *corev1.Pod) {
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

func (c *cluster) foreignGone(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if name, ok := c.on[uid]; ok {
		c.leave(uid, name)
	}
}

// leave takes a foreign pod off its node. The lock is held.
func (c *cluster) leave(uid types.UID, name string) {
	delete(c.on, uid)
	if s := c.sites[name]; s != nil {
		delete(s.others, uid)
		c.touch(name)
	}
}

// ask notes what a pod asks for by name.
func (c *cluster) ask(counted map[string]int) {
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
func (c *cluster) touchAll() {
	for node := range c.sites {
		c.touch(node)
	}
}

// hold notes which devices of a node a task of ours has, so that foreign pods
// are not taken to hold these.
func (c *cluster) hold(name string, id core.TaskID, devices []core.Share) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.site(name)
	if _, ok := s.ours[id]; ok {
		return
	}
	s.ours[id] = devices
	if len(devices) > 0 {
		c.touch(name)
	}
}

// exceed notes what a task of ours takes beyond what it was placed with.
func (c *cluster) exceed(name string, id core.TaskID, u resources.Usage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.site(name)
	if was := s.excess[id]; was.Equal(u) {
		return
	}
	s.excess[id] = u
	c.touch(name)
}

func (c *cluster) release(name string, id core.TaskID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.sites[name]; s != nil {
		_, more := s.excess[id]
		if more || len(s.ours[id]) > 0 || s.node == nil {
			c.touch(name)
		}
		delete(s.ours, id)
		delete(s.excess, id)
	}
}

// gpuResource is what a node has its GPUs as; of one that is not known, or has
// none that way, NVIDIA's.
func (c *cluster) gpuResource(name string) corev1.ResourceName {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.sites[name]; s != nil && s.node != nil {
		return cmp.Or(resources.GPUResource(s.node), resources.GpuResources[0])
	}
	return resources.GpuResources[0]
}

// machines are the nodes as the cluster has them; the map is never changed.
func (c *cluster) machines() map[string]*corev1.Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.latest == nil {
		c.latest = make(map[string]*corev1.Node, len(c.sites))
		for name, s := range c.sites {
			if s.node != nil {
				c.latest[name] = s.node
			}
		}
	}
	return c.latest
}

// nodes are all, by name.
func (c *cluster) nodes() []core.Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]core.Node, 0, len(c.sites))
	for name, s := range c.sites {
		if s.node != nil {
			n := s.describe(c)
			c.told[name] = n
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b core.Node) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// watch calls seen with nodes that are not as they were last told. While seen
// runs, further changes gather.
func (c *cluster) watch(ctx context.Context, seen func(changed []core.Node, gone []core.NodeID)) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.wake:
		}
		if changed, gone := c.news(); len(changed)+len(gone) > 0 {
			seen(changed, gone)
		}
	}
}

func (c *cluster) news() (changed []core.Node, gone []core.NodeID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range c.changed {
		s := c.sites[name]
		was, told := c.told[name]
		if s == nil || s.node == nil {
			if s != nil && len(s.others)+len(s.ours)+len(s.excess)+len(s.beside) == 0 {
				delete(c.sites, name)
			}
			if told {
				delete(c.told, name)
				gone = append(gone, was.ID)
			}
			continue
		}
		if n := s.describe(c); !told || !reflect.DeepEqual(was, n) {
			c.told[name] = n
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
	for _, shares := range s.ours {
		for _, d := range shares {
			own[d.Index] = true
		}
	}
	return own
}
