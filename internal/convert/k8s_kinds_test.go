package convert_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/convert"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

func TestALeaderAndItsWorkersAreAGang(t *testing.T) {
	text := `apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: big}
spec:
  leaderWorkerTemplate:
    size: 3
    leaderTemplate: {spec: {containers: [{name: a, image: vllm, command: [sh, -c, "echo serve $(LWS_GROUP_SIZE)"], resources: {limits: {nvidia.com/gpu: 8}}}]}}
    workerTemplate: {spec: {containers: [{name: a, image: vllm, command: [sh, -c, 'echo join $(LWS_LEADER_ADDRESS) as $LWS_WORKER_INDEX'], resources: {limits: {nvidia.com/gpu: 8}}}]}}
`
	r := imported(t, []byte(text))
	d := r.Documents[0]
	if len(r.Documents) != 1 || d.Workers != 3 || d.TotalGPUs() != 24 || d.Retry.Limit == 0 || len(r.Lossy()) > 0 {
		t.Fatalf("%d documents, %d workers, %d GPUs; lost: %q", len(r.Documents), d.Workers, d.TotalGPUs(), lost(r))
	}
	for rank, want := range map[string]string{"0": "serve 3", "2": "join 10.0.0.1 as 2"} {
		if got := said(t, d, rank); got != want {
			t.Errorf("rank %s: %q", rank, got)
		}
	}
	r = imported(t, []byte(strings.Replace(text, "spec:\n", "spec:\n  replicas: 2\n", 1)))
	if len(r.Documents) != 2 || r.Documents[1].Name != "big-1" || !strings.Contains(strings.Join(lost(r), "\n"), "not scaled or replaced together") {
		t.Errorf("%d documents; lost: %q", len(r.Documents), lost(r))
	}
}

func TestAJobOfVolcanoIsAGang(t *testing.T) {
	r := imported(t, []byte(`apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: v}
spec:
  minAvailable: 3
  schedulerName: volcano
  queue: research
  plugins: {env: [], svc: []}
  tasks:
  - {replicas: 2, name: ps, template: {spec: {containers: [{name: a, image: tf, command: [sh, -c, 'echo ps $VC_TASK_INDEX of $(cat /etc/volcano/ps.host | tr "\n" " ")']}]}}}
  - {replicas: 1, name: main, policies: [{event: TaskCompleted, action: CompleteJob}], template: {spec: {containers: [{name: a, image: tf, command: [sh, -c, 'echo main $VC_PS_HOSTS $VC_PS_NUM']}]}}}
`))
	d := r.Documents[0]
	if d.Workers != 3 || d.Project != "research" || d.CleanPolicy != "running" || d.Retry.Limit != 3 || len(r.Lossy()) > 0 {
		t.Fatalf("%+v; lost: %q", d, lost(r))
	}
	for rank, want := range map[string]string{"0": "main 10.0.0.2,10.0.0.3 2", "2": "ps 1 of 10.0.0.2 10.0.0.3"} {
		if got := said(t, d, rank); got != want {
			t.Errorf("rank %s: %q, want %q", rank, got, want)
		}
	}
}

// A secret here is one value: each key of one of Kubernetes that is used is one.
func TestKeysOfSecretsAreSecrets(t *testing.T) {
	const text = `apiVersion: v1
kind: Secret
type: Opaque
metadata: {name: keys}
stringData: {HF_TOKEN: hidden, WANDB_API_KEY: hidden}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: conf}
data: {LEVEL: debug}
binaryData: {greeting: aGVsbG8=}
---
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec:
  template:
    spec:
      restartPolicy: Never
      volumes:
      - {name: s, secret: {secretName: keys, items: [{key: HF_TOKEN, path: token}]}}
      - {name: c, configMap: {name: conf}}
      containers:
      - name: a
        image: x
        command: [echo, "--token=$(TOKEN)"]
        env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: keys, key: HF_TOKEN}}}]
        envFrom: [{prefix: P_, secretRef: {name: keys}}, {prefix: C_, configMapRef: {name: conf}}, {configMapRef: {name: other, optional: true}}]
        volumeMounts: [{name: s, mountPath: /etc/keys, readOnly: true}, {name: c, mountPath: /etc/conf}]
`
	r := imported(t, []byte(text))
	if len(r.Lossy()) > 0 {
		t.Fatalf("lost: %q", lost(r))
	}
	d := r.Documents[0]
	var uses []string
	for _, s := range d.Secrets {
		uses = append(uses, s.Env+"="+s.Name)
	}
	slices.Sort(uses)
	if want := []string{"P_HF_TOKEN=keys-hf-token", "P_WANDB_API_KEY=keys-wandb-api-key", "TOKEN=keys-hf-token"}; !slices.Equal(uses, want) {
		t.Errorf("secrets are %q, want %q", uses, want)
	}
	if d.Volumes[0].Secret != "keys-hf-token" || d.Volumes[0].Path != "/etc/keys/token" || d.Volumes[1].Config["greeting"] != "hello" || d.Env["C_LEVEL"] != "debug" {
		t.Errorf("volumes are %+v, variables %v", d.Volumes, d.Env)
	}
	if got := said(t, d, "0", "TOKEN=of the secret"); got != "--token=of the secret" {
		t.Errorf("it says %q", got)
	}
	for _, n := range r.Notes {
		if strings.Contains(n.Value+n.Reason, "hidden") {
			t.Errorf("a note shows a value: %s", n)
		}
	}
}

