package source

import (
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/core/spec"
)

// MaxRetries is what retry.limit takes.
const MaxRetries = 1000

// PullPolicies are the words of Kubernetes for when an image is pulled, and ours.
var PullPolicies = map[string]string{"Always": "always", "IfNotPresent": "missing", "Never": "never"}

// MostExtended is how many resources.extended takes of one name.
const MostExtended = 1_000_000_000

// Set sets an entry of m, which it makes where it is nil.
func Set[V any](m map[string]V, key string, v V) map[string]V {
	if m == nil {
		m = map[string]V{}
	}
	m[key] = v
	return m
}

// PriorityNamed knows the priorities that names of classes tell without doubt.
func PriorityNamed(name string) (spec.Priority, bool) {
	short := strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(name), "-priority"), "-class")
	if short == "normal" || short == "default" {
		return 0, true // what its kind has
	}
	if p, err := spec.ParsePriority(short); err == nil && (short[0] < '0' || short[0] > '9') {
		return p, true
	}
	return 0, false
}

// IsCommit reports whether s looks like the hash of a commit.
func IsCommit(s string) bool {
	return len(s) >= 7 && len(s) <= 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// SmallestGPU is how many GB the smallest GPU of a model has (nvidia.com and
// amd.com, data sheets of the products, November 2026).
var SmallestGPU = map[string]int{
	"t4": 16, "v100": 16, "a10": 24, "a10g": 24, "l4": 24, "rtx3090": 24, "rtx4090": 24, "a5000": 24, "rtx5090": 32, "a100": 40, "a40": 48, "a6000": 48, "l40": 48, "l40s": 48, "h100": 80,
	"h200": 141, "b200": 180, "mi210": 64, "mi250": 128, "mi300x": 192, "mi325x": 256,
}

// LargerGPU is the memory of the larger of two GPUs of a model, whose names say how much
// they have.
var LargerGPU = map[string]int{"a100": 80, "v100": 32}

// GPUType is the type of an accelerator as names of products hold it: its model, and its
// memory where there are several. A100-80GB and a100_80gb are a100-80gb, and a10_24gb is
// a10; lost is what else it says, such as the sxm of H100-SXM.
func GPUType(name string) (kind, lost string) {
	for i, word := range strings.FieldsFunc(strings.ToLower(name), func(c rune) bool { return c == '-' || c == '_' }) {
		size, sized := strings.CutSuffix(word, "gb")
		switch {
		case i == 0:
			kind = word
		case sized && LargerGPU[kind] > 0 && (size == strconv.Itoa(LargerGPU[kind]) || size == strconv.Itoa(SmallestGPU[kind])):
			kind += "-" + word
		case sized && size == strconv.Itoa(SmallestGPU[kind]): // as all of them have
		default:
			lost += "-" + word
		}
	}
	return kind, strings.TrimPrefix(lost, "-")
}

// Memory is an amount of memory: in GB, which are powers of 1024, where it
// has no unit.
func Memory(text string) (spec.Quantity, bool) {
	text = strings.TrimSuffix(text, "+")
	for _, unit := range []string{"KB", "MB", "GB", "TB"} {
		if body, ok := strings.CutSuffix(strings.ToUpper(text), unit); ok {
			q, err := spec.ParseQuantity(strings.TrimSpace(body) + unit[:1] + "i")
			return q, err == nil
		}
	}
	if slices.Contains([]byte("0123456789."), lastByte(text)) {
		text += "Gi"
	}
	q, err := spec.ParseQuantity(text)
	return q, err == nil
}

func lastByte(s string) byte {
	if s == "" {
		return 0
	}
	return s[len(s)-1]
}

// Seconds is a limit of so many seconds.
func Seconds(n int) spec.Duration { return spec.Duration(n) * 1e9 }
