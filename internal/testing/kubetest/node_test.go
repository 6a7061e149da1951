package kubetest_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/testing/kubetest"
)

func logs(t *testing.T, c *kubetest.Cluster, pod *corev1.Pod) string {
	t.Helper()
	out, err := c.Client.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(context.Background())
	if err != nil {
		t.Fatalf("logs of %s: %v", pod.Name, err)
	}
	return string(out)
}

// on puts a pod on a node that all tests of the package share the cluster with.
func on(node *kubetest.Node, pod *corev1.Pod) *corev1.Pod {
	pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node.Name}
	return pod
}

func exit(t *testing.T, pod *corev1.Pod) corev1.ContainerStateTerminated {
	t.Helper()
	if len(pod.Status.ContainerStatuses) == 0 || pod.Status.ContainerStatuses[0].State.Terminated == nil {
		t.Fatalf("pod %s has not ended: %+v", pod.Name, pod.Status)
	}
	return *pod.Status.ContainerStatuses[0].State.Terminated
}

func TestARealNodeRunsPods(t *testing.T) {
	t.Parallel()
	c := shared(t)
	node := c.Node(t, "alpha", 4, "nvidia.com/mig-1g.10gb=3")
	ns, image := c.Namespace(t), c.Busybox(t)

	ok := c.Run(t, ns, on(node, kubetest.Pod("ok", image, 0, "true")))
	bad := c.Run(t, ns, on(node, kubetest.Pod("bad", image, 0, "sh", "-c", "echo said; exit 3")))
	missing := c.Run(t, ns, on(node, kubetest.Pod("missing", c.Registry(t).Ref("none:1"), 0, "true")))
	greedy := on(node, kubetest.Pod("greedy", image, 0, "tail", "/dev/zero"))
	greedy.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("32Mi")}
	greedy = c.Run(t, ns, greedy)
	slice := on(node, kubetest.Pod("slice", image, 0, "sh", "-c", "echo $NVIDIA_VISIBLE_DEVICES"))
	slice.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/mig-1g.10gb": resource.MustParse("1")}
	slice = c.Run(t, ns, slice)

	if e := exit(t, c.AwaitPhase(t, ok, corev1.PodSucceeded)); e.ExitCode != 0 || e.Reason != "Completed" {
		t.Errorf("ok ended with %+v", e)
	}
	if e := exit(t, c.AwaitPhase(t, bad, corev1.PodFailed)); e.ExitCode != 3 || e.Reason != "Error" {
		t.Errorf("bad ended with %+v", e)
	}
	if out := logs(t, c, bad); out != "said\n" {
		t.Errorf("bad's logs are %q", out)
	}
	// The engine may hear of the end before it hears of its cause.
	if e := exit(t, c.AwaitPhase(t, greedy, corev1.PodFailed)); e.ExitCode != 137 || e.Reason != "OOMKilled" && e.Reason != "Error" {
		t.Errorf("greedy ended with %+v", e)
	}
	c.AwaitPhase(t, slice, corev1.PodSucceeded)
	if out := strings.TrimSpace(logs(t, c, slice)); !strings.HasPrefix(out, "MIG-alpha-") {
		t.Errorf("the slice is %q", out)
	}
	c.AwaitPod(t, missing, "waiting for its image", func(p *corev1.Pod) bool {
		s := p.Status.ContainerStatuses
		return len(s) == 1 && s[0].State.Waiting != nil && slices.Contains([]string{"ErrImagePull", "ImagePullBackOff"}, s[0].State.Waiting.Reason)
	})
}

