package convert_test

import (
	"bytes"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/musterhq/muster/internal/convert"
	"github.com/musterhq/muster/internal/convert/source"
)

// total is what a source asks for, read by small readers that know nothing of
// the importers. Parts of GPUs count as parts.
type total struct {
	gpus  float64
	tasks int           // of the largest attempt; 0: not told
	limit time.Duration // 0: none
}

type fields = map[string]any

// dig is the value at a path of keys; nil where there is none.
func dig(v any, path ...string) any {
	for _, p := range path {
		m, ok := v.(fields)
		if !ok {
			return nil
		}
		v = m[p]
	}
	return v
}

func num(v any, missing float64) float64 {
	switch v := v.(type) {
	case nil:
		return missing
	case string:
		f, err := strconv.ParseFloat(v, 64)
		if err != nil {
			return missing
		}
		return f
	case int:
		return float64(v)
	case uint64:
		return float64(v)
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return missing
}

func docsOf(t *testing.T, data []byte) (all []fields) {
	t.Helper()
	for d := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var m fields
		if err := d.Decode(&m); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		if m["kind"] == "List" {
			for _, i := range m["items"].([]any) {
				all = append(all, i.(fields))
			}
			continue
		}
		if m["kind"] == "AppWrapper" {
			for _, c := range dig(m, "spec", "components").([]any) {
				all = append(all, dig(c, "template").(fields))
			}
			continue
		}
		all = append(all, m)
	}
}

func podGPUs(template any, metas ...any) float64 {
	n := 0.0
	list, _ := dig(template, "spec", "containers").([]any)
	for _, c := range list {
		n += math.Max(num(dig(c, "resources", "limits", "nvidia.com/gpu"), 0), num(dig(c, "resources", "requests", "nvidia.com/gpu"), 0))
	}
	for _, m := range metas {
		n += num(dig(m, "annotations", "gpu-fraction"), 0)
	}
	return n
}

func after(v any) time.Duration { return time.Duration(num(v, 0)) * time.Second }

// kubernetesTotal counts pods and their GPUs.
func kubernetesTotal(o fields) (x total, is bool) {
	s := o["spec"]
	add := func(n float64, template any) {
		x.tasks += int(n)
		x.gpus += n * podGPUs(template, o["metadata"])
	}
	switch o["kind"] {
	case "Pod":
		add(1, o)
	case "Deployment", "ReplicaSet", "StatefulSet", "Notebook":
		add(num(dig(s, "replicas"), 1), dig(s, "template"))
	case "Service":
		if !strings.HasPrefix(textOf(o["apiVersion"]), "serving.knative.dev/") {
			return x, false
		}
		const scale = "autoscaling.knative.dev/"
		notes := dig(s, "template", "metadata", "annotations")
		n, err := strconv.Atoi(textOf(dig(notes, scale+"initial-scale")))
		if err != nil {
			n = 1
		}
		add(float64(n), dig(s, "template"))
	case "CronJob": // of one run
		return kubernetesTotal(fields{"kind": "Job", "apiVersion": o["apiVersion"], "metadata": o["metadata"], "spec": dig(s, "jobTemplate", "spec")})
	case "Job":
		if strings.HasPrefix(textOf(o["apiVersion"]), "batch.volcano.sh/") {
			for _, g := range dig(s, "tasks").([]any) {
				add(num(dig(g, "replicas"), 1), dig(g, "template"))
			}
			return x, true
		}
		add(num(dig(s, "completions"), num(dig(s, "parallelism"), 1)), dig(s, "template"))
		x.limit = after(dig(s, "activeDeadlineSeconds"))
	case "PyTorchJob", "MPIJob", "TFJob", "XGBoostJob":
		for _, key := range []string{"pytorchReplicaSpecs", "mpiReplicaSpecs", "tfReplicaSpecs", "xgbReplicaSpecs"} {
			groups, _ := dig(s, key).(fields)
			for _, g := range groups {
				add(num(dig(g, "replicas"), 1), dig(g, "template"))
			}
		}
		x.limit = after(dig(s, "runPolicy", "activeDeadlineSeconds"))
	case "JobSet":
		for _, g := range dig(s, "replicatedJobs").([]any) {
			add(num(dig(g, "replicas"), 1)*num(dig(g, "template", "spec", "parallelism"), 1), dig(g, "template", "spec", "template"))
		}
	case "RayCluster":
		add(1, dig(s, "headGroupSpec", "template"))
		for _, g := range dig(s, "workerGroupSpecs").([]any) {
			add(num(dig(g, "replicas"), 1), dig(g, "template"))
		}
	case "InferenceService":
		pod := dig(s, "predictor")
		if model, is := dig(pod, "model").(fields); is {
			pod = fields{"containers": []any{model}}
		}
		add(num(dig(s, "predictor", "minReplicas"), 1), fields{"spec": pod})
	case "LeaderWorkerSet": // of one group
		t := dig(s, "leaderWorkerTemplate")
		add(1, dig(t, "leaderTemplate"))
		add(num(dig(t, "size"), 1)-1, dig(t, "workerTemplate"))
	case "TrainJob":
		x.tasks = int(num(dig(s, "trainer", "numNodes"), 1))
		x.gpus = float64(x.tasks) * num(dig(s, "trainer", "resourcesPerNode", "limits", "nvidia.com/gpu"), 0)
	case "RayJob", "RayService":
		cluster := dig(s, map[any]string{"RayJob": "rayClusterSpec", "RayService": "rayClusterConfig"}[o["kind"]])
		add(1, dig(cluster, "headGroupSpec", "template"))
		for _, g := range dig(cluster, "workerGroupSpecs").([]any) {
			add(num(dig(g, "replicas"), 1), dig(g, "template"))
		}
	default:
		return x, false
	}
	return x, true
}

