package convert_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/convert"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// What is about clouds alone is said of them, and nothing is lost.
func TestCloudsAreNoLoss(t *testing.T) {
	for _, text := range []string{
		"run: x\nenvs: {HF_TOKEN: null}\nresources: {cloud: aws, region: us-east-1, zone: a, disk_tier: best, disk_size: 100, use_spot: true, autostop: 10, accelerators: A100, any_of: [{infra: aws/us-east-1}, {cloud: gcp, use_spot: true}]}\n",
		"run: x\nresources: {instance_type: m5.large, infra: aws}\n",
		"type: task\npython: \"3.12\"\ncommands: [x]\nenv: [HF_TOKEN]\nbackends: [aws]\nregions: [r]\nspot_policy: auto\nresources: {gpu: 'H100:2..4', cpu: 8..16, memory: 32GB..}\n",
		"type: dev-environment\nide: vscode\nresources: {gpu: H100}\n",
	} {
		if r := imported(t, []byte(text)); len(r.Lossy()) > 0 {
			t.Errorf("%s: lost: %q", text, lost(r))
		}
	}
}

func TestTypesOfMachinesHaveTheirGPUs(t *testing.T) {
	for name, want := range map[string]string{
		"p3.2xlarge": "1 v100", "p4d.24xlarge": "8 a100", "g5.xlarge": "1 a10g", "g5.12xlarge": "4 a10g", "a2-highgpu-4g": "4 a100", "g2-standard-24": "2 l4", "Standard_NC24ads_A100_v4": "1 a100", "m5.large": "0 ", "e2-standard-4": "0 ", "Standard_D4s_v5": "0 ",
	} {
		r := imported(t, []byte("run: x\nresources: {instance_type: "+name+"}\n"))
		if g := r.Documents[0].Resources.GPU; fmt.Sprintf("%d %s", g.Count, g.Type) != want || len(r.Lossy()) > 0 {
			t.Errorf("%s has %d %s, want %s; lost: %q", name, g.Count, g.Type, want, lost(r))
		}
	}
	if r := imported(t, []byte("run: x\nresources: {instance_type: gpu_8x_gh200}\n")); len(r.Lossy()) != 1 {
		t.Errorf("of a type that is not known nothing is lost: %q", lost(r))
	}
	r := imported(t, []byte("run: x\nresources: {instance_type: p4d.24xlarge, accelerators: A100:2}\n"))
	if n := r.Documents[0].TotalGPUs(); n != 2 {
		t.Errorf("%d GPUs, and it asks for 2", n)
	}
}

func TestTasksOfSkyPilotHaveItsVariables(t *testing.T) {
	r := imported(t, []byte("num_nodes: 2\nresources: {accelerators: 'H100:4'}\nsetup: 'echo $SKYPILOT_SETUP_NODE_RANK'\nrun: 'echo $SKYPILOT_NODE_RANK $SKYPILOT_NUM_NODES $SKYPILOT_NUM_GPUS_PER_NODE $SKYPILOT_NUM_JOBS $(echo \"$SKYPILOT_NODE_IPS\" | head -n1)'\n"))
	d := r.Documents[0]
	if got := said(t, d, "1"); got != "1 2 4 1 10.0.0.1" {
		t.Errorf("it says %q", got)
	}
	d.Command = d.Init[0].Command
	if got := said(t, d, "1"); got != "1" {
		t.Errorf("its setup says %q", got)
	}
}

func TestServicesOfSkyPilotAreServices(t *testing.T) {
	r := imported(t, []byte("service: {readiness_probe: /health, replicas: 2, load_balancing_policy: round_robin}\nresources: {ports: 8080, cpus: 2+}\nrun: python3 server.py\n"))
	if d := r.Documents[0]; d.Kind != lifecycle.Inference || *d.Replicas != 2 || d.Probe.Path != "/health" || d.Ports[0].Port != 8080 || len(r.Lossy()) > 0 {
		t.Errorf("%+v; lost: %q", d, lost(r))
	}
	r = imported(t, []byte("service: {readiness_probe: {path: /, initial_delay_seconds: 60}, replica_policy: {min_replicas: 1, max_replicas: 3, target_qps_per_replica: 5}}\nresources: {ports: 80}\nrun: x\n"))
	if d := r.Documents[0]; d.Autoscale == nil || d.Autoscale.Max != 3 || d.Autoscale.Concurrency != 5 || len(r.Lossy()) != 1 {
		t.Errorf("%+v; lost: %q", d.Autoscale, lost(r))
	}
	if _, err := convert.Import([]byte("service: {replicas: 1}\nrun: x\n")); err == nil || !strings.Contains(err.Error(), "service.ports") {
		t.Errorf("a service without a port: %v", err)
	}
}

