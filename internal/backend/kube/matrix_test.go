package kube_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube"
	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/testing/kubetest"
)

// stage is a backend over a cluster with a real node, and what it has said.
type stage struct {
	t     *testing.T
	c     *kubetest.Cluster
	p     *kube.Backend
	node  string
	image string

	mu   sync.Mutex
	said map[core.TaskID][]backend.Observation
}

func (s *stage) listen(seen []backend.Observation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range seen {
		s.said[o.ID] = append(s.said[o.ID], o)
	}
}

// words are what was said of a task: the words while it starts, then its states.
func (s *stage) words(id core.TaskID) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, o := range s.said[id] {
		w := o.Waiting
		if o.State != core.TaskStarting {
			w = string(o.State)
		}
		if w != "" && (len(out) == 0 || out[len(out)-1] != w) {
			out = append(out, w)
		}
	}
	return out
}

// end waits for the last word of a task.
func (s *stage) end(t *testing.T, id core.TaskID) backend.Observation {
	t.Helper()
	var last backend.Observation
	kubetest.Eventually(t, id.String()+" ended", func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if all := s.said[id]; len(all) > 0 {
			last = all[len(all)-1]
		}
		if !last.State.Ended() {
			return fmt.Errorf("it is %+v", last)
		}
		return nil
	})
	return last
}

// act is one task of the matrix.
type act struct {
	change func(*backend.Assignment) // what is run; nil: pod is made by hand
	pod    func(*corev1.Pod)         // a pod of ours as others have changed it
	during func(*testing.T, *stage, string)
	// words must have been said, in this order, others between them.
	words  []string
	state  core.TaskState
	reason lifecycle.Reason
	code   int // -1: none
	signal int
	says   string // in the message
}

const space = "muster-matrix"

func script(lines string) func(*backend.Assignment) {
	return func(a *backend.Assignment) { a.Argv = []string{"sh", "-c", lines} }
}

func shell(restart corev1.RestartPolicy, lines string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.RestartPolicy, p.Spec.Containers[0].Command = restart, []string{"sh", "-c", lines}
	}
}

// once does something when the task runs.
func once(f func(*testing.T, *stage, string)) func(*testing.T, *stage, string) {
	return func(t *testing.T, s *stage, pod string) {
		s.c.AwaitPhase(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod, Namespace: space}}, corev1.PodRunning)
		f(t, s, pod)
	}
}

const sleeps = "trap 'exit 0' TERM; sleep 1000 & wait"