var option = regexp.MustCompile(`(?m)(--?[a-zA-Z-]+)[= ]?([^\s]+)`)

// sbatchTotal reads directives with regular expressions. Each job of an array of jobs of
// several nodes is a workload of its own.
func sbatchTotal(text string) (x total, jobs int) {
	o := map[string]string{}
	names := map[string]string{"-N": "--nodes", "-n": "--ntasks", "-t": "--time", "-a": "--array", "-G": "--gpus"}
	for _, line := range regexp.MustCompile(`(?m)^#SBATCH (.*)$`).FindAllStringSubmatch(regexp.MustCompile(`^(#.*\n|\n)*`).FindString(text), -1) {
		for _, m := range option.FindAllStringSubmatch(line[1], -1) {
			name := m[1]
			if long, ok := names[name]; ok {
				name = long
			}
			o[name] = strings.Trim(m[2], `"`)
		}
	}
	last := func(s string) float64 { return num(s[strings.LastIndex(s, ":")+1:], 0) }
	nodes := num(strings.Split(o["--nodes"]+"-", "-")[0], 1)
	tasks := num(o["--ntasks"], math.Max(num(o["--ntasks-per-node"], 1)*nodes, nodes))
	x.tasks = int(nodes)
	x.gpus = math.Max(math.Max(last(o["--gres"])*nodes, last(o["--gpus-per-node"])*nodes), math.Max(last(o["--gpus"]), last(o["--gpus-per-task"])*tasks))
	if a := strings.Split(o["--array"], "%")[0]; a != "" {
		x.tasks = 0
		for part := range strings.SplitSeq(a, ",") {
			m := regexp.MustCompile(`^(\d+)(?:-(\d+)(?::(\d+))?)?$`).FindStringSubmatch(part)
			from := int(num(m[1], 0))
			for i := from; i <= int(num(m[2], float64(from))); i += int(num(m[3], 1)) {
				x.tasks++
			}
		}
	}
	if t := o["--time"]; t != "" && t != "UNLIMITED" {
		d, hms, dayed := strings.Cut(t, "-")
		if !dayed {
			d, hms = "0", t
		}
		p := strings.Split(hms, ":")
		scale := []float64{60, 1}
		if dayed || len(p) == 3 {
			scale = []float64{3600, 60, 1}
		}
		s := num(d, 0) * 86400
		for i := range p {
			s += num(p[i], 0) * scale[i]
		}
		x.limit = time.Duration(math.Ceil(s/60)) * time.Minute
	}
	if nodes > 1 && o["--array"] != "" {
		jobs, x.tasks = x.tasks, int(nodes)
		return x, jobs
	}
	return x, 1
}

// runaiTotal reads flags of one line with regular expressions.
func runaiTotal(line string) (x total) {
	get := func(flags string) float64 {
		m := regexp.MustCompile(`(?:^|\s)(?:` + flags + `)[= ]([\d.]+)`).FindStringSubmatch(strings.Split(line, " -- ")[0])
		if m == nil {
			return 0
		}
		return num(m[1], 0)
	}
	x.tasks = 1
	if w := get("--workers"); w > 0 {
		x.tasks = int(w)
		if !strings.Contains(line, "--no-master") {
			x.tasks++
		}
	}
	if c := get("--completions|--runs"); c > 0 {
		x.tasks = int(c)
	}
	each := get("-g|--gpu|--gpu-devices-request")
	if p := get("--gpu-portion-request"); p > 0 {
		each = math.Max(each, 1) * p
	}
	n := x.tasks
	if strings.Contains(line, "submit-dist mpi") {
		n-- // the launcher has none
	}
	x.gpus = each * float64(n)
	return x
}

