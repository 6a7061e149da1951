package kube

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/affinity"
	"github.com/musterhq/muster/internal/backend/kube/apicall"
	"github.com/musterhq/muster/internal/backend/kube/dra"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/podowner"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/core"
)

// podGroups are the pods that others made and that name our scheduler, by what
// made them. Events of pods only mark what is to be looked at; one goroutine
// looks, since who made a pod may have to be asked of the API server.
type podGroups struct {
	p      *Backend
	owners *podowner.Reader
	wishes *dra.Claims

	mu         sync.Mutex
	pods       map[types.UID]*foreignPod
	groups     map[string]*group
	fresh      map[types.UID]bool // pods whose group is to be found, anew
	marked     map[string]bool    // groups of which something may have changed, which nobody has looked at yet
	stale      map[string]bool    // groups that are not as they were told
	gone       map[string]bool    // groups that are not there any more
	disowned   map[types.UID]bool
	busy       bool               // marks were taken that are not dealt with yet
	telling    bool               // pods of no project are being told so
	untold     map[string]bool    // groups of no project that are to be told so next
	begun      bool               // what was there when we began has been looked at
	wary       map[types.UID]bool // pods that wait and for which something may follow from others
	requeueing bool               // where pods are has changed, which is about to be looked at
	everybody  bool               // for all pods that wait, not only for the wary
	wake       chan struct{}
	told       chan struct{} // there is news for who watches
}

// foreignPod is a pod that others made.
type foreignPod struct {
	pod     *corev1.Pod
	task    core.TaskID         // that it is; zero: it waits, or is not ours
	group   string              // empty: not known yet
	refused string              // why the cluster did not let us place it, for a while
	said    string              // why it waits, as last told
	unsure  bool                // it will be asked again with whom it belongs
	volumes []affinity.Selector // where its volumes can be used, of those that cannot be everywhere
	bounds  string              // what follows for it from other pods, as last told
}

// live reports whether a pod holds something or wants to.
func (o *foreignPod) live() bool {
	return !podstatus.Finished(o.pod) && (o.pod.Spec.NodeName == "" && o.pod.DeletionTimestamp == nil || o.task != (core.TaskID{}))
}

// group is all pods that stand for one claim.
type group struct {
	key   string
	chain []*podowner.Owner // of the pod that was looked at last, the nearest first
	podowner.Scheduling
	podowner.Gang
	pods  map[types.UID]bool
	bad   bool // some pod failed that is not there any more
	well  bool // some ended well
	over  backend.Outcome
	since time.Time // when it was first found without pods, or not complete
	next  time.Time // before which its maker is not asked again
	pause time.Duration
}

func newPodGroups(p *Backend) *podGroups {
	return &podGroups{
		p: p, owners: podowner.NewReader(p.client), wishes: dra.NewClaims(), pods: map[types.UID]*foreignPod{}, groups: map[string]*group{}, fresh: map[types.UID]bool{},
		marked: map[string]bool{}, stale: map[string]bool{}, untold: map[string]bool{}, gone: map[string]bool{}, disowned: map[types.UID]bool{}, wary: map[types.UID]bool{}, wake: make(chan struct{}, 1), told: make(chan struct{}, 1),
	}
}

// outside reports the same of a pod that may have been ours: it stays so,
// whatever others make of its labels.
func (p *Backend) outside(pod *corev1.Pod) bool {
	if !naming.Foreign(pod) {
		return false
	}
	id, had := p.tasks.owner(pod.UID)
	t, known := p.tasks.get(id)
	return !had || !known || t.claim != ""
}

// memberOf is the task that a pod of others is: it has its place from us, and
// somebody claims it.
func (x *podGroups) memberOf(pod *corev1.Pod) (core.TaskID, bool) {
	if pod.Spec.NodeName == "" {
		return core.TaskID{}, false
	}
	x.mu.Lock()
	disowned := x.disowned[pod.UID]
	x.mu.Unlock()
	id, err := core.ParseTaskID(pod.Annotations[naming.NoteTask])
	if t, known := x.p.tasks.get(id); known && t.there && t.uid != pod.UID {
		return id, false // a copy of one that is
	}
	return id, err == nil && !disowned && x.p.mine(pod.Annotations)
}