// TestStatesOfARealKubelet plays every state that a kubelet can be brought to
// report and looks at what becomes of it.
func TestStatesOfARealKubelet(t *testing.T) {
	c := kubetest.Start(t, kubetest.Options{NoScheduler: true})
	s := &stage{t: t, c: c, node: c.Node(t, "real", 2).Name, image: c.Busybox(t), said: map[core.TaskID][]backend.Observation{}}
	var err error
	if s.p, err = kube.Open(cluster.Options{Config: c.Config, LogDir: t.TempDir(), Patience: 8 * time.Second}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.p.Close() })
	ctx, cancel := context.WithCancel(context.Background())
	watched := make(chan struct{})
	go func() { defer close(watched); s.p.Watch(ctx, s.listen) }()
	t.Cleanup(func() { cancel(); <-watched })
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: space, Labels: map[string]string{"muster.dev/project": "matrix"}}}
	if _, err := c.Client.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	class := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "nothing"}, Handler: "nothing"}
	if _, err := c.Client.NodeV1().RuntimeClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	kubetest.Eventually(t, "the service account of "+space, func() error {
		_, err := c.Client.CoreV1().ServiceAccounts(space).Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
	acts, pods := matrix(s), map[string]string{}
	for name, a := range acts { // all of them, since most of their time is that of the kubelet
		pods[name] = s.begin(t, name, &a)
	}
	for name, a := range acts {
		t.Run(name, func(t *testing.T) { s.play(t, name, pods[name], &a) })
	}
}

func taskNamed(name string) core.TaskID {
	return core.TaskID{Workload: core.WorkloadID("w-" + strings.NewReplacer(" ", "", ",", "", "'", "").Replace(name))}
}

// begin starts an act and returns the name of its pod, where it has one.
func (s *stage) begin(t *testing.T, name string, a *act) string {
	id := taskNamed(name)
	if a.change == nil {
		return s.byHand(t, id, a.pod)
	}
	as := backend.Assignment{ID: id, Node: core.NodeID(s.node), Image: s.image, Argv: []string{"true"}, CPU: 10,
		About: backend.About{Project: "matrix", Name: strings.ReplaceAll(name, " ", "-"), Kind: lifecycle.Training}}
	a.change(&as)
	kubetest.Eventually(t, "started", func() error { return s.p.Start(t.Context(), []backend.Assignment{as}) })
	all, err := s.c.Client.CoreV1().Pods(space).List(t.Context(), metav1.ListOptions{LabelSelector: "muster.dev/workload=" + string(id.Workload)})
	if err != nil || len(all.Items) != 1 {
		return "" // it has gone already
	}
	return all.Items[0].Name
}

func (s *stage) play(t *testing.T, name, pod string, a *act) {
	id := taskNamed(name)
	var o backend.Observation
	for try := 0; ; try++ {
		if a.during != nil {
			a.during(t, s, pod)
		}
		// A starved runtime gives up a container now and then, without a word.
		if o = s.end(t, id); try == 2 || !strings.Contains(o.Message, "did not start it, and does not say why") {
			break
		}
		if err := s.p.Forget(t.Context(), []core.TaskID{id}); err != nil {
			t.Fatal(err)
		}
		s.mu.Lock()
		delete(s.said, id)
		s.mu.Unlock()
		s.gone(t, id)
		pod = s.begin(t, name, a)
	}
	code := -1
	if o.ExitCode != nil {
		code = *o.ExitCode
	}
	if o.State != a.state || o.Reason != string(a.reason) || code != a.code || o.Signal != a.signal || !strings.Contains(o.Message, a.says) {
		t.Errorf("it ended %s, %s, code %d, signal %d, saying %q; want %s, %s, %d, %d, %q", o.State, o.Reason, code, o.Signal, o.Message, a.state, a.reason, a.code, a.signal, a.says)
	}
	words, i := s.words(id), 0
	for _, w := range words {
		if i < len(a.words) && w == a.words[i] {
			i++
		}
	}
	if i < len(a.words) {
		t.Errorf("it said %q, and not %q in this order", words, a.words)
	}
	if err := s.p.Forget(t.Context(), []core.TaskID{id}); err != nil {
		t.Error(err)
	}
}

// gone waits until the cluster has no pod of a task.
func (s *stage) gone(t *testing.T, id core.TaskID) {
	t.Helper()
	kubetest.Eventually(t, "the pod of "+id.String()+" is gone", func() error {
		all, err := s.c.Client.CoreV1().Pods(space).List(t.Context(), metav1.ListOptions{LabelSelector: "muster.dev/workload=" + string(id.Workload)})
		if err == nil && len(all.Items) > 0 {
			err = fmt.Errorf("%s is there", all.Items[0].Name)
		}
		return err
	})
}

// byHand makes a pod of ours without the backend.
func (s *stage) byHand(t *testing.T, id core.TaskID, change func(*corev1.Pod)) string {
	t.Helper()
	tail := strings.ToLower(string(id.Workload))
	p := kubetest.Pod("m-"+tail[max(0, len(tail)-6):]+"-0-0", s.image, 0, "true")
	p.Labels = map[string]string{"app.kubernetes.io/managed-by": "muster", "muster.dev/workload": string(id.Workload), "muster.dev/attempt": "0", "muster.dev/task": "0"}
	p.Annotations = map[string]string{"muster.dev/task-id": id.String()}
	p.Spec.SchedulerName, p.Spec.NodeName = naming.SchedulerName, s.node
	change(p)
	return s.c.Run(t, space, p).Name
}

func matrix(s *stage) map[string]act {
	all := map[string]act{
		"success":   {change: script("true"), words: []string{"ContainerCreating", "succeeded"}, state: core.TaskSucceeded},
		"exit code": {change: script("echo because >/dev/termination-log; exit 3"), state: core.TaskFailed, reason: lifecycle.ReasonError, code: 3, says: "because"},
		"runs":      {change: script("sleep 2; exit 9"), words: []string{"ContainerCreating", "running", "failed"}, state: core.TaskFailed, reason: lifecycle.ReasonError, code: 9},
		"signal":    {change: script("sh -c 'kill -TERM $$'; exit $?"), state: core.TaskFailed, reason: lifecycle.ReasonKilled, code: 143, signal: 15},
		"memory": {change: func(a *backend.Assignment) { a.Argv, a.Memory = []string{"tail", "/dev/zero"}, 32<<20 },
			state: core.TaskFailed, reason: lifecycle.ReasonOutOfMemory, code: 137, signal: 9},
		"no program": {change: func(a *backend.Assignment) { a.Argv = []string{"/does/not/exist"} },
			state: core.TaskFailed, reason: lifecycle.ReasonContainerCannot, code: -1, says: "/does/not/exist"},
		"steps": {change: func(a *backend.Assignment) {
			a.Init = []backend.Init{{Argv: []string{"sleep", "2"}}, {Argv: []string{"sleep", "2"}}}
		}, words: []string{"Init:0/2", "Init:1/2", "succeeded"}, state: core.TaskSucceeded},
		"step again": {change: func(a *backend.Assignment) {
			a.Init = []backend.Init{{Argv: []string{"sh", "-c", "[ -e /tmp/again ] || { touch /tmp/again; exit 1; }"}, Retries: 1}}
		}, state: core.TaskSucceeded},
		"step fails": {change: func(a *backend.Assignment) {
			a.Init = []backend.Init{{Argv: []string{"true"}}, {Argv: []string{"sh", "-c", "exit 6"}}}
		}, state: core.TaskFailed, reason: lifecycle.ReasonError, code: 6, says: "step 2 of its start failed with exit code 6"},
		"step without program": {change: func(a *backend.Assignment) { a.Init = []backend.Init{{Argv: []string{"/does/not/exist"}}} },
			state: core.TaskFailed, reason: lifecycle.ReasonContainerCannot, code: -1, says: "step 1"},
		"no image": {change: func(a *backend.Assignment) {
			a.Image, a.PullRetries = strings.Replace(s.image, "busybox", "nothing", 1), 1
		}, words: []string{"ErrImagePull", "ImagePullBackOff", "failed"}, state: core.TaskFailed, reason: lifecycle.ReasonFailedImagePull, code: -1, says: "nothing"},
		"never pulled": {change: func(a *backend.Assignment) {
			a.Image, a.Pull = strings.Replace(s.image, "busybox", "nothing", 1), backend.PullNever
		}, state: core.TaskFailed, reason: lifecycle.ReasonFailedImagePull, code: -1, says: "not present"},
		"bad name": {change: func(a *backend.Assignment) { a.Image = "BAD//name" },
			state: core.TaskFailed, reason: lifecycle.ReasonFailedImagePull, code: -1, says: "BAD//name"},
		"no room": {change: func(a *backend.Assignment) { a.CPU = 1 << 40 },
			state: core.TaskFailed, reason: lifecycle.ReasonSystem, code: -1, says: "the kubelet of node real did not take it: OutOfcpu"},
		"no device": {change: func(a *backend.Assignment) {
			for i := range 5 {
				a.Devices = append(a.Devices, core.Share{Index: i, Milli: 1000})
			}
		}, state: core.TaskFailed, reason: lifecycle.ReasonSystem, code: -1, says: "the kubelet of node real did not take it"},
		"ended by us": {change: script(sleeps), state: core.TaskSucceeded, during: once(func(t *testing.T, s *stage, pod string) {
			if err := s.p.Stop(t.Context(), []core.TaskID{{Workload: "w-endedbyus"}}, 10*time.Second); err != nil {
				t.Error(err)
			}
		})},
		"deleted": {change: script(sleeps), state: core.TaskFailed, reason: lifecycle.ReasonSystem, code: -1, says: "deleted by someone else", during: once(func(t *testing.T, s *stage, pod string) {
			if err := s.c.Client.CoreV1().Pods(space).Delete(t.Context(), pod, metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})},
		"drained": {change: script(sleeps), state: core.TaskFailed, reason: lifecycle.ReasonSystem, code: -1, says: "kubectl drain", during: once(func(t *testing.T, s *stage, pod string) {
			s.evict(t, pod)
		})},
		"namespace deleted": {change: func(a *backend.Assignment) { script(sleeps)(a); a.About.Project = "matrix-goes" }, state: core.TaskFailed, reason: lifecycle.ReasonSystem, code: -1, says: "namespace muster-matrix-goes was deleted", during: func(t *testing.T, s *stage, _ string) {
			kubetest.Eventually(t, "it runs", func() error {
				if words := s.words(taskNamed("namespace deleted")); !slices.Contains(words, "running") {
					return fmt.Errorf("it said %q", words)
				}
				return nil
			})
			if err := s.c.Client.CoreV1().Namespaces().Delete(t.Context(), "muster-matrix-goes", metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		}},
		"deadline": {change: func(a *backend.Assignment) { script("sleep 1000")(a); a.Grace = time.Second }, state: core.TaskFailed, reason: lifecycle.ReasonMaxDuration, code: 143, signal: 15, says: "activeDeadlineSeconds", during: once(func(t *testing.T, s *stage, pod string) {
			patch := []byte(`{"spec":{"activeDeadlineSeconds":1}}`)
			if _, err := s.c.Client.CoreV1().Pods(space).Patch(t.Context(), pod, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
				t.Error(err)
			}
		})},
	}
	for name, a := range changed(s) {
		all[name] = a
	}
	return all
}

func (s *stage) evict(t *testing.T, pod string) {
	t.Helper()
	s.c.Kubectl(t, "create", "--raw", "/api/v1/namespaces/"+space+"/pods/"+pod+"/eviction", "-f", write(t, fmt.Sprintf(`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":%q,"namespace":%q}}`, pod, space)))
}

// slowRegistry is an image whose registry is silent until the task of an act has
// been seen to wait for it, and then breaks off.
func (s *stage) slowRegistry(act string) string {
	s.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { l.Close() })
	s.c.Forward(s.t, l.Addr().String())
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for range 1200 { // a minute at most
					if slices.Contains(s.words(taskNamed(act)), "PodInitializing") {
						return
					}
					time.Sleep(50 * time.Millisecond)
				}
			}()
		}
	}()
	return fmt.Sprintf("%s:%d/slow:1", kubetest.Outside, l.Addr().(*net.TCPAddr).Port)
}