func TestTasksKnowWhatPodsKnow(t *testing.T) {
	r := imported(t, []byte(`apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec:
  template:
    metadata: {labels: {team: red}}
    spec:
      restartPolicy: Never
      containers:
      - name: a
        image: x
        command: [sh, -c, 'echo "$ME $WHERE $TEAM $CPUS $MIB $(ME)"']
        resources: {limits: {cpu: 1500m, memory: 2Gi}}
        env:
        - {name: ME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: WHERE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
        - {name: TEAM, valueFrom: {fieldRef: {fieldPath: "metadata.labels['team']"}}}
        - {name: CPUS, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}
        - {name: MIB, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}}
`))
	if got := said(t, r.Documents[0], "0", "MUSTER_WORKLOAD=j", "MUSTER_TASK_INDEX=0", "MUSTER_NODE=n1"); got != "j-0 n1 red 2 2048 j-0" || len(r.Lossy()) > 0 {
		t.Errorf("it says %q; lost: %q", got, lost(r))
	}
}

func TestPodsOfAGroupAreOneGang(t *testing.T) {
	pod := func(name, total string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name + "\n  labels: {kueue.x-k8s.io/queue-name: q, kueue.x-k8s.io/pod-group-name: pair}\n  annotations: {kueue.x-k8s.io/pod-group-total-count: \"" + total +
			"\"}\nspec: {restartPolicy: Never, containers: [{name: a, image: x, command: [work]}]}\n---\n"
	}
	r := imported(t, []byte(pod("a", "2")+pod("b", "2")))
	if d := r.Documents[0]; len(r.Documents) != 1 || d.Kind != lifecycle.Distributed || d.Workers != 2 || d.Name != "pair" || d.Project != "q" || len(r.Lossy()) > 0 {
		t.Errorf("%d documents: %+v; lost: %q", len(r.Documents), d, lost(r))
	}
	if r = imported(t, []byte(pod("a", "3")+pod("b", "3"))); len(r.Lossy()) == 0 {
		t.Error("that a pod is missing is not told")
	}
}

// What stands beside a workload is passed over, and told where it is missed.
func TestWhatStandsBesideIsNotRefused(t *testing.T) {
	const job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {template: {spec: {restartPolicy: Never, containers: [{image: a, command: [curl, 'http://store:9000/x']}]}}}\n---\n"
	for beside, want := range map[string]string{
		"apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: q}\nspec: {weight: 1}\n": "",
		"apiVersion: v1\nkind: Service\nmetadata: {name: other}\nspec: {clusterIP: None}\n":                "",
		"apiVersion: v1\nkind: Service\nmetadata: {name: store}\nspec: {ports: [{port: 9000}]}\n":          "line 4 reaches it by its name",
		"apiVersion: example.com/v1\nkind: Gadget\nspec: {}\n":                                             "is not read",
	} {
		r := imported(t, []byte(job+beside))
		if all := strings.Join(lost(r), "\n"); len(r.Documents) != 1 || !strings.Contains(all, want) || want == "" && all != "" {
			t.Errorf("%s%d documents; lost: %s", beside, len(r.Documents), all)
		}
	}
	if _, err := convert.Import([]byte(job + "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: c}\n")); err == nil {
		t.Error("a CronJob beside a Job is passed over")
	}
}

