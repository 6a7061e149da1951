package document

import (
	"encoding/json"
	"strings"

	"github.com/spf13/pflag"

	"github.com/musterhq/muster/internal/core/spec"
)

// placementFlags are what `muster run` can say of where tasks run, of parts of
// GPUs, and of gangs that change their size.
type placementFlags struct {
	gpuMemory, mig                string
	extended                      []string
	gpuLimit, gpuMemoryLimit      string
	pools, selector, tolerations  []string
	clusters                      []string
	licenses                      []string
	nodeType, near, apart         string
	topology, topologyPreferred   string
	segment                       int
	segmentTopology               string
	segmentPreferred              string
	minWorkers                    int
	resize, patience, preemptible string
}

func (p *placementFlags) register(f *pflag.FlagSet) {
	f.StringVar(&p.gpuMemory, "gpu-memory", "", "so much of a GPU's memory instead of a whole one, like 8Gi")
	f.StringVar(&p.gpuLimit, "gpu-limit", "", "up to which part of each GPU it may use while there is room, beside --gpus 0.5: 0.8, or 1 for all of it")
	f.StringVar(&p.gpuMemoryLimit, "gpu-memory-limit", "", "up to how much memory it may use while there is room, beside --gpu-memory: like 16Gi")
	f.StringVar(&p.mig, "mig", "", "a static partition of a GPU, like 1g.10gb, or several: 1g.10gb=2,3g.40gb=1")
	f.StringArrayVar(&p.extended, "extended", nil, "how many each task needs of an extended resource of nodes, like rdma/hca_shared_devices_a=1; repeat for several")
	f.StringArrayVarP(&p.licenses, "license", "L", nil, "how many it holds of what is counted for the whole site, like matlab=2; repeat for several")
	f.StringSliceVar(&p.pools, "pool", nil, "node pools, tried in this order")
	f.StringSliceVar(&p.clusters, "cluster", nil, "clusters in which it may run; without any, all")
	f.StringVar(&p.nodeType, "node-type", "", "only nodes with this value of the label "+spec.NodeTypeLabel)
	f.StringArrayVar(&p.selector, "node-selector", nil, "only nodes with this label, key=value; repeat for several")
	f.StringArrayVar(&p.tolerations, "toleration", nil, "a taint that does not keep it away: KEY[=VALUE][:EFFECT]; repeat for several")
	f.StringVar(&p.topology, "topology", "", "level of the network within which all tasks of a gang must be")
	f.StringVar(&p.topologyPreferred, "topology-preferred", "", "level of the network within which they should be")
	f.IntVar(&p.segment, "segment", 0, "divide a gang by rank into segments of so many tasks, each close together")
	f.StringVar(&p.segmentTopology, "segment-topology", "", "level of the network within which each segment must be")
	f.StringVar(&p.segmentPreferred, "segment-topology-preferred", "", "level of the network within which each segment should be")
	f.StringVar(&p.near, "near", "", "node label of which all tasks must have the same value")
	f.StringVar(&p.apart, "apart", "", "node label of which every task must have another value")
	f.IntVar(&p.minWorkers, "min-workers", 0, "fewest workers of a gang that grows and shrinks up to --workers")
	f.StringVar(&p.resize, "resize", "", "what becomes of the other workers then: restart or live")
	f.StringVar(&p.patience, "patience", "", "wait for so long for free room before others are displaced, like 10m")
	f.StringVar(&p.preemptible, "preemptible", "", "whether the scheduler may take its resources back: true or false")
	f.Lookup("preemptible").NoOptDefVal = "true"
}

// edits are what the flags say, as changes of fields.
func (p *placementFlags) edits(d *DocumentFlags) []Change {
	var all []Change
	given := func(flag, path string, value any) {
		if d.Cmd.Flags().Changed(flag) {
			all = append(all, Change{Path: path, Value: value, Flag: "--" + flag})
		}
	}
	// A part of a GPU stands instead of whole ones that the document asks for,
	// and the other way round; of what kind is left as it is.
	ways := func(flag, path string, value any, others ...string) {
		if !d.Cmd.Flags().Changed(flag) {
			return
		}
		for _, other := range others {
			all = append(all, Change{Path: "resources.gpu." + other, remove: true, Flag: "--" + flag})
		}
		given(flag, path, value)
	}
	switch {
	case strings.ContainsAny(d.gpus, ".eE"):
		ways("gpus", "resources.gpu.share", json.RawMessage(jsonNumber(d.gpus)), "count", "memory", "memoryLimit", "mig")
	default:
		ways("gpus", "resources.gpu.count", json.RawMessage(jsonNumber(d.gpus)), "share", "shareLimit", "memory", "memoryLimit", "mig")
	}
	ways("gpu-memory", "resources.gpu.memory", p.gpuMemory, "share", "shareLimit", "mig")
	ways("mig", "resources.gpu.mig", p.mig, "count", "share", "shareLimit", "memory", "memoryLimit")
	given("gpu-limit", "resources.gpu.shareLimit", json.RawMessage(jsonNumber(p.gpuLimit)))
	given("gpu-memory-limit", "resources.gpu.memoryLimit", p.gpuMemoryLimit)
	given("cluster", "clusters", p.clusters)
	given("pool", "pools", p.pools)
	given("node-type", "nodeType", p.nodeType)
	given("topology", "topology.required", p.topology)
	given("topology-preferred", "topology.preferred", p.topologyPreferred)
	given("segment", "topology.segment.size", p.segment)
	given("segment-topology", "topology.segment.required", p.segmentTopology)
	given("segment-topology-preferred", "topology.segment.preferred", p.segmentPreferred)
	given("near", "near", p.near)
	given("apart", "apart", p.apart)
	given("min-workers", "minWorkers", p.minWorkers)
	given("resize", "resize", p.resize)
	given("patience", "patience", p.patience)
	if d.Cmd.Flags().Changed("preemptible") {
		all = append(all, Change{Path: "preemptible", Value: json.RawMessage(jsonNumber(p.preemptible)), Flag: "--preemptible"})
	}
	for _, t := range p.tolerations {
		all = append(all, Change{Path: "tolerations", Value: toleration(t), Flag: "--toleration", add: true})
	}
	return all
}

// jsonNumber is text as JSON: bare where that is JSON, so that the document is
// read and refused as a file would be.
func jsonNumber(text string) string {
	if json.Valid([]byte(text)) {
		return text
	}
	data, err := json.Marshal(text)
	if err != nil {
		return `""`
	}
	return string(data)
}

// toleration reads KEY[=VALUE][:EFFECT].
func toleration(text string) map[string]string {
	rest, effect, _ := strings.Cut(text, ":")
	key, value, _ := strings.Cut(rest, "=")
	t := map[string]string{}
	for k, v := range map[string]string{"key": key, "value": value, "effect": effect} {
		if v != "" {
			t[k] = v
		}
	}
	return t
}
