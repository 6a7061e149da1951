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
		if is := spec.OfType(c.product, c.want); is != c.is {
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
