package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

type updateOptions struct {
	document documentFlags
	restart  bool
	yes      bool
	dry      bool
}

func newUpdate(s *session) *cobra.Command {
	o := &updateOptions{}
	cmd := &cobra.Command{
		Use:   "update WORKLOAD [-f FILE] [flags]",
		Short: "Change priority and limits of live work, or the document of a service",
		Long: `Changes the document of a workload. Priority, limits, retries, labels and
annotations change while it lives. Everything else of an inference workload is
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
			if err := atMostOne(cmd, names); err != nil {
				return err
			}
			return s.update(cmd.Context(), o, names[0])
		},
	}
	o.document.register(s, cmd)
	cmd.Flags().BoolVar(&o.restart, "restart", false, "end what runs and run it again where the change needs that")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask before something that runs is ended")
	cmd.Flags().BoolVar(&o.dry, "dry-run", false, "say what would change and when that would hold, and change nothing")
	cmd.ValidArgsFunction = s.completeNames
	return cmd
}

func (s *session) update(ctx context.Context, o *updateOptions, name string) error {
	d := &o.document
	for _, flag := range []string{"name", "prefix", "kind"} {
		if d.cmd.Flags().Changed(flag) {
			return usage("--"+flag+" cannot be changed by an update", "submit a new workload with muster run")
		}
	}
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	w, err := s.resolve(ctx, c, scope{project: d.project}, name)
	if err != nil {
		return err
	}
	d.project = "" // it says where the workload is, and stays
	doc, src, err := s.nextDocument(d, w)
	if err != nil {
		return err
	}
	if doc, err = s.whole(ctx, c, doc); err != nil {
		return src.problem(err)
	}
	r, err := revisionOf(w, doc, s.local())
	if err != nil {
		return src.refuse(err)
	}
	if err := s.mayUpdate(o, r); err != nil {
		return err
	}
	if err := r.possible(ctx, c); err != nil {
		return src.problem(err)
	}
	if o.dry || r.effect == "" {
		return s.reviseShown(r, w, o.dry)
	}
	if r.ends() && !o.yes {
		if !s.io.InTerminal {
			return needsFlag("ending "+w.Name, "--yes")
		}
		if ok, err := s.ask(strings.TrimRight(s.revisionLines(s.io.ErrTerminal, r), "\n") + "\n" + w.Name + " is " + phaseWord(w) + " and is ended for it."); !ok {
			return err
		}
	}
	done, err := s.carryOut(ctx, c, r)
	if err != nil {
		return src.problem(err)
	}
	if shown, err := s.brief(done, done.Name); shown {
		return err
	}
	s.updated(r, done)
	return nil
}

// mayUpdate refuses what is not allowed, or makes no sense.
func (s *session) mayUpdate(o *updateOptions, r *revision) error {
	if err := r.refused(); err != nil {
		return err
	}
	if r.effect != spec.EffectAttempt || o.restart || o.dry {
		return nil
	}
	if ended(r.w) {
		return &failure{code: exitConflict, problem: &api.Problem{
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
	return &failure{code: exitConflict, problem: p}
}

// reviseShown says what would change, where nothing is done.
func (s *session) reviseShown(r *revision, w *api.Workload, dry bool) error {
	switch {
	case s.machine():
		return s.document(appliedWork{Kind: workloadKind, Name: w.Name, Action: actionOf(r), Changes: r.changes})
	case r.effect == "":
		s.say("%s says so already; nothing was changed", w.Name)
		return nil
	}
	_, err := fmt.Fprintf(s.io.Out, "%s would be %s\n%s", w.Name, actionOf(r), s.revisionLines(s.io.OutTerminal, r))
	return err
}

func (s *session) updated(r *revision, done *api.Workload) {
	switch {
	case r.effect == spec.EffectLive:
		s.say("updated %s: %s", done.Name, situation(done, s.moments(tableFlags{})))
		s.say("%s", strings.TrimRight(s.revisionLines(s.io.ErrTerminal, r), "\n"))
	case r.effect == spec.EffectAttempt:
		s.say("%s runs again as attempt %d: %s", done.Name, done.Attempt, situation(done, s.moments(tableFlags{})))
	default:
		line := "updating " + replicaLine(done)
		if done.Replicas != nil {
			line += fmt.Sprintf(", %d of edition %d", done.Replicas.Updated, done.Replicas.Edition)
		}
		s.say("%s", line)
	}
}

// nextDocument is the document of an update: the file's or the present one,
// with what flags change.
func (s *session) nextDocument(d *documentFlags, w *api.Workload) (*spec.Document, source, error) {
	var src source
	doc := docOf(w)
	if d.file != "" {
		var err error
		if doc, src, err = s.oneFromFile(d); err != nil {
			return nil, src, err
		}
		if doc.Kind == "" {
			doc.Kind = lifecycle.Kind(w.Kind)
		}
	}
	edits, err := d.edits(s, nil)
	if err != nil {
		return nil, src, err
	}
	if len(edits) == 0 && d.file == "" {
		return nil, src, usage("there is nothing to change", "give the new document with -f FILE, or a change like --priority, --image or --set FIELD=value")
	}
	doc, err = edit(doc, edits)
	return doc, src, err
}
