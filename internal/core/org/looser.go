package org

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// Looser says which limits and types of nodes p newly allows that something above it in t
// does not: they change nothing, since what is below only tightens. before is p as it was;
// nil: it was not there.
func (t Tree) Looser(before, p *core.Project) []string {
	if before == nil {
		before = &core.Project{}
	}
	var out []string
	for _, l := range []struct {
		field    string
		was, now map[lifecycle.Kind]time.Duration
		of       func(*core.Project) map[lifecycle.Kind]time.Duration
	}{
		{"timeLimit", before.TimeLimit, p.TimeLimit, func(p *core.Project) map[lifecycle.Kind]time.Duration { return p.TimeLimit }},
		{"idleLimit", before.IdleLimit, p.IdleLimit, func(p *core.Project) map[lifecycle.Kind]time.Duration { return p.IdleLimit }},
	} {
		for _, kind := range slices.Sorted(maps.Keys(l.now)) {
			if l.now[kind] == l.was[kind] && before.Parent == p.Parent {
				continue
			}
			for above := range t.Up(p.Parent) {
				if d := l.of(&above)[kind]; d > 0 && d < l.now[kind] {
					out = append(out, fmt.Sprintf("%s.%s: %v changes nothing: department %s has %v, and the tightest holds", l.field, kind, spec.Duration(l.now[kind]), above.ID, spec.Duration(d)))
					break
				}
			}
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(p.NodeTypes)) {
		if slices.Equal(p.NodeTypes[kind], before.NodeTypes[kind]) && before.Parent == p.Parent {
			continue
		}
		left := t.NodeTypes(p.ID, kind)
		var gone []string
		for _, x := range p.NodeTypes[kind] {
			if !slices.Contains(left, x) {
				gone = append(gone, x)
			}
		}
		if len(gone) > 0 {
			out = append(out, fmt.Sprintf("nodeTypes.%s: %s changes nothing: a department above has a list without that", kind, strings.Join(gone, ", ")))
		}
	}
	return out
}