func TestDstackHasItsImageAndShell(t *testing.T) {
	for text, want := range map[string][]string{
		"type: task\ncommands: [x]\n":                                {"dstackai/base:0.14-base-ubuntu24.04", "/bin/bash", "uv venv --seed"},
		"type: task\nnvcc: true\npython: 3.12\ncommands: [x]\n":      {"dstackai/base:0.14-devel-ubuntu24.04", "/bin/bash", "uv venv --python 3.12 --seed"},
		"type: task\nimage: a\ncommands: [x]\n":                      {"a", "/bin/sh", "x"},
		"type: task\nimage: a\nshell: bash\ncommands: ['a=(1 2)']\n": {"a", "/bin/bash", "a=(1 2)"},
	} {
		r := imported(t, []byte(text))
		d := r.Documents[0]
		if d.Image != want[0] || d.Command.Argv[0] != want[1] || !strings.Contains(d.Command.Argv[2], want[2]) || len(r.Lossy()) > 0 {
			t.Errorf("%s: %s %q; lost: %q", text, d.Image, d.Command.Argv, lost(r))
		}
	}
	r := imported(t, []byte("type: task\nimage: a\nrepos: ['https://github.com/acme/train:code']\ncommands: [x]\n"))
	if g := r.Documents[0].Integrations[0].Git; g.Repo != "https://github.com/acme/train" || g.Path != "code" || len(r.Lossy()) > 0 {
		t.Errorf("%+v; lost: %q", g, lost(r))
	}
}

// A variable without a value has that of whoever submits, who keeps it as a secret.
func TestVariablesWithoutValuesAreSecrets(t *testing.T) {
	for _, text := range []string{"type: task\nimage: a\nenv: [HF_TOKEN]\ncommands: [x]\n", "run: x\nenvs: {HF_TOKEN: }\n"} {
		d := imported(t, []byte(text)).Documents[0]
		if len(d.Secrets) != 1 || d.Secrets[0].Name != "hf-token" || d.Secrets[0].Env != "HF_TOKEN" || slices.Contains(slices.Sorted(maps.Keys(d.Env)), "HF_TOKEN") {
			t.Errorf("%s: %+v %v", text, d.Secrets, d.Env)
		}
	}
}

// Of several ways to have GPUs the first is asked for, and that is told.
func TestOfSeveralWaysTheFirstIsAskedFor(t *testing.T) {
	for resources, want := range map[string]int{
		"accelerators: {A100:4, A100:8}":                           4,
		"any_of: [{accelerators: 'L4:2'}, {accelerators: 'T4:4'}]": 2,
		"candidates: [{instance_type: g5.12xlarge}, {cloud: gcp}]": 4,
		"accelerators: 'H100:8'\n  any_of: [{cpus: 4}, {cpus: 8}]": 8,
	} {
		r := imported(t, []byte("run: x\nresources:\n  "+resources+"\n"))
		if n := r.Documents[0].TotalGPUs(); n != want || len(r.Lossy()) != 1 {
			t.Errorf("%s: %d GPUs, want %d; lost: %q", resources, n, want, lost(r))
		}
	}
}

// Types of GPUs of which any will do are asked for together.
func TestAnyOfSeveralTypesOfGPUs(t *testing.T) {
	for text, want := range map[string]string{
		"run: x\nresources:\n  accelerators: {T4:1, L4:1}\n  ports: [8000, 9000-9003]\n":             "t4|l4",
		"run: x\nresources: {accelerators: ['A100-80GB:8', 'A100:8', 'A100:8']}\n":                   "a100-80gb|a100",
		"run: x\nresources: {accelerators: 'H100-80GB:8'}\n":                                         "h100",
		"type: task\nimage: a\ncommands: [x]\nresources: {gpu: {name: [MI300X, MI250], count: 1}}\n": "mi300x|mi250",
		"type: task\nimage: a\ncommands: [x]\nresources: {gpu: 'A100:80GB:2'}\n":                     "a100-80gb",
		"type: task\nimage: a\ncommands: [x]\nresources: {gpu: 'A100:48GB'}\n":                       "a100-80gb",
		"type: task\nimage: a\ncommands: [x]\nresources: {gpu: '24GB..48GB:2'}\n":                    "24gb+",
		"type: task\nimage: a\ncommands: [x]\nresources: {gpu: 'A100:96GB'}\n":                       "a100 96gb+",
		"name: a\nimage: b\ncompute: {gpus: 8, gpu_type: a10_24gb}\ncommand: x\n":                    "a10",
		"name: a\nimage: b\ncompute: {gpus: 8, gpu_type: a100_40gb}\ncommand: x\n":                   "a100-40gb",
	} {
		r := imported(t, []byte(text))
		if g := r.Documents[0].Resources.GPU; g.Type != want || len(r.Lossy()) != 0 {
			t.Errorf("%s: %q, want %q; lost: %q", text, g.Type, want, lost(r))
		}
	}
}

