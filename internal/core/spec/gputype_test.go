package spec_test

import (
	"testing"

	"github.com/musterhq/muster/internal/core/spec"
)

// TestTypesOfGPUs: what people call products, against what drivers and clusters do.
func TestTypesOfGPUs(t *testing.T) {
	for _, c := range []struct {
		want, product string
		is            bool
	}{
		{"24GB+", "NVIDIA L4", true},
		{"l4 24gb+", "NVIDIA L4", true},
		{"25gb+", "NVIDIA L4", false},
		{"h100|24GB+", "NVIDIA L4", true},
		{"h100 24gb+", "NVIDIA L4", false},
		{"24gb+", "unknown", false},
		{"", "NVIDIA L4", true},
		{"h100", "NVIDIA H100 80GB HBM3", true},
		{"a100-80gb", "NVIDIA A100-SXM4-80GB", true},
		{"A100_80GB", "NVIDIA A100 80GB PCIe", true},
		{"a100-80gb", "NVIDIA A100-SXM4-40GB", false},
		{"rtx_3090", "NVIDIA GeForce RTX 3090", true},
		{"RTX4090", "NVIDIA-GeForce-RTX-4090", true},
		{"RTX4090", "NVIDIA GeForce RTX 3090", false},
		{"nvidia_a100-sxm4-80gb", "NVIDIA A100-SXM4-80GB", true},
		{"h100|a100", "NVIDIA A100-SXM4-40GB", true},
		{"h100|l4", "NVIDIA A100-SXM4-40GB", false},
		{"Fake GPU", "Fake GPU", true},
	} {
		bytes := int64(23034 << 20) // which is how much an L4 says it has
		if c.product == "unknown" {
			bytes = 0
		}
		if is := spec.OfType(c.product, bytes, c.want); is != c.is {
			t.Errorf("%q is of type %q: %t, want %t", c.product, c.want, is, c.is)
		}
	}
	for _, text := range []string{"a100|", "|", "a100||h100", "-"} {
		doc, err := spec.Parse([]byte(`{"command":["true"],"resources":{"gpu":{"count":1,"type":"` + text + `"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		if errs := spec.Validate(spec.WithDefaults(doc)); len(errs) != 1 || errs[0].Path != "resources.gpu.type" {
			t.Errorf("%q: %v", text, errs)
		}
	}
}
