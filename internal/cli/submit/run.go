// Package submit has the commands that submit work, change it, end it and decide
// about it, and those that translate it for other systems and from them.
package submit

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/document"
	"github.com/musterhq/muster/internal/cli/enter"
	"github.com/musterhq/muster/internal/cli/inspect"
	"github.com/musterhq/muster/internal/cli/logs"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

type runOptions struct {
	document    document.DocumentFlags
	follow      bool
	detach      bool
	wait        bool
	dryRun      bool
	exitStatus  string
	onInterrupt string
	key         string
	like        string
	rerun       string
	assets      spec.Assets
}

// NewRun makes the command run.
func NewRun(s *session.Session) *cobra.Command {
	o := &runOptions{}
	cmd := &cobra.Command{
		Use:     "run [-f FILE] [flags] [-- COMMAND ARGUMENTS…]",
		Aliases: []string{"submit"},
		Short:   "Submit a workload",
		Long: `Submits a workload: a document, a command, or a document with changes.

A file may hold several workloads, divided by lines of --- or as the other
system has it. They are submitted in their order, so that later ones may wait
for earlier ones (field after), and none is where one is refused. Flags change
each of them; --follow and --wait are about the last.

With -f, words after -- are arguments that the document's command gets; without
it they are the command. Flags come before the command. The working directory
is the present one unless the document or --workdir says otherwise.

--like makes it of the document of another workload, whose name it continues; what
differs is said before. WORKLOAD@N is the document that attempt N began with.

With -i it attaches to the first task once that runs, and exits as that does.`,
		Example: `  muster run -f train.yaml --follow
  muster run --gpus 1 --name try -- python3 train.py --lr 0.1
  muster run --array 20%4 -- ./shard.sh   20 tasks, 4 at once, each with its MUSTER_TASK_INDEX
  muster run -f train.yaml --set retry.limit=3 --set parameters.lr=0.01
  muster run --like train-moons --set parameters.lr=0.01
  muster run -it --kind workspace bash   a shell where work runs
  muster run -f train.yaml --dry-run -o yaml`,
		RunE: func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), s, o, args) },
	}
	o.document.Register(s, cmd)
	f := cmd.Flags()
	f.SetInterspersed(false) // flags of the command are the command's
	f.StringVar(&o.like, "like", "", "the document of that workload, or of an attempt of it, NAME@N, with what flags change")
	_ = cmd.RegisterFlagCompletionFunc("like", s.CompleteNames)
	f.StringVarP(&o.rerun, "rerun", "r", "", "run that workload again, which has ended, as muster restart does")
	_ = cmd.RegisterFlagCompletionFunc("rerun", s.CompleteNames)
	session.FlagAlias(f, "like", "clone")
	f.StringVar(&o.assets.Template, "template", "", "NAME[@VERSION] of a template that the file and flags are laid over")
	f.StringVar(&o.assets.Environment, "environment", "", "NAME[@VERSION] of an environment to run in: image, command, variables, setup and mounts")
	f.StringVar(&o.assets.Compute, "compute", "", "NAME[@VERSION] of a compute resource: what each task needs")
	_ = cmd.RegisterFlagCompletionFunc("template", s.CompleteTemplates(client.KindTemplate))
	_ = cmd.RegisterFlagCompletionFunc("environment", s.CompleteTemplates(client.KindEnvironment))
	_ = cmd.RegisterFlagCompletionFunc("compute", s.CompleteTemplates(client.KindCompute))
	f.BoolVar(&o.follow, "follow", false, "show its phases and output until it ends, and exit as it did")
	f.BoolVar(&o.detach, "detach", false, "return once it is submitted (the default)")
	f.BoolVar(&o.wait, "wait", false, "return once it has ended, and exit as it did")
	f.BoolVar(&o.dryRun, "dry-run", false, "submit nothing; say whether it would be accepted, where and when it would start, and whom it would displace")
	f.StringVar(&o.exitStatus, "exit-status", "workload", "with --follow or --wait: workload (10 when it failed), or task (the code of the first failed task)")
	f.StringVar(&o.onInterrupt, "on-interrupt", "detach", "with --follow or --wait: what Ctrl-C does: detach, or stop the workload")
	f.StringVar(&o.key, "idempotency-key", "", "repeating a submission with the same key makes no second workload")
	return cmd
}

