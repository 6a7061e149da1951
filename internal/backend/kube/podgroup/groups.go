// Package podgroup has the pods that others made and leave to us to place: which
// belong together, what they need, where they go, and what they are told.
package podgroup

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/affinity"
	"github.com/musterhq/muster/internal/backend/kube/apicall"
	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/backend/kube/dra"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/podlog"
	"github.com/musterhq/muster/internal/backend/kube/podowner"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/backend/kube/tasks"
	"github.com/musterhq/muster/internal/backend/kube/volume"
	"github.com/musterhq/muster/internal/core"
)

// Groups are the pods that others made and that name our scheduler, by what
// made them. Events of pods only mark what is to be looked at; one goroutine
// looks, since who made a pod may have to be asked of the API server.
type Groups struct {
	p        *cluster.Cluster
	tasks    *tasks.Table
	logs     *podlog.Logs
	volumes  *volume.Affinity
	reporter *reporter
	drop     func(space string, id core.TaskID) // forgets a task whose pod is gone
	Owners   *podowner.Reader
	Wishes   *dra.Claims
	claimed  atomic.Pointer[func() bool] // resource claims have been seen; nil: nobody knows yet whether there are such
	// equipping is held by those that write what claims of others have until they
	// have bound their pods, and alone by who takes it back.
	equipping sync.RWMutex

	Mu         sync.Mutex
	Pods       map[types.UID]*foreignPod
	Groups     map[string]*group
	fresh      map[types.UID]bool // pods whose group is to be found, anew
	Marked     map[string]bool    // groups of which something may have changed, which nobody has looked at yet
	stale      map[string]bool    // groups that are not as they were told
	gone       map[string]bool    // groups that are not there any more
	disowned   map[types.UID]bool
	Busy       bool               // marks were taken that are not dealt with yet
	Reporting  bool               // pods of no project are being told so
	Unreported map[string]bool    // groups of no project that are to be told so next
	Begun      bool               // what was there when we began has been looked at
	wary       map[types.UID]bool // pods that wait and for which something may follow from others
	requeueing bool               // where pods are has changed, which is about to be looked at
	everybody  bool               // for all pods that wait, not only for the wary
	Wake       chan struct{}
	news       chan struct{} // there is news for who watches
}

// foreignPod is a pod that others made.
type foreignPod struct {
	Pod     *corev1.Pod
	task    core.TaskID         // that it is; zero: it waits, or is not ours
	group   string              // empty: not known yet
	refused string              // why the cluster did not let us place it, for a while
	reason  string              // why it waits, as last told
	unsure  bool                // it will be asked again with whom it belongs
	volumes []affinity.Selector // where its volumes can be used, of those that cannot be everywhere
	bounds  string              // what follows for it from other pods, as last told
}

