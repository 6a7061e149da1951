package convert_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/convert"
	"github.com/musterhq/muster/internal/convert/export"
	"github.com/musterhq/muster/internal/convert/slurm"
	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

const pod = `apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  restartPolicy: Never
  containers:
  - name: main
    image: alpine:3.20
`

// TestBadInputIsRefusedWithItsLine: what cannot be is refused, and says where
// and why.
func TestBadInputIsRefusedWithItsLine(t *testing.T) {
	bomb := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'j'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat("*"+string(c-1)+", ", 10), ", "))
	}
	for name, c := range map[string]struct {
		in, why string
		line    int
	}{
		"mixed fields":            {"compute: {gpus: 8}\nnum_nodes: 2\nrun: x\n", "is of skypilot, and compute in line 1 of mcli", 2},
		"mixed documents":         {strings.Replace(pod, "NAME", "a", 1) + "---\ntype: task\ncommands: [x]\n", "looks like dstack", 10},
		"bomb":                    {"apiVersion: v1\nkind: Pod\n" + bomb, "", 0},
		"anchor that is none":     {"apiVersion: v1\nkind: Pod\nmetadata: *m\n", "names no anchor", 3},
		"merge key":               {"type: task\nx: &x {a: 1}\nenv:\n  <<: *x\n", "merge keys", 4},
		"duplicate key":           {"name: a\nimage: b\ncompute: {gpus: 1}\nimage: c\n", "stands twice, first in line 2", 4},
		"duplicate deep":          {strings.Replace(pod, "NAME", "a", 1) + "    image: c\n", "stands twice", 9},
		"tab":                     {"apiVersion: v1\nkind: Pod\nmetadata:\n\tname: a\n", "tab", 4},
		"windows script":          {"#!/bin/bash\r\n#SBATCH -N 1\r\ntrue\r\n", "as lines of Windows do", 1},
		"unknown directive":       {"#!/bin/bash\n#SBATCH --ntask=4\ntrue\n", "did you mean --ntasks?", 2},
		"unknown letter":          {"#!/bin/bash\n#SBATCH -Y 4\ntrue\n", "is no option of sbatch", 2},
		"quote":                   {"#!/bin/bash\n#SBATCH --comment=\"a\ntrue\n", "is not closed", 2},
		"no shebang":              {"#SBATCH -N 1\ntrue\n", "does not begin with #!", 1},
		"no command":              {"#!/bin/bash\n#SBATCH -N 1\n", "has no command", 2},
		"interpreter":             {"#!\nx\n", "names no interpreter", 1},
		"gpus twice":              {"#!/bin/bash\n#SBATCH -N 2\n#SBATCH --gpus=8\n#SBATCH --gpus-per-node=8\ntrue\n", "makes 4 GPUs on each node, and --gpus-per-node 8", 3},
		"gpus per task":           {"#!/bin/bash\n#SBATCH -n 4\n#SBATCH --gres=gpu:2\n#SBATCH --gpus-per-task=1\ntrue\n", "makes 4 GPUs on each node, and --gres 2", 4},
		"gpus uneven":             {"#!/bin/bash\n#SBATCH -N 2\n#SBATCH --gpus=3\ntrue\n", "not divided evenly", 3},
		"types of GPUs":           {"#!/bin/bash\n#SBATCH --gres=gpu:a100:1\n#SBATCH --gpus-per-node=h100:1\ntrue\n", "asks for h100, and --gres for a100", 3},
		"tasks of no GPU":         {"#!/bin/bash\n#SBATCH -N 4\n#SBATCH --ntasks-per-gpu=2\ntrue\n", "neither GPUs nor tasks are said", 3},
		"tasks that do not fit":   {"#!/bin/bash\n#SBATCH -N 2\n#SBATCH -n 9\n#SBATCH --ntasks-per-node=4\ntrue\n", "do not fit", 3},
		"memory in MiB":           {"#!/bin/bash\n#SBATCH --mem=4GiB\ntrue\n", "is not an amount of memory", 2},
		"time in hours":           {"#!/bin/bash\n#SBATCH --time=2h\ntrue\n", "is not a time", 2},
		"dependency on any":       {"#!/bin/bash\n#SBATCH -d singleton?afterok:18\ntrue\n", "singleton stands among several", 2},
		"dependency and minutes":  {"#!/bin/bash\n#SBATCH -d after:16+1,afterok:17+5\ntrue\n", `"+5" is not a delay`, 2},
		"dependency and seconds":  {"#!/bin/bash\n#SBATCH -d after:17+5s\ntrue\n", `"+5s" is not a delay`, 2},
		"dependency on a task":    {"#!/bin/bash\n#SBATCH -d afterok:17_x\ntrue\n", "is not the id of a task of an array", 2},
		"dependency on nothing":   {"#!/bin/bash\n#SBATCH -d afterok\ntrue\n", "is not the id of a job", 2},
		"named container":         {"#!/bin/bash\n#SBATCH --container-image=ubuntu\nsrun --container-name lab \\\n  true\n", "is of a step", 3},
		"container of a step":     {"#!/bin/bash\n#SBATCH --container-image=ubuntu\nsrun \\\n  --container-image=\"ubuntu\" true\n", "is of a step", 4},
		"begin":                   {"#!/bin/bash\n#SBATCH --begin=16:00\ntrue\n", "of which zone", 2},
		"array of nodes":          {"#!/bin/bash\n#SBATCH -N 2\n#SBATCH -a 0-1000\ntrue\n", "has 1001 jobs of 2 nodes", 3},
		"array twice":             {"#!/bin/bash\n#SBATCH -a 1,1\ntrue\n", "stands twice", 2},
		"array too large":         {"#!/bin/bash\n#SBATCH -a 0-3999999\ntrue\n", "more than", 2},
		"limits and requests":     {strings.Replace(pod, "NAME", "a", 1) + "    resources:\n      limits: {nvidia.com/gpu: 2}\n      requests:\n        nvidia.com/gpu: 1\n", "is 1, and 2 in limits", 12},
		"two vendors":             {strings.Replace(pod, "NAME", "a", 1) + "    resources:\n      limits:\n        nvidia.com/gpu: 1\n        amd.com/gpu: 1\n", "GPUs are asked for in two ways", 12},
		"fraction of whole":       {strings.Replace(strings.Replace(pod, "NAME", "a", 1), "{name: a}", "{name: a, annotations: {gpu-fraction: '0.5'}}", 1) + "    resources: {limits: {nvidia.com/gpu: 1}}\n", "a part of a GPU", 9},
		"long name":               {strings.Replace(pod, "NAME", strings.Repeat("n", 60), 1), "more than 52", 3},
		"bytes":                   {"name: a\nimage: \xff\xfe\ncompute: {gpus: 1}\n", "not UTF-8", 2},
		"script of bytes":         {"#!/bin/bash\n# caf\xe9\ntrue\n", "not UTF-8", 2},
		"a schedule":              {"apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec: {schedule: \"@daily\"}\n", "is missing", 1},
		"a schedule's times":      {"apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec:\n  schedule: \"61 * * * *\"\n  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{image: a}]}}}}\n", "minute \"61\" is not one", 5},
		"a schedule's policy":     {"apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec:\n  schedule: \"@daily\"\n  concurrencyPolicy: Maybe\n  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{image: a}]}}}}\n", "is not a policy", 6},
		"a machine":               {"apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: a}\n", "no document can be made of a VirtualMachineInstance", 2},
		"knative's scale":         {"apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: a}\nspec:\n  template:\n    metadata:\n      annotations:\n        autoscaling.knative.dev/min-scale: some\n    spec: {containers: [{image: a}]}\n", "is not a number from 0", 8},
		"kind":                    {"apiVersion: v1\nkind: Node\nmetadata: {name: a}\n", "is not a kind that is read", 2},
		"group":                   {"apiVersion: batch/v1\nkind: Pod\n", "is not of", 1},
		"no template":             {"apiVersion: batch/v1\nkind: Job\nspec: {}\n", "is missing", 0},
		"mcli uneven":             {"name: a\nimage: b\ncommand: c\ncompute:\n  gpus: 12\n", "not whole nodes of 8", 5},
		"mcli nodes":              {"name: a\nimage: b\ncommand: c\ncompute:\n  nodes: 3\n  gpus: 8\n", "not divided evenly", 6},
		"mcli minutes":            {"name: a\nimage: b\ncommand: c\ncompute: {gpus: 1}\nscheduling: {max_duration: 30m}\n", "expected a number", 5},
		"mcli tracker":            {"name: a\nimage: b\ncommand: c\ncompute: {gpus: 1}\nintegrations:\n- {integration_type: wandb, project: null, entity: e}\n", "is missing", 6},
		"mcli service of nodes":   {"name: a\nimage: b\ncommand: c\ncompute: {gpus: 16}\nreplicas: 2\n", "on one node", 4},
		"mcli contradiction":      {"name: a\nimage: b\ncommand: c\ngpu_num: 8\ncompute: {gpus: 4}\n", "is 8, and compute.gpus 4", 4},
		"mcli sidecar":            {"name: a\nimage: b\ncommand: c\ncompute: {gpus: 1}\ndependent_deployment: {image: d}\n", "second container", 5},
		"runai flag":              {"runai submit a -i b --gpuss 1\n", "is no flag of runai", 1},
		"runai twice":             {"runai training submit a -i b -g 2 \\\n --gpu-memory 4G --gpu-portion-request 0.5\n", "in a second way", 2},
		"runai number":            {"# c\nrunai submit a -i b -g 1.5\n", "is not a number of GPUs", 2},
		"runai no image":          {"runai submit a -g 1\n", "is missing", 1},
		"runai verb":              {"runai list jobs\n", "submits nothing", 1},
		"runai unknown verb":      {"runai submit a -i b\nrunai lst jobs\n", "submits nothing", 2},
		"runai without a value":   {"X=1\nrunai submit a -i b \\\n -p $TEAM\n", "$TEAM has no value in this file", 3},
		"runai output":            {"runai submit a -i b -e T=$(date '+%Y-%m')\n", "stands for the output of a command", 1},
		"runai output before":     {"X=$(date)\nrunai submit a-$X -i b\n", "a program gives, in line 1", 2},
		"runai array":             {"A=(1 2)\nrunai submit a -i $A\n", "$A is an array", 2},
		"runai in a loop":         {"#!/bin/sh\nfor i in 1 2; do\n  runai submit a-$i -i b\ndone\n", "stands in a loop", 3},
		"runai placeholder":       {"# c\nrunai submit a -i b -p <your_project>\n", "is a placeholder", 2},
		"runai placeholder below": {"runai submit a \\\n  -i reg/<ORG NAME>/b\n", "is a placeholder", 2},
		"runai open quote":        {"runai submit a -i b -e \"A=1\n", "no shell reads this", 1},
		"sky field":               {"run: x\nnum_node: 2\n", "is not known", 2},
		"sky no command":          {"setup: x\nnum_nodes: 2\n", "is missing, and a workspace has one task", 1},
		"dstack type":             {"type: fleets\n", "is not a type", 1},
		"dstack field":            {"type: task\ncommands: [x]\nnode: 2\n", "is not known", 3},
		"dstack gpu":              {"type: task\ncommands: [x]\nresources:\n  gpu: tpu:8:-1\n", "is not a number of GPUs", 4},
		"dstack groups":           {"type: task\ncommands: [x]\ngroups: [{name: a}]\n", "several groups", 3},
		"dstack nodes of service": {"type: service\nport: 1\nimage: a\nnodes: 2\n", "is for tasks", 0},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := convert.Import([]byte(c.in))
			var errs codec.Errors
			if !errors.As(err, &errs) || len(errs) == 0 {
				t.Fatalf("it is taken: %v", err)
			}
			found := false
			for _, e := range errs {
				if e.Line == 0 {
					t.Errorf("a refusal has no line: %v", e)
				}
				found = found || strings.Contains(e.Problem, c.why) && (c.line == 0 || e.Line == c.line)
			}
			if !found {
				t.Errorf("got %v; want line %d: %s", err, c.line, c.why)
			}
			if r != nil && len(r.Documents) > 0 {
				t.Error("a document was made of it")
			}
		})
	}
}

