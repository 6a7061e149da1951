package skypilot

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
)

// instances are the GPUs of machines of clouds, by the beginning of the type's
// name. Of AWS (docs.aws.amazon.com, "Amazon EC2 instance types", and the table
// of rapidsai/deployment, read in November 2026), of Google
// (cloud.google.com/compute/docs/gpus) and of Azure (learn.microsoft.com,
// "GPU optimized sizes"). A type that is not here is not guessed at.
var instances = []struct {
	name  string // a regular expression; its group, where it has one, is the number of GPUs
	model string
	count int
}{
	{`^p3\.2xlarge$`, "v100", 1},
	{`^p3\.8xlarge$`, "v100", 4},
	{`^p3(?:\.16|dn\.24)xlarge$`, "v100", 8},
	{`^p4(?:d|de)\.24xlarge$`, "a100", 8},
	{`^p5\.4xlarge$`, "h100", 1},
	{`^p5\.48xlarge$`, "h100", 8},
	{`^p5(?:e|en)\.48xlarge$`, "h200", 8},
	{`^p6-b200\.48xlarge$`, "b200", 8},
	{`^g4dn\.(?:2|4|8|16)?xlarge$`, "t4", 1},
	{`^g4dn\.12xlarge$`, "t4", 4},
	{`^g4dn\.metal$`, "t4", 8},
	{`^g5\.(?:2|4|8|16)?xlarge$`, "a10g", 1},
	{`^g5\.(?:12|24)xlarge$`, "a10g", 4},
	{`^g5\.48xlarge$`, "a10g", 8},
	{`^g6\.(?:2|4|8|16)?xlarge$`, "l4", 1},
	{`^g6\.(?:12|24)xlarge$`, "l4", 4},
	{`^g6\.48xlarge$`, "l4", 8},
	{`^g6e\.(?:2|4|8|16)?xlarge$`, "l40s", 1},
	{`^g6e\.(?:12|24)xlarge$`, "l40s", 4},
	{`^g6e\.48xlarge$`, "l40s", 8},
	{`^a2-(?:high|ultra|mega)gpu-(\d+)g$`, "a100", 0},
	{`^a3-(?:high|mega|edge)gpu-(\d+)g$`, "h100", 0},
	{`^a3-ultragpu-(\d+)g$`, "h200", 0},
	{`^g2-standard-(?:4|8|12|16|32)$`, "l4", 1},
	{`^g2-standard-24$`, "l4", 2},
	{`^g2-standard-48$`, "l4", 4},
	{`^g2-standard-96$`, "l4", 8},
	{`^standard_nd96(?:am?sr)_(?:a100_)?v4$`, "a100", 8},
	{`^standard_nd96isr_h100_v5$`, "h100", 8},
	{`^standard_nc24ads_a100_v4$`, "a100", 1},
	{`^standard_nc48ads_a100_v4$`, "a100", 2},
	{`^standard_nc96ads_a100_v4$`, "a100", 4},
	{`^standard_nc(?:4|8|16)as_t4_v3$`, "t4", 1},
	{`^standard_nc64as_t4_v3$`, "t4", 4},
}

// withoutGPUs are types of machines that have none.
var withoutGPUs = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[cmrt]\d[a-z]*\.|(?:e2|n1|n2|n2d|c2|c3|c4|m1|t2d)-|standard_[def]\d)`)
})

// instance reads the type of a machine: its GPUs, where nothing else says them.
func (t *task) instance(v *source.Value) {
	if v == nil {
		return
	}
	name := strings.ToLower(v.Text())
	if t.doc.Resources.GPU != (spec.GPU{}) {
		v.Ignored("the scheduler chooses where it runs")
		return
	}
	for _, i := range instances {
		m := regexp.MustCompile(i.name).FindStringSubmatch(name) // not before there is such a file: commands start without it
		if m == nil {
			continue
		}
		n := i.count
		if len(m) > 1 {
			n, _ = strconv.Atoi(m[1])
		}
		t.doc.Resources.GPU = spec.GPU{Count: n, Type: i.model}
		v.Translated("resources.gpu", "the GPUs of such a machine")
		return
	}
	if withoutGPUs().MatchString(name) {
		v.Ignored("it has no GPUs, and the scheduler chooses where it runs")
		return
	}
	v.Dropped("whether such a machine has GPUs is not known; write accelerators")
}
