package main

import (
	"os"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/musterhq/muster/internal/kubetest"
	"github.com/musterhq/muster/internal/oci/ocitest"
)

// TestMPIInACluster is the start of an mpi gang on a real kubelet: launcher and
// workers have this program from its own image, and the launcher's success is
// that of the gang. That the launcher reaches its workers takes the cluster's
// DNS, which this one does not have.
func TestMPIInACluster(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t, kubetest.Options{NoControllers: true, NoScheduler: true})
	c.Node(t, "real", 0)
	r := c.Registry(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// This program may be linked with the machine's C library, the product is not.
	var libs []ocitest.File
	for _, path := range []string{"/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libc.so.6"} {
		if data, err := os.ReadFile(path); err == nil {
			libs = append(libs, ocitest.File{Path: path[1:], Mode: 0o755, Body: string(data)})
		}
	}
	binary, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	path := v1.Config{Env: []string{"PATH=/bin"}}
	r.Push(t, "train:1", ocitest.Image(t, path, ocitest.Busybox(t), ocitest.Files(libs...)))
	r.Push(t, "muster:1", ocitest.Image(t, path, ocitest.Files(append(libs, ocitest.File{Path: "muster", Mode: 0o755, Body: string(binary)})...)))
	image := r.Ref("train:1")
	w := newWorld(t, "--plane", "kube", "--kubeconfig", c.Kubeconfig, "--kube-program-image", r.Ref("muster:1"))
	const script = `test -x /.muster/muster && test -s "$MUSTER_MPI_TOKEN_FILE" && echo "agent $OMPI_MCA_plm_rsh_agent" && cat "$MUSTER_MPI_HOSTFILE" && echo "$MUSTER_MPI_WORKERS"`
	w.muster("run", "--name", "ring", "--kind", "distributed", "--set", "framework=mpi", "--workers", "2", "--set", "slots=3", "--image", image,
		"--set", "resources.cpu=100m", "--set", "gracePeriod=1s", "--", "sh", "-c", script)
	w.is("ring", "completed", phase("Completed"))
	out := w.muster("logs", "ring")
	for _, want := range []string{"agent /.muster/muster __mpi-rsh", "ring-worker-0 slots=3", "ring-worker-1 slots=3", "ring-worker-1=task-2.w-"} {
		if !strings.Contains(out, want) {
			t.Errorf("the launcher did not see %q:\n%s", want, out)
		}
	}
}
