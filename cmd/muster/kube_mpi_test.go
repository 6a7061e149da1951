package main

import (
	"os"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/testing/kubetest"
	"github.com/musterhq/muster/internal/testing/ocitest"
)

// TestGangsInACluster are gangs on two real nodes, whose tasks find each other
// by the names that the cluster's DNS knows.
func TestGangsInACluster(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t, kubetest.Options{NoControllers: true, NoScheduler: true})
	one, two := c.Node(t, "one", 1), c.Node(t, "two", 1)
	r := c.Registry(t)
	program := self(t)
	if bin := os.Getenv("MUSTER_BIN"); bin != "" {
		program = bin
	}
	path := v1.Config{Env: []string{"PATH=/bin:/usr/bin"}}
	// This test may be linked with the machine's C library, the product is not.
	own := layerOf(t, []string{program}, ocitest.File{Path: "muster", Link: program})
	r.Push(t, "train:1", ocitest.Image(t, path, ocitest.Busybox(t), own, openMPI(t)))
	r.Push(t, "muster:1", ocitest.Image(t, path, ocitest.Busybox(t), own))
	w := newWorld(t, "--backend", "kube", "--kubeconfig", c.Kubeconfig, "--kube-program-image", r.Ref("muster:1"))
	for _, n := range []*kubetest.Node{one, two} {
		kubetest.Eventually(t, "node "+n.Name+" is known", func() error {
			if out := w.muster("node", "list"); !strings.Contains(out, n.Name) {
				return errf("nodes are %s", out)
			}
			return nil
		})
	}
	launched(t, w, r.Ref("train:1"))
	batched(t, w, r.Ref("train:1"))
	met(t, c, w)
}

// launched is an mpi gang: its launcher has Open MPI start a process on each
// worker, over our own agent, which comes from the program's image.
func launched(t *testing.T, w *world, image string) {
	t.Helper()
	const script = `echo "agent $OMPI_MCA_plm_rsh_agent" && cat "$MUSTER_MPI_HOSTFILE" && mpirun -np 2 --map-by node sh -c 'echo rank $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE on $(hostname)'`
	w.muster("run", "--name", "ring", "--kind", "distributed", "--set", "framework=mpi", "--workers", "2", "--gpus", "1", "--set", "slots=3", "--image", image,
		"--set", "resources.cpu=100m", "--set", "master={resources: {cpu: 100m}}", "--set", "gracePeriod=1s", "--", "sh", "-c", script)
	onTwo(t, w.is("ring", "completed", phase("Completed")), 1, 2)
	out := w.muster("logs", "ring")
	for _, want := range []string{"agent /.muster/muster __mpi-rsh", "ring-worker-0 slots=3", "ring-worker-1 slots=3", "rank 0 of 2 on task-1", "rank 1 of 2 on task-2"} {
		if !strings.Contains(out, want) {
			t.Errorf("the launcher did not say %q:\n%s", want, out)
		}
	}
}

// met is a gang whose second task reaches the first at the address that it is
// told.
func met(t *testing.T, c *kubetest.Cluster, w *world) {
	t.Helper()
	const script = `if [ $RANK = 0 ]; then echo "hello from $(hostname)" | busybox nc -l -p $MASTER_PORT
else until busybox nc -w 60 $MASTER_ADDR $MASTER_PORT </dev/null; do sleep 0.2; done; fi`
	w.muster("run", "--name", "pair", "--kind", "distributed", "--workers", "2", "--gpus", "1", "--image", c.Busybox(t),
		"--set", "resources.cpu=100m", "--set", "gracePeriod=1s", "--", "sh", "-c", script)
	onTwo(t, w.is("pair", "completed", phase("Completed")), 0, 1)
	if out := w.muster("logs", "pair", "--all-tasks"); !strings.Contains(out, "hello from task-0") {
		t.Errorf("they said %q", out)
	}
}

// onTwo checks that two tasks of a workload had a node each.
func onTwo(t *testing.T, w *api.Workload, one, two int) {
	t.Helper()
	on := map[int]string{}
	for _, task := range w.Attempts[len(w.Attempts)-1].Tasks {
		on[task.Index] = task.Node
	}
	if nodes := on[one] + " " + on[two]; nodes != "one two" && nodes != "two one" {
		t.Errorf("%s ran on %v", w.Name, on)
	}
}
