package spec

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/core/spec/codec"
)

// where checks on which nodes the tasks may be.
func (v *validator) where() {
	d := v.doc
	for i, pool := range d.Pools {
		if earlier := slices.Index(d.Pools[:i], pool); earlier >= 0 && pool != "" {
			v.fail(fmt.Sprintf("pools[%d]", i), pool, fmt.Sprintf("%q is also pools[%d]", codec.Shorten(pool), earlier), "write each pool once, the one to be tried first in front")
		}
	}
	for i, name := range d.Clusters {
		if earlier := slices.Index(d.Clusters[:i], name); earlier >= 0 && name != "" {
			v.fail(fmt.Sprintf("clusters[%d]", i), name, fmt.Sprintf("%q is also clusters[%d]", codec.Shorten(name), earlier), "write each cluster once")
		}
	}
	if kind, given := d.NodeSelector[NodeTypeLabel]; given && d.NodeType != "" && kind != d.NodeType {
		v.fail("nodeType", d.NodeType, fmt.Sprintf("is not %q, which nodeSelector demands of the same label, %s", codec.Shorten(kind), NodeTypeLabel), "keep one of the two")
	}
	for i := range d.NodeAffinity {
		v.term(fmt.Sprintf("nodeAffinity[%d]", i), &d.NodeAffinity[i])
	}
	for i := range d.NodeAffinityAny {
		terms := d.NodeAffinityAny[i].Terms
		if len(terms) == 0 {
			v.fail(fmt.Sprintf("nodeAffinityAny[%d].terms", i), "", "names no condition, so that any node would do", "write one, such as: terms: [{key: zone, op: In, values: [a]}], or remove nodeAffinityAny")
		}
		for j := range terms {
			v.term(fmt.Sprintf("nodeAffinityAny[%d].terms[%d]", i, j), &terms[j])
		}
	}
	for i, t := range d.Tolerations {
		path := fmt.Sprintf("tolerations[%d]", i)
		switch {
		case t == Toleration{}:
			v.fail(path, "", "names no taint", "write its key, such as: [dedicated], or {effect: NoSchedule} for every taint of that effect")
		case t.Key == "" && t.Value != "":
			v.fail(path+".key", "", "is missing beside value", "write the key of the taint, or remove value")
		}
	}
	v.together()
}

// term checks one condition, also against the label's only value where one is
// demanded.
func (v *validator) term(path string, t *NodeTerm) {
	n := len(t.Values)
	switch t.Op {
	case "In", "NotIn":
		if n == 0 {
			v.fail(path+".values", "", "is missing beside "+t.Op, "write what the label is compared with, such as: values: [a, b]")
			return
		}
	case "Exists", "DoesNotExist":
		if n > 0 {
			v.fail(path+".values", strings.Join(t.Values, ", "), "cannot stand beside "+t.Op, "remove it, or write op: In")
			return
		}
	case "Gt", "Lt":
		if n != 1 || !whole(t.Values[0]) {
			v.fail(path+".values", strings.Join(t.Values, ", "), "is not one whole number, which "+t.Op+" compares with", "write one, such as: values: [40]")
			return
		}
	default: // said already
		return
	}
	value, given := v.doc.NodeSelector[t.Key]
	field := "nodeSelector"
	if !given && t.Key == NodeTypeLabel && v.doc.NodeType != "" {
		value, given, field = v.doc.NodeType, true, "nodeType"
	}
	if given && !t.Allows(value, true) {
		v.fail(path, t.Key, fmt.Sprintf("excludes %q, the value of %s that %s demands", codec.Shorten(value), codec.Shorten(t.Key), field), "no node could fit both; change one of the two")
	}
}

// together checks what tasks demand of each other's places.
func (v *validator) together() {
	d := v.doc
	if v.kind.Batch() && v.kind.Single() && d.Array == nil {
		for _, f := range []struct{ name, key string }{{"near", d.Near}, {"apart", d.Apart}} {
			if f.key != "" {
				v.fail(f.name, f.key, "is about several tasks; this workload has one", "remove it, or write array or kind: distributed")
			}
		}
	}
	v.segments()
	if d.Apart == "" {
		return
	}
	const hint = "no two tasks could be placed; write a narrower label, such as kubernetes.io/hostname"
	if d.Apart == d.Near {
		v.fail("apart", d.Apart, "is the same label as near, within which all tasks must be", hint)
	}
	if v.kind.Ranked() && d.Apart == d.Topology.Required {
		v.fail("apart", d.Apart, "is the same label as topology.required, within which all tasks must be", hint)
	}
	if v.kind.Ranked() && d.Apart == d.Topology.Segment.Required {
		v.fail("apart", d.Apart, "is the same label as topology.segment.required, within which all tasks of a segment must be", hint)
	}
}

// segments checks into which parts a gang is divided.
func (v *validator) segments() {
	const path = "topology.segment"
	s := v.doc.Topology.Segment
	switch {
	case s == Segment{}:
	case s.Size == 0:
		v.fail(path+".size", "", "is missing beside the level of a segment", "write how many tasks a segment has, such as: size: 8")
	case s.Required == "" && s.Preferred == "":
		v.fail(path+".required", "", "is missing beside size", "write the level within which each segment must be, such as: required: rack, or preferred")
	case v.doc.Elastic():
		v.fail(path+".size", strconv.Itoa(s.Size), "is not for a gang whose size changes, whose ranks do not keep their numbers", "remove minWorkers, or segment")
	}
}

// elastic checks between which numbers a gang may change.
func (v *validator) elastic() {
	d := v.doc
	if d.MinWorkers > d.Workers && d.Workers > 0 {
		v.fail("minWorkers", strconv.Itoa(d.MinWorkers), fmt.Sprintf("%d is more than workers, %d", d.MinWorkers, d.Workers), "lower it, or raise workers: the number that is wanted")
	}
	switch {
	case d.Resize == "":
	case d.MinWorkers == 0:
		v.fail("resize", d.Resize, "is for gangs whose size may change", "remove it, or write the smallest size: minWorkers: 1")
	case d.Resize == resizeLive && d.Framework == mpi:
		v.fail("resize", d.Resize, "is not for framework mpi, whose launcher is told all hosts when it starts", "write resize: restart")
	}
}

// selector checks labels that nodes must have.
func (v *validator) selector(path string, m map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		at := codec.Join(path, codec.Shorten(key))
		if problem, hint := labelKeyForm(key); problem != "" {
			v.fail(at, key, problem, hint)
		}
		if problem, hint := labelValueForm(m[key]); problem != "" {
			v.fail(at, m[key], problem, hint)
		}
	}
}