// A Service is a name of the tasks that it selects, for them and for others.
func TestAServiceOfAWorkloadIsAName(t *testing.T) {
	const server = "apiVersion: v1\nkind: Pod\nmetadata: {name: db, labels: {app: db, tier: back}}\nspec: {restartPolicy: Never, containers: [{image: a, command: [b]}]}\n---\n"
	const client = "apiVersion: v1\nkind: Pod\nmetadata: {name: c}\nspec: {restartPolicy: Never, containers: [{image: a, command: [curl, 'http://store:9000/x']}]}\n---\n"
	const service = "apiVersion: v1\nkind: Service\nmetadata: {name: store}\nspec: {selector: {app: db}, ports: [{port: 9000}]}\n"
	r := imported(t, []byte(service+"---\n"+server+client))
	if len(r.Documents) != 2 || r.Documents[0].Annotations["muster.dev/hosts"] != "store=*" || r.Documents[1].Annotations["muster.dev/hosts"] != "store=@db" || len(r.Lossy()) > 0 {
		t.Errorf("%d documents: %v, lost: %q", len(r.Documents), r.Documents[0].Annotations, lost(r))
	}
	r = imported(t, []byte(server+strings.Replace(client, "name: c}", "name: c, namespace: lab}", 1)+service))
	if at := r.Documents[1].Annotations["muster.dev/hosts"]; r.Documents[1].Project == r.Documents[0].Project || at != "" {
		t.Errorf("a workload of project %s knows %q of another", r.Documents[1].Project, at)
	}
	const first = "apiVersion: v1\nkind: Service\nmetadata: {name: one}\nspec: {selector: {job-name: j, batch.kubernetes.io/job-completion-index: '0'}, ports: [{port: 9000}]}\n"
	r = imported(t, []byte("apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {completions: 2, parallelism: 2, completionMode: Indexed, template: {spec: {restartPolicy: Never, containers: [{image: a, command: [b]}]}}}\n---\n"+first))
	if at := r.Documents[0].Annotations["muster.dev/hosts"]; at != "one=0" {
		t.Errorf("a Service of the first pod is %q", at)
	}
	for change, want := range map[string]string{"app: db}/app: other}": "not known here", "selector: {app: db}/selector: {}": "not known here", "port: 9000}/port: 9000, targetPort: 90}": "its port 9000 is 90 of the task"} {
		from, to, _ := strings.Cut(change, "/")
		r := imported(t, []byte(server+client+strings.Replace(service, from, to, 1)))
		if all := strings.Join(lost(r), "\n"); !strings.Contains(all, want) {
			t.Errorf("%s: lost: %q", change, all)
		}
	}
}

func TestARuntimeSaysWhatATrainJobDoesNot(t *testing.T) {
	const job = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: t}\nspec:\n  runtimeRef: {name: NAME}\n  trainer: {numNodes: 2, command: [torchrun, a.py], resourcesPerNode: {limits: {nvidia.com/gpu: 1}}}\n"
	r := imported(t, []byte(strings.Replace(job, "NAME", "torch-distributed", 1)))
	if d := r.Documents[0]; d.Framework != "pytorch" || !strings.HasPrefix(d.Image, "pytorch/pytorch:") || d.Workers != 2 || len(r.Lossy()) > 0 {
		t.Errorf("%+v; lost: %q", d, lost(r))
	}
	r = imported(t, []byte(strings.Replace(job, "NAME", "ours", 1)+`---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: ours}
spec:
  mlPolicy: {numNodes: 1, torch: {numProcPerNode: auto}}
  template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {nodeSelector: {kind: big}, containers: [{name: node, image: our/torch:1, command: [none]}]}}}}}]}}
`))
	if d := r.Documents[0]; d.Image != "our/torch:1" || d.Framework != "pytorch" || d.Workers != 2 || d.NodeSelector["kind"] != "big" || d.Command.Argv[0] != "torchrun" || len(r.Lossy()) > 0 {
		t.Errorf("%+v; lost: %q", d, lost(r))
	}
}

