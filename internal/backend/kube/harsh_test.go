package kube_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube"
	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/testing/kubetest"
)

// TestAClusterThatIsHarsh: what a cluster, or others in it, do to us costs no
// work and says why.
func TestAClusterThatIsHarsh(t *testing.T) {
	c := kubetest.Start(t, kubetest.Options{NoScheduler: true})
	node := core.NodeID(c.Kwok(t, 1, kubetest.NodeShape{GPUs: 8})[0])
	// By itself: who drives the cluster is a matter of all of it.
	t.Run("another server drives it", func(t *testing.T) {
		severalServers(t, &harsh{t: t, c: c, node: node, project: projectOf("another server drives it")})
	})
	for name, f := range map[string]func(*testing.T, *harsh){
		"a quota refuses":                quotaRefuses,
		"a policy refuses":               policyRefuses,
		"a webhook is down":              webhookDown,
		"a pod has the name":             podClash,
		"a secret has the name":          secretClash,
		"a namespace goes":               namespaceGoes,
		"a namespace is another's":       namespaceOfOthers,
		"what is no pod":                 noPod,
		"a verb is missing":              verbMissing,
		"an end is not allowed":          endForbidden,
		"an end cannot be asked":         endUnasked,
		"nodes may not be watched":       watchForbidden,
		"credentials expire":             credentialsExpire,
		"the API server throttles":       throttled,
		"answers come late":              answersLate,
		"labels are edited":              labelsEdited,
		"a pod is copied":                podCopied,
		"pods are deleted by others":     deletedByOthers,
		"pods are evicted":               evicted,
		"a deadline is set":              deadlineSet,
		"requests are changed":           requestsChanged,
		"a gang is refused half way":     gangRefused,
		"nodes lie about what they have": nodesLie,
		"a namespace is restricted":      namespaceRestricted,
		"a quota wants limits":           quotaOfLimits,
		"a budget holds a pod":           budgetHolds,
		"it has two names":               oneClusterTwice,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, &harsh{t: t, c: c, node: node, project: projectOf(name)})
		})
	}
}

func projectOf(name string) string {
	return strings.NewReplacer(" ", "-", "'", "").Replace(strings.ToLower(name))
}

// harsh is one test with a project of its own.
type harsh struct {
	t       *testing.T
	c       *kubetest.Cluster
	node    core.NodeID
	project string
}

func (h *harsh) space() string { return "muster-" + h.project }

// open opens a backend; change may change how it talks to the cluster.
func (h *harsh) open(change ...func(*rest.Config)) *kube.Backend {
	h.t.Helper()
	config := rest.CopyConfig(h.c.Config)
	for _, f := range change {
		f(config)
	}
	p, err := kube.Open(cluster.Options{Config: config, LogDir: h.t.TempDir()})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { p.Close() })
	return p
}

// namespace makes that of the project beforehand.
func (h *harsh) namespace() string {
	h.t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: h.space(), Labels: map[string]string{"muster.dev/project": h.project}}}
	if _, err := h.c.Client.CoreV1().Namespaces().Create(h.t.Context(), ns, metav1.CreateOptions{}); err != nil {
		h.t.Fatal(err)
	}
	return ns.Name
}

// apply has kubectl make what a text says.
func (h *harsh) apply(text string, args ...any) {
	h.t.Helper()
	h.c.Kubectl(h.t, "apply", "-f", write(h.t, fmt.Sprintf(text, args...)))
}

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "object")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func (h *harsh) task(name string, index int) backend.Assignment {
	id := core.TaskID{Workload: core.WorkloadID("01" + strings.ReplaceAll(h.project, "-", "") + name), Index: index}
	return backend.Assignment{ID: id, Node: h.node, Image: "any", Argv: []string{"x"}, CPU: 100, About: backend.About{Project: core.ProjectID(h.project), Name: name, Kind: lifecycle.Training}}
}

func (h *harsh) start(p *kube.Backend, all ...backend.Assignment) {
	h.t.Helper()
	kubetest.Eventually(h.t, "started", func() error { return p.Start(h.t.Context(), all) })
}

// until waits until a task is seen as ok wants it.
func (h *harsh) until(p *kube.Backend, id core.TaskID, what string, ok func(backend.Observation) bool) backend.Observation {
	h.t.Helper()
	var last backend.Observation
	kubetest.Eventually(h.t, id.String()+" "+what, func() error {
		all, err := p.Observe(h.t.Context())
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(o backend.Observation) bool { return o.ID == id })
		if i < 0 {
			return fmt.Errorf("it is not known")
		}
		if last = all[i]; !ok(last) {
			return fmt.Errorf("it is %+v", last)
		}
		return nil
	})
	return last
}

func (h *harsh) runs(p *kube.Backend, id core.TaskID) backend.Observation {
	h.t.Helper()
	return h.until(p, id, "running", func(o backend.Observation) bool { return o.State == core.TaskRunning })
}

// fails waits for a failure for a reason, with a message that contains words.
func (h *harsh) fails(p *kube.Backend, id core.TaskID, reason lifecycle.Reason, words ...string) {
	h.t.Helper()
	o := h.until(p, id, "ended", func(o backend.Observation) bool { return o.State.Ended() })
	if o.State == core.TaskSucceeded || o.Reason != string(reason) {
		h.t.Errorf("it ended with %+v, want %s", o, reason)
	}
	for _, w := range words {
		if !strings.Contains(o.Message, w) {
			h.t.Errorf("it says %q, without %q", o.Message, w)
		}
	}
}

// gone waits until the project's namespace has no more pods.
func (h *harsh) gone() {
	h.t.Helper()
	kubetest.Eventually(h.t, "no pods left", func() error {
		all, err := h.c.Client.CoreV1().Pods(h.space()).List(h.t.Context(), metav1.ListOptions{})
		if err == nil && len(all.Items) > 0 {
			err = fmt.Errorf("there are %d", len(all.Items))
		}
		return err
	})
}

func (h *harsh) pod(id core.TaskID) *corev1.Pod {
	h.t.Helper()
	all, err := h.c.Client.CoreV1().Pods(h.space()).List(h.t.Context(), metav1.ListOptions{LabelSelector: "muster.dev/workload=" + string(id.Workload)})
	if err != nil || len(all.Items) != 1 {
		h.t.Fatalf("%d pods of %s: %v", len(all.Items), id, err)
	}
	return &all.Items[0]
}