// changed are pods of ours that others have changed, so that they come to what
// ours alone do not.
func changed(s *stage) map[string]act {
	volume := func(source corev1.VolumeSource) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "v", VolumeSource: source})
			p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "v", MountPath: "/v"})
		}
	}
	directory := corev1.HostPathDirectory
	size := resource.MustParse("1Mi")
	slow := s.slowRegistry("slow pull")
	return map[string]act{
		"slow pull": {pod: func(p *corev1.Pod) {
			init := p.Spec.Containers[0]
			init.Name, init.Command = "init-0", []string{"sleep", "2"}
			p.Spec.InitContainers, p.Spec.Containers[0].Image = []corev1.Container{init}, slow
		}, words: []string{"Init:0/1", "PodInitializing", "failed"}, state: core.TaskFailed, reason: lifecycle.ReasonFailedImagePull, code: -1, says: slow},
		"step crashes": {pod: func(p *corev1.Pod) {
			init := p.Spec.Containers[0]
			init.Name, init.Command = "init-0", []string{"sh", "-c", "exit 7"}
			p.Spec.InitContainers, p.Spec.RestartPolicy = []corev1.Container{init}, corev1.RestartPolicyOnFailure
		}, words: []string{"Init:Error", "Init:CrashLoopBackOff", "failed"}, state: core.TaskFailed, reason: lifecycle.ReasonError, code: 7, says: "step 1 of its start failed with exit code 7"},
		"command again": {pod: shell(corev1.RestartPolicyAlways, "exit 4"), state: core.TaskFailed, reason: lifecycle.ReasonError, code: 4},
		"bad config": {pod: func(p *corev1.Pod) {
			p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "X", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "none"}, Key: "k"}}}}
		}, state: core.TaskFailed, reason: lifecycle.ReasonContainerCannot, code: -1, says: `secret "none" not found`},
		"no directory": {pod: volume(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/does/not/exist", Type: &directory}}),
			words: []string{"ContainerCreating", "failed"}, state: core.TaskFailed, reason: lifecycle.ReasonMountFailed, code: -1, says: "/does/not/exist is not a directory"},
		"no secret": {pod: volume(corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "none"}}),
			words: []string{"ContainerCreating", "failed"}, state: core.TaskFailed, reason: lifecycle.ReasonMountFailed, code: -1, says: `secret "none" not found`},
		"no runtime": {pod: func(p *corev1.Pod) { p.Spec.RuntimeClassName = &[]string{"nothing"}[0] },
			state: core.TaskFailed, reason: lifecycle.ReasonSystem, code: -1, says: "no runtime for \"nothing\" is configured"},
		"wrong node": {pod: func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"no": "such"} },
			state: core.TaskFailed, reason: lifecycle.ReasonSystem, code: -1, says: "NodeAffinity"},
		"too much disk": {pod: func(p *corev1.Pod) {
			volume(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &size}})(p)
			shell(corev1.RestartPolicyNever, "dd if=/dev/zero of=/v/x bs=1M count=4; sleep 1000")(p)
		}, words: []string{"running", "failed"}, state: core.TaskFailed, reason: lifecycle.ReasonError, code: 137, signal: 9, says: "exceeds the limit"},
	}
}
