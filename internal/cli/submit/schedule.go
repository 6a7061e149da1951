package submit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/document"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	foreign "github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/recur"
	"github.com/musterhq/muster/internal/core/spec"
)

// NewSchedule makes the command schedule.
func NewSchedule(s *session.Session) *cobra.Command {
	cmd := session.Group("schedule", "Workloads that are submitted again and again by the clock: list, describe, create, update, suspend, resume, run-now, delete", "schedules", "cron")
	cmd.Long = `A schedule submits a workload again and again, at the times that a cron expression
says by the clocks of a time zone. Each run is a workload like any other, called as the
schedule with its time in UTC, and belongs to who said last what the schedule runs.

The five fields of an expression are minute (0-59), hour (0-23), day of the month
(1-31), month (1-12 or jan-dec) and day of the week (0-7 or sun-sat): each *, numbers,
ranges such as 9-17, steps such as */15, and lists of these. Where days of the month
and of the week are both given, either is enough. @hourly, @daily, @weekly, @monthly and
@yearly are expressions too.`
	cmd.Example = "  muster schedule create report --cron '0 2 * * mon-fri' --time-zone Europe/Berlin -- python3 report.py\n  muster schedule describe report\n  muster get --schedule report"
	cmd.AddCommand(newScheduleList(s), newScheduleDescribe(s), newScheduleEdit(s, true), newScheduleEdit(s, false), newScheduleSwitch(s, true), newScheduleSwitch(s, false), newScheduleRun(s), newScheduleDelete(s))
	return cmd
}

type scheduleOptions struct {
	document               document.DocumentFlags
	create, dry, suspended bool
	cron, zone, within     string
	concurrency            string
	keepCompleted          int
	keepFailed             int
	description            string
	assets                 spec.Assets
	cmd                    *cobra.Command
}

