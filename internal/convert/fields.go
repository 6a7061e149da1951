package convert

import (
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core/spec"
)

// maxRetries is what retry.limit takes.
const maxRetries = 1000

var pullPolicies = map[string]string{"Always": "always", "IfNotPresent": "missing", "Never": "never"}

// mostExtended is how many resources.extended takes of one name.
const mostExtended = 1_000_000_000

func counting(m map[string]int, name string, n int) map[string]int {
	if m == nil {
		m = map[string]int{}
	}
	m[name] = n
	return m
}

func put(m map[string]string, key, v string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = v
	return m
}

// priorityNamed knows the priorities that names of classes tell without doubt.
func priorityNamed(name string) (spec.Priority, bool) {
	short := strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(name), "-priority"), "-class")
	if short == "normal" || short == "default" {
		return 0, true // what its kind has
	}
	if p, err := spec.ParsePriority(short); err == nil && (short[0] < '0' || short[0] > '9') {
		return p, true
	}
	return 0, false
}

func isHexCommit(s string) bool {
	return len(s) >= 7 && len(s) <= 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// gpuModel is the part of an accelerator's name that names of products hold:
// A100-80GB becomes a100.
func gpuModel(name string) string {
	model, _, _ := strings.Cut(strings.ToLower(name), "-")
	return model
}

// skyMemory is an amount of memory: in GB, which are powers of 1024, where it
// has no unit.
func skyMemory(text string) (spec.Quantity, bool) {
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

// seconds is a limit of so many seconds.
func seconds(n int) spec.Duration { return spec.Duration(n) * 1e9 }
