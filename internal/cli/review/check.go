// Package review has the commands of those who say what has to be approved before it
// runs, and of those who approve it.
package review

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/document"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/admission"
)

// checkRecord is a check as files have it.
type checkRecord struct {
	Kind  string `json:"kind"`
	Scope string `json:"scope"`
	api.NewScopeCheck
}

// NewCheck makes the command check.
func NewCheck(s *session.Session) *cobra.Command {
	cmd := session.Group("check", "What has to be approved before something runs, by people or programs, by project", "checks")
	cmd.Long = `A check of a project, a department (for all below it) or the system holds workloads
before their queue until it is answered: by people (type approval), by a program that is
asked over HTTP (webhook), or by people who look at an image before it is used for the
first time (image). It is about what is submitted from then on. Documents and the rules
of projects may have checks of their own beside; none takes the place of one above.`
	cmd.Example = "  muster check create big --system --type approval --min-gpus 64 --approvals 2 --role project-lead --not-submitter\n" +
		"  muster check create gate -p vision --type webhook --url https://gate.acme.com/admit --secret gate-key --unanswered closed\n" +
		"  muster check create images --system --type image --trusted 'registry.acme.com/*' --role department-administrator"
	cmd.AddCommand(newCheckEdit(s, true), newCheckEdit(s, false), newCheckList(s), newCheckGet(s), newCheckDescribe(s), newCheckTest(s), newCheckImages(s), newCheckForget(s), newCheckDelete(s))
	return cmd
}

type checkOptions struct {
	scope  document.Scope
	file   string
	caFile string
	dry    bool
	spec   api.ScopeCheckSpec
}

func (o *checkOptions) register(s *session.Session, cmd *cobra.Command) {
	o.scope.Register(s, cmd)
	f, in := cmd.Flags(), &o.spec
	f.StringVarP(&o.file, "file", "f", "", "file with the check; flags go before what it says; - is standard input")
	f.BoolVar(&o.dry, "dry-run", false, "say what is wrong with it, and change nothing")
	f.StringVar(&in.Type, "type", "", "approval, webhook or image")
	f.StringVar(&in.Description, "description", "", "what it is for")
	f.StringSliceVar(&in.Kinds, "kind", nil, "only workloads of these kinds")
	f.Float64Var(&in.MinGPUs, "min-gpus", 0, "only workloads that ask for so many GPUs in all")
	f.StringVar(&in.When, "when", "", "queue (the default), or reservation: once quota is reserved for it")
	f.StringVar(&in.Within, "within", "", "how long there is to decide, like 24h")
	f.StringVar(&in.Expired, "expired", "", "what is done then: reject (the default), or again: approvals are asked for anew")
	f.StringVar(&in.URL, "url", "", "where a program is asked")
	f.StringVar(&in.Secret, "secret", "", "your secret of type mounted (or env) whose value signs questions")
	f.StringVar(&o.caFile, "ca-file", "", "certificates in PEM by which the program is known")
	f.StringVar(&in.Timeout, "timeout", "", "how long one question may take (10s)")
	f.StringVar(&in.Unanswered, "unanswered", "", "where there is no answer: closed asks on (the default), open lets through")
	f.IntVar(&in.Tries, "tries", 0, "questions without an answer before open lets through (3)")
	f.IntVar(&in.Approvals, "approvals", 0, "how many different people have to approve (1)")
	f.StringVar(&in.Role, "role", "", "who may decide: those who have this role where the workload is")
	f.StringSliceVar(&in.Users, "user", nil, "who may decide, by name")
	f.BoolVar(&in.NotSubmitter, "not-submitter", false, "who has submitted it does not decide")
	f.StringSliceVar(&in.Images, "image", nil, "only these images; * is any text")
	f.StringSliceVar(&in.Trusted, "trusted", nil, "images that need no review; * is any text")
	f.StringVar(&in.Remember, "remember", "", "what an approval of an image holds for: image (the default), repository or digest")
	for name, words := range map[string][]string{
		"type": admission.Types(), "when": {"queue", "reservation"}, "expired": {admission.Reject, admission.Again},
		"unanswered": {admission.Open, admission.Closed}, "remember": {admission.ByImage, admission.ByRepository, admission.ByDigest},
	} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
}

