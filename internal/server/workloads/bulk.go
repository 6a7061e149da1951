package workloads

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/request"
	"github.com/musterhq/muster/internal/server/wire"
)

type bulkInput struct {
	Together bool              `query:"together" doc:"All of them in their order, or none where one is refused; later ones may wait for earlier ones"`
	DryRun   bool              `query:"dry_run" doc:"With together: check and answer as if they were submitted"`
	Key      string            `header:"Idempotency-Key" maxLength:"200" doc:"With together: repeating a request with the same key makes no second workloads"`
	Body     []json.RawMessage `doc:"Workload documents"`
}

type bulkOutput struct{ Body api.BulkResult }

// bulk submits many documents in one commit or a few.
func (s *routes) bulk(ctx context.Context, in *bulkInput) (*bulkOutput, error) {
	docs := in.Body
	switch {
	case len(docs) > bulkMost:
		return nil, problem.BadRequest("body", fmt.Sprintf("there are %d documents", len(docs)), fmt.Sprintf("send at most %d at once", bulkMost))
	case in.Together:
		return s.together(ctx, in)
	case in.DryRun || in.Key != "":
		return nil, problem.BadRequest("together", "dry_run and Idempotency-Key are for documents that are submitted together", "add together=true")
	}
	out := &bulkOutput{Body: api.BulkResult{Items: make([]api.BulkItem, len(docs))}}
	subs := make([]submission.Submission, 0, len(docs))
	index := make([]int, 0, len(docs))
	for i, raw := range docs {
		sub, err := s.submission(ctx, request.AllProjects, "", raw, spec.Assets{})
		if err != nil {
			out.Body.Items[i].Problem = problem.Of(s.Log, err)
			continue
		}
		subs, index = append(subs, sub), append(index, i)
	}
	for chunk := range slices.Chunk(index, bulkChunk) {
		made, err := control.Do(ctx, s.Control, submission.SubmitMany(subs[:len(chunk)]))
		subs = subs[len(chunk):]
		for k, i := range chunk {
			switch {
			case err != nil:
				out.Body.Items[i].Problem = problem.Of(s.Log, err)
			case made[k].Err != nil:
				out.Body.Items[i].Problem = problem.Of(s.Log, made[k].Err)
			default:
				r := made[k]
				w := wire.Workload(wire.Parts{Workload: r.Workload, Tasks: r.Tasks(), Transitions: r.Transitions()}, wire.ViewSummary, s.Clock())
				out.Body.Items[i].Workload = &w
			}
		}
	}
	return out, nil
}

// bulkMost is how many documents one request may have: what each of them needs
// while it is looked at is many times its own size.
const bulkMost = 10_000

// bulkChunk is how many documents of a bulk submission share one commit: enough
// to share its cost, few enough for others to get in between.
const bulkChunk = 1000

// together submits all documents or none, in one commit.
func (s *routes) together(ctx context.Context, in *bulkInput) (*bulkOutput, error) {
	if n := len(in.Body); n == 0 || n > bulkChunk {
		return nil, problem.BadRequest("body", fmt.Sprintf("there are %d documents", n), fmt.Sprintf("1 to %d are submitted together", bulkChunk))
	}
	subs := make([]submission.Submission, len(in.Body))
	sum := sha256.New()
	for i, raw := range in.Body {
		var err error
		if subs[i], err = s.submission(ctx, request.AllProjects, "", raw, spec.Assets{}); err != nil {
			return nil, s.ofItem(i, subs, err)
		}
		sum.Write(append(raw, '\n'))
	}
	if in.Key != "" {
		for i := range subs {
			subs[i].Key, subs[i].Hash = fmt.Sprintf("%s#%d", in.Key, i), hex.EncodeToString(sum.Sum(nil))
		}
	}
	if in.DryRun {
		return s.planTogether(ctx, subs)
	}
	made, err := control.Do(ctx, s.Control, submission.SubmitTogether(subs))
	if err != nil {
		i, err := submission.Blame(err)
		return nil, s.ofItem(i, subs, err)
	}
	out := &bulkOutput{}
	for _, r := range made {
		w, err := s.submitted(ctx, r)
		if err != nil {
			return nil, err
		}
		out.Body.Items = append(out.Body.Items, api.BulkItem{Workload: &w.Body})
	}
	return out, nil
}

// planTogether says of each what would become of it, were it alone.
func (s *routes) planTogether(ctx context.Context, subs []submission.Submission) (*bulkOutput, error) {
	out := &bulkOutput{}
	var before []*spec.Document
	for i, sub := range subs {
		sub.Before, sub.Key = before, ""
		w, err := s.dryRun(ctx, sub)
		if err == nil && slices.ContainsFunc(before, func(d *spec.Document) bool { return d.Project == w.Body.Project && d.Name == w.Body.Name }) {
			err = &draft.Error{Code: draft.CodeConflict, Field: "name", Message: fmt.Sprintf("two of them are named %q", w.Body.Name), Hint: "give each a name of its own"}
		}
		if err != nil {
			return nil, s.ofItem(i, subs, err)
		}
		named := *sub.Doc
		named.Name = w.Body.Name
		before = append(before, &named)
		out.Body.Items = append(out.Body.Items, api.BulkItem{Workload: &w.Body})
	}
	return out, nil
}

// ofItem is a problem of document i among several; with a negative one, of all
// of them.
func (s *routes) ofItem(i int, subs []submission.Submission, err error) *api.Problem {
	p := *problem.Of(s.Log, err)
	if i < 0 || len(subs) == 1 {
		return &p
	}
	at := fmt.Sprintf("items[%d]", i)
	if p.Errors = slices.Clone(p.Errors); len(p.Errors) == 0 {
		p.Errors = []api.FieldProblem{{Problem: p.Detail, Hint: p.Hint}}
	}
	for k := range p.Errors {
		p.Errors[k].Path = strings.TrimSuffix(at+"."+p.Errors[k].Path, ".")
	}
	which := fmt.Sprintf("document %d", i+1)
	if doc := subs[i].Doc; doc != nil && doc.Name != "" {
		which += " (" + doc.Name + ")"
	}
	p.Detail = fmt.Sprintf("none of %d was submitted because of %s: %s", len(subs), which, p.Detail)
	return &p
}
