package admin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/document"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/policy"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func newPolicyEffective(s *session.Session) *cobra.Command {
	var table session.TableFlags
	var sc document.Scope
	var kind string
	cmd := &cobra.Command{
		Use: "effective [flags]", Short: "What holds for workloads of a kind in a project, field by field, and where it comes from", Args: session.NoArgs,
		Example: "  muster policy effective -p vision --kind training",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if kind == "" {
				kind = "training"
			}
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			e, err := c.Policies.Effective(cmd.Context(), sc.Of(sc.Project), kind)
			if err != nil {
				return err
			}
			if err := printEffective(s, table, e); err != nil || s.Machine() || s.Format() == "name" {
				return err
			}
			for _, i := range e.Impose {
				s.Say("%s is given to every workload (%s)", imposes(&i.PolicyImpose), sourceName(&i.From))
			}
			if len(e.Policies) == 0 {
				s.Say("no policy holds for %s in %s", kind, session.ScopeText(e.Project))
			}
			return nil
		},
	}
	sc.Register(s, cmd)
	table.Register(cmd)
	policyKind(cmd, &kind, "kind of workloads; by default training", policy.For()[1:])
	return cmd
}

func printEffective(s *session.Session, t session.TableFlags, e *api.EffectivePolicy) error {
	return session.Print(s, t, session.Table[api.PolicyField]{
		Items: e.Fields, Name: func(f api.PolicyField) string { return f.Path }, Body: e,
		Columns: []session.Column[api.PolicyField]{
			{Title: "FIELD", Cell: func(f api.PolicyField) string { return f.Path }},
			{Title: "TYPE", Wide: true, Cell: func(f api.PolicyField) string { return f.Type }},
			{Title: "DEFAULT", Cell: func(f api.PolicyField) string { return printers.OrDash(plainValue(f.Default)) }},
			{Title: "RULE", Cell: func(f api.PolicyField) string {
				words := ruleWords(f.Rule)
				if f.Rule == nil && f.Fixed {
					words = "locked"
				}
				return printers.OrDash(words)
			}},
			{Title: "SOURCE", Cell: func(f api.PolicyField) string {
				from, by := sourceName(f.DefaultFrom), sourceName(f.RuleFrom)
				if from != "" && by != "" && from != by {
					return from + ", rule " + by
				}
				return printers.OrDash(cmp.Or(from, by))
			}},
		},
	})
}

// sourceName is a policy in few words: its scope and what it is for.
func sourceName(f *api.PolicySource) string {
	if f == nil {
		return ""
	}
	name := f.Scope + "/" + f.For
	if f.Scope == client.SystemScope {
		name = "system/" + f.For
	}
	return name
}

// plainValue is a value as a document has it, without the quotes of JSON.
func plainValue(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// ruleWords say what a rule demands; empty: there is none.
func ruleWords(r *api.PolicyRule) string {
	if r == nil {
		return ""
	}
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if r.CanEdit != nil && !*r.CanEdit {
		add("locked")
	}
	if r.Required {
		add("required")
	}
	lowest, highest := plainValue(r.Min), plainValue(r.Max)
	switch {
	case lowest != "" && highest != "":
		add("%s to %s", lowest, highest)
	case lowest != "":
		add("at least %s", lowest)
	case highest != "":
		add("at most %s", highest)
	}
	if step := plainValue(r.Step); step != "" {
		add("in steps of %s", step)
	}
	if len(r.Options) > 0 {
		var options []string
		for _, o := range r.Options {
			options = append(options, plainValue(o.Value))
		}
		add("one of %s", strings.Join(options, ", "))
	}
	if r.DefaultFrom != nil {
		add("by default %v × %s", r.DefaultFrom.Factor, r.DefaultFrom.Field)
	}
	if d := plainValue(r.Default); d != "" {
		add("by default %s", d)
	}
	if i := r.Instances; i != nil {
		if i.CanAdd != nil && !*i.CanAdd {
			add("none may be added")
		}
		if len(i.Locked) > 0 {
			add("locked: %s", strings.Join(i.Locked, ", "))
		}
	}
	for _, name := range sortedKeys(r.Attributes) {
		a := r.Attributes[name]
		add("%s: %s", name, ruleWords(&a))
	}
	return strings.Join(out, "; ")
}
