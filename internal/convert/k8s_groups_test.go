package convert_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/convert"
	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
)

// lost are the reasons why meaning is lost.
func lost(r *source.Result) (all []string) {
	for _, n := range r.Lossy() {
		all = append(all, n.Field+": "+n.Reason)
	}
	return all
}

// said runs the command of the task of a rank as its backend would, and
// returns what it prints.
func said(t *testing.T, d *spec.Document, rank string, env ...string) string {
	t.Helper()
	index := 1
	if rank == "0" {
		index = 0
	}
	argv := d.CommandOf(index)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "NODE_RANK="+rank, "RANK="+rank, "MASTER_ADDR=10.0.0.1", "MUSTER_TASK_ADDRESSES=10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.4", "TMPDIR="+t.TempDir())
	for name, value := range d.EnvOf(index) {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("rank %s: %v\n%s\n%q", rank, err, out, argv)
	}
	return strings.TrimSpace(string(out))
}

const several = `apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: rl}
spec:
  network: {subdomain: net}
  successPolicy: {operator: All, targetReplicatedJobs: [trainer]}
  replicatedJobs:
  - name: sampler
    replicas: 2
    template: {spec: {parallelism: 1, completions: 1, template: {spec: {containers: [{name: a, image: a/rl:1, env: [{name: PART, value: sampler}],
      command: [sh, -c, 'echo $PART $JOB_COMPLETION_INDEX talks to rl-trainer-0-0.net and rl-sampler-1-0.net']}]}}}}
  - name: trainer
    template: {spec: {parallelism: 1, completions: 1, template: {spec: {containers: [{name: a, image: a/rl:1, env: [{name: PART, value: trainer}, {name: FIRST, value: rl-sampler-0-0.net},
      {name: MASTER_ADDR, value: rl-trainer-0-0}], command: [printenv], args: [PART, FIRST]}]}}}}
`

func TestGroupsOfOneImageAreOneGang(t *testing.T) {
	r := imported(t, []byte(several))
	if len(r.Documents) != 1 || len(r.Lossy()) > 0 {
		t.Fatalf("%d documents; lost: %q", len(r.Documents), lost(r))
	}
	d := r.Documents[0]
	if d.Workers != 3 || d.CleanPolicy != "running" {
		t.Errorf("it has %d workers and ends %q", d.Workers, d.CleanPolicy)
	}
	for rank, want := range map[string]string{
		"0": "trainer\n10.0.0.2",
		"1": "sampler 0 talks to 10.0.0.1 and 10.0.0.3",
		"2": "sampler 0 talks to 10.0.0.1 and 10.0.0.3",
	} {
		if got := said(t, d, rank, "JOB_COMPLETION_INDEX="+rank); got != want {
			t.Errorf("rank %s: %q, want %q", rank, got, want)
		}
	}
}

func TestGroupsThatWaitForTheEndOfOthersAreWorkloads(t *testing.T) {
	text := "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: s}\nspec:\n  replicatedJobs:\n" + group("fetch", 1) + group("train", 4) +
		"    dependsOn: [{name: fetch, status: Complete}]\n" + group("eval", 1) + "    dependsOn: [{name: train, status: Complete}]\n"
	r := imported(t, []byte(text))
	var names, after []string
	for _, d := range r.Documents {
		names = append(names, d.Name)
		for _, a := range d.After {
			after = append(after, a.Workload+" "+a.Event())
		}
	}
	if !slices.Equal(names, []string{"s-fetch", "s-train", "s-eval"}) || !slices.Equal(after, []string{"s-fetch succeeded", "s-train succeeded"}) || len(r.Lossy()) > 0 {
		t.Errorf("%q after %q; lost: %q", names, after, lost(r))
	}
	if n := r.Documents[1].Workers; n != 4 {
		t.Errorf("%d train", n)
	}
}

// What cannot be one gang is told, and asks for no more than its source.
func TestGroupsOfSeveralImagesAreWorkloadsAndThatIsTold(t *testing.T) {
	text := "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: s}\nspec:\n  startupPolicy: {startupPolicyOrder: InOrder}\n  replicatedJobs:\n" + group("a", 2) + strings.Replace(group("b", 3), "image: a", "image: b", 1)
	r := imported(t, []byte(text))
	if len(r.Documents) != 2 || r.Documents[0].Workers+r.Documents[1].Workers != 5 || r.Documents[0].Name != "s-a" {
		t.Errorf("%d documents", len(r.Documents))
	}
	if all := strings.Join(lost(r), "\n"); !strings.Contains(all, "a has the image a and b another") || !strings.Contains(all, "not one group after another") {
		t.Errorf("lost: %s", all)
	}
}