// A probe that sends data asks nothing that GET could ask.
func TestProbesThatSendDataAreOfThePort(t *testing.T) {
	r := imported(t, []byte("service: {replicas: 1, readiness_probe: {path: /v1/chat, post_data: {model: m}}}\nresources: {ports: 80}\nrun: x\n"))
	if d := r.Documents[0]; len(r.Lossy()) != 1 || d.Probe != nil || d.Kind != lifecycle.Inference {
		t.Errorf("%+v; lost: %q", r.Documents[0].Probe, lost(r))
	}
}

// A model all of whose GPUs have the memory that is asked for loses nothing.
func TestMemoryOfGPUsIsThatOfTheirModel(t *testing.T) {
	for gpu, want := range map[string]int{"A100:40GB:2": 0, "A100:80GB": 0, "H100:80GB:8": 0, "24GB": 0, "{name: L4, memory: 24GB.., count: 2}": 0, "{memory: {min: 24GB}}": 0, "{total_memory: 24GB}": 1} {
		r := imported(t, []byte("type: task\nimage: a\ncommands: [x]\nresources: {gpu: "+gpu+"}\n"))
		if len(r.Lossy()) != want {
			t.Errorf("%s: lost: %q", gpu, lost(r))
		}
	}
	r := imported(t, []byte("type: task\nimage: a\nnodes: 2\ncommands: [mpirun --hostfile $DSTACK_MPI_HOSTFILE x]\n"))
	if len(r.Lossy()) != 1 {
		t.Errorf("mpirun over nodes: lost: %q", lost(r))
	}
}

