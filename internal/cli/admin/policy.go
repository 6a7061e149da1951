package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/document"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/convert/runaipolicy"
	"github.com/musterhq/muster/internal/core/policy"
)

// policyRecord is a policy as files have it.
type policyRecord struct {
	Kind  string `json:"kind"`
	Scope string `json:"scope"`
	For   string `json:"for"`
	api.PolicySpec
}

// NewPolicy makes the command policy.
func NewPolicy(s *session.Session) *cobra.Command {
	cmd := session.Group("policy", "What documents may say: defaults, bounds and locks by project and kind", "policies")
	cmd.Long = `A policy fills in what documents of a kind leave out, keeps values within bounds or as
they are, and gives every workload assets. There is one of a scope (a project, a
department for all below it, the system for all) and a kind; one for all holds for each
kind field by field where that has no rule of its own in the scope. Of defaults those of
the nearest scope hold; rules add up, and a field has one along a branch. Workloads keep
what they were submitted with.`
	cmd.Example = "  muster policy create -f policy.yaml --dry-run\n  muster policy effective -p vision --kind training"
	cmd.AddCommand(newPolicyEdit(s, true), newPolicyEdit(s, false), newPolicyList(s), newPolicyGet(s), newPolicyDescribe(s), newPolicyDelete(s), newPolicyEffective(s))
	return cmd
}

type policyOptions struct {
	scope document.Scope
	file  string
	runai string
	kind  string
	dry   bool
}

func newPolicyEdit(s *session.Session, create bool) *cobra.Command {
	o := &policyOptions{}
	use, short := "apply", "Make a policy what a file says, whether there is one or not"
	if create {
		use, short = "create", "Make a policy of a file"
	}
	cmd := &cobra.Command{
		Use: use + " -f FILE [flags]", Short: short,
		Long: `The file holds defaults, rules and impose, and may say scope (- is the system) and for
(a kind of workloads, or all), which flags say too. A dry run says which live workloads
the policy would not let in today; they stay as they are.`,
		Example: "  muster policy " + use + " -f policy.yaml -p vision --kind training --dry-run",
		Args:    session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (o.file == "") == (o.runai == "") {
				return session.UsageError(cmd.CommandPath()+" takes a file", "name it with -f FILE, or a policy of Run:ai with --from-runai FILE; - is standard input")
			}
			return editPolicy(cmd, s, o, create)
		},
	}
	o.scope.Register(s, cmd)
	cmd.Flags().StringVarP(&o.file, "file", "f", "", "file with the policy; - is standard input")
	cmd.Flags().StringVar(&o.runai, "from-runai", "", "file with a policy of Run:ai (YAML of its version 2); it says what becomes of every field")
	cmd.Flags().BoolVar(&o.dry, "dry-run", false, "say what is wrong with it and whom it would not let in, and change nothing")
	policyKind(cmd, &o.kind, "what it is for: a kind of workloads, or all", policy.For())
	return cmd
}

