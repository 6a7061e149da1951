package kube

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	klabels "k8s.io/apimachinery/pkg/labels"

	"github.com/musterhq/muster/internal/backend/kube/affinity"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/podowner"
	"github.com/musterhq/muster/internal/core/spec"
)

// street is four nodes in three zones and one without, with pods. The namespace
// data has the label team=db.
func street(pods ...string) (*affinity.Pods, map[string]*corev1.Node) {
	nodes := map[string]*corev1.Node{}
	for name, zone := range map[string]string{"a1": "a", "a2": "a", "b1": "b", "c1": "c", "none": ""} {
		nodes[name] = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
		if zone != "" {
			nodes[name].Labels["zone"] = zone
		}
	}
	n := affinity.NewPods(func(space string) klabels.Set {
		return map[string]klabels.Set{"data": {"team": "db"}}[space]
	})
	for i, p := range pods { // app@node, or space/app@node
		n.Seen(located(fmt.Sprint(i), p))
	}
	return n, nodes
}

func located(name, where string) *corev1.Pod {
	app, node, _ := strings.Cut(where, "@")
	pod := outsiderPod(name, nil)
	if space, rest, ok := strings.Cut(app, "/"); ok {
		pod.Namespace, app = space, rest
	}
	pod.Labels, pod.Spec.NodeName = map[string]string{"app": app}, node
	return pod
}

func selecting(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

func near(term corev1.PodAffinityTerm) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}}}
	}
}

func apart(term corev1.PodAffinityTerm) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}}}
	}
}

func evenly(skew int32, change ...func(*corev1.TopologySpreadConstraint)) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		c := corev1.TopologySpreadConstraint{MaxSkew: skew, TopologyKey: "zone", WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selecting("web")}
		for _, f := range change {
			f(&c)
		}
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, c)
	}
}

// TestWhatFollowsFromOtherPods: where a pod labelled app=web may go, as
// Kubernetes' own scheduler has it.
func TestWhatFollowsFromOtherPods(t *testing.T) {
	db := corev1.PodAffinityTerm{LabelSelector: selecting("db"), TopologyKey: "zone"}
	self := corev1.PodAffinityTerm{LabelSelector: selecting("web"), TopologyKey: "zone"}
	elsewhere, everywhere, some := db, db, db
	elsewhere.Namespaces = []string{"data"}
	everywhere.NamespaceSelector = &metav1.LabelSelector{}
	some.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "db"}}
	both := some
	both.Namespaces = []string{"ml"}
	four := int32(4)
	for name, c := range map[string]struct {
		pods       []string
		change     func(*corev1.Pod)
		want, bars string
	}{
		"nothing":                {[]string{"db@a1"}, func(*corev1.Pod) {}, "[]", ""},
		"near":                   {[]string{"db@a1", "db@c1", "x@b1"}, near(db), "[{zone In [a c]}]", ""},
		"near none":              {[]string{"x@b1", "data/db@a1"}, near(db), "", "podAffinity over zone, app=db"},
		"near without a zone":    {[]string{"db@none"}, near(db), "", "podAffinity over zone"},
		"near, elsewhere":        {[]string{"db@a1", "data/db@b1"}, near(elsewhere), "[{zone In [b]}]", ""},
		"near, everywhere":       {[]string{"db@a1", "data/db@b1"}, near(everywhere), "[{zone In [a b]}]", ""},
		"near, by labels":        {[]string{"db@a1", "data/db@b1"}, near(some), "[{zone In [b]}]", ""},
		"near, by labels, none":  {[]string{"db@a1"}, near(some), "", "podAffinity over zone"},
		"near, by both":          {[]string{"db@a1", "data/db@b1", "x/db@c1"}, near(both), "[{zone In [a b]}]", ""},
		"apart, by labels":       {[]string{"db@a1", "data/db@b1"}, apart(some), "[{zone NotIn [b]}]", ""},
		"near itself, first":     {nil, near(self), "[{zone Exists []}]", ""},
		"near itself":            {[]string{"web@b1"}, near(self), "[{zone In [b]}]", ""},
		"apart":                  {[]string{"db@a1", "db@none"}, apart(db), "[{zone NotIn [a]}]", ""},
		"apart of none":          {nil, apart(db), "[]", ""},
		"apart of itself":        {[]string{"web@a2", "web@c1"}, apart(self), "[{zone NotIn [a c]}]", ""},
		"spread, empty":          {nil, evenly(1), "[{zone In [a b c]}]", ""},
		"spread, begun":          {[]string{"web@a1", "web@b1", "x@c1"}, evenly(1), "[{zone In [c]}]", ""},
		"spread, even":           {[]string{"web@a1", "web@b1", "web@c1"}, evenly(1), "[{zone In [a b c]}]", ""},
		"spread, wider":          {[]string{"web@a1", "web@a1", "web@b1"}, evenly(2), "[{zone In [b c]}]", ""},
		"spread, others":         {[]string{"data/web@a1", "web@none"}, evenly(1), "[{zone In [a b c]}]", ""},
		"spread, few domains":    {[]string{"web@a1", "web@b1", "web@c1"}, evenly(1, func(c *corev1.TopologySpreadConstraint) { c.MinDomains = &four }), "", "let it go nowhere"},
		"spread of another kind": {[]string{"db@a1", "db@a1"}, evenly(1, func(c *corev1.TopologySpreadConstraint) { c.LabelSelector = selecting("db") }), "[{zone In [b c]}]", ""},
		"spread, chosen nodes": {[]string{"web@a1"}, func(p *corev1.Pod) {
			evenly(1)(p)
			p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "a2"}
		}, "[{zone In [a]}]", ""},
		"spread, one revision": {[]string{"web@a1"}, func(p *corev1.Pod) {
			p.Labels["rev"] = "2"
			evenly(1, func(c *corev1.TopologySpreadConstraint) { c.MatchLabelKeys = []string{"rev"} })(p)
		}, "[{zone In [a b c]}]", ""},
	} {
		n, nodes := street(c.pods...)
		pod := located("new", "web@")
		c.change(pod)
		terms, bars := n.Terms(pod, func() map[string]*corev1.Node { return nodes })
		if got := fmt.Sprint(terms); c.bars == "" && (got != c.want || bars != "") || (c.bars == "") != (bars == "") || !strings.Contains(bars, c.bars) {
			t.Errorf("%s: %s, %q; want %s, %q", name, got, bars, c.want, c.bars)
		}
	}
}