func TestAPredictorWithAContainerIsAService(t *testing.T) {
	r := imported(t, []byte(`apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: s}
spec: {predictor: {minReplicas: 0, maxReplicas: 3, scaleTarget: 4, containers: [{name: kserve-container, image: llm:1, args: [--model, x]}]}}
`))
	if d := r.Documents[0]; d.Kind != lifecycle.Inference || d.Autoscale == nil || d.Autoscale.Min != 0 || d.Autoscale.Max != 3 || d.Autoscale.Concurrency != 4 || d.Ports[0].Port != 8080 || len(r.Lossy()) > 0 {
		t.Errorf("%+v; lost: %q", d, lost(r))
	}
	for predictor, want := range map[string]string{
		"{model: {modelFormat: {name: sklearn}}}":                                      "storageUri: is missing",
		"{model: {modelFormat: {name: mine}, storageUri: gs://a/b}}":                   "is no format that KServe's own runtimes read",
		"{model: {modelFormat: {name: sklearn}, runtime: mine, storageUri: gs://a/b}}": "is a runtime of the cluster's own",
		"{model: {storageUri: gs://a/b}}":                                              "names no format",
		"{pytorch: {storageUri: gs://a/b}}":                                            "kserve-torchserve does not fetch models",
		"{sklearn: {storage: {key: a, path: b}}}":                                      "write storageUri",
		"{minReplicas: 1}": "write spec.predictor.containers",
	} {
		_, err := convert.Import([]byte("apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: s}\nspec: {predictor: " + predictor + "}\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", predictor, err)
		}
	}
}

func TestARayClusterTakesItsOptions(t *testing.T) {
	const cluster = `headGroupSpec: {rayStartParams: {dashboard-host: 0.0.0.0, num-cpus: "0"}, template: {spec: {containers: [{name: ray-head, image: ray:2, volumeMounts: [{name: c, mountPath: /code}]}], volumes: [{name: c, configMap: {name: code}}]}}}, workerGroupSpecs: [{groupName: g, replicas: 2, minReplicas: 1, maxReplicas: 5, template: {spec: {containers: [{name: ray-worker, image: ray:2}]}}}]`
	r := imported(t, []byte("apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: r}\nspec:\n  entrypoint: python /code/a.py\n  runtimeEnvYAML: \"pip: [x]\"\n  rayClusterSpec: {"+cluster+"}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: code}\ndata: {a.py: print()}\n"))
	d := r.Documents[0]
	if d.Workers != 3 || len(r.Lossy()) > 0 || len(d.Volumes) != 1 || !strings.Contains(d.Command.Argv[2], "'--num-cpus=0'") || !strings.Contains(d.Command.Argv[2], "--runtime-env /tmp/runtime-env.yaml -- python /code/a.py") {
		t.Errorf("%+v; lost: %q", d, lost(r))
	}
	r = imported(t, []byte("apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: r}\nspec: {"+strings.Replace(cluster, "configMap: {name: code}", "hostPath: {path: /c}", 1)+"}\n"))
	if d := r.Documents[0]; d.Workers != 3 || len(r.Lossy()) > 0 || !strings.Contains(d.Command.Argv[2], "sleep infinity") {
		t.Errorf("%+v; lost: %q", d, lost(r))
	}
}

func TestAHeadRunsItsOwnCommandFirst(t *testing.T) {
	r := imported(t, []byte("apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: r}\nspec: {headGroupSpec: {template: {spec: {containers: [{name: ray-head, image: ray:2, command: [\"(./watch.sh&)\"]}]}}}}\n"))
	if text := r.Documents[0].Command.Argv[2]; !strings.HasPrefix(text, "(./watch.sh&) || exit $?\n") || len(r.Lossy()) > 0 {
		t.Errorf("it runs %s; lost: %q", text, lost(r))
	}
}

// Of equal tasks so many start together as the Job says, and the others later.
func TestAJobOfVolcanoStartsWithItsMinimum(t *testing.T) {
	r := imported(t, []byte("apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: v}\nspec: {minAvailable: 2, tasks: [{replicas: 5, name: a, template: {spec: {containers: [{name: a, image: a}]}}}]}\n"))
	if d := r.Documents[0]; d.MinSize() != 2 || d.Size() != 5 || !d.Live() || len(r.Lossy()) > 0 {
		t.Errorf("it starts with %d of %d; lost: %q", d.MinSize(), d.Size(), lost(r))
	}
}
