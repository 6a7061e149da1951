package podspec

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// TestDemandsAreLearntFromRefusals: where the whole cluster wants something of
// pods, no label says so.
func TestDemandsAreLearntFromRefusals(t *testing.T) {
	no := func(why string) error { return apierrors.NewForbidden(corev1.Resource("pods"), "x", errors.New(why)) }
	var d policies
	for _, c := range []struct {
		err  error
		news bool
	}{
		{nil, false},
		{no("exceeded quota: q"), false},
		{errors.New("must specify limits.cpu"), false},
		{no(`violates PodSecurity "baseline:latest": privileged`), false},
		{no("failed quota: q: must specify limits.cpu for: main"), true},
		{no("failed quota: q: must specify limits.cpu for: main"), false},
		{no(`violates PodSecurity "restricted:latest": seccompProfile`), true},
		{no(`violates PodSecurity "restricted:latest": seccompProfile`), false},
	} {
		if got := d.learn("ml", c.err); got != c.news {
			t.Errorf("%v: %t", c.err, got)
		}
	}
	if got := d.in("ml"); got != (policy{true, true}) || d.in("other") != (policy{}) {
		t.Errorf("learnt %+v, and of others %+v", got, d.in("other"))
	}
}

// TestPodsAreDrawnAsTheirTasksAsk compares what is made of assignments with
// testdata; UPDATE_SCRIPTS=1 writes it anew.
func TestPodsAreDrawnAsTheirTasksAsk(t *testing.T) {
	p := New(cluster.New(cluster.Options{Program: "registry/muster:1", RuntimeClass: "nvidia"}, nil))
	p.cluster.Namespaces.Seen(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "muster-strict", Labels: map[string]string{labelEnforced: restricted}}})
	user, group := uint32(1000), uint32(2000)
	for name, a := range map[string]backend.Assignment{
		"plain": {ID: core.TaskID{Workload: "01abcdefgh"}, Image: "busybox", Argv: []string{"echo", "$(HOME) $X"}, About: backend.About{Project: "p", Name: "plain"}},
		"all": {
			ID: core.TaskID{Workload: "01abcdefgh", Attempt: 2, Index: 3}, Node: "n", Image: "registry/train:1", Pull: backend.PullAlways, PullRetries: 4,
			Credentials: []backend.Credential{{Server: "registry/", User: "u", Password: "secret password"}},
			Devices:     []core.Share{{Index: 1, Milli: 1000}, {Index: 4, Milli: 1000}}, CPU: 1500, Memory: 4 << 30, SHM: 1 << 30, UID: &user, GID: &group,
			Prelude: []byte("export A=1\n"), Argv: []string{"python3", "t.py"}, Workdir: "/work", TTY: true,
			Env: []string{"PLAIN=$x", "TOKEN=secret token"}, Secret: []string{"TOKEN"},
			Init:  []backend.Init{{Argv: []string{"prepare"}, Retries: 2}},
			Files: []backend.File{{Name: "parameters.yaml", EnvVar: "PARAMETERS", Path: "/mnt/config/parameters.yaml", Data: []byte("secret: parameters")}, {Name: "key", EnvVar: "KEY", Data: []byte("secret key")}},
			Mounts: []backend.Mount{
				{Source: "/srv", Target: "/srv", ReadOnly: true}, {Source: "/made", Target: "/made", Create: true}, {Temporary: true, Target: "/fast", Size: 1 << 20},
				{Claim: "datasets", Target: "/data", ReadOnly: true}, {Program: true, Source: "/proc/self/exe", Target: "/opt/muster/muster"},
			},
			Gang: 4, Grace: 90 * time.Second, Ports: []int{8000},
			About: backend.About{
				Project: "vision", Name: "llama", Kind: lifecycle.Distributed, Role: "worker", User: "ana@example.com",
				Labels: map[string]string{"team": "x", "muster.dev/workload": "forged", "no label": "y"}, Annotations: map[string]string{"note": "free text", naming.NoteTask: "forged"},
				Tolerations: []spec.Toleration{{Key: "dedicated", Value: "x", Effect: "NoSchedule"}, {Key: "any"}},
			},
		},
		"restricted": {
			ID: core.TaskID{Workload: "01abcdefgh"}, Image: "mpi", Argv: []string{"mpirun"}, UID: &user, CPU: 500, Memory: 1 << 30, Init: []backend.Init{{Argv: []string{"prepare"}}},
			Mounts: []backend.Mount{{Claim: "datasets", Target: "/data"}, {Program: true, Source: "/proc/self/exe", Target: "/opt/muster/muster"}}, About: backend.About{Project: "strict", Name: "mpi"},
		},
		"replica": {
			ID: core.TaskID{Workload: "01abcdefgh", Index: 1}, Image: "serve", Ports: []int{8000}, Ready: &backend.Probe{Path: "/healthz", Port: 8000, Period: 10 * time.Millisecond, Timeout: 3 * time.Second, Failures: 5},
			About: backend.About{Project: "p", Name: "chat", Kind: lifecycle.Inference, Role: "replica"}, MIG: spec.MIG("1g.10gb=2"), Extended: map[string]int{"rdma/hca": 1, "vpc.amazonaws.com/efa": 4},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := p.Build(&a)
			if err != nil {
				t.Fatal(err)
			}
			pod, err := json.MarshalIndent(b.Pod, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(pod), "secret password") || strings.Contains(string(pod), "secret token") || strings.Contains(string(pod), "secret key") {
				t.Error("the pod shows a secret")
			}
			kept, err := json.MarshalIndent(b.Secret, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			got := string(pod) + "\n" + string(kept) + "\n"
			file := filepath.Join("testdata", "pod-"+name+".json")
			if os.Getenv("UPDATE_SCRIPTS") != "" {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s is otherwise:\n%s", file, got)
			}
		})
	}
}