// TestAPlaceIsLookedAtOnceMore: pods that are placed at the same time may be in
// each other's way, and those that are there may keep others away.
func TestAPlaceIsLookedAtOnceMore(t *testing.T) {
	n, nodes := street()
	lone := located("lone", "db@")
	apart(corev1.PodAffinityTerm{LabelSelector: selecting("web"), TopologyKey: "zone"})(lone)
	if bars := n.Hold(lone, "a1", nodes); bars != "" {
		t.Fatal(bars)
	}
	web := located("web", "web@")
	if bars := n.Hold(web, "a2", nodes); !strings.Contains(bars, "zone has to be NotIn [a]") {
		t.Errorf("beside one that keeps it away: %q", bars)
	}
	if bars := n.Hold(web, "b1", nodes); bars != "" {
		t.Errorf("elsewhere: %q", bars)
	}
	second := located("second", "web@")
	evenly(1)(second)
	if bars := n.Hold(second, "b1", nodes); !strings.Contains(bars, "zone has to be") {
		t.Errorf("more in one zone: %q", bars)
	}
	n.Release(web)
	n.Release(lone)
	if bars := n.Hold(second, "b1", nodes); bars != "" || len(n.Apart) > 0 {
		t.Errorf("after the others are gone: %q", bars)
	}
	second.Spec.NodeName = "b1"
	n.Seen(second)
	n.Release(second) // it has come to be
	third := located("third", "web@")
	evenly(1)(third)
	if bars := n.Hold(third, "b1", nodes); bars == "" {
		t.Error("it was forgotten")
	}
	second.Status.Phase = corev1.PodSucceeded
	if n.Seen(second) != affinity.AffectsConstrained || len(n.Placements) != 0 {
		t.Errorf("of those that have ended %v are left", n.Placements)
	}
}

// TestPodsThatSpreadComeOneByOne: of pods that are to be spread only one may be
// placed at a time, and of a gang none.
func TestPodsThatSpreadComeOneByOne(t *testing.T) {
	for _, gpus := range []string{"", "2"} {
		t.Run("gpus="+gpus, func(t *testing.T) { spreadOneByOne(t, gpus) })
	}
}

