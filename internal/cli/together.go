package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/core/spec"
)

// runTogether submits all workloads of a file, or none.
func (s *session) runTogether(ctx context.Context, o *runOptions, all []piece) error {
	docs := make([]json.RawMessage, len(all))
	for i, p := range all {
		var err error
		if docs[i], err = encode(p.doc); err != nil {
			return err
		}
	}
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	ws, err := c.Together(ctx, docs, client.SubmitOptions{Key: o.key, DryRun: o.dryRun})
	if err != nil {
		return s.problemAmong(all, err)
	}
	if o.dryRun {
		return s.plannedAll(ws)
	}
	if o.follow || o.wait {
		for i := range ws {
			s.submitted(&ws[i], false)
		}
		return o.until(ctx, s, c, &ws[len(ws)-1])
	}
	if s.machine() {
		return s.document(api.WorkloadList{Items: ws})
	}
	for i := range ws {
		if _, err := fmt.Fprintln(s.io.Out, ws[i].Name); err != nil {
			return err
		}
		if s.format() != "name" {
			s.submitted(s.place(ctx, c, &ws[i]), false)
		}
	}
	return nil
}

// plannedAll shows workloads that were only checked.
func (s *session) plannedAll(ws []api.Workload) error {
	if s.format() == "yaml" {
		docs := make([]*spec.Document, len(ws))
		for i, w := range ws {
			docs[i] = new(spec.Document)
			if err := docs[i].UnmarshalJSON(w.Spec); err != nil {
				return err
			}
		}
		return s.documents(docs)
	}
	if s.machine() {
		return s.document(api.WorkloadList{Items: ws})
	}
	for i := range ws {
		if err := s.planned(&ws[i]); err != nil {
			return err
		}
	}
	return nil
}