// Run:ai's guides write memory of GPUs with a B behind it.
func TestMemoryOfGPUsIsReadAsItIsPrinted(t *testing.T) {
	for text, want := range map[string]string{"10GB": "10G", "20G": "20G", "5Gi": "5Gi", "500": "500M", "500MB": "500M"} {
		r := imported(t, []byte("runai submit a -i b --gpu-memory "+text+"\n"))
		if got := r.Documents[0].Resources.GPU.Memory.String(); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

// An entrypoint that is a shell takes a single command as its script.
func TestAnEntrypointOfDstackIsTheShell(t *testing.T) {
	for entrypoint, want := range map[string]string{"bash -c": "bash -c", "/bin/bash -eo pipefail -c": "/bin/bash -eo pipefail -c"} {
		r := imported(t, []byte("type: task\nimage: ubuntu\nentrypoint: \""+entrypoint+"\"\ncommands:\n- |\n  source x\n  echo $DSTACK_NODE_RANK\n"))
		argv := r.Documents[0].Command.Argv
		if got := strings.Join(argv[:len(argv)-1], " "); got != want || !strings.HasSuffix(argv[len(argv)-1], "{ source x\necho $DSTACK_NODE_RANK\n}") || len(r.Lossy()) > 0 {
			t.Errorf("%s: %q; lost: %q", entrypoint, argv, lost(r))
		}
	}
	for _, rest := range []string{"entrypoint: bash -c\ncommands: [a, b]\n", "entrypoint: python3\ncommands: [a]\n"} {
		if len(lost(imported(t, []byte("type: task\nimage: ubuntu\n"+rest)))) == 0 {
			t.Errorf("%s loses nothing", rest)
		}
	}
}

// Where machines are not taken away, what replaces them on demand means nothing.
func TestReplicasOnDemandAreNoLoss(t *testing.T) {
	r := imported(t, []byte("service:\n  readiness_probe: /\n  replica_policy: {min_replicas: 1, max_replicas: 1, dynamic_ondemand_fallback: true, base_ondemand_fallback_replicas: 1, spot_placer: dynamic_fallback}\nresources: {ports: 80}\nrun: serve\n"))
	if all := lost(r); len(all) > 0 {
		t.Errorf("lost: %q", all)
	}
}

// KServe had another group when it was of Kubeflow.
func TestAnInferenceServiceOfKubeflowIsOne(t *testing.T) {
	r := imported(t, []byte("apiVersion: serving.kubeflow.org/v1beta1\nkind: InferenceService\nmetadata: {name: s}\nspec: {predictor: {minReplicas: 1, containers: [{name: kserve-container, image: a}]}}\n"))
	if d := r.Documents[0]; d.Image != "a" || *d.Replicas != 1 {
		t.Errorf("%+v", d)
	}
	if _, err := convert.Import([]byte("apiVersion: serving.kubeflow.org/v1alpha2\nkind: InferenceService\nmetadata: {name: s}\nspec: {default: {predictor: {}}}\n")); err == nil {
		t.Error("the one before it is taken")
	}
}

// The tasks of a job group run beside each other, where those of a pipeline wait.
func TestAJobGroupRunsBesideEachOther(t *testing.T) {
	text := "name: pair\nexecution: parallel\nprimary_tasks: [lead]\n---\nname: lead\nrun: a\n---\nname: follow\nnum_nodes: 2\nrun: b\n"
	r := imported(t, []byte(text))
	if len(r.Documents) != 2 || r.Documents[0].Name != "pair-1-lead" || len(r.Documents[1].After) != 0 || r.Documents[1].Workers != 2 {
		t.Fatalf("%+v", r.Documents)
	}
	if all := strings.Join(lost(r), "\n"); !strings.Contains(all, "execution") || !strings.Contains(all, "primary_tasks") {
		t.Errorf("lost: %q", all)
	}
	serial := imported(t, []byte(strings.Replace(strings.Replace(text, "parallel", "serial", 1), "primary_tasks: [lead]\n", "", 1)))
	if len(serial.Documents[1].After) != 1 || len(lost(serial)) > 0 {
		t.Errorf("%+v; lost: %q", serial.Documents[1].After, lost(serial))
	}
	if _, err := convert.Import([]byte(strings.Replace(text, "parallel", "sideways", 1))); err == nil {
		t.Error("a way that is none is taken")
	}
}

// A job that may lose nodes is an elastic gang; one of a single node has none to lose.
func TestNodesThatAJobOfSkyPilotMayLose(t *testing.T) {
	for text, want := range map[string][2]int{
		"num_nodes: 8\nresources: {job_recovery: {strategy: DYNAMIC_NODE_SET, min_nodes: 6}}\nrun: a\n": {8, 6},
		"num_nodes: 8\nresources: {job_recovery: {min_nodes: 9}}\nrun: a\n":                             {8, 8},
		"resources: {job_recovery: {min_nodes: 1}}\nrun: a\n":                                           {0, 0},
	} {
		r := imported(t, []byte(text))
		if d := r.Documents[0]; d.Workers != want[0] || d.MinWorkers != want[1] || len(lost(r)) > 0 {
			t.Errorf("%s: %d, at least %d, lost %q", text, d.Workers, d.MinWorkers, lost(r))
		}
	}
}

// On Kubernetes an image is one of containers without a word before it, too.
func TestImagesOfSkyPilotOnKubernetes(t *testing.T) {
	for resources, want := range map[string]string{
		"infra: k8s\n  image_id: ghcr.io/a/b:1":              "ghcr.io/a/b:1",
		"infra: kubernetes/ctx\n  image_id: docker:a/b":      "a/b",
		"cloud: kubernetes\n  image_id: ubuntu":              "ubuntu",
		"infra: aws/us-east-1\n  image_id: ami-0a\n":         "",
		"image_id: skypilot:gpu-ubuntu-2004":                 "",
		"cloud: gcp\n  image_id: projects/p/global/images/i": "",
	} {
		r := imported(t, []byte("resources:\n  "+resources+"\nrun: a\n"))
		if got := r.Documents[0].Image; got != want || want == "" && len(lost(r)) == 0 {
			t.Errorf("%s: %q, want %q; lost: %q", resources, got, want, lost(r))
		}
	}
}

// What a task's own configuration adds to its pods is missed.
func TestPodConfigOfSkyPilotIsTold(t *testing.T) {
	if all := lost(imported(t, []byte("run: a\nconfig: {kubernetes: {pod_config: {spec: {containers: [{env: [{name: A, value: b}]}]}}}}\n"))); len(all) != 1 || !strings.Contains(all[0], "config") {
		t.Errorf("lost: %q", all)
	}
	if all := lost(imported(t, []byte("run: a\nconfig: {aws: {vpc_name: v}}\n"))); len(all) > 0 {
		t.Errorf("lost: %q", all)
	}
}