func spreadOneByOne(t *testing.T, gpus string) {
	p, a := testBackend(t)
	a.put("/apis/batch/v1/namespaces/ml/jobs/web", object("web", nil, nil))
	for _, zone := range []string{"a", "b"} {
		p.NodeInfo.Seen(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: zone, Labels: map[string]string{"zone": zone}}})
	}
	pods := map[string]*corev1.Pod{}
	for _, name := range []string{"web-0", "web-1", "web-2"} {
		pod := outsiderPod(name, refTo("batch/v1", "Job", "web"))
		pod.Labels = map[string]string{"app": "web"}
		evenly(1)(pod)
		if gpus != "" {
			pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(gpus)}
		}
		pods[name] = pod
		p.pods.Seen(pod, false)
	}
	told := func() (out string) {
		for _, m := range p.claims(t)["web"].Members {
			terms := slices.DeleteFunc(m.Where.Terms, func(t spec.NodeTerm) bool { return t.Key == naming.LabelVendor })
			out += fmt.Sprintf("%s %v %v\n", m.Name, terms, m.Barred)
		}
		return out
	}
	const turn = "its topologySpreadConstraints must hold (DoNotSchedule): its turn is after "
	if got, want := told(), "ml/web-0 [{zone In [a b]}] \nml/web-1 [{zone In [a b]}] "+turn+"ml/web-0\nml/web-2 [{zone In [a b]}] "+turn+"ml/web-0\n"; got != want {
		t.Errorf("at first:\n%s", got)
	}
	first := pods["web-0"].DeepCopy()
	first.Spec.NodeName = "a"
	p.pods.Seen(first, false)
	if got := told(); !strings.Contains(got, "ml/web-1 [{zone In [b]}] \n") {
		t.Errorf("after the first has its place:\n%s", got)
	}
}

// TestPodsThatSpreadDoNotStartTogether: where each may go follows from the one
// before it.
func TestPodsThatSpreadDoNotStartTogether(t *testing.T) {
	p, a := testBackend(t)
	a.put("/apis/batch/v1/namespaces/ml/jobs/web", object("web", nil, nil))
	for _, zone := range []string{"a", "b"} {
		p.NodeInfo.Seen(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: zone, Labels: map[string]string{"zone": zone}}})
	}
	for _, name := range []string{"web-0", "web-1"} {
		pod := outsiderPod(name, refTo("batch/v1", "Job", "web"))
		pod.Labels, pod.Annotations = map[string]string{"app": "web"}, map[string]string{podowner.NoteMin: "2"}
		evenly(1)(pod)
		p.pods.Seen(pod, false)
	}
	for _, m := range p.claims(t)["web"].Members {
		if !strings.Contains(m.Barred, "for pods that start together") {
			t.Errorf("%s: %q", m.Name, m.Barred)
		}
	}
}

// TestWhatMattersToPodsThatWait: others that come and go, and labels of nodes
// and namespaces; not heartbeats.
func TestWhatMattersToPodsThatWait(t *testing.T) {
	p, a := testBackend(t)
	a.put("/apis/batch/v1/namespaces/ml/jobs/web", object("web", nil, nil))
	node := func(zone string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"zone": zone}}}
	}
	if got := p.NodeInfo.Seen(node("a")); got != affinity.AffectsAll {
		t.Errorf("a node comes: %v", got)
	}
	beat := node("a")
	beat.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if got := p.NodeInfo.Seen(beat); got != affinity.AffectsNone {
		t.Errorf("a heartbeat: %v", got)
	}
	if got := p.NodeInfo.Seen(node("b")); got != affinity.AffectsAll {
		t.Errorf("another zone: %v", got)
	}
	web := outsiderPod("web-0", refTo("batch/v1", "Job", "web"))
	web.Labels = map[string]string{"app": "web"}
	p.pods.Seen(web, false)
	p.claims(t)
	told := func() string { return fmt.Sprint(p.claims(t)["web"].Members[0].Where.Terms) }
	lone := located("lone", "db@n")
	apart(corev1.PodAffinityTerm{LabelSelector: selecting("web"), TopologyKey: "zone"})(lone)
	p.pods.Seen(lone, false)
	wait := func(want string) {
		t.Helper()
		for begun := time.Now(); told() != want; time.Sleep(10 * time.Millisecond) {
			if time.Since(begun) > 30*time.Second {
				t.Fatalf("it is told %s, want %s", told(), want)
			}
		}
	}
	wait("[{zone NotIn [b]}]")
	p.pods.Gone(lone, false)
	wait("[]")
}
