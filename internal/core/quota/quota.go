// Package quota divides a cluster among a tree of queues: first to each what
// it was promised, then the rest by priority and weight. It is arithmetic on
// integers; the same queues get the same shares on every machine.
package quota

// Resource is one of the things that are divided, each for itself.
type Resource int

// The resources.
const (
	GPU Resource = iota
	CPU
	Memory
	Resources // how many there are
)

// String is the resource's name in messages.
func (r Resource) String() string {
	switch r {
	case GPU:
		return "GPU"
	case CPU:
		return "CPU"
	case Memory:
		return "memory"
	}
	return "unknown resource"
}

// Amounts is an amount of each resource: thousandths of devices, thousandths
// of cores, bytes.
type Amounts [Resources]int64

// Unlimited as a quota or limit means none is set. Every negative one does.
const Unlimited = -1

// unit is what the rest is given in beyond quotas: whole devices, because half
// a device more is of no use to whoever waits for one; the finest step of CPU;
// and megabytes.
var unit = Amounts{GPU: 1000, CPU: 1, Memory: 1_000_000}

// Add returns a+b.
func (a Amounts) Add(b Amounts) Amounts {
	for r := range a {
		a[r] += b[r]
	}
	return a
}

// Sub returns a-b.
func (a Amounts) Sub(b Amounts) Amounts {
	for r := range a {
		a[r] -= b[r]
	}
	return a
}

// Within reports whether a is at most limit in every resource.
func (a Amounts) Within(limit Amounts) bool {
	for r := range a {
		if limit[r] >= 0 && a[r] > limit[r] {
			return false
		}
	}
	return true
}

// Queue is a node of the tree.
type Queue struct {
	Parent   int   // index of the queue above; -1: none
	Priority int   // higher is served first with what is left of quotas
	Age      int64 // smaller is older
	Quota    Amounts
	Limit    Amounts
	// Keep is what of its quota nobody else gets, whether it wants it or not.
	Keep Amounts
	// Weight is its part of what is left, relative to its siblings'; zero or
	// less: none. What is above MaxWeight counts as that.
	Weight [Resources]int64
	// Request is what it and those below it hold and wait for.
	Request Amounts
	// Usage is the part of the cluster it has had lately, 0 to 1; see Usage.
	Usage [Resources]float64
}

// MaxWeight is the highest weight that makes a difference.
const MaxWeight = 1 << 40

// demand is what the queue can be given at most.
func (q *Queue) demand(r Resource) int64 {
	d := q.Request[r]
	if q.Limit[r] >= 0 {
		d = min(d, q.Limit[r])
	}
	return max(d, 0)
}

// Share returns the fair share of every queue, in out if that is long enough.
// See Divider.Share.
func Share(total Amounts, queues []Queue, k float64, out []Amounts) []Amounts {
	return new(Divider).Share(total, queues, k, out)
}
