package cli

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core/spec"
)

func TestPlacementFlagsChangeTheDocument(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ base, args, want string }{
		{"resources: {gpu: 1}", "--gpus 0.5", "resources: {gpu: 0.5}"},
		{"resources: {gpu: {count: 2, type: h100}}", "--gpus 0.25", "resources: {gpu: {share: 0.25, type: h100}}"},
		{"resources: {gpu: {share: 0.5, type: h100}}", "--gpus 4", "resources: {gpu: {count: 4, type: h100}}"},
		{"resources: {gpu: 0.5}", "--set resources.gpu.type=h100", "resources: {gpu: {share: 0.5, type: h100}}"},
		{"resources: {gpu: 0.5}", "--gpu-memory 8Gi", "resources: {gpu: {memory: 8Gi}}"},
		{"", "--gpus 2 --gpu-memory 8Gi", "resources: {gpu: {count: 2, memory: 8Gi}}"},
		{"", "--gpus 0.25 --gpu-limit 0.5", "resources: {gpu: {share: 0.25, shareLimit: 0.5}}"},
		{"resources: {gpu: {share: 0.25, shareLimit: 0.5}}", "--gpu-limit 1", "resources: {gpu: {share: 0.25, shareLimit: 1}}"},
		{"resources: {gpu: {share: 0.25, shareLimit: 0.5}}", "--gpus 0.4", "resources: {gpu: {share: 0.4, shareLimit: 0.5}}"},
		{"resources: {gpu: {share: 0.25, shareLimit: 0.5}}", "--gpus 2", "resources: {gpu: 2}"},
		{"resources: {gpu: {share: 0.25, shareLimit: 0.5}}", "--gpu-memory 8Gi --gpu-memory-limit 16Gi", "resources: {gpu: {memory: 8Gi, memoryLimit: 16Gi}}"},
		{"resources: {gpu: {memory: 8Gi, memoryLimit: 16Gi}}", "--gpus 0.5", "resources: {gpu: 0.5}"},
		{"resources: {gpu: {memory: 8Gi, memoryLimit: 16Gi}}", "--mig 1g.10gb", "resources: {gpu: {mig: 1g.10gb}}"},
		{"resources: {gpu: 8}", "--mig 1g.10gb", "resources: {gpu: {mig: 1g.10gb}}"},
		{"", "--mig 1g.10gb=2,3g.40gb=1", "resources: {gpu: {mig: {1g.10gb: 2, 3g.40gb: 1}}}"},
		{"", "--set resources.gpu.mig.1g.10gb=2", "resources: {gpu: {mig: {1g.10gb: 2}}}"},
		{"pools: [a]", "--pool h100,default --node-type dgx", "pools: [h100, default]\nnodeType: dgx"},
		{"nodeSelector: {a.b/c: d}", "--node-selector zone=a --set nodeSelector.x.y/z=q", "nodeSelector: {a.b/c: d, zone: a, x.y/z: q}"},
		{"tolerations: [old]", "--toleration dedicated=team:NoSchedule --toleration broken", "tolerations: [old, {key: dedicated, value: team, effect: NoSchedule}, broken]"},
		{"tolerations: [old]", "--set tolerations.0.effect=NoExecute", "tolerations: [{key: old, effect: NoExecute}]"},
		{"kind: distributed\nworkers: 4", "--min-workers 2 --resize live --topology block --topology-preferred rack --near zone", "kind: distributed\nworkers: 4\nminWorkers: 2\nresize: live\ntopology: {required: block, preferred: rack}\nnear: zone"},
		{"kind: distributed\nworkers: 16", "--topology block --segment 8 --segment-topology rack", "kind: distributed\nworkers: 16\ntopology: {required: block, segment: {size: 8, required: rack}}"},
		{"kind: distributed\nworkers: 16\ntopology: {segment: {size: 8, required: rack}}", "--segment 4 --segment-topology-preferred host", "kind: distributed\nworkers: 16\ntopology: {segment: {size: 4, required: rack, preferred: host}}"},
		{"kind: distributed\nworkers: 16\ntopology: {required: block, segment: {size: 8, required: rack}}", "--set topology.segment={}", "kind: distributed\nworkers: 16\ntopology: {required: block}"},
		{"array: {completions: 3}", "--apart host --patience 10m", "array: {completions: 3}\napart: host\npatience: 10m"},
		{"", "--preemptible=false", "preemptible: false"},
		{"kind: workspace", "--preemptible", "kind: workspace\npreemptible: true"},
	} {
		got, err := built(t, "command: ls\n"+c.base+"\n", strings.Fields(c.args)...)
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		want, err := spec.Parse([]byte("command: ls\n" + c.want + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		want.Workdir, want.Env = got.Workdir, got.Env
		if a, b := string(spec.YAML(got)), string(spec.YAML(want)); a != b {
			t.Errorf("%s of %s:\n%s\nwant:\n%s", c.args, c.base, a, b)
		}
	}
}

func TestWrongPlacementFlags(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--gpus many":          "resources.gpu.count",
		"--gpus 1.5":           "resources.gpu.share",
		"--mig big":            "resources.gpu.mig",
		"--node-selector zone": "--node-selector",
		"--preemptible=maybe":  "preemptible",
		"--min-workers 2":      "minWorkers",
		"--resize sometimes":   "resize",
		"--toleration k:Often": "tolerations",
		"--patience soon":      "patience",
		"--gpu-memory much":    "resources.gpu.memory",
		"--topology block":     "topology",
		"--segment 1 --segment-topology rack --kind distributed --workers 4": "topology.segment.size",
		"--segment 8 --kind distributed --workers 16":                        "topology.segment.required",
		"--gpu-limit much":                        "resources.gpu.shareLimit",
		"--gpu-limit 1.5":                         "resources.gpu.shareLimit",
		"--gpu-memory-limit x":                    "resources.gpu.memoryLimit",
		"--gpus 1 --gpu-limit 0.5":                "resources.gpu.shareLimit",
		"--gpus 0.5 --gpu-limit 0.25":             "resources.gpu.shareLimit",
		"--gpu-memory 8Gi --gpu-memory-limit 4Gi": "resources.gpu.memoryLimit",
		"--gpus 0.5 --gpu-memory-limit 4Gi":       "resources.gpu.memoryLimit",
		"--mig 1g.10gb --gpu-memory-limit 4Gi":    "resources.gpu.memoryLimit",
	} {
		_, err := built(t, "command: ls\n", strings.Fields(args)...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want it to name %s", args, err, want)
		}
	}
}