func newCheckEdit(s *session.Session, create bool) *cobra.Command {
	o := &checkOptions{}
	use, short := "apply", "Make a check what flags and a file say, whether there is one or not"
	if create {
		use, short = "create", "Make a check"
	}
	cmd := &cobra.Command{
		Use: use + " [NAME] [flags]", Short: short,
		Example: "  muster check " + use + " legal -p vision --type approval --user ann --user bob --approvals 2 --within 48h\n  muster check " + use + " -f check.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return session.UsageError(fmt.Sprintf("%s takes one name, not %d", cmd.CommandPath(), len(args)), cmd.UseLine())
			}
			return editCheck(cmd, s, o, args, create)
		},
	}
	o.register(s, cmd)
	return cmd
}

func editCheck(cmd *cobra.Command, s *session.Session, o *checkOptions, args []string, create bool) error {
	var r checkRecord
	if o.file != "" {
		data, err := document.Read(s, o.file)
		if err != nil {
			return err
		}
		if r, err = readCheck(o.file, data); err != nil {
			return err
		}
	}
	if err := laid(cmd, o, &r); err != nil {
		return err
	}
	if len(args) == 1 {
		r.Name = args[0]
	}
	if r.Name == "" {
		return session.UsageError(cmd.CommandPath()+" needs a name for the check", cmd.UseLine())
	}
	if o.scope.System || cmd.Flags().Changed("project") || r.Scope == "" {
		r.Scope = o.scope.Of(o.scope.Project)
	}
	c, err := s.Connect(cmd.Context())
	if err != nil {
		return err
	}
	var out *api.ScopeCheck
	if create {
		out, err = c.Checks.Create(cmd.Context(), r.Scope, r.NewScopeCheck, o.dry)
	} else {
		out, err = c.Checks.Set(cmd.Context(), r.Scope, r.Name, r.ScopeCheckSpec, o.dry)
	}
	if err != nil {
		return document.RefusedOf(err, o.file)
	}
	if shown, err := s.Brief(out, out.Name); shown {
		return err
	}
	would := ": version"
	if o.dry {
		would = " would be version"
	}
	s.Say("check %s of %s%s %d", out.Name, session.ScopeText(out.Scope), would, out.Version)
	return nil
}

// laid lays what flags say over what a file says.
func laid(cmd *cobra.Command, o *checkOptions, r *checkRecord) error {
	if o.caFile != "" {
		pem, err := os.ReadFile(o.caFile)
		if err != nil {
			return session.UsageError("--ca-file: "+err.Error(), "name a file with certificates in PEM")
		}
		o.spec.CA = string(pem)
	}
	text, err := json.Marshal(o.spec) // flags that say nothing are left out
	if err != nil {
		return err
	}
	given := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &given); err != nil {
		return err
	}
	if given["type"] != nil && o.spec.Type == "" {
		delete(given, "type")
	}
	if text, err = json.Marshal(given); err != nil {
		return err
	}
	return json.Unmarshal(text, &r.ScopeCheckSpec)
}

// readCheck reads the file of a check.
func readCheck(file string, data []byte) (checkRecord, error) {
	return document.ReadRecord(file, data, "Check", func(r *checkRecord) string { return r.Kind }, "it is a mapping with scope, name, type and what muster check create --help shows")
}

func newCheckList(s *session.Session) *cobra.Command {
	var table session.TableFlags
	var sc document.Scope
	var all bool
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "Those that a project stands below: its own and those above it, nearest first", Args: session.NoArgs,
		Example: "  muster check list -p vision\n  muster check list -A",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			scope := sc.Of(sc.Project)
			if all {
				scope = client.SystemScope
			}
			list, err := c.Checks.List(cmd.Context(), scope)
			if err != nil {
				return err
			}
			if sc.System && !all {
				list.Items = slices.DeleteFunc(list.Items, func(k api.ScopeCheck) bool { return k.Scope != client.SystemScope })
			}
			m := s.Moments(table)
			return session.Print(s, table, session.Table[api.ScopeCheck]{
				Items: list.Items, Name: func(k api.ScopeCheck) string { return k.Scope + "/" + k.Name }, Body: list,
				Columns: []session.Column[api.ScopeCheck]{
					{Title: "NAME", Cell: func(k api.ScopeCheck) string { return k.Name }},
					{Title: "SCOPE", Cell: func(k api.ScopeCheck) string { return session.ScopeName(k.Scope) }},
					{Title: "TYPE", Cell: func(k api.ScopeCheck) string { return k.Type }},
					{Title: "ABOUT", Cell: func(k api.ScopeCheck) string { return aboutWhat(&k) }},
					{Title: "ASKS", Cell: func(k api.ScopeCheck) string { return askedWho(&k) }},
					{Title: "CHANGED", Cell: func(k api.ScopeCheck) string { return m.Ago(session.TimeOf(k.UpdatedAt)) }},
					{Title: "USER", Cell: func(k api.ScopeCheck) string { return k.User }},
				},
			})
		},
	}
	sc.Register(s, cmd)
	table.Register(cmd)
	cmd.Flags().BoolVarP(&all, "all", "A", false, "those of every scope")
	return cmd
}

