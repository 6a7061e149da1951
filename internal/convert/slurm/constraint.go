package slurm

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
)

// mostChoices bounds how many sets of features an expression may stand for.
const mostChoices = 64

// constraint reads features of nodes: labels of their own.
func (s *script) constraint() {
	d := s.consume("constraint")
	if d == nil {
		return
	}
	text := strings.ReplaceAll(d.value, " ", "")
	if inside, is := strings.CutPrefix(text, "["); is && strings.HasSuffix(inside, "]") && !strings.ContainsAny(inside[:len(inside)-1], "[]&,*()") {
		if s.doc.Workers > 1 {
			s.refuse(d, fmt.Sprintf("%q wants the same feature of all %d nodes, whichever it is", source.Shorten(d.value), s.doc.Workers), "leave the brackets away, with which each node has one of them; or submit it once for each feature")
			return
		}
		text = inside[:len(inside)-1] // one node is always the same
	}
	choices, err := Features(text)
	switch {
	case err != nil:
		s.refuse(d, fmt.Sprintf("%q %s", source.Shorten(d.value), err), "write features with & and | between, and parentheses: (a100|h100)&nvlink")
		return
	}
	reason := "features are labels of nodes here"
	if strings.ContainsFunc(text, notOfLabels) {
		reason += ", with - for what a label's key cannot have"
	}
	if len(choices) == 1 {
		s.doc.NodeAffinity = append(s.doc.NodeAffinity, termsOf(choices[0])...)
		s.record(d, source.Translated, false, "nodeAffinity", reason)
		return
	}
	for _, all := range choices {
		s.doc.NodeAffinityAny = append(s.doc.NodeAffinityAny, spec.NodeChoice{Terms: termsOf(all)})
	}
	s.record(d, source.Translated, false, "nodeAffinityAny", reason)
}

// notOfLabels reports what sites have in names of features, such as gpu_mem:32GB, and
// a label's key has not.
func notOfLabels(c rune) bool { return c == ':' || c == '+' || c == '@' }

// labelOf is the label of a feature.
func labelOf(feature string) string {
	return strings.Map(func(c rune) rune {
		if notOfLabels(c) {
			return '-'
		}
		return c
	}, feature)
}

// termsOf are the conditions for features. One with a value, as sinfo shows those
// of nodes, is a label with that value.
func termsOf(features []string) []spec.NodeTerm {
	var out []spec.NodeTerm
	for _, name := range features {
		if key, value, has := strings.Cut(name, "="); has {
			out = append(out, spec.NodeTerm{Key: labelOf(key), Op: "In", Values: []string{value}})
			continue
		}
		out = append(out, spec.NodeTerm{Key: labelOf(name), Op: "Exists"})
	}
	return out
}

// Features are the sets of features of which an expression of --constraint wants
// one. As in Slurm & (also written as a comma) and | are of the same weight and
// read from the left, so that a|b&c is (a|b)&c.
func Features(text string) ([][]string, error) {
	r := features{rest: text}
	out, err := r.sequence()
	if err == nil && r.rest != "" {
		err = errors.New("has a parenthesis that was not opened")
	}
	return out, err
}

// features reads an expression from the left.
type features struct {
	rest  string
	depth int
}

func (r *features) sequence() ([][]string, error) {
	left, err := r.operand()
	for err == nil && r.rest != "" && r.rest[0] != ')' {
		op := r.rest[0]
		r.rest = r.rest[1:]
		var right [][]string
		if right, err = r.operand(); err != nil {
			break
		}
		if op == '|' {
			left = slices.Concat(left, right)
		} else {
			left = both(left, right)
		}
		left = least(left)
		if len(left) > mostChoices {
			err = fmt.Errorf("stands for more than %d sets of features", mostChoices)
		}
	}
	return left, err
}

func (r *features) operand() ([][]string, error) {
	if rest, is := strings.CutPrefix(r.rest, "("); is {
		if r.depth++; r.depth > 8 {
			return nil, errors.New("has too many parentheses")
		}
		r.rest = rest
		out, err := r.sequence()
		if err != nil {
			return nil, err
		}
		if r.rest, is = strings.CutPrefix(r.rest, ")"); !is {
			return nil, errors.New("has a parenthesis that is not closed")
		}
		r.depth--
		return out, r.counted()
	}
	end := strings.IndexAny(r.rest, "&|,()[]*")
	if end < 0 {
		end = len(r.rest)
	}
	name := r.rest[:end]
	switch r.rest = r.rest[end:]; {
	case strings.HasPrefix(r.rest, "["), strings.HasPrefix(r.rest, "]"):
		return nil, errors.New("has brackets around some of it, and wants the same of all nodes")
	case name == "" || strings.HasPrefix(r.rest, "("):
		return nil, errors.New("lacks a feature")
	}
	return [][]string{{name}}, r.counted()
}

// counted refuses how many nodes are to have a feature: here each has what the
// workload asks for.
func (r *features) counted() error {
	if strings.HasPrefix(r.rest, "*") {
		return errors.New("counts how many of the nodes have a feature, while each node has what is asked for")
	}
	return nil
}

// both are the sets that have all of one of left and all of one of right.
func both(left, right [][]string) [][]string {
	var out [][]string
	for _, a := range left {
		for _, b := range right {
			set := slices.Clone(a)
			for _, name := range b {
				if !slices.Contains(set, name) {
					set = append(set, name)
				}
			}
			out = append(out, set)
		}
	}
	return out
}

// least leaves out sets that want all that another does, and more.
func least(sets [][]string) [][]string {
	within := func(a, b []string) bool {
		return !slices.ContainsFunc(a, func(name string) bool { return !slices.Contains(b, name) })
	}
	var out [][]string
	for i, set := range sets {
		if !slices.ContainsFunc(sets[:i], func(x []string) bool { return within(x, set) }) &&
			!slices.ContainsFunc(sets[i+1:], func(x []string) bool { return within(x, set) && !within(set, x) }) {
			out = append(out, set)
		}
	}
	return out
}