func group(name string, n int) string {
	return fmt.Sprintf("  - name: %s\n    template: {spec: {parallelism: %d, completions: %d, template: {spec: {containers: [{image: a}]}}}}\n", name, n, n)
}

// TestUnitsAreThoseOfTheSource: the traps, each with what it means.
func TestUnitsAreThoseOfTheSource(t *testing.T) {
	batch := func(d string) string { return "#!/bin/bash\n#SBATCH " + d + "\ntrue\n" }
	mcli := func(s string) string { return "name: a\nimage: b\ncommand: c\n" + s }
	sky := func(s string) string { return "run: x\nresources: {" + s + "}\n" }
	for in, want := range map[string]struct {
		memory, duration string
		gpus, size       int
	}{
		batch("--mem=4000"):                 {memory: "4000Mi"},
		batch("--mem=4G"):                   {memory: "4Gi"},
		batch("--mem-per-cpu=1G -c 4 -n 2"): {memory: "8Gi"},
		batch("--mem-per-gpu=16G --gpus=2"): {memory: "32Gi", gpus: 2},
		batch("-t 90"):                      {duration: "1h30m"},
		batch("-t 1:30"):                    {duration: "2m"},
		batch("-t 1:30:00"):                 {duration: "1h30m"},
		batch("-t 1-12"):                    {duration: "1d12h"},
		batch("-t 2-1:30"):                  {duration: "2d1h30m"},
		batch("-N 2 --gres=gpu:4"):          {gpus: 8, size: 2},
		batch("-N 2 -G 8"):                  {gpus: 8, size: 2},
		batch("-n 8 --ntasks-per-node=4 --gpus-per-task=1"):                                                    {gpus: 8, size: 2},
		mcli("compute: {gpus: 16}\nscheduling: {max_duration: 0.25}\n"):                                        {duration: "15m", gpus: 16, size: 2},
		mcli("compute: {gpus: 4}\n"):                                                                           {gpus: 4},
		sky("memory: 32, accelerators: 'H100:8'"):                                                              {memory: "32Gi", gpus: 8},
		sky("memory: 512MB"):                                                                                   {memory: "512Mi"},
		"type: task\ncommands: [x]\nresources: {memory: 8GB, gpu: 2}\nmax_duration: 90m\nnodes: 2\n":           {memory: "8Gi", duration: "1h30m", gpus: 4, size: 2},
		"runai submit a -i b --memory 8G --gpu 0.5\n":                                                          {memory: "8G", gpus: 1},
		"runai submit-dist pytorch a -i b --workers 2 -g 4\n":                                                  {gpus: 12, size: 3},
		strings.Replace(pod, "NAME", "a", 1) + "    resources: {limits: {memory: 8Gi, nvidia.com/gpu: '2'}}\n": {memory: "8Gi", gpus: 2},
	} {
		r, err := convert.Import([]byte(in))
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		d := r.Documents[0]
		if m := d.Resources.Memory; want.memory != "" && m.String() != want.memory {
			t.Errorf("%s: memory %s, want %s", in, m, want.memory)
		}
		if m := d.MaxDuration; want.duration != "" && m.String() != want.duration {
			t.Errorf("%s: limit %s, want %s", in, m, want.duration)
		}
		if d.TotalGPUs() != want.gpus || d.Size() != max(want.size, 1) {
			t.Errorf("%s: %d GPUs of %d tasks, want %d of %d", in, d.TotalGPUs(), d.Size(), want.gpus, max(want.size, 1))
		}
	}
}