// seen takes over what a pod of others is like. first: it was there when we
// began.
func (x *podGroups) seen(pod *corev1.Pod, first bool) {
	id, ours := x.memberOf(pod)
	switch {
	case ours:
		x.p.memberSeen(id, pod, first)
	default:
		x.p.nodes.ForeignPod(pod)
	}
	x.claimsMoved(x.wishes.PodSeen(pod, podstatus.Finished(pod) || pod.DeletionTimestamp != nil && pod.Spec.NodeName == ""))
	x.mu.Lock()
	defer x.mu.Unlock()
	o := x.pods[pod.UID]
	if o == nil {
		o = &foreignPod{}
		x.pods[pod.UID] = o
	}
	was := o.pod
	o.pod = pod
	if o.task = id; !ours {
		o.task = core.TaskID{}
	}
	if g := x.groups[o.group]; g != nil && was != nil && sameWords(was, pod) {
		x.mark(g, o)
	} else {
		x.fresh[pod.UID] = true
	}
	ring(x.wake)
}

// sameWords reports whether a pod says what it said, but for what we wrote.
func sameWords(a, b *corev1.Pod) bool {
	others := func(m map[string]string) map[string]string {
		m = maps.Clone(m)
		delete(m, naming.NoteTask)
		delete(m, naming.NoteDevices)
		delete(m, naming.LabelInstallation)
		return m
	}
	same := func(a, b metav1.OwnerReference) bool { return a.UID == b.UID }
	return maps.Equal(a.Labels, b.Labels) && maps.Equal(others(a.Annotations), others(b.Annotations)) && slices.EqualFunc(a.OwnerReferences, b.OwnerReferences, same)
}

// mark notes what an end means for a group, and that it is to be looked at. The
// lock is held.
func (x *podGroups) mark(g *group, o *foreignPod) {
	switch o.pod.Status.Phase {
	case corev1.PodSucceeded:
		g.well = true
	case corev1.PodFailed:
		g.bad = true
	}
	x.marked[g.key] = true
}

// podGone takes over that a pod of others is not there any more.
func (x *podGroups) podGone(pod *corev1.Pod) {
	if id, ours := x.memberOf(pod); ours {
		x.p.memberGone(id, pod)
	}
	x.p.nodes.ForeignPodGone(pod.UID)
	x.claimsMoved(x.wishes.PodSeen(pod, true))
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.fresh, pod.UID)
	delete(x.disowned, pod.UID)
	delete(x.wary, pod.UID)
	o := x.pods[pod.UID]
	if o == nil {
		return
	}
	delete(x.pods, pod.UID)
	if g := x.groups[o.group]; g != nil {
		o.pod = pod
		x.mark(g, o)
		delete(g.pods, pod.UID)
	}
	ring(x.wake)
}

// again looks at all pods of namespaces anew: whose project these are may have
// changed.
func (x *podGroups) again(spaces []string) {
	if len(spaces) == 0 {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	found := false
	for uid, o := range x.pods {
		if slices.Contains(spaces, o.pod.Namespace) {
			x.fresh[uid], found = true, true
		}
	}
	if found {
		ring(x.wake)
	}
}

// run looks at what is marked until ctx is done.
func (x *podGroups) run(ctx context.Context) {
	if x.p.whole(ctx) != nil {
		return
	}
	for {
		x.look(ctx)
		x.mu.Lock()
		x.begun, x.busy = true, false
		x.mu.Unlock()
		ring(x.told)
		select {
		case <-ctx.Done():
			return
		case <-x.wake:
		}
	}
}

// look deals with what is marked at present.
func (x *podGroups) look(ctx context.Context) {
	x.mu.Lock()
	x.busy = true
	fresh := make([]*corev1.Pod, 0, len(x.fresh))
	for uid := range x.fresh {
		if o := x.pods[uid]; o != nil {
			fresh = append(fresh, o.pod)
		}
	}
	clear(x.fresh)
	x.mu.Unlock()
	slices.SortFunc(fresh, func(a, b *corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.UID, b.UID))
	})
	x.place(ctx, fresh)
	x.mu.Lock()
	idle, now := []*group{}, x.p.o.Clock()
	marked := x.marked
	x.marked = map[string]bool{}
	for key := range marked {
		x.stale[key] = true
		g := x.groups[key]
		switch {
		case g == nil:
		case x.lively(g):
			if g.over != "" {
				g.bad, g.well = false, false
			}
			g.since, g.next, g.over = time.Time{}, time.Time{}, ""
		case g.over == "" && !now.Before(g.next):
			idle = append(idle, g)
		}
	}
	x.mu.Unlock()
	apicall.Each(idle, asksAtOnce, func(g *group) error { x.assess(ctx, g); return nil }) //nolint:errcheck // there is none
	x.strays(marked)
	x.p.reclaim(x.abandoned(marked))
}

