package submit

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/document"
	"github.com/musterhq/muster/internal/cli/inspect"
	"github.com/musterhq/muster/internal/cli/session"
	foreign "github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
)

// runTogether submits all workloads of a file, or none.
func runTogether(ctx context.Context, s *session.Session, o *runOptions, all []document.Piece) error {
	docs := make([]json.RawMessage, len(all))
	for i, p := range all {
		var err error
		if docs[i], err = document.Encode(p.Doc); err != nil {
			return err
		}
	}
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	ws, err := c.Together(ctx, docs, client.SubmitOptions{Key: o.key, DryRun: o.dryRun})
	if err != nil {
		return document.ProblemAmong(s, all, err)
	}
	for i := range ws {
		s.Warn(ws[i].Warnings)
	}
	if o.dryRun {
		return plannedAll(s, ws)
	}
	if o.follow || o.wait {
		for i := range ws {
			submitted(s, &ws[i], false)
		}
		return o.until(ctx, s, c, &ws[len(ws)-1])
	}
	if s.Machine() {
		return s.Document(api.WorkloadList{Items: ws})
	}
	for i := range ws {
		if _, err := fmt.Fprintln(s.IO.Out, ws[i].Name); err != nil {
			return err
		}
		if s.Format() != "name" {
			submitted(s, place(ctx, s, c, &ws[i]), false)
		}
	}
	return nil
}

// plannedAll shows workloads that were only checked.
func plannedAll(s *session.Session, ws []api.Workload) error {
	if s.Format() == "yaml" {
		docs := make([]*spec.Document, len(ws))
		for i, w := range ws {
			docs[i] = new(spec.Document)
			if err := docs[i].UnmarshalJSON(w.Spec); err != nil {
				return err
			}
		}
		return documents(s, &foreign.Result{Documents: docs})
	}
	if s.Machine() {
		return s.Document(api.WorkloadList{Items: ws})
	}
	for i := range ws {
		if err := inspect.Planned(s, &ws[i]); err != nil {
			return err
		}
	}
	return nil
}