func (o *runOptions) check() error {
	switch {
	case o.rerun != "" && (o.document.File != "" || o.like != "" || o.assets != (spec.Assets{}) || o.dryRun):
		return session.UsageError("--rerun says all that is run", "leave the rest out; muster run --like makes another workload of it")
	case o.like != "" && o.document.File != "":
		return session.UsageError("--like and -f both say what to run", "leave one of them out")
	case o.like != "" && o.assets != (spec.Assets{}):
		return session.UsageError("--like says all that --template, --environment and --compute would", "leave one of them out")
	case o.detach && (o.follow || o.wait):
		return session.UsageError("--detach contradicts --follow and --wait", "leave one of them out")
	case o.dryRun && (o.follow || o.wait):
		return session.UsageError("--dry-run submits nothing that could be waited for", "leave out --follow and --wait")
	case o.document.Stdin && (o.follow || o.wait):
		return session.UsageError("-i attaches to the task, which contradicts --follow and --wait", "leave one of them out")
	}
	if err := session.OneOf("exit-status", o.exitStatus, "workload", "task"); err != nil {
		return err
	}
	return session.OneOf("on-interrupt", o.onInterrupt, "detach", "stop")
}

func run(ctx context.Context, s *session.Session, o *runOptions, argv []string) error {
	if err := o.check(); err != nil {
		return err
	}
	if o.rerun != "" {
		if len(argv) > 0 {
			return session.UsageError("--rerun takes no command: it runs what was run", "muster run --like "+o.rerun+" -- COMMAND makes another workload of it")
		}
		return each(ctx, s, &actOptions{scope: session.Scope{Project: o.document.Project}, follow: o.follow, wait: o.wait}, []string{o.rerun}, again(nil))
	}
	local := document.Local(s)
	if o.like != "" {
		if err := takeLike(ctx, s, o); err != nil {
			return err
		}
	} else if err := document.TakeAssets(ctx, s, &o.document, o.assets); err != nil {
		return err
	}
	all, err := document.BuildAll(s, &o.document, argv, local)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		s.Say("%s holds nothing that runs; muster import %s --explain says why", o.document.File, o.document.File)
		return nil
	}
	if o.like == "" {
		document.SayAssets(s, all[0].Doc)
	}
	if len(all) > 1 {
		return runTogether(ctx, s, o, all)
	}
	src, doc := all[0].Src, all[0].Doc
	if o.like != "" {
		sayDifference(s, o.document.Base, doc, o.document.LikeName)
	}
	data, err := document.Encode(doc)
	if err != nil {
		return err
	}
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	w, err := c.Submit(ctx, data, client.SubmitOptions{Key: o.key, DryRun: o.dryRun})
	if err != nil && src.Foreign {
		if rest := Unmailed(s, all[0].Doc, err); rest != nil {
			if data, err = document.Encode(rest); err != nil {
				return err
			}
			w, err = c.Submit(ctx, data, client.SubmitOptions{Key: o.key, DryRun: o.dryRun})
		}
	}
	if err != nil {
		return src.Problem(err)
	}
	s.Warn(w.Warnings)
	switch {
	case o.dryRun:
		return inspect.Planned(s, w)
	case o.document.Stdin && !o.detach:
		submitted(s, w, false)
		return enter.Interact(ctx, s, c, w)
	case o.follow, o.wait:
		submitted(s, w, false)
		return o.until(ctx, s, c, w)
	}
	if s.Machine() {
		return s.Document(w)
	}
	if _, err := fmt.Fprintln(s.IO.Out, w.Name); err != nil {
		return err
	}
	if s.Format() != "name" {
		submitted(s, place(ctx, s, c, w), true)
	}
	return nil
}

// until follows w, or waits for it, to its end.
func (o *runOptions) until(ctx context.Context, s *session.Session, c *client.Client, w *api.Workload) error {
	f := logs.NewFollower(s, c, w)
	f.Status, f.OnInterrupt, f.Quiet = o.exitStatus, o.onInterrupt, !o.follow
	return f.Follow(ctx)
}

// place is w with its place in the queue, which the answer to a submission does
// not have. It is a courtesy: the workload is submitted in any case.
func place(ctx context.Context, s *session.Session, c *client.Client, w *api.Workload) *api.Workload {
	if printers.Ended(w) || lifecycle.Phase(w.Phase).Held() {
		return w
	}
	if now, err := c.Workload(ctx, w.Project, w.ID); err == nil {
		return now
	}
	return w
}

// submitted says what became of a submission and what can be done next.
func submitted(s *session.Session, w *api.Workload, next bool) {
	s.Say("%s to project %s: %s", s.Paint(s.IO.ErrTerminal, session.ToneGood, "submitted "+w.Name), w.Project, printers.Situation(w, s.Moments(session.TableFlags{})))
	if next {
		s.Say("  muster logs -f %s · muster why %s · muster stop %s", w.Name, w.Name, w.Name)
	}
}
