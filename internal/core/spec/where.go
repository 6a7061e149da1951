package spec

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core/spec/codec"
)

// NodeTypeLabel is the node label that nodeType is about.
const NodeTypeLabel = "node-type"

// NodeTerm is a condition on one label of a node.
type NodeTerm struct {
	Key    string   `json:"key,omitempty" doc:"The label's key." required:"true" example:"zone" form:"labelKey"`
	Op     string   `json:"op,omitempty" doc:"In and NotIn compare with values, Exists and DoesNotExist take none, Gt and Lt compare whole numbers with one." enum:"In,NotIn,Exists,DoesNotExist,Gt,Lt" required:"true"`
	Values []string `json:"values,omitempty" doc:"What the label's value is compared with." example:"[a, b]" form:"labelValue"`
}

// NodeChoice is one of several sets of conditions on the labels of a node.
type NodeChoice struct {
	Terms []NodeTerm `json:"terms,omitempty" doc:"Conditions on the labels of a node, all of which must hold."`
}

// Allows reports whether a node fits whose label Key has that value, or which
// has no such label (there false). Gt and Lt are of whole numbers, and false for
// anything else; NotIn is true without a label. Documents compare with numbers from
// 0; pods that others made also with negative ones.
func (t NodeTerm) Allows(value string, there bool) bool {
	switch t.Op {
	case "In":
		return there && slices.Contains(t.Values, value)
	case "NotIn":
		return !there || !slices.Contains(t.Values, value)
	case "Exists":
		return there
	case "DoesNotExist":
		return !there
	}
	if !there || len(t.Values) != 1 || !whole(unsigned(value)) || !whole(unsigned(t.Values[0])) {
		return false
	}
	order := compareWhole(value, t.Values[0])
	return t.Op == "Gt" && order > 0 || t.Op == "Lt" && order < 0
}

// whole reports whether s is a number of digits only.
func whole(s string) bool {
	d, rest := codec.Digits(s)
	return d != "" && rest == ""
}

// unsigned is a number without its sign.
func unsigned(s string) string {
	if s != "" && (s[0] == '-' || s[0] == '+') {
		return s[1:]
	}
	return s
}

// compareWhole compares whole numbers of any length.
func compareWhole(a, b string) int {
	below := func(s string) bool { return s[0] == '-' && strings.Trim(s, "-0") != "" }
	switch {
	case below(a) && below(b):
		return compareWhole(b[1:], a[1:])
	case below(a):
		return -1
	case below(b):
		return 1
	}
	a, b = unsigned(a), unsigned(b)
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// Toleration lets tasks go to nodes with a taint. A bare text in a document is
// Key.
type Toleration struct {
	Key    string `json:"key,omitempty" doc:"Key of the taint. Without one it is about every taint of the effect." example:"dedicated" form:"labelKey"`
	Value  string `json:"value,omitempty" doc:"Value of the taint. By default any." example:"team-a" form:"labelValue"`
	Effect string `json:"effect,omitempty" doc:"Effect of the taint. By default any." enum:"NoSchedule,PreferNoSchedule,NoExecute"`
}

// Tolerates reports whether tasks may go to nodes with a taint.
func (t Toleration) Tolerates(key, value, effect string) bool {
	return (t.Key == "" || t.Key == key) && (t.Value == "" || t.Value == value) && (t.Effect == "" || t.Effect == effect)
}

// Topology binds the tasks of a gang to one domain of the network. Its levels
// are the node labels that the pool names as its own.
type Topology struct {
	Required  string  `json:"required,omitempty" doc:"All tasks must be on nodes with the same value of this label, one of the pool's levels; until there is such room the gang waits." example:"topology/block" form:"labelKey"`
	Preferred string  `json:"preferred,omitempty" doc:"All tasks should be within one domain of this level; where there is no room in one, the next wider is tried." example:"topology/rack" form:"labelKey"`
	Segment   Segment `json:"segment,omitempty" doc:"Parts of the gang that are kept closer together than all of it, such as the ranks that share a fast interconnect."`
}

// Segment divides a gang into parts of Size tasks each, by rank: the first Size
// ranks, the next, and so on; the last part has what is left. An mpi launcher is
// no rank and in none of them.
type Segment struct {
	Size      int    `json:"size,omitempty" doc:"Tasks of each segment: ranks 0 to size-1 are the first, and so on; the last one has what is left." example:"8" min:"2" max:"1024"`
	Required  string `json:"required,omitempty" doc:"All tasks of a segment must be on nodes with the same value of this label, one of the pool's levels; different segments may share one." example:"topology/rack" form:"labelKey"`
	Preferred string `json:"preferred,omitempty" doc:"All tasks of a segment should be within one domain of this level; where there is no room in one, the next wider is tried." example:"topology/rack" form:"labelKey"`
}

// NodeTerms is all that the document demands of the labels of nodes:
// nodeSelector in the order of its keys, nodeType, and nodeAffinity. The result
// is not to be changed.
func (d *Document) NodeTerms() []NodeTerm {
	if len(d.NodeSelector) == 0 && d.NodeType == "" {
		return slices.Clip(d.NodeAffinity)
	}
	terms := make([]NodeTerm, 0, len(d.NodeSelector)+1+len(d.NodeAffinity))
	for _, key := range slices.Sorted(maps.Keys(d.NodeSelector)) {
		terms = append(terms, NodeTerm{Key: key, Op: "In", Values: []string{d.NodeSelector[key]}})
	}
	if d.NodeType != "" {
		terms = append(terms, NodeTerm{Key: NodeTypeLabel, Op: "In", Values: []string{d.NodeType}})
	}
	return append(terms, d.NodeAffinity...)
}
