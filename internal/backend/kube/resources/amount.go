// Package resources counts what nodes offer and what pods request. It is given
// objects of the Kubernetes API and gives amounts; it knows nothing of other pods.
package resources

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/musterhq/muster/internal/core/spec"
)

// Count is how many devices a list has under a name, within reason.
func Count(l corev1.ResourceList, name corev1.ResourceName) int {
	q := l[name]
	return int(min(Amount(&q, false), MostDevices))
}

// mostAmount bounds what a node may claim to have, or a pod to need: 1 PiB of
// memory. It is more than there is, and less than what cannot be added up.
const mostAmount = 1 << 50

var tooMuch = resource.NewQuantity(mostAmount, resource.BinarySI)

// Amount is a quantity in units, or thousandths, that may be a lie: not less than
// nothing and not more than mostAmount.
func Amount(q *resource.Quantity, milli bool) int64 {
	switch {
	case q.Sign() <= 0:
		return 0
	case q.Cmp(*tooMuch) >= 0:
		return mostAmount
	case milli:
		if q.Value() >= mostAmount/1000 { // thousandths of it may be more than an int64 holds
			return mostAmount
		}
		return q.MilliValue()
	default:
		return q.Value()
	}
}

// counted is what of a resource a pod asks for, or a node has, beside what we
// know by name: in MiB where it is counted in bytes. False: it is none such.
func counted(name corev1.ResourceName, n int64, ceil bool) (int64, bool) {
	switch {
	case name == corev1.ResourceCPU, name == corev1.ResourceMemory, name == corev1.ResourcePods, name == corev1.ResourceStorage,
		strings.HasPrefix(string(name), MigPrefix), slices.Contains(GpuResources, name):
		return 0, false
	case name == corev1.ResourceEphemeralStorage, strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix):
		if ceil {
			n += 1<<20 - 1
		}
		n >>= 20
	}
	return min(max(n, 0), 1<<30), true
}

// Extended reports whether a resource is one that device plugins offer, beside
// GPUs: what every node tells of unasked, since our own tasks name it too.
func Extended(name string) bool {
	return strings.Contains(name, "/") && spec.ExtendedName(name) == nil
}

// Set sets a key of a map that may be nil.
func Set[V any](m *map[string]V, key string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = v
}