// live reports whether a pod holds something or wants to.
func (o *foreignPod) live() bool {
	return !podstatus.Finished(o.Pod) && (o.Pod.Spec.NodeName == "" && o.Pod.DeletionTimestamp == nil || o.task != (core.TaskID{}))
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

// New knows of no pods yet; drop forgets a task whose pod is gone.
func New(p *cluster.Cluster, t *tasks.Table, l *podlog.Logs, v *volume.Affinity, drop func(space string, id core.TaskID)) *Groups {
	return &Groups{
		p: p, tasks: t, logs: l, volumes: v, reporter: newReporter(p), drop: drop,
		Owners: podowner.NewReader(p.Client), Wishes: dra.NewClaims(), Pods: map[types.UID]*foreignPod{}, Groups: map[string]*group{}, fresh: map[types.UID]bool{},
		Marked: map[string]bool{}, stale: map[string]bool{}, Unreported: map[string]bool{}, gone: map[string]bool{}, disowned: map[types.UID]bool{}, wary: map[types.UID]bool{}, Wake: make(chan struct{}, 1), news: make(chan struct{}, 1),
	}
}

// Outside reports the same of a pod that may have been ours: it stays so,
// whatever others make of its labels.
func (x *Groups) Outside(pod *corev1.Pod) bool {
	if !naming.Foreign(pod) {
		return false
	}
	id, had := x.tasks.Owner(pod.UID)
	t, known := x.tasks.Get(id)
	return !had || !known || t.Claim != ""
}

// memberOf is the task that a pod of others is: it has its place from us, and
// somebody claims it.
func (x *Groups) memberOf(pod *corev1.Pod) (core.TaskID, bool) {
	if pod.Spec.NodeName == "" {
		return core.TaskID{}, false
	}
	x.Mu.Lock()
	disowned := x.disowned[pod.UID]
	x.Mu.Unlock()
	id, err := core.ParseTaskID(pod.Annotations[naming.NoteTask])
	if t, known := x.tasks.Get(id); known && t.There && t.Uid != pod.UID {
		return id, false // a copy of one that is
	}
	return id, err == nil && !disowned && x.p.Mine(pod.Annotations)
}

// Seen takes over what a pod of others is like. first: it was there when we
// began.
func (x *Groups) Seen(pod *corev1.Pod, first bool) {
	id, ours := x.memberOf(pod)
	switch {
	case ours:
		x.memberSeen(id, pod, first)
	default:
		x.p.NodeInfo.ForeignPod(pod)
	}
	x.claimsMoved(x.Wishes.PodSeen(pod, podstatus.Finished(pod) || pod.DeletionTimestamp != nil && pod.Spec.NodeName == ""))
	x.Mu.Lock()
	defer x.Mu.Unlock()
	o := x.Pods[pod.UID]
	if o == nil {
		o = &foreignPod{}
		x.Pods[pod.UID] = o
	}
	was := o.Pod
	o.Pod = pod
	if o.task = id; !ours {
		o.task = core.TaskID{}
	}
	if g := x.Groups[o.group]; g != nil && was != nil && sameWords(was, pod) {
		x.mark(g, o)
	} else {
		x.fresh[pod.UID] = true
	}
	ring(x.Wake)
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
func (x *Groups) mark(g *group, o *foreignPod) {
	switch o.Pod.Status.Phase {
	case corev1.PodSucceeded:
		g.well = true
	case corev1.PodFailed:
		g.bad = true
	}
	x.Marked[g.key] = true
}

// PodGone takes over that a pod of others is not there any more.
func (x *Groups) PodGone(pod *corev1.Pod) {
	if id, ours := x.memberOf(pod); ours {
		x.MemberGone(id, pod)
	}
	x.p.NodeInfo.ForeignPodGone(pod.UID)
	x.claimsMoved(x.Wishes.PodSeen(pod, true))
	x.Mu.Lock()
	defer x.Mu.Unlock()
	delete(x.fresh, pod.UID)
	delete(x.disowned, pod.UID)
	delete(x.wary, pod.UID)
	o := x.Pods[pod.UID]
	if o == nil {
		return
	}
	delete(x.Pods, pod.UID)
	if g := x.Groups[o.group]; g != nil {
		o.Pod = pod
		x.mark(g, o)
		delete(g.pods, pod.UID)
	}
	ring(x.Wake)
}

// Again looks at all pods of namespaces anew: whose project these are may have
// changed.
func (x *Groups) Again(spaces []string) {
	if len(spaces) == 0 {
		return
	}
	x.Mu.Lock()
	defer x.Mu.Unlock()
	found := false
	for uid, o := range x.Pods {
		if slices.Contains(spaces, o.Pod.Namespace) {
			x.fresh[uid], found = true, true
		}
	}
	if found {
		ring(x.Wake)
	}
}

// Run looks at what is marked until ctx is done.
func (x *Groups) Run(ctx context.Context) {
	if x.p.AwaitSeen(ctx) != nil {
		return
	}
	for {
		x.Look(ctx)
		x.Mu.Lock()
		x.Begun, x.Busy = true, false
		x.Mu.Unlock()
		ring(x.news)
		select {
		case <-ctx.Done():
			return
		case <-x.Wake:
		}
	}
}

// Look deals with what is marked at present.
func (x *Groups) Look(ctx context.Context) {
	x.Mu.Lock()
	x.Busy = true
	fresh := make([]*corev1.Pod, 0, len(x.fresh))
	for uid := range x.fresh {
		if o := x.Pods[uid]; o != nil {
			fresh = append(fresh, o.Pod)
		}
	}
	clear(x.fresh)
	x.Mu.Unlock()
	slices.SortFunc(fresh, func(a, b *corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.UID, b.UID))
	})
	x.place(ctx, fresh)
	x.Mu.Lock()
	idle, now := []*group{}, x.p.Options.Clock()
	marked := x.Marked
	x.Marked = map[string]bool{}
	for key := range marked {
		x.stale[key] = true
		g := x.Groups[key]
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
	x.Mu.Unlock()
	apicall.Each(idle, asksAtOnce, func(g *group) error { x.assess(ctx, g); return nil }) //nolint:errcheck // there is none
	x.strays(marked)
	x.reclaim(x.abandoned(marked))
}

// place finds the groups of pods. One whose maker cannot be learnt keeps none of
// the others waiting.
func (x *Groups) place(ctx context.Context, fresh []*corev1.Pod) {
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
	x.p.Limiter.Warn("who made pods could not be learnt; asking again", "pods", len(pending), "err", last)
	x.after(podowner.FirstRecheck, func() {
		for uid := range pending {
			x.fresh[uid] = true
		}
	})
}

// assign finds the group of a pod. It fails where asking again may help.
func (x *Groups) assign(ctx context.Context, pod *corev1.Pod) error {
	chain, err := x.Owners.Chain(ctx, pod.Namespace, pod.OwnerReferences)
	var with podowner.Gang
	if err == nil {
		with, err = x.Owners.GangOf(ctx, pod, chain)
	}
	var volumes []affinity.Selector
	later := false
	if err == nil && pod.Spec.NodeName == "" {
		volumes, later, err = x.volumes.VolumesOf(ctx, pod)
	}
	if err != nil {
		return err
	}
	own, more := x.p.Namespaces.ProjectsOf(pod.Namespace)
	t := podowner.SchedulingOf(pod, chain, own, more)
	key := groupKey(pod, chain, with, t.Project)
	x.Mu.Lock()
	defer x.Mu.Unlock()
	o := x.Pods[pod.UID]
	if o == nil {
		return nil
	}
	if was := x.Groups[o.group]; was != nil && o.group != key {
		delete(was.pods, pod.UID)
		if x.Marked[was.key] = true; len(was.pods) == 0 {
			was.over = backend.OutcomeGone // whatever becomes of its maker: its pods belong elsewhere
		}
	}
	g := x.Groups[key]
	if g == nil {
		if podstatus.Finished(o.Pod) && o.task == (core.TaskID{}) {
			return nil // it has ended before we knew of it
		}
		g = &group{key: key, pods: map[types.UID]bool{}}
		x.Groups[key] = g
		delete(x.gone, key)
	}
	o.group = key
	g.pods[pod.UID] = true
	g.chain, g.Scheduling, g.Gang = chain, t, with
	x.mark(g, o)
	o.volumes = volumes
	if unsure := later || with.Unsure || slices.ContainsFunc(chain, (*podowner.Owner).Hidden); unsure && o.live() && o.task == (core.TaskID{}) && !o.unsure {
		o.unsure = true
		x.after(x.Owners.Again, func() { x.fresh[pod.UID], o.unsure = true, false })
	}
	if n, _, bars := Asks(o.Pod); bars == "" {
		x.p.NodeInfo.Track(n.Counted)
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