func policyKind(cmd *cobra.Command, to *string, usage string, words []string) {
	cmd.Flags().StringVar(to, "kind", "", usage)
	_ = cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

func editPolicy(cmd *cobra.Command, s *session.Session, o *policyOptions, create bool) error {
	file := cmp.Or(o.file, o.runai)
	data, err := document.Read(s, file)
	if err != nil {
		return err
	}
	if o.runai != "" {
		if data, err = fromRunai(s, file, data); err != nil {
			return err
		}
	}
	r, err := readPolicy(file, data)
	if err != nil {
		return err
	}
	if o.scope.System || cmd.Flags().Changed("project") || r.Scope == "" {
		r.Scope = o.scope.Of(o.scope.Project)
	}
	r.For = cmp.Or(o.kind, r.For, policy.All)
	if err := isFor(r.For); err != nil {
		return err
	}
	c, err := s.Connect(cmd.Context())
	if err != nil {
		return err
	}
	var p *api.Policy
	if create {
		p, err = c.Policies.Create(cmd.Context(), r.Scope, api.NewPolicy{For: r.For, PolicySpec: r.PolicySpec}, o.dry)
	} else {
		p, err = c.Policies.Set(cmd.Context(), r.Scope, r.For, r.PolicySpec, o.dry)
	}
	if err != nil {
		return document.RefusedOf(err, file)
	}
	if shown, err := s.Brief(p, p.For); shown {
		return err
	}
	switch {
	case !o.dry:
		s.Say("policy for %s of %s: version %d", p.For, session.ScopeText(p.Scope), p.Version)
	case len(p.Breaches) == 0:
		s.Say("policy for %s of %s would be version %d; every live workload is as it demands", p.For, session.ScopeText(p.Scope), p.Version)
	default:
		s.Say("policy for %s of %s would be version %d; it would not let in %d that live today, which stay as they are:", p.For, session.ScopeText(p.Scope), p.Version, len(p.Breaches))
	}
	for _, b := range p.Breaches {
		for _, e := range b.Errors {
			s.Say("  %s/%s (%s, %s): %s: %s", b.Project, b.Name, b.User, b.Phase, e.Path, e.Problem)
		}
	}
	return nil
}

// fromRunai makes a policy of one of Run:ai, and says what became of every field.
func fromRunai(s *session.Session, file string, data []byte) ([]byte, error) {
	tree, notes, err := runaipolicy.Read(data)
	if err != nil {
		return nil, document.WrongFile(file, err, "it is the YAML of a policy, with defaults and rules")
	}
	for _, n := range notes {
		s.Say("%s", n)
	}
	return json.Marshal(tree)
}

// isFor refuses what no policy is for.
func isFor(kind string) error {
	if slices.Contains(policy.For(), kind) {
		return nil
	}
	return session.UsageError(fmt.Sprintf("%q is no kind of workloads that a policy is for", kind), "write one of "+strings.Join(policy.For(), ", "))
}

// readPolicy reads the file of a policy.
func readPolicy(file string, data []byte) (policyRecord, error) {
	return document.ReadRecord(file, data, "Policy", func(r *policyRecord) string { return r.Kind }, "it is a mapping with scope, for, description, defaults, rules and impose")
}

func newPolicyList(s *session.Session) *cobra.Command {
	var table session.TableFlags
	var sc document.Scope
	var all bool
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "Those that hold in a project: its own and those above it, nearest first", Args: session.NoArgs,
		Example: "  muster policy list -p vision\n  muster policy list -A",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			scope := sc.Of(sc.Project)
			if all {
				scope = client.SystemScope
			}
			list, err := c.Policies.List(cmd.Context(), scope)
			if err != nil {
				return err
			}
			if sc.System && !all {
				kept := list.Items[:0]
				for _, p := range list.Items {
					if p.Scope == client.SystemScope {
						kept = append(kept, p)
					}
				}
				list.Items = kept
			}
			return printPolicies(s, table, list)
		},
	}
	sc.Register(s, cmd)
	table.Register(cmd)
	cmd.Flags().BoolVarP(&all, "all", "A", false, "those of every scope")
	return cmd
}

func printPolicies(s *session.Session, f session.TableFlags, list *api.PolicyList) error {
	m := s.Moments(f)
	return session.Print(s, f, session.Table[api.Policy]{
		Items: list.Items, Name: func(p api.Policy) string { return p.Scope + "/" + p.For }, Body: list,
		Columns: []session.Column[api.Policy]{
			{Title: "SCOPE", Cell: func(p api.Policy) string { return session.ScopeName(p.Scope) }},
			{Title: "FOR", Cell: func(p api.Policy) string { return p.For }},
			{Title: "DEFAULTS", Cell: func(p api.Policy) string { return strconv.Itoa(len(p.Defaults)) }},
			{Title: "RULES", Cell: func(p api.Policy) string { return strconv.Itoa(len(p.Rules)) }},
			{Title: "IMPOSES", Cell: func(p api.Policy) string { return printers.OrDash(imposes(p.Impose)) }},
			{Title: "VERSION", Cell: func(p api.Policy) string { return strconv.Itoa(p.Version) }},
			{Title: "CHANGED", Cell: func(p api.Policy) string { return m.Ago(session.TimeOf(p.UpdatedAt)) }},
			{Title: "USER", Cell: func(p api.Policy) string { return p.User }},
			{Title: "DESCRIPTION", Cell: func(p api.Policy) string { return printers.OrDash(p.Description) }},
		},
	})
}