func TestGPUsOfARealNodeAreHandedOutOnce(t *testing.T) {
	t.Parallel()
	c := shared(t)
	node := c.Node(t, "gpus", 3)
	ns, image := c.Namespace(t), c.Busybox(t)
	sleep := []string{"sh", "-c", "echo $NVIDIA_VISIBLE_DEVICES; trap exit TERM; sleep 1000 & wait"}
	first := c.AwaitPhase(t, c.Run(t, ns, on(node, kubetest.Pod("first", image, 2, sleep...))), corev1.PodRunning)
	second := c.AwaitPhase(t, c.Run(t, ns, on(node, kubetest.Pod("second", image, 1, sleep...))), corev1.PodRunning)
	var all []string
	for _, p := range []*corev1.Pod{first, second} {
		kubetest.Eventually(t, p.Name+" has said what it has", func() error {
			if out := strings.TrimSpace(logs(t, c, p)); out != "" {
				all = append(all, strings.Split(out, ",")...)
				return nil
			}
			return fmt.Errorf("nothing yet")
		})
	}
	slices.Sort(all)
	if want := []string{"GPU-gpus-0", "GPU-gpus-1", "GPU-gpus-2"}; !slices.Equal(all, want) {
		t.Errorf("they have %v, want %v", all, want)
	}
	if out := c.Kubectl(t, "exec", "-n", ns, "first", "--", "sh", "-c", "echo $((6*7)); hostname"); out != "42\nfirst\n" {
		t.Errorf("exec says %q", out)
	}
	// A broken GPU is one less, though it is in use.
	node.Break(t, "GPU-gpus-1")
	kubetest.Eventually(t, "two GPUs left", func() error {
		n, err := c.Client.CoreV1().Nodes().Get(context.Background(), node.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if is := n.Status.Allocatable[kubetest.GPU]; is.Value() != 2 {
			return fmt.Errorf("there are %s", is.String())
		}
		return nil
	})
}

func TestPodsOfTwoRealNodesReachEachOther(t *testing.T) {
	t.Parallel()
	c := shared(t)
	one, two := c.Node(t, "one", 1), c.Node(t, "two", 1)
	ns, image := c.Namespace(t), c.Busybox(t)
	server := c.Run(t, ns, on(one, kubetest.Pod("server", image, 1, "busybox", "nc", "-ll", "-p", "7000", "-e", "echo", "hello")))
	server = c.AwaitPhase(t, server, corev1.PodRunning)
	// The API server answers pods, under the address that is the machine.
	_, port, _ := strings.Cut(strings.TrimPrefix(c.Server, "https://"), ":")
	script := fmt.Sprintf("until busybox nc %s 7000; do sleep 0.1; done; busybox nc -w 5 %s %s </dev/null && echo reached", server.Status.PodIP, kubetest.Outside, port)
	client := c.AwaitPhase(t, c.Run(t, ns, on(two, kubetest.Pod("client", image, 1, "sh", "-c", script))), corev1.PodSucceeded)
	if out := logs(t, c, client); out != "hello\nreached\n" {
		t.Errorf("the client heard %q", out)
	}
	if server.Status.HostIP == client.Status.HostIP {
		t.Errorf("both nodes are %s", server.Status.HostIP)
	}
}

func TestPodsFindServicesByName(t *testing.T) {
	t.Parallel()
	c := shared(t)
	node := c.Node(t, "named", 0)
	ns, image := c.Namespace(t), c.Busybox(t)
	for name, ip := range map[string]string{"gang": corev1.ClusterIPNone, "front": ""} {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{ClusterIP: ip, Selector: map[string]string{"of": "gang"}, Ports: []corev1.ServicePort{{Port: 7000}}}}
		if _, err := c.Client.CoreV1().Services(ns).Create(context.Background(), s, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	server := on(node, kubetest.Pod("server", image, 0, "busybox", "nc", "-ll", "-p", "7000", "-e", "echo", "hello"))
	server.Labels, server.Spec.Hostname, server.Spec.Subdomain = map[string]string{"of": "gang"}, "task-0", "gang"
	server = c.AwaitPhase(t, c.Run(t, ns, server), corev1.PodRunning)
	front, err := c.Client.CoreV1().Services(ns).Get(context.Background(), "front", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// nslookup may use the names in full only; nc finds them as all programs do.
	script := fmt.Sprintf(`until busybox nc task-0.gang 7000; do sleep 0.1; done
for name in gang front task-1.gang none; do echo $name $(busybox nslookup $name.%s.svc.cluster.local 2>/dev/null | sed -n '/^Name/,$s/^Address.*: //p'); done`, ns)
	client := c.AwaitPhase(t, c.Run(t, ns, on(node, kubetest.Pod("client", image, 0, "sh", "-c", script))), corev1.PodSucceeded)
	if out, want := logs(t, c, client), fmt.Sprintf("hello\ngang %s\nfront %s\ntask-1.gang\nnone\n", server.Status.PodIP, front.Spec.ClusterIP); out != want {
		t.Errorf("the client heard %q, want %q", out, want)
	}
}

func TestClaimsOfARealNodeArePrepared(t *testing.T) {
	t.Parallel()
	c := shared(t)
	const driver = "gpu.nvidia.com"
	node := c.Node(t, "claims", 0, driver+"=2")
	ns, image := c.Namespace(t), c.Busybox(t)
	ctx := context.Background()
	if _, err := c.Client.ResourceV1().DeviceClasses().Create(ctx, &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: driver}, Spec: resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{
		{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "` + driver + `"`}},
	}}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	claim, err := c.Client.ResourceV1().ResourceClaims(ns).Create(ctx, &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
		Requests: []resourcev1.DeviceRequest{{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: driver}}},
	}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod := on(node, kubetest.Pod("claims", image, 0, "sleep", "1000"))
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &claim.Name}}
	pod = c.AwaitPhase(t, c.Run(t, ns, pod), corev1.PodRunning)
	if is := node.Prepared(t)[claim.UID]; len(is) != 1 || !strings.HasPrefix(is[0], "gpu-") {
		t.Errorf("it has %q", is)
	}
	if err := c.Client.CoreV1().Pods(ns).Delete(ctx, pod.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	kubetest.Eventually(t, "the device taken back", func() error {
		if is := node.Prepared(t); len(is) > 0 {
			return fmt.Errorf("%q are %w", is, errStill)
		}
		return nil
	})
}

func TestAKubeletThatDiesIsMissedAndComesBack(t *testing.T) {
	t.Parallel()
	c := shared(t)
	node := c.Node(t, "mortal", 2)
	ns := c.Namespace(t)
	pod := c.Run(t, ns, on(node, kubetest.Pod("stays", c.Busybox(t), 1, "sleep", "1000")))
	pod = c.AwaitPhase(t, pod, corev1.PodRunning)
	node.Kill(t)
	c.AwaitReady(t, node.Name, corev1.ConditionUnknown)
	node.Restart(t)
	now, err := c.Client.CoreV1().Pods(ns).Get(context.Background(), pod.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if s := now.Status.ContainerStatuses[0]; now.UID != pod.UID || s.RestartCount != 0 || s.State.Running == nil {
		t.Errorf("the pod did not live on: %+v", now.Status)
	}
	node.Stop(t)
	c.AwaitReady(t, node.Name, corev1.ConditionUnknown)
}

// TestNothingIsLeftOfAKilledTest runs this test once more, with a cluster and a
// node, and kills it.
func TestNothingIsLeftOfAKilledTest(t *testing.T) {
	const victim = "KUBETEST_VICTIM"
	if os.Getenv(victim) != "" {
		c := kubetest.Start(t, kubetest.Options{})
		node := c.Node(t, "victim", 1)
		c.AwaitPhase(t, c.Run(t, c.Namespace(t), on(node, kubetest.Pod("p", c.Busybox(t), 1, "sleep", "1000"))), corev1.PodRunning)
		fmt.Println("up")
		select {}
	}
	t.Parallel()
	shared(t).Registry(t) // skips where nodes cannot be
	dir, err := os.MkdirTemp("", "victim-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	again := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	again.Env = append(os.Environ(), victim+"=1", "TMPDIR="+dir)
	out, err := again.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	again.Stderr = again.Stdout
	if err := again.Start(); err != nil {
		t.Fatal(err)
	}
	var said []byte
	for b := make([]byte, 4096); !bytes.Contains(said, []byte("up\n")); {
		n, err := out.Read(b)
		if said = append(said, b[:n]...); err != nil {
			t.Fatalf("the victim ended by itself (%v): %s", err, said)
		}
	}
	alive := processes(t, dir)
	if len(alive) < 8 { // up, etcd, API server, controllers, scheduler, node, its first process, kubelet, containerd
		t.Errorf("only %d processes were found", len(alive))
	}
	var groups []string
	for _, line := range alive {
		if _, after, ok := strings.Cut(line, "\x00--cgroup\x00"); ok {
			group, _, _ := strings.Cut(after, "\x00")
			groups = append(groups, "/sys/fs/cgroup"+group, "/sys/fs/cgroup/*"+group)
		}
	}
	if len(existing(t, groups)) == 0 {
		t.Errorf("no control groups were found, looking for %q", groups)
	}
	again.Process.Kill()
	again.Wait()
	kubetest.Eventually(t, "processes, control groups and files gone", func() error {
		left := existing(t, append(groups, dir+"/*"))
		if n := len(processes(t, dir)); n > 0 || len(left) > 0 {
			return fmt.Errorf("%d processes and %q are %w", n, left, errStill)
		}
		return nil
	})
}

func existing(t *testing.T, patterns []string) (paths []string) {
	t.Helper()
	for _, p := range patterns {
		found, err := filepath.Glob(p)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, found...)
	}
	return paths
}

// processes finds those that have text in their command line, which is the value.
func processes(t *testing.T, text string) map[int]string {
	t.Helper()
	all, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]string{}
	for _, p := range all {
		pid, err := strconv.Atoi(p.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		line, err := os.ReadFile("/proc/" + p.Name() + "/cmdline")
		if err == nil && bytes.Contains(line, []byte(text)) {
			found[pid] = string(line)
		}
	}
	return found
}
