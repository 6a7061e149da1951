package wire

import (
	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/server/problem"
)

// Dialect is the dialect of a name; none, and native, is empty.
func Dialect(name string) (lifecycle.Dialect, error) {
	if name == "" || name == "native" {
		return "", nil
	}
	names := []string{"native"}
	for _, d := range lifecycle.Dialects() {
		if string(d) == name {
			return d, nil
		}
		names = append(names, string(d))
	}
	return "", problem.OneOf("dialect", name, names...)
}

// LifecycleOutput is the answer that tells the machine.
type LifecycleOutput struct{ Body api.Lifecycle }

// Machine is the table of phases and transitions; of a dialect with its words, and drawn as its own machine.
func Machine(d lifecycle.Dialect) *LifecycleOutput {
	out := &LifecycleOutput{Body: api.Lifecycle{Mermaid: lifecycle.Diagram(d).Mermaid(), DOT: lifecycle.Diagram(d).DOT()}}
	if d != "" {
		out.Body.Words = vocabulary(d)
	}
	for _, p := range lifecycle.Phases() {
		out.Body.Phases = append(out.Body.Phases, api.Phase{Name: string(p.Phase), Quota: p.Quota, Held: p.Held, End: p.End, Meaning: p.Meaning})
	}
	for _, r := range lifecycle.Rules() {
		rule := api.Rule{Event: string(r.On), To: string(r.To), When: string(r.When), From: []string{}}
		for _, f := range r.From {
			rule.From = append(rule.From, string(f))
		}
		for _, t := range r.Targets {
			rule.Targets = append(rule.Targets, string(t))
		}
		out.Body.Rules = append(out.Body.Rules, rule)
	}
	return out
}

func vocabulary(d lifecycle.Dialect) []api.Word {
	var out []api.Word
	for _, w := range lifecycle.Words(d) {
		word := api.Word{Status: w.Status, Code: w.Code, Color: w.Color, End: w.End, Resources: w.Resources, Phases: []string{}, How: lifecycle.Ways(d, w.Status)}
		for _, p := range lifecycle.PhasesOf(d, w.Status) {
			word.Phases = append(word.Phases, string(p))
		}
		out = append(out, word)
	}
	return out
}