// aboutWhat says of which workloads a check is.
func aboutWhat(k *api.ScopeCheck) string {
	out := cmp.Or(strings.Join(k.Kinds, ","), "all kinds")
	if k.MinGPUs > 0 {
		out += " from " + strconv.FormatFloat(k.MinGPUs, 'f', -1, 64) + " GPUs"
	}
	if len(k.Images) > 0 {
		out += " with " + strings.Join(k.Images, ",")
	}
	return out
}

// askedWho says who answers a check.
func askedWho(k *api.ScopeCheck) string {
	if k.Type == admission.Webhook {
		return k.URL + ", else " + cmp.Or(k.Unanswered, admission.Closed)
	}
	who := slices.Clone(k.Users)
	if k.Role != "" {
		who = append(who, "role "+k.Role)
	}
	out := fmt.Sprintf("%d of %s", max(k.Approvals, 1), cmp.Or(strings.Join(who, ","), "all who may approve"))
	if k.NotSubmitter {
		out += ", not the submitter"
	}
	return out
}

// oneCheck is a command about one check of a scope.
func oneCheck(s *session.Session, cmd *cobra.Command, sc *document.Scope, do func(ctx context.Context, c *client.Client, scope, name string) error) *cobra.Command {
	cmd.Args = session.OneName("check")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := s.Connect(cmd.Context())
		if err != nil {
			return err
		}
		return do(cmd.Context(), c, sc.Of(sc.Project), args[0])
	}
	sc.Register(s, cmd)
	return cmd
}

func newCheckGet(s *session.Session) *cobra.Command {
	var sc document.Scope
	return oneCheck(s, &cobra.Command{
		Use: "get NAME", Short: "A check as a file has it, to be applied again", Example: "  muster check get gate -p vision > check.yaml",
	}, &sc, func(ctx context.Context, c *client.Client, scope, name string) error {
		k, err := c.Checks.Get(ctx, scope, name)
		if err != nil {
			return err
		}
		if shown, err := s.Brief(k, k.Name); shown {
			return err
		}
		return s.File(checkRecord{"Check", k.Scope, k.NewScopeCheck})
	})
}

func newCheckDescribe(s *session.Session) *cobra.Command {
	var sc document.Scope
	return oneCheck(s, &cobra.Command{
		Use: "describe NAME", Aliases: []string{"show"}, Short: "A check, line by line", Example: "  muster check describe gate -p vision",
	}, &sc, func(ctx context.Context, c *client.Client, scope, name string) error {
		k, err := c.Checks.Get(ctx, scope, name)
		if err != nil {
			return err
		}
		if shown, err := s.Brief(k, k.Name); shown {
			return err
		}
		m := s.Moments(session.TableFlags{})
		g := session.Grid{Whole: true}
		line := func(title, text string) {
			if text != "" {
				g.Line(title, text)
			}
		}
		line("Check", k.Name+" of "+session.ScopeText(k.Scope))
		line("Description", k.Description)
		line("Cannot be read", k.Unread)
		line("Type", k.Type)
		line("About", aboutWhat(k))
		line("Made at", cmp.Or(k.When, "queue"))
		line("Asks", askedWho(k))
		if k.Within != "" {
			line("Within", k.Within+", then "+cmp.Or(k.Expired, admission.Reject))
		}
		if k.Secret != "" {
			line("Signed with", "secret "+k.Secret+" of "+k.SecretOf)
		}
		if k.CA != "" {
			line("Known by", printers.OrDash(session.Plural(strings.Count(k.CA, "BEGIN CERTIFICATE"), "certificate"))+" of its own")
		}
		line("Trusted", strings.Join(k.Trusted, ", "))
		if k.Type == admission.Image {
			line("Remembers", "an approval holds for the "+cmp.Or(k.Remember, admission.ByImage))
		}
		line("Made by", k.User+", "+m.Ago(session.TimeOf(k.CreatedAt))+" ago")
		line("Version", fmt.Sprintf("%d, %s ago", k.Version, m.Ago(session.TimeOf(k.UpdatedAt))))
		return s.Grid(g)
	})
}