// TestWindowsLinesOfYAMLAreLines: YAML says that they are.
func TestWindowsLinesOfYAMLAreLines(t *testing.T) {
	plain := "name: a\nimage: b\ncommand: |\n  one\n  two\ncompute: {gpus: 1}\n"
	a := imported(t, []byte(plain))
	b := imported(t, []byte(strings.ReplaceAll(plain, "\n", "\r\n")))
	if !a.Documents[0].Equal(b.Documents[0]) {
		t.Errorf("%s\nis not\n%s", spec.YAML(a.Documents[0]), spec.YAML(b.Documents[0]))
	}
}

// TestAnchorsAreWhatTheyName where they are few.
func TestAnchorsAreWhatTheyName(t *testing.T) {
	r := imported(t, []byte("type: task\ncommands: [x]\nenv: {A: &v one, B: *v}\n"))
	if got := r.Documents[0].Env["B"]; got != "one" {
		t.Errorf("B is %q", got)
	}
}

// TestLossIsSaid: what a document cannot say is in the notes, and is lossy.
func TestLossIsSaid(t *testing.T) {
	for in, field := range map[string]string{
		"#!/bin/bash\n#SBATCH --gres=lscratch:10\ntrue\n":                     "--gres",
		"#!/bin/bash\n#SBATCH --mem=0\ntrue\n":                                "--mem",
		strings.Replace(pod, "NAME", "a", 1) + "  serviceAccountName: x\n":    "spec.serviceAccountName",
		strings.Replace(pod, "NAME", "a", 1) + "  - {name: side, image: b}\n": "spec.containers[1]",
		strings.Replace(pod, "NAME", "a", 1) + "    somethingNew: 1\n":        "spec.containers[0].somethingNew",
		"name: a\nimage: b\ncommand: c\ncompute: {gpus: 1}\nnew_thing: 1\n":   "new_thing",
		"runai submit a -i b --host-network\n":                                "--host-network",
		"run: x\nfile_mounts: {/b: ./other}\n":                                "file_mounts./b",
		"type: task\ncommands: [x]\nschedule: {cron: '0 1 * * *'}\n":          "schedule",
	} {
		lossy := imported(t, []byte(in)).Lossy()
		if len(lossy) != 1 || lossy[0].Field != field || lossy[0].Reason == "" || lossy[0].Line == 0 {
			t.Errorf("%s: lost is %v, want %s with its reason", in, lossy, field)
		}
	}
}

