package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/testing/kubetest"
)

// TestAServiceInACluster is an inference workload on a real kubelet: reached at
// its own address through the API server, and in the cluster by its name.
func TestAServiceInACluster(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t, kubetest.Options{NoScheduler: true})
	c.Node(t, "real", 0)
	image := c.Busybox(t)
	w := newWorld(t, "--backend", "kube", "--kubeconfig", c.Kubeconfig)
	const script = `mkdir /w && echo "generation $EDITION" >/w/index.html && exec busybox httpd -f -p $PORT -h /w`
	w.muster("run", "--kind", "inference", "--name", "chat", "--image", image, "--set", "ports=[8000]", "--set", "replicas=2", "--set", "resources.cpu=100m",
		"--set", "probe={path: /, period: 1s}", "--set", "env={EDITION: one}", "--set", "gracePeriod=1s", "--", "sh", "-c", script)
	ready := func(n, generation int) func(*api.Workload) bool {
		return func(x *api.Workload) bool {
			return x.Phase == "Running" && x.Replicas != nil && x.Replicas.Ready == n && x.Replicas.Running == n && x.Replicas.Updated == n && x.Replicas.Generation == generation
		}
	}
	got := w.is("chat", "ready", ready(2, 0))
	answers(t, got.Replicas.URL, "generation one")

	ctx := context.Background()
	space := "muster-default"
	s, err := c.Client.CoreV1().Services(space).Get(ctx, "chat", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Spec.ClusterIP == "" || s.Spec.ClusterIP == corev1.ClusterIPNone || len(s.Spec.Ports) != 1 || s.Spec.Ports[0].Port != 8000 {
		t.Errorf("its service: %+v", s.Spec)
	}
	inFront(t, c, space, 2)
	before := pods(t, c, "chat")

	w.muster("update", "chat", "--set", "env.EDITION=two")
	got = w.is("chat", "updated", ready(2, 1))
	answers(t, got.Replicas.URL, "generation two")
	kubetest.Eventually(t, "the former replicas are gone", func() error {
		after := pods(t, c, "chat")
		for name := range before {
			if after[name] != nil {
				return errf("pod %s is there", name)
			}
		}
		return nil
	})
	w.muster("scale", "chat", "1")
	w.is("chat", "smaller", ready(1, 1))
	inFront(t, c, space, 1)

	w.muster("stop", "chat", "--wait")
	kubetest.Eventually(t, "its services are gone", func() error {
		list, err := c.Client.CoreV1().Services(space).List(ctx, metav1.ListOptions{})
		if err != nil || len(list.Items) > 0 {
			return errf("%d services, %v", len(list.Items), err)
		}
		return nil
	})
	entered(t, w, image)
	filed(t, w, image)
	loaded(t, w, image)
	outlived(t, w, image)
}

// entered is a workspace with a command beside it.
func entered(t *testing.T, w *world, image string) {
	w.muster("run", "--kind", "workspace", "--name", "ws", "--image", image, "--set", "resources.cpu=100m", "--set", "gracePeriod=1s", "--", "sleep", "1000")
	w.is("ws", "running", phase("Running"))
	if out := w.muster("exec", "ws", "--", "sh", "-c", "echo in $HOSTNAME"); out != "in task-0\n" {
		t.Errorf("exec says %q", out)
	}
	w.muster("stop", "ws", "--wait")
}