func newCheckTest(s *session.Session) *cobra.Command {
	var sc document.Scope
	var file string
	cmd := oneCheck(s, &cobra.Command{
		Use: "test NAME", Short: "Ask a check about a workload that is not submitted; nothing follows from it", Example: "  muster check test gate -p vision -f train.yaml",
		Long: "Ask a check about a workload that is not submitted. A program is asked with dryRun: true.\nExit code 0: there is an answer, or it is known who would be asked; 7: there is none.",
	}, &sc, func(ctx context.Context, c *client.Client, scope, name string) error {
		var in api.CheckTest
		if file != "" {
			data, err := document.Read(s, file)
			if err != nil {
				return err
			}
			if in.Document, err = yaml.YAMLToJSON(data); err != nil {
				return document.WrongFile(file, err, "it is the document of a workload")
			}
		}
		t, err := c.Checks.Test(ctx, scope, name, in)
		if err != nil {
			return err
		}
		if shown, err := s.Brief(t, name); !shown {
			printTrial(s, name, t)
		} else if err != nil {
			return err
		}
		if t.Problem != "" {
			return session.ExitCode(session.ExitUnreachable)
		}
		return nil
	})
	cmd.Flags().StringVarP(&file, "file", "f", "", "document of the workload; by default one that does nothing")
	return cmd
}

// printTrial prints what became of the trial of a check.
func printTrial(s *session.Session, name string, t *api.CheckTrial) {
	if !t.Applies {
		s.Say("check %s is not about this workload", name)
	}
	switch {
	case t.Problem != "":
		s.Say("check %s: no answer after %.1f s: %s", name, t.Took, t.Problem)
	case t.Decision != "":
		line := fmt.Sprintf("check %s: %s after %.1f s", name, t.Decision, t.Took)
		if t.Message != "" {
			line += ": " + t.Message
		}
		s.Say("%s", line)
	case t.Applies:
		s.Say("check %s: %s of %s", name, session.Plural(t.Need, "approval"), t.Who)
		for _, image := range t.Images {
			s.Say("  image %s", image)
		}
	}
}

func newCheckImages(s *session.Session) *cobra.Command {
	var sc document.Scope
	var table session.TableFlags
	cmd := oneCheck(s, &cobra.Command{
		Use: "images NAME", Short: "The images that somebody has approved for a check", Example: "  muster check images images --system",
	}, &sc, func(ctx context.Context, c *client.Client, scope, name string) error {
		list, err := c.Checks.Images(ctx, scope, name)
		if err != nil {
			return err
		}
		m := s.Moments(table)
		return session.Print(s, table, session.Table[api.ReviewedImage]{
			Items: list.Items, Name: func(x api.ReviewedImage) string { return x.Image }, Body: list,
			Columns: []session.Column[api.ReviewedImage]{
				{Title: "IMAGE", Cell: func(x api.ReviewedImage) string { return x.Image }},
				{Title: "BY", Cell: func(x api.ReviewedImage) string { return x.User }},
				{Title: "SINCE", Cell: func(x api.ReviewedImage) string { return m.Ago(session.TimeOf(x.At)) }},
			},
		})
	})
	table.Register(cmd)
	return cmd
}

func newCheckForget(s *session.Session) *cobra.Command {
	var sc document.Scope
	cmd := &cobra.Command{
		Use: "forget NAME IMAGE", Short: "Have an image looked at again before its next use", Example: "  muster check forget images python:3.12 --system",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return session.UsageError(fmt.Sprintf("%s takes a check and an image, not %s", cmd.CommandPath(), session.Plural(len(args), "word")), cmd.UseLine())
			}
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			if err := c.Checks.ForgetImage(cmd.Context(), sc.Of(sc.Project), args[0], args[1]); err != nil {
				return err
			}
			s.Say("%s is looked at again before its next use", args[1])
			return nil
		},
	}
	sc.Register(s, cmd)
	return cmd
}

func newCheckDelete(s *session.Session) *cobra.Command {
	var sc document.Scope
	var yes bool
	cmd := oneCheck(s, &cobra.Command{
		Use: "delete NAME", Aliases: []string{"rm"}, Short: "Forget a check; what waits for it alone goes on", Example: "  muster check delete gate -p vision --yes",
	}, &sc, func(ctx context.Context, _ *client.Client, scope, name string) error {
		return s.Drop(ctx, "check", name+" of "+session.ScopeText(scope), yes, func(ctx context.Context, c *client.Client) error { return c.Checks.Delete(ctx, scope, name) })
	})
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}