// TestEditsOfAnExportCount: what someone changes in an exported file is meant,
// whatever the export had kept beside.
func TestEditsOfAnExportCount(t *testing.T) {
	doc, err := spec.Parse([]byte("image: a/b:1\ncommand: python old.py\nidleLimit: 1h\nresources: {gpu: 2}\nretry: {limit: 1}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []source.Format{source.Kubernetes, source.Mcli, source.Sbatch} {
		text, _, err := export.Export(doc, f)
		if err != nil {
			t.Fatal(err)
		}
		edited := strings.ReplaceAll(string(text), "old.py", "new.py")
		r, err := convert.ImportAs(f, []byte(edited))
		if err != nil {
			t.Fatalf("%s: %v\n%s", f, err, edited)
		}
		d := r.Documents[0]
		if got := strings.Join(d.Command.Argv, " "); !strings.Contains(got, "new.py") || strings.Contains(got, "old.py") {
			t.Errorf("%s: the command is %q", f, got)
		}
		if d.IdleLimit.String() != "1h" {
			t.Errorf("%s: the idle limit is %s", f, d.IdleLimit)
		}
	}
}

// TestOverlaysAskForNoMore: what an export keeps beside cannot ask for GPUs that
// the file itself does not.
func TestOverlaysAskForNoMore(t *testing.T) {
	over := `[{"path":["resources","gpu"],"value":64,"was":""}]`
	_, err := convert.Import([]byte("name: a\nimage: b\ncommand: c\ncompute: {gpus: 0}\nmetadata: {muster.dev/workload: '" + over + "'}\n"))
	if err == nil || !strings.Contains(err.Error(), "other GPUs") {
		t.Errorf("it is taken: %v", err)
	}
}

func TestHostnames(t *testing.T) {
	for in, want := range map[string]string{
		"a": "a", "a,b": "a b", "n[1-3]": "n1 n2 n3", "n[08-10,12]x": "n08x n09x n10x n12x", "r[1-2]n[1-2],z": "r1n1 r1n2 r2n1 r2n2 z",
	} {
		got, err := slurm.Hostnames(in)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %v, %v; want %s", in, got, err, want)
		}
	}
	for _, in := range []string{"n[1", "n[a]", "n[3-1]", "n[1-999999999]", "n]", ",a"} {
		if got, err := slurm.Hostnames(in); err == nil {
			t.Errorf("%s: %v", in, got)
		}
	}
}
