package operations

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/address"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/org"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/store"
)

// question is what a web hook is sent.
type question struct {
	Check     string    `json:"check"`
	When      string    `json:"when"`
	Attempt   int       `json:"attempt"`
	Tries     int       `json:"tries"`
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Project   string    `json:"project"`
	User      string    `json:"user"`
	Kind      string    `json:"kind"`
	GPUs      int       `json:"gpus"`
	CreatedAt time.Time `json:"createdAt"`
	Spec      any       `json:"spec"`
}

// verdict is what it may answer.
type verdict struct {
	Decision string `json:"decision"` // approve, reject, wait, retry
	Message  string `json:"message"`
}

// answerMax bounds what is read of an answer, in bytes.
const answerMax = 64 << 10

// Ask implements control.Hands.
func (h *Hands) Ask(ctx context.Context, w *core.Workload, c core.CheckState) (submission.Answer, error) {
	if c.Type == "budget" {
		return h.budget(ctx, w)
	}
	body, err := json.Marshal(question{
		Check: c.Name, When: c.When, Attempt: w.Attempt, Tries: c.Tries, ID: string(w.ID), Name: w.Name, Project: string(w.Project), User: w.User,
		Kind: string(w.Kind), GPUs: w.Spec.TotalGPUs(), CreatedAt: w.CreatedAt, Spec: w.Spec,
	})
	if err != nil {
		return submission.Answer{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(body))
	if err != nil {
		return submission.Answer{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "muster-check")
	resp, err := h.HTTP.Do(req)
	if r := (*address.Refused)(nil); errors.As(err, &r) {
		return submission.Answer{}, r // without the address that its name was found to have
	}
	if err != nil {
		return submission.Answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, answerMax))
	if err != nil {
		return submission.Answer{}, err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return submission.Answer{}, fmt.Errorf("%s answered %s", c.URL, resp.Status)
	}
	var v verdict
	if err := json.Unmarshal(data, &v); err != nil {
		return submission.Answer{}, fmt.Errorf("%s answered what is not JSON: %w", c.URL, err)
	}
	switch v.Decision {
	case "approve":
		return submission.Answer{Verdict: core.CheckApproved, Message: v.Message}, nil
	case "reject":
		return submission.Answer{Verdict: core.CheckRejected, Message: v.Message}, nil
	case "wait":
		return submission.Answer{Verdict: core.CheckWaiting, Message: v.Message}, nil
	case "retry":
		return submission.Answer{Verdict: core.CheckWaiting, Retry: true, Message: v.Message}, nil
	default:
		return submission.Answer{}, fmt.Errorf("%s answered decision %q; allowed are approve, reject, wait and retry", c.URL, v.Decision)
	}
}

// budget approves while w fits every budget above it: its project's own and
// those of the departments that it stands below.
func (h *Hands) budget(ctx context.Context, w *core.Workload) (submission.Answer, error) {
	projects, err := h.Store.Projects(ctx)
	if err != nil {
		return submission.Answer{}, err
	}
	byID := make(map[core.ProjectID]core.Project, len(projects))
	for _, p := range projects {
		byID[p.ID] = p
	}
	tree := org.Tree(func(id core.ProjectID) (core.Project, bool) { p, ok := byID[id]; return p, ok })
	budgets := tree.Budgets(w.Project)
	if len(budgets) == 0 {
		return submission.Answer{Verdict: core.CheckApproved, Message: "the project has no budget any more"}, nil
	}
	for _, b := range budgets {
		var spenders []core.ProjectID // in the order of their names
		for _, p := range projects {
			if tree.Below(p.ID, b.ID) {
				spenders = append(spenders, p.ID)
			}
		}
		if short, err := h.short(ctx, w, &b, spenders); err != nil || short != "" {
			return submission.Answer{Verdict: core.CheckWaiting, Message: short}, err
		}
	}
	return submission.Answer{Verdict: core.CheckApproved}, nil
}

// short says why w does not fit a budget; empty: what has been used in this
// period, what may be used by what runs, and what w may use fit it.
func (h *Hands) short(ctx context.Context, w *core.Workload, b *core.Project, spenders []core.ProjectID) (string, error) {
	now := h.Clock()
	from := now.Truncate(b.Period)
	until := from.Add(b.Period)
	var used, promised float64
	for _, id := range spenders {
		err := h.Store.Uses(ctx, store.UseQuery{From: from, To: now, Now: now, Project: id}, func(u core.Use) bool {
			used += u.GPUSeconds
			return true
		})
		if err != nil {
			return "", err
		}
		more, err := h.promised(ctx, w, id, now, until)
		if err != nil {
			return "", err
		}
		promised += more
	}
	need := mayUse(w, now, until)
	if used+promised+need <= b.Budget && used < b.Budget {
		return "", nil
	}
	what := "project"
	if b.Department {
		what = "department"
	}
	return fmt.Sprintf("%s %s has used %.2f of its %.2f GPU-hours until %s, what runs may use %.2f more, this workload %.2f",
		what, b.ID, used/3600, b.Budget/3600, until.UTC().Format(time.RFC3339), promised/3600, need/3600), nil
}

// mayUse is what w may use until then: its GPUs for its maximum duration. One
// without a maximum is only held to what is left.
func mayUse(w *core.Workload, now, until time.Time) float64 {
	d := time.Duration(w.Spec.MaxDuration)
	if d <= 0 {
		return 0
	}
	return min(d, until.Sub(now)).Seconds() * float64(w.Spec.TotalMilli()) / 1000
}

// promised is what workloads of a project other than w that have passed this
// check may still use.
func (h *Hands) promised(ctx context.Context, w *core.Workload, project core.ProjectID, now, until time.Time) (float64, error) {
	var sum float64
	for cursor := int64(0); ; {
		page, err := h.Store.List(ctx, store.Query{Project: project, Live: true, Cursor: cursor, Limit: 1000})
		if err != nil {
			return 0, err
		}
		for _, x := range page.Items {
			if x.ID == w.ID || x.Phase == lifecycle.Submitted || x.Phase == lifecycle.Reviewing || x.Phase == lifecycle.Publishing || x.Phase == lifecycle.Deleting {
				continue
			}
			left := mayUse(x, now, until)
			if a := x.Attempts[len(x.Attempts)-1]; x.Phase.Held() && !a.RunningAt.IsZero() {
				left -= now.Sub(a.RunningAt).Seconds() * float64(x.Spec.TotalMilli()) / 1000
			}
			sum += max(left, 0)
		}
		if cursor = page.Next; cursor == 0 {
			return sum, nil
		}
	}
}
