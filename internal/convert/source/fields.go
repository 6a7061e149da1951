package source

import (
	"slices"
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

// GPUModel is the part of an accelerator's name that names of products hold:
// A100-80GB becomes a100.
func GPUModel(name string) string {
	model, _, _ := strings.Cut(strings.ToLower(name), "-")
	return model
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