// outlived is output of which a server that is killed misses a part: it is there
// in the end, and no line twice.
func outlived(t *testing.T, w *world, image string) {
	const lines = 100
	w.muster("run", "--name", "talks", "--image", image, "--set", "resources.cpu=100m", "--", "sh", "-c", "i=0; while [ $i -lt 100 ]; do echo line $i; i=$((i+1)); sleep 0.1; done")
	said := func() string {
		out, err := w.try("logs", "talks")
		if err != nil {
			return ""
		}
		return out
	}
	for _, n := range []string{"line 10\n", "line 40\n"} {
		kubetest.Eventually(t, "some of its output", func() error {
			if !strings.Contains(said(), n) {
				return errf("no %q", n)
			}
			return nil
		})
		w.kill()
		w.begin()
	}
	w.is("talks", "completed", phase("Completed"))
	kubetest.Eventually(t, "all of its output, once", func() error {
		got := strings.Split(strings.TrimSpace(said()), "\n")
		for i, line := range got {
			if line != fmt.Sprintf("line %d", i) {
				return errf("line %d is %q", i, line)
			}
		}
		if len(got) != lines {
			return errf("%d lines", len(got))
		}
		return nil
	})
}

func answers(t *testing.T, url, want string) {
	t.Helper()
	client := &http.Client{Timeout: time.Minute}
	kubetest.Eventually(t, url+" answers "+want, func() error {
		r, err := client.Get(url)
		if err != nil {
			return err
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil || strings.TrimSpace(string(text)) != want {
			return errf("%s: %q, %v", r.Status, text, err)
		}
		return nil
	})
}

// inFront waits until the service chat leads to n replicas.
func inFront(t *testing.T, c *kubetest.Cluster, space string, n int) {
	t.Helper()
	kubetest.Eventually(t, "the replicas are behind their service", func() error {
		list, err := c.Client.DiscoveryV1().EndpointSlices(space).List(context.Background(), metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=chat"})
		if err != nil {
			return err
		}
		there := 0
		for _, slice := range list.Items {
			for _, e := range slice.Endpoints {
				if e.Conditions.Ready != nil && *e.Conditions.Ready {
					there++
				}
			}
		}
		if there != n {
			return errf("%d are", there)
		}
		return nil
	})
}

// TestClaimsAreMounted is about volumes that a cluster keeps.
func TestClaimsAreMounted(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t, kubetest.Options{NoControllers: true, NoScheduler: true})
	c.Kwok(t, 1, kubetest.NodeShape{})
	w := newWorld(t, "--backend", "local", "--cluster", "east="+c.Kubeconfig)
	kubetest.Eventually(t, "the cluster is there", func() error {
		if k := w.clusters()["east"]; k.Nodes.Ready != 1 {
			return errf("%+v", k)
		}
		return nil
	})
	run := func(name string) {
		w.muster("run", "--name", name, "--image", "busybox", "--set", "volumes=[{path: /data, claim: data, readOnly: true}]", "--", "sleep", "1h")
	}
	run("missing")
	if got := w.is("missing", "failed", phase("Failed")); !strings.Contains(got.Message, "there is no PersistentVolumeClaim data in namespace muster-default of cluster east") {
		t.Errorf("a claim that is not there: %s", got.Message)
	}
	ctx := context.Background()
	late, class := storagev1.VolumeBindingWaitForFirstConsumer, "late"
	if _, err := c.Client.StorageV1().StorageClasses().Create(ctx, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "nobody", VolumeBindingMode: &late,
	}, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	claims := c.Client.CoreV1().PersistentVolumeClaims("muster-default")
	if _, err := claims.Create(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
		StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	run("there")
	w.is("there", "running", phase("Running"))
	for _, pod := range pods(t, c, "there") {
		if !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
			return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == "data" && v.PersistentVolumeClaim.ReadOnly
		}) {
			t.Errorf("its volumes: %+v", pod.Spec.Volumes)
		}
		claim, err := claims.Get(ctx, "data", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if node := claim.Annotations["volume.kubernetes.io/selected-node"]; node != pod.Spec.NodeName {
			t.Errorf("the volume is to be made for node %q, and its pod is on %s", node, pod.Spec.NodeName)
		}
	}
	if _, err := w.try("run", "--cluster", "local", "--image", "busybox", "--set", "volumes=[{path: /data, claim: data}]", "--", "true"); err == nil || !strings.Contains(err.Error(), "cluster local has no PersistentVolumeClaims") {
		t.Errorf("a claim on this machine: %v", err)
	}
}