func skyTotal(o fields) total {
	nodes := num(o["num_nodes"], 1)
	gpus := map[string]float64{"g5.12xlarge": 4}[textOf(dig(o, "resources", "instance_type"))]
	switch a := dig(o, "resources", "accelerators").(type) {
	case string:
		_, n, _ := strings.Cut(a, ":")
		gpus = num(n, 1)
	case []any:
		gpus = 1
	case fields:
		for _, n := range a {
			gpus = num(n, 1)
		}
	}
	return total{gpus: gpus * nodes, tasks: int(nodes)}
}

// TestNothingAsksForMoreThanItsSource: GPUs, tasks and time of every file of
// the corpus, against readers of their own.
func TestNothingAsksForMoreThanItsSource(t *testing.T) {
	each(t, func(t *testing.T, name string, data []byte) {
		var want []total
		switch dir := filepath.Dir(name); source.Format(dir) {
		case source.Kubernetes:
			for _, o := range docsOf(t, data) {
				x, is := kubernetesTotal(o)
				if n := len(want); n > 0 && is && dig(o, "metadata", "labels", "kueue.x-k8s.io/pod-group-name") != nil {
					want[n-1].tasks, want[n-1].gpus = want[n-1].tasks+x.tasks, want[n-1].gpus+x.gpus // of the same gang
					continue
				}
				for range int(num(map[bool]any{true: dig(o, "spec", "replicas")}[o["kind"] == "LeaderWorkerSet"], 1)) {
					if is {
						want = append(want, x)
					}
				}
			}
		case source.Sbatch:
			x, jobs := sbatchTotal(string(data))
			want = append(want, slices.Repeat([]total{x}, jobs)...)
		case source.Runai:
			text := regexp.MustCompile(`\\\n\s*`).ReplaceAllString(string(data), "")
			for line := range strings.Lines(text) {
				if regexp.MustCompile(`(?m)^(\$ )?runai .*submit`).MatchString(line) {
					want = append(want, runaiTotal(strings.TrimSpace(line)))
				}
			}
		case source.Mcli:
			o := docsOf(t, data)[0]
			gpus := num(dig(o, "compute", "gpus"), num(o["gpu_num"], 0))
			if n := num(o["replicas"], 0); n > 0 { // of a deployment, each on its own
				want = append(want, total{gpus: gpus * n, tasks: int(n)})
				break
			}
			want = append(want, total{gpus: gpus, tasks: int(num(dig(o, "compute", "nodes"), math.Max(1, gpus/8))), limit: time.Duration(num(dig(o, "scheduling", "max_duration"), 0) * float64(time.Hour))})
		case source.SkyPilot:
			for _, o := range docsOf(t, data) {
				if o["run"] != nil || o["resources"] != nil { // else the name of a pipeline
					want = append(want, skyTotal(o))
				}
			}
		case source.Dstack:
			o := docsOf(t, data)[0]
			nodes, gpus := num(o["nodes"], 1), 0.0
			switch g := dig(o, "resources", "gpu").(type) {
			case nil:
			case string:
				gpus = 1
				if m := regexp.MustCompile(`:(\d+)(\.\.\d+)?$`).FindStringSubmatch(g); m != nil {
					gpus = num(m[1], 1)
				}
			case fields:
				gpus = num(g["count"], 1)
			default:
				gpus = num(g, 0)
			}
			x := total{gpus: gpus * nodes, tasks: int(nodes)}
			if d, err := time.ParseDuration(strings.ReplaceAll(textOf(o["max_duration"]), "off", "0")); err == nil {
				x.limit = d
			}
			want = append(want, x)
		}
		docs := imported(t, data).Documents
		if len(docs) != len(want) {
			t.Fatalf("%d documents, and the source has %d workloads", len(docs), len(want))
		}
		for i, d := range docs {
			got := total{gpus: float64(d.TotalMilli()) / 1000, tasks: d.Size(), limit: d.MaxDuration.Std()}
			if got.gpus != want[i].gpus || got.tasks != want[i].tasks {
				t.Errorf("it asks for %v GPUs of %d tasks, its source for %v of %d", got.gpus, got.tasks, want[i].gpus, want[i].tasks)
			}
			if got.limit != want[i].limit {
				t.Errorf("it may run for %s, its source for %s", got.limit, want[i].limit)
			}
		}
	})
}

func textOf(v any) string { s, _ := v.(string); return s }

func BenchmarkImport(b *testing.B) {
	var all [][]byte
	for _, data := range corpus(b) {
		all = append(all, data)
	}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if _, err := convert.Import(all[n%len(all)]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "manifests/s")
}
