package submit

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/document"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

type updateOptions struct {
	document document.DocumentFlags
	restart  bool
	yes      bool
	dry      bool
}

// NewUpdate makes the command update.
func NewUpdate(s *session.Session) *cobra.Command {
	o := &updateOptions{}
	cmd := &cobra.Command{
		Use:   "update WORKLOAD [-f FILE] [flags]",
		Short: "Change priority and limits of live work, or the document of a service",
		Long: `Changes the document of a workload. Priority, limits, retries, labels,
annotations and how many tasks of an array run at once change while it lives. Everything else of an inference workload is
taken over a few replicas at a time, as its field update says, while it goes on
to serve; other kinds need a new attempt for it, which --restart allows.

Without -f the document is the present one, with what flags change.`,
		Example: `  muster update train-moons --priority high --max-duration 24h
  muster update train-moons --set retry.limit=5
  muster update chat --image ghcr.io/acme/chat:2
  muster update train-moons --gpus 8 --restart`,
		RunE: func(cmd *cobra.Command, args []string) error {
			names, err := someNames(cmd, args)
			if err != nil {
				return err
			}
			if err := session.AtMostOne(cmd, names); err != nil {
				return err
			}
			return update(cmd.Context(), s, o, names[0])
		},
	}
	o.document.Register(s, cmd)
	cmd.Flags().BoolVar(&o.restart, "restart", false, "end what runs and run it again where the change needs that")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask before something that runs is ended")
	cmd.Flags().BoolVar(&o.dry, "dry-run", false, "say what would change and when that would hold, and change nothing")
	cmd.ValidArgsFunction = s.CompleteNames
	return cmd
}

func update(ctx context.Context, s *session.Session, o *updateOptions, name string) error {
	d := &o.document
	for _, flag := range []string{"name", "prefix", "kind"} {
		if d.Cmd.Flags().Changed(flag) {
			return session.UsageError("--"+flag+" cannot be changed by an update", "submit a new workload with muster run")
		}
	}
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	w, err := s.Resolve(ctx, c, session.Scope{Project: d.Project}, name)
	if err != nil {
		return err
	}
	d.Project = "" // it says where the workload is, and stays
	doc, src, err := nextDocument(s, d, w)
	if err != nil {
		return err
	}
	if doc, err = document.Whole(ctx, s, c, doc); err != nil {
		return src.Problem(err)
	}
	r, err := revisionOf(w, doc, document.Local(s))
	if err != nil {
		return src.Refuse(err)
	}
	if err := mayUpdate(s, o, r); err != nil {
		return err
	}
	if err := r.possible(ctx, c); err != nil {
		return src.Problem(err)
	}
	if o.dry || r.effect == "" {
		return reviseShown(s, r, w, o.dry)
	}
	if r.ends() && !o.yes {
		if !s.IO.InTerminal {
			return session.NeedsFlagError("ending "+w.Name, "--yes")
		}
		if ok, err := s.Ask(strings.TrimRight(revisionLines(s, s.IO.ErrTerminal, r), "\n") + "\n" + w.Name + " is " + printers.PhaseWord(w) + " and is ended for it."); !ok {
			return err
		}
	}
	done, err := carryOut(ctx, s, c, r)
	if err != nil {
		return src.Problem(err)
	}
	if shown, err := s.Brief(done, done.Name); shown {
		return err
	}
	updated(s, r, done)
	return nil
}

// mayUpdate refuses what is not allowed, or makes no sense.
func mayUpdate(s *session.Session, o *updateOptions, r *revision) error {
	if err := r.refused(); err != nil {
		return err
	}
	if r.effect != spec.EffectAttempt || o.restart || o.dry {
		return nil
	}
	if printers.Ended(r.w) {
		return &session.Failure{Code: session.ExitConflict, Problem: &api.Problem{
			Title: "Conflict", Status: 409, Code: "illegal_phase", Detail: fmt.Sprintf("%s is %s: there is nothing left to change", r.w.Name, r.w.Phase),
			Hint: "--restart runs it again with the change",
		}}
	}
	p := &api.Problem{Title: "Conflict", Status: 409, Code: "conflict", Detail: "it needs a new attempt"}
	for _, c := range r.changes {
		if c.Effect == spec.EffectAttempt {
			p.Errors = append(p.Errors, api.FieldProblem{
				Path: c.Path, Problem: "does not change while a workload lives; it needs a new attempt",
				Hint: "--restart ends what runs and runs it again; live change " + strings.Join(spec.LiveFields(), ", "),
			})
		}
	}
	return &session.Failure{Code: session.ExitConflict, Problem: p}
}

// reviseShown says what would change, where nothing is done.
func reviseShown(s *session.Session, r *revision, w *api.Workload, dry bool) error {
	switch {
	case s.Machine():
		return s.Document(appliedWork{Kind: workloadKind, Name: w.Name, Action: actionOf(r), Changes: r.changes})
	case r.effect == "":
		s.Say("%s says so already; nothing was changed", w.Name)
		return nil
	}
	_, err := fmt.Fprintf(s.IO.Out, "%s would be %s\n%s", w.Name, actionOf(r), revisionLines(s, s.IO.OutTerminal, r))
	return err
}

func updated(s *session.Session, r *revision, done *api.Workload) {
	switch {
	case r.effect == spec.EffectLive:
		s.Say("updated %s: %s", done.Name, printers.Situation(done, s.Moments(session.TableFlags{})))
		s.Say("%s", strings.TrimRight(revisionLines(s, s.IO.ErrTerminal, r), "\n"))
	case r.effect == spec.EffectAttempt:
		s.Say("%s runs again as attempt %d: %s", done.Name, done.Attempt, printers.Situation(done, s.Moments(session.TableFlags{})))
	default:
		line := "updating " + replicaLine(done)
		if done.Replicas != nil {
			line += fmt.Sprintf(", %d of generation %d", done.Replicas.Updated, done.Replicas.Generation)
		}
		s.Say("%s", line)
	}
}

// nextDocument is the document of an update: the file's or the present one,
// with what flags change.
func nextDocument(s *session.Session, d *document.DocumentFlags, w *api.Workload) (*spec.Document, document.Source, error) {
	var src document.Source
	doc := printers.DocOf(w)
	if d.File != "" {
		var err error
		if doc, src, err = document.OneFromFile(s, d); err != nil {
			return nil, src, err
		}
		if doc.Kind == "" {
			doc.Kind = lifecycle.Kind(w.Kind)
		}
	}
	edits, err := d.Edits(s, nil)
	if err != nil {
		return nil, src, err
	}
	if len(edits) == 0 && d.File == "" {
		return nil, src, session.UsageError("there is nothing to change", "give the new document with -f FILE, or a change like --priority, --image or --set FIELD=value")
	}
	doc, err = document.Edit(doc, edits)
	return doc, src, err
}