func TestParameterServersAreOfTheGang(t *testing.T) {
	const text = `apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: mnist}
spec:
  tfReplicaSpecs:
    Evaluator: {template: {spec: &pod {containers: [{name: tensorflow, image: tf:1, command: [sh, -c, 'echo "$TF_CONFIG"']}]}}}
    PS: {replicas: 1, template: {spec: *pod}}
    Worker: {replicas: 2, restartPolicy: Never, template: {spec: *pod}}
`
	r := imported(t, []byte(text))
	d := r.Documents[0]
	if d.Workers != 4 || d.CleanPolicy != "running" || len(r.Lossy()) > 0 {
		t.Fatalf("it has %d workers and ends %q; lost: %q", d.Workers, d.CleanPolicy, lost(r))
	}
	const platform = `TF_CONFIG={"cluster":{"chief":["h:1"],"worker":["i:2","j:3","k:4"]},"task":{"type":"chief","index":0}}`
	const cluster = `{"cluster":{"worker":["h:1","i:2"],"ps":["j:3"]},"task":{"type":`
	for rank, want := range map[string]string{"0": `"worker","index":0}`, "1": `"worker","index":1}`, "2": `"ps","index":0}`, "3": `"evaluator","index":0}`} {
		if got := said(t, d, rank, platform); got != cluster+want+`,"environment":"cloud"}` {
			t.Errorf("rank %s: %s", rank, got)
		}
	}
	_, err := convert.Import([]byte(strings.Replace(text, "PS: {replicas: 1, template: {spec: *pod}}", "PS: {template: {spec: {containers: [{name: tensorflow, image: tf:2, command: [a]}]}}}", 1)))
	if err == nil || !strings.Contains(err.Error(), "image") {
		t.Errorf("two images: %v", err)
	}
}

func TestPodsOfAnIndexedJobReachEachOther(t *testing.T) {
	r := imported(t, []byte(`apiVersion: batch/v1
kind: Job
metadata: {name: ring}
spec:
  completions: 2
  parallelism: 2
  completionMode: Indexed
  template: {spec: {subdomain: net, restartPolicy: Never, containers: [{image: a, command: [sh, -c, 'echo ring-0.net ring-1.net my-ring-1 ring-12']}]}}
`))
	if got := said(t, r.Documents[0], "1"); got != "10.0.0.1 10.0.0.2 my-ring-1 ring-12" || len(r.Lossy()) > 0 {
		t.Errorf("it says %q; lost: %q", got, lost(r))
	}
}

// Pods of a JobSet are tried again as their Jobs say, six times where these say
// nothing, unless the JobSet itself says how often the whole is.
func TestGangsOfAJobSetAreTriedAgain(t *testing.T) {
	for in, want := range map[string]int{"": 6, "backoffLimit: 0, ": 0, "backoffLimit: 2, ": 2} {
		text := "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: s}\nspec:\n  replicatedJobs:\n  - {name: w, replicas: 1, template: {spec: {" + in +
			"parallelism: 2, completions: 2, template: {spec: {containers: [{name: a, image: b}]}}}}}\n"
		if got := imported(t, []byte(text)).Documents[0].Retry.Limit; got != want {
			t.Errorf("%q: %d times, want %d", in, got, want)
		}
		if got := imported(t, []byte(text+"  failurePolicy: {maxRestarts: 3}\n")).Documents[0].Retry.Limit; got != 3 {
			t.Errorf("%q, and the set says 3: %d times", in, got)
		}
	}
}

// TestNumbersOfPodsAreTheirGroups: what a field of the pod says is counted in the group,
// not in the gang.
func TestNumbersOfPodsAreTheirGroups(t *testing.T) {
	const env = `env: [{name: N, valueFrom: {fieldRef: {fieldPath: "metadata.%s"}}}]`
	group := func(name string, n int) string {
		return fmt.Sprintf("  - {name: %s, template: {spec: {parallelism: %d, completions: %d, template: {spec: {containers: [{name: c, image: i, command: [%s], ", name, n, n, name) +
			fmt.Sprintf(env, "annotations['batch.kubernetes.io/job-completion-index']") + "}]}}}}}\n"
	}
	set := imported(t, []byte("apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: s}\nspec:\n  replicatedJobs:\n"+group("a", 2)+group("b", 4)))
	if text := strings.Join(set.Documents[0].Command.Argv, " "); !strings.Contains(text, "# b\nexport JOB_COMPLETION_INDEX=$(((NODE_RANK - 2) % 4))\nexport N=\"$JOB_COMPLETION_INDEX\"") {
		t.Errorf("it runs %s", text)
	}
	pod := "{template: {spec: {containers: [{name: pytorch, image: i, command: [%s], " + fmt.Sprintf(env, "labels['training.kubeflow.org/replica-index']") + "}]}}, replicas: %d}"
	job := imported(t, []byte("apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: p}\nspec: {pytorchReplicaSpecs: {Master: "+fmt.Sprintf(pod, "m", 1)+", Worker: "+fmt.Sprintf(pod, "w", 3)+"}}\n"))
	d := job.Documents[0]
	if text := strings.Join(d.Command.Argv, " "); !strings.Contains(text, `N="$((NODE_RANK - 1))"`) || !strings.Contains(strings.Join(d.Master.Command.Argv, " "), `N="$((NODE_RANK - 0))"`) {
		t.Errorf("it runs %s and %v", text, d.Master)
	}
}