func newScheduleEdit(s *session.Session, create bool) *cobra.Command {
	o := &scheduleOptions{create: create}
	use, short, example := "update", "Change what flags name of a schedule", "  muster schedule update report --cron '30 3 * * *'\n  muster schedule update report -f report.yaml"
	long := "Changes what flags say of a schedule: of its workload too, or, with -f, all of that.\nOther times count from now on. Who changes what it runs has it run as them."
	if create {
		use, short, example = "create", "Make a schedule of a document or a command", "  muster schedule create report --cron '0 2 * * *' -- python3 report.py\n  muster schedule create train --cron @weekly --time-zone Europe/Berlin --concurrency forbid -f train.yaml\n  muster schedule create -f cronjob.yaml"
		long = "Makes a schedule of a workload document, or of a command and the flags of muster run.\nOf a CronJob of Kubernetes its name and times are taken too, unless flags say others."
	}
	cmd := &cobra.Command{
		Use: use + " NAME [--cron EXPRESSION] [-f FILE] [flags] [-- COMMAND ARGUMENTS…]", Short: short, Long: long, Example: example,
		RunE: func(cmd *cobra.Command, args []string) error {
			var argv []string
			if at := cmd.ArgsLenAtDash(); at >= 0 {
				args, argv = args[:at], args[at:]
			}
			if len(args) > 1 || len(args) == 0 && (!create || o.document.File == "") {
				return session.UsageError(fmt.Sprintf("%s takes one name, not %d", cmd.CommandPath(), len(args)), cmd.UseLine())
			}
			return editSchedule(cmd.Context(), s, o, strings.Join(args, ""), argv)
		},
	}
	if !create {
		cmd.ValidArgsFunction = completeSchedules(s)
	}
	o.cmd = cmd
	o.document.Register(s, cmd)
	o.document.Recurring = true
	f := cmd.Flags()
	f.StringVar(&o.cron, "cron", "", "when it runs: a cron expression such as '0 2 * * mon-fri', or @daily and the like")
	f.StringVar(&o.zone, "time-zone", "", "by whose clocks, such as Europe/Berlin; default: UTC")
	f.StringVar(&o.concurrency, "concurrency", "", "what becomes of a run while one before it has not ended: allow, forbid or replace; default: allow")
	f.StringVar(&o.within, "starting-deadline", "", "give up a run that cannot start within this of its time, like 10m; default: it starts however late it is")
	f.IntVar(&o.keepCompleted, "keep-completed", 3, "so many runs that have completed are kept, older ones are deleted")
	f.IntVar(&o.keepFailed, "keep-failed", 1, "so many runs that have ended otherwise are kept")
	f.StringVar(&o.description, "description", "", "what it is for")
	f.BoolVar(&o.suspended, "suspended", false, "it starts no runs by itself")
	f.BoolVar(&o.dry, "dry-run", false, "say when it would run, and change nothing")
	f.StringVar(&o.assets.Template, "template", "", "NAME[@VERSION] of a template that its workload is laid over, taken anew for each run")
	f.StringVar(&o.assets.Environment, "environment", "", "NAME[@VERSION] of an environment that its runs are in")
	f.StringVar(&o.assets.Compute, "compute", "", "NAME[@VERSION] of a compute resource: what each task needs")
	_ = cmd.RegisterFlagCompletionFunc("template", s.CompleteTemplates(client.KindTemplate))
	_ = cmd.RegisterFlagCompletionFunc("environment", s.CompleteTemplates(client.KindEnvironment))
	_ = cmd.RegisterFlagCompletionFunc("compute", s.CompleteTemplates(client.KindCompute))
	_ = cmd.RegisterFlagCompletionFunc("concurrency", cobra.FixedCompletions([]string{"allow", "forbid", "replace"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("cron", cobra.FixedCompletions([]string{"@hourly", "@daily", "@weekly", "@monthly", "@yearly"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func editSchedule(ctx context.Context, s *session.Session, o *scheduleOptions, name string, argv []string) error {
	d := &o.document
	if d.Cmd.Flags().Changed("name") || d.Cmd.Flags().Changed("prefix") {
		return session.UsageError("--name and --prefix are of one workload", "the schedule's own name comes first, and its runs are called after it")
	}
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	project := document.TemplateProject(d.Project)
	patch, err := o.patch()
	if err != nil {
		return err
	}
	var doc *spec.Document
	var src document.Source
	if o.create {
		doc, src, err = scheduledDocument(s, d, o.assets, argv)
	} else if o.changesDocument(s, argv) {
		doc, src, err = changedDocument(ctx, s, c, o, project, name, argv)
	}
	if err != nil {
		return err
	}
	if when := d.When(); when != nil && doc != nil {
		o.of(when, patch)
		name = cmp.Or(name, when.Name)
	}
	if doc != nil {
		if patch["document"], err = fieldsOf(doc); err != nil {
			return err
		}
		if o.create {
			project = cmp.Or(doc.Project, project)
		}
	}
	var made *api.Schedule
	if o.create {
		if patch["cron"] == nil {
			return session.UsageError("it does not say when it runs", "add --cron, such as --cron '0 2 * * *' or --cron @daily")
		}
		n := api.NewSchedule{Name: name}
		data, err := json.Marshal(patch)
		if err == nil {
			err = json.Unmarshal(data, &n.ScheduleSpec)
		}
		if err != nil {
			return err
		}
		made, err = c.Schedules.Create(ctx, project, n, o.dry)
		if err != nil {
			return src.Problem(err)
		}
	} else {
		if len(patch) == 0 {
			return session.UsageError("there is nothing to change", "muster schedule update --help lists the flags")
		}
		if made, err = c.Schedules.Change(ctx, project, name, patch, o.dry); err != nil {
			return src.Problem(err)
		}
	}
	s.Warn(made.Warnings)
	if shown, err := s.Brief(made, made.Name); shown {
		return err
	}
	word := ""
	if o.dry {
		word = " would be"
	}
	s.Say("schedule %s of project %s%s: %s", made.Name, made.Project, word, scheduleLine(made))
	return nil
}

// scheduleRecord is a schedule as muster apply reads it.
type scheduleRecord struct {
	Kind    string `json:"kind"`
	Project string `json:"project,omitempty"`
	api.NewSchedule
}

// recordOf is the record of a schedule that a file for another system says.
func recordOf(when *foreign.Schedule, doc *spec.Document) (*scheduleRecord, error) {
	r := &scheduleRecord{Kind: scheduleKind, Project: when.Project}
	r.Name, r.Cron, r.TimeZone, r.Concurrency, r.Suspended = when.Name, when.Cron, when.TimeZone, when.Concurrency, when.Suspended
	r.KeepCompleted, r.KeepFailed = when.KeepCompleted, when.KeepFailed
	if when.StartingDeadline > 0 {
		r.StartingDeadline = when.StartingDeadline.String()
	}
	var err error
	r.Document, err = fieldsOf(doc)
	return r, err
}

// patch is what the flags say of a schedule beside its workload.
func (o *scheduleOptions) patch() (map[string]any, error) {
	patch := map[string]any{}
	if o.cmd.Flags().Changed("cron") {
		if _, err := recur.Parse(o.cron); err != nil {
			p := err.(*recur.Problem) //nolint:errorlint // it makes no others
			return nil, session.UsageError("--cron: "+p.Message, p.Hint)
		}
	}
	for flag, f := range map[string]struct {
		field string
		value any
	}{
		"cron": {"cron", o.cron}, "time-zone": {"timeZone", o.zone}, "concurrency": {"concurrency", o.concurrency}, "starting-deadline": {"startingDeadline", o.within},
		"keep-completed": {"keepCompleted", o.keepCompleted}, "keep-failed": {"keepFailed", o.keepFailed}, "description": {"description", o.description}, "suspended": {"suspended", o.suspended},
	} {
		if o.cmd.Flags().Changed(flag) {
			patch[f.field] = f.value
		}
	}
	return patch, nil
}

// of takes over what a file says of when it is run, where flags do not.
func (o *scheduleOptions) of(when *foreign.Schedule, patch map[string]any) {
	say := func(field string, value any, given bool) {
		if _, flagged := patch[field]; !flagged && given {
			patch[field] = value
		}
	}
	say("cron", when.Cron, true)
	say("timeZone", when.TimeZone, when.TimeZone != "")
	say("concurrency", when.Concurrency, when.Concurrency != "")
	say("startingDeadline", when.StartingDeadline.String(), when.StartingDeadline > 0)
	say("suspended", true, when.Suspended)
	say("keepCompleted", when.KeepCompleted, when.KeepCompleted != nil)
	say("keepFailed", when.KeepFailed, when.KeepFailed != nil)
}

// changesDocument reports whether anything is said of the workload.
func (o *scheduleOptions) changesDocument(s *session.Session, argv []string) bool {
	edits, err := o.document.Edits(s, argv)
	project := 0
	for _, e := range edits {
		if e.Path == "project" {
			project++
		}
	}
	return err != nil || len(argv) > 0 || o.document.File != "" || o.assets != (spec.Assets{}) || len(edits) > project
}

// scheduledDocument is the workload of a file and flags, as it is submitted again and
// again.
func scheduledDocument(s *session.Session, d *document.DocumentFlags, assets spec.Assets, argv []string) (*spec.Document, document.Source, error) {
	base, src, err := document.OneFromFile(s, d)
	if err != nil {
		return nil, src, err
	}
	return laidOver(s, d, assets, base, src, argv)
}

// changedDocument is the workload of a schedule with what flags say over it; that of a
// file takes its place.
func changedDocument(ctx context.Context, s *session.Session, c *client.Client, o *scheduleOptions, project, name string, argv []string) (*spec.Document, document.Source, error) {
	if o.document.File != "" {
		return scheduledDocument(s, &o.document, o.assets, argv)
	}
	was, err := c.Schedules.Get(ctx, project, name)
	if err != nil {
		return nil, document.Source{}, err
	}
	data, err := json.Marshal(was.Document)
	if err != nil {
		return nil, document.Source{}, err
	}
	base, err := spec.Parse(data)
	if err != nil {
		return nil, document.Source{}, err
	}
	return laidOver(s, &o.document, o.assets, base, document.Source{}, argv)
}

func laidOver(s *session.Session, d *document.DocumentFlags, assets spec.Assets, base *spec.Document, src document.Source, argv []string) (*spec.Document, document.Source, error) {
	edits, err := d.Edits(s, argv)
	if err != nil {
		return nil, src, err
	}
	for field, value := range map[string]string{"template": assets.Template, "environment": assets.Environment, "compute": assets.Compute} {
		if value != "" {
			edits = append(edits, document.Change{Path: field, Value: value, Flag: "--" + field})
		}
	}
	doc, err := document.Edit(base, edits)
	if err != nil {
		return nil, src, err
	}
	if d.File == "" && len(doc.Command.Argv) == 0 && assets.Template == "" && assets.Environment == "" && doc.Image == "" {
		return nil, src, session.UsageError("it does not say what is run", "give a command after --, or a document with -f")
	}
	if err := document.ResolveWorkdir(doc, document.Local(s)); err != nil {
		return nil, src, err
	}
	document.CarryEnvironment(s, doc, document.Local(s))
	return doc, src, nil
}

// Recurring are the fields of a document that is submitted again and again from here.
func Recurring(s *session.Session, doc *spec.Document) (map[string]json.RawMessage, error) {
	if err := document.ResolveWorkdir(doc, document.Local(s)); err != nil {
		return nil, err
	}
	document.CarryEnvironment(s, doc, document.Local(s))
	return fieldsOf(doc)
}

// fieldsOf are the fields of a document that each run has: it is called otherwise each
// time, and in the project of the schedule.
func fieldsOf(doc *spec.Document) (map[string]json.RawMessage, error) {
	c := doc.Clone()
	c.Name, c.NamePrefix, c.Project = "", "", ""
	data, err := document.Encode(c)
	if err != nil {
		return nil, err
	}
	out := map[string]json.RawMessage{}
	return out, json.Unmarshal(data, &out)
}

func newScheduleSwitch(s *session.Session, suspend bool) *cobra.Command {
	var sc session.Scope
	use, short := "resume", "Start runs by the clock again; the last that was missed starts at once, where it is not too late"
	if suspend {
		use, short = "suspend", "Start no more runs by the clock; those that there are go on"
	}
	cmd := &cobra.Command{
		Use: use + " SCHEDULE", Short: short, Example: "  muster schedule " + use + " report", Args: session.OneName("schedule"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			r, err := c.Schedules.Suspend(cmd.Context(), document.TemplateProject(sc.Project), args[0], suspend)
			if err != nil {
				return err
			}
			if shown, err := s.Brief(r, r.Name); shown {
				return err
			}
			s.Say("schedule %s: %s", r.Name, scheduleLine(r))
			return nil
		},
		ValidArgsFunction: completeSchedules(s),
	}
	sc.Register(s, cmd)
	return cmd
}

func newScheduleRun(s *session.Session) *cobra.Command {
	var sc session.Scope
	cmd := &cobra.Command{
		Use: "run-now SCHEDULE", Aliases: []string{"trigger", "run"}, Short: "Start a run now, whatever others there are", Example: "  muster schedule run-now report", Args: session.OneName("schedule"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			w, err := c.Schedules.Run(cmd.Context(), document.TemplateProject(sc.Project), args[0])
			if err != nil {
				return err
			}
			if shown, err := s.Brief(w, w.Name); shown {
				return err
			}
			if _, err := fmt.Fprintln(s.IO.Out, w.Name); err != nil {
				return err
			}
			submitted(s, w, true)
			return nil
		},
		ValidArgsFunction: completeSchedules(s),
	}
	sc.Register(s, cmd)
	return cmd
}

func newScheduleDelete(s *session.Session) *cobra.Command {
	var sc session.Scope
	var yes, runs bool
	cmd := &cobra.Command{
		Use: "delete SCHEDULE", Aliases: []string{"rm"}, Short: "Forget a schedule; its runs stay unless --runs is given", Example: "  muster schedule delete report --yes\n  muster schedule delete report --runs --yes", Args: session.OneName("schedule"),
		RunE: func(cmd *cobra.Command, args []string) error {
			what := "schedule"
			if runs {
				what = "with all its runs schedule"
			}
			return s.Drop(cmd.Context(), what, args[0], yes, func(ctx context.Context, c *client.Client) error {
				return c.Schedules.Delete(ctx, document.TemplateProject(sc.Project), args[0], runs)
			})
		},
		ValidArgsFunction: completeSchedules(s),
	}
	sc.Register(s, cmd)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&runs, "runs", false, "end and delete its runs too")
	return cmd
}

// scheduleLine is when a schedule runs, in a line.
func scheduleLine(r *api.Schedule) string {
	line := r.Cron + " in " + r.TimeZone
	switch {
	case r.Suspended:
		line += ", suspended"
	case len(r.Next) > 0:
		line += ", next " + inZone(r.Next[0], r.TimeZone)
	}
	return line
}

func completeSchedules(s *session.Session) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return s.Complete(cmd, typed, func(ctx context.Context, c *client.Client) (names []string) {
			list, err := c.Schedules.List(ctx, "")
			if err != nil {
				return nil
			}
			for _, r := range list.Items {
				names = append(names, r.Name+"\t"+printers.OrDash(r.Cron))
			}
			return names
		})
	}
}