// imposes are the assets that a policy gives to workloads, in words.
func imposes(i *api.PolicyImpose) string {
	if i == nil {
		return ""
	}
	var out []string
	for _, name := range []string{i.Environment, i.Compute} {
		if name != "" {
			out = append(out, name)
		}
	}
	for _, raw := range i.Data {
		var use struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(raw, &use.Name) != nil {
			_ = json.Unmarshal(raw, &use)
		}
		out = append(out, use.Name)
	}
	return strings.Join(out, ",")
}

// onePolicy is a command about the policy of a scope for one kind.
func onePolicy(s *session.Session, cmd *cobra.Command, sc *document.Scope, do func(ctx context.Context, c *client.Client, scope, kind string) error) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return session.UsageError(fmt.Sprintf("%s takes one kind of workloads, or all; not %d", cmd.CommandPath(), len(args)), "like "+cmd.CommandPath()+" training -p vision")
		}
		if err := isFor(args[0]); err != nil {
			return err
		}
		c, err := s.Connect(cmd.Context())
		if err != nil {
			return err
		}
		return do(cmd.Context(), c, sc.Of(sc.Project), args[0])
	}
	cmd.ValidArgsFunction = cobra.FixedCompletions(policy.For(), cobra.ShellCompDirectiveNoFileComp)
	sc.Register(s, cmd)
	return cmd
}

func newPolicyGet(s *session.Session) *cobra.Command {
	var sc document.Scope
	return onePolicy(s, &cobra.Command{
		Use: "get KIND", Short: "A policy as a file has it, to be applied again", Example: "  muster policy get training -p vision > policy.yaml",
	}, &sc, func(ctx context.Context, c *client.Client, scope, kind string) error {
		p, err := c.Policies.Get(ctx, scope, kind)
		if err != nil {
			return err
		}
		if shown, err := s.Brief(p, p.For); shown {
			return err
		}
		return s.File(policyRecord{"Policy", p.Scope, p.For, p.PolicySpec})
	})
}

func newPolicyDescribe(s *session.Session) *cobra.Command {
	var sc document.Scope
	return onePolicy(s, &cobra.Command{
		Use: "describe KIND", Aliases: []string{"show"}, Short: "A policy, field by field", Example: "  muster policy describe training -p vision\n  muster policy describe all --system",
	}, &sc, func(ctx context.Context, c *client.Client, scope, kind string) error {
		p, err := c.Policies.Get(ctx, scope, kind)
		if err != nil {
			return err
		}
		if shown, err := s.Brief(p, p.For); shown {
			return err
		}
		m := s.Moments(session.TableFlags{})
		g := session.Grid{Whole: true}
		line := func(title, text string) {
			if text != "" {
				g.Line(title, text)
			}
		}
		line("Policy", "for "+p.For+" of "+session.ScopeText(p.Scope))
		line("Description", p.Description)
		line("Made by", p.User+", "+m.Ago(session.TimeOf(p.CreatedAt))+" ago")
		line("Version", fmt.Sprintf("%d, %s ago", p.Version, m.Ago(session.TimeOf(p.UpdatedAt))))
		line("Imposes", imposes(p.Impose))
		for _, name := range sortedKeys(p.Defaults) {
			line("Default "+name, string(p.Defaults[name]))
		}
		for _, path := range sortedKeys(p.Rules) {
			var r api.PolicyRule
			if err := json.Unmarshal(p.Rules[path], &r); err != nil {
				return err
			}
			line("Rule "+path, ruleWords(&r))
		}
		return s.Grid(g)
	})
}

func newPolicyDelete(s *session.Session) *cobra.Command {
	var sc document.Scope
	var yes bool
	cmd := onePolicy(s, &cobra.Command{
		Use: "delete KIND", Aliases: []string{"rm"}, Short: "Forget a policy; workloads keep what it has given them", Example: "  muster policy delete training -p vision --yes",
	}, &sc, func(ctx context.Context, _ *client.Client, scope, kind string) error {
		return s.Drop(ctx, "policy", "for "+kind+" of "+session.ScopeText(scope), yes, func(ctx context.Context, c *client.Client) error { return c.Policies.Delete(ctx, scope, kind) })
	})
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}