// place finds the groups of pods. One whose maker cannot be learnt keeps none of
// the others waiting.
func (x *podGroups) place(ctx context.Context, fresh []*corev1.Pod) {
	var mu sync.Mutex
	var last error
	pending := map[types.UID]bool{}
	assign := func(pod *corev1.Pod) error {
		if err := x.assign(ctx, pod); err != nil {
			mu.Lock()
			defer mu.Unlock()
			last, pending[pod.UID] = err, true
		}
		return nil
	}
	// What makers are called is asked once for each, the first time.
	apicall.Each(firsts(fresh), asksAtOnce, assign)                //nolint:errcheck // there is none
	apicall.Each(others(fresh, firsts(fresh)), asksAtOnce, assign) //nolint:errcheck // likewise
	if len(pending) == 0 || ctx.Err() != nil {
		return
	}
	x.p.limiter.Warn("who made pods could not be learnt; asking again", "pods", len(pending), "err", last)
	x.after(podowner.FirstRecheck, func() {
		for uid := range pending {
			x.fresh[uid] = true
		}
	})
}

// assign finds the group of a pod. It fails where asking again may help.
func (x *podGroups) assign(ctx context.Context, pod *corev1.Pod) error {
	chain, err := x.owners.Chain(ctx, pod.Namespace, pod.OwnerReferences)
	var with podowner.Gang
	if err == nil {
		with, err = x.owners.GangOf(ctx, pod, chain)
	}
	var volumes []affinity.Selector
	later := false
	if err == nil && pod.Spec.NodeName == "" {
		volumes, later, err = x.p.volumes.volumesOf(ctx, pod)
	}
	if err != nil {
		return err
	}
	own, more := x.p.namespaces.ProjectsOf(pod.Namespace)
	t := podowner.SchedulingOf(pod, chain, own, more)
	key := groupKey(pod, chain, with, t.Project)
	x.mu.Lock()
	defer x.mu.Unlock()
	o := x.pods[pod.UID]
	if o == nil {
		return nil
	}
	if was := x.groups[o.group]; was != nil && o.group != key {
		delete(was.pods, pod.UID)
		if x.marked[was.key] = true; len(was.pods) == 0 {
			was.over = backend.OutcomeGone // whatever becomes of its maker: its pods belong elsewhere
		}
	}
	g := x.groups[key]
	if g == nil {
		if podstatus.Finished(o.pod) && o.task == (core.TaskID{}) {
			return nil // it has ended before we knew of it
		}
		g = &group{key: key, pods: map[types.UID]bool{}}
		x.groups[key] = g
		delete(x.gone, key)
	}
	o.group = key
	g.pods[pod.UID] = true
	g.chain, g.Scheduling, g.Gang = chain, t, with
	x.mark(g, o)
	o.volumes = volumes
	if unsure := later || with.Unsure || slices.ContainsFunc(chain, (*podowner.Owner).Hidden); unsure && o.live() && o.task == (core.TaskID{}) && !o.unsure {
		o.unsure = true
		x.after(x.owners.Again, func() { x.fresh[pod.UID], o.unsure = true, false })
	}
	if n, _, bars := asks(o.pod); bars == "" {
		x.p.nodes.Track(n.Counted)
	}
	return nil
}

// groupKey names the group of a pod: its maker, or what it says itself that it
// belongs to, in its project.
func groupKey(pod *corev1.Pod, chain []*podowner.Owner, with podowner.Gang, project core.ProjectID) string {
	id := string(pod.UID)
	switch {
	case len(chain) > 0:
		id = string(chain[len(chain)-1].Uid)
	case with.Part != "":
		id = pod.Namespace
	}
	return strings.TrimSuffix(string(project)+"/"+id+"/"+with.Part, "/")
}

// ring lets whoever listens know that there is something.
func ring(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}
