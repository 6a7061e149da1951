package operations

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/address"
	"github.com/musterhq/muster/internal/core/admission"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/org"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/notify"
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
	Scope     string    `json:"scope,omitempty"`  // whose check it is
	DryRun    bool      `json:"dryRun,omitempty"` // nothing follows from the answer
	Spec      any       `json:"spec"`
}

// verdict is what it may answer.
type verdict struct {
	Decision   string  `json:"decision"` // approve (or allow), reject (or deny), wait, retry
	Message    string  `json:"message"`
	RetryAfter float64 `json:"retryAfterSeconds"` // with wait
}

// answerMax bounds what is read of an answer, in bytes.
const answerMax = 64 << 10

// Ask implements control.Hands.
func (h *Hands) Ask(ctx context.Context, w *core.Workload, c core.CheckState) (submission.Answer, error) {
	if c.Type == "budget" {
		return h.budget(ctx, w)
	}
	q := question{
		Check: c.Name, When: c.When, Attempt: w.Attempt, Tries: c.Tries, ID: string(w.ID), Name: w.Name, Project: string(w.Project), User: w.User,
		Kind: string(w.Kind), GPUs: w.Spec.TotalGPUs(), CreatedAt: w.CreatedAt, Scope: string(c.Scope), Spec: w.Spec,
	}
	q.DryRun = c.Hook != nil && c.Hook.Trial
	body, err := json.Marshal(q)
	if err != nil {
		return submission.Answer{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(body))
	if err != nil {
		return submission.Answer{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "muster-check")
	client := h.HTTP
	if c.Hook != nil {
		if client, err = h.prepare(ctx, req, w, &c, body); err != nil {
			return submission.Answer{}, err
		}
	}
	resp, err := client.Do(req)
	if r := (*address.Refused)(nil); errors.As(err, &r) {
		return submission.Answer{}, r // without the address that its name was found to have
	}
	if err != nil && c.Hook != nil {
		return submission.Answer{}, notify.Unanswered(err)
	}
	if err != nil {
		return submission.Answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, answerMax+1))
	who := c.URL
	if c.Hook != nil {
		who = "its receiver" // where it is, is for who reads the check
	}
	switch {
	case err != nil && c.Hook != nil:
		return submission.Answer{}, notify.Unanswered(err)
	case err != nil:
		return submission.Answer{}, err
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return submission.Answer{}, fmt.Errorf("%s answered %d %s", who, resp.StatusCode, http.StatusText(resp.StatusCode))
	case len(data) > answerMax:
		return submission.Answer{}, fmt.Errorf("%s answered more than %d KiB", who, answerMax>>10)
	}
	return understood(who, data, resp.Header.Get("Retry-After"))
}

// understood reads an answer.
func understood(who string, data []byte, after string) (submission.Answer, error) {
	var v verdict
	if err := json.Unmarshal(data, &v); err != nil {
		return submission.Answer{}, fmt.Errorf("%s answered what is not JSON: %w", who, err)
	}
	a := submission.Answer{Message: admission.Plain(v.Message)}
	switch v.Decision {
	case "approve", "allow":
		a.Verdict = core.CheckApproved
	case "reject", "deny":
		a.Verdict = core.CheckRejected
	case "wait":
		a.Verdict = core.CheckWaiting
		if n, err := strconv.Atoi(after); err == nil && v.RetryAfter == 0 {
			v.RetryAfter = float64(n)
		}
		a.After = time.Duration(min(max(v.RetryAfter, 0), retryMost) * float64(time.Second))
	case "retry":
		a.Verdict, a.Retry = core.CheckWaiting, true
	default:
		return submission.Answer{}, fmt.Errorf("%s answered decision %.40q; allowed are approve, reject, wait and retry", who, v.Decision)
	}
	return a, nil
}

// retryMost is the longest wait that an answer may ask for, in seconds: a day.
const retryMost = 24 * 60 * 60

// prepare signs a question and returns who carries it: whoever is known by the
// certificates that the check names, without being led elsewhere.
func (h *Hands) prepare(ctx context.Context, req *http.Request, w *core.Workload, c *core.CheckState, body []byte) (*http.Client, error) {
	keys, whose, err := h.keysOf(ctx, c)
	if err != nil {
		return nil, err
	}
	if keys != "" {
		id, at := fmt.Sprintf("%s.%d.%s.%d", w.ID, w.Attempt, c.Name, c.Tries), strconv.FormatInt(h.Clock().Unix(), 10)
		signature, err := notify.Sign(keys, id, at, body)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", whose, err)
		}
		req.Header.Set("webhook-id", id)
		req.Header.Set("webhook-timestamp", at)
		req.Header.Set("webhook-signature", signature)
	}
	return h.hooks.of(c.Hook.CA, h.Carry)
}

// keysOf are the keys that sign the questions of a check, and what errors call them;
// empty: they are not signed.
func (h *Hands) keysOf(ctx context.Context, c *core.CheckState) (keys, whose string, err error) {
	if h.CheckKeys != nil {
		whose = "the keys that this server is given for the check"
		keys, err = h.CheckKeys(c.Scope, cmp.Or(c.Called, c.Name))
		if err != nil || keys != "" {
			if err != nil { // where they are is not for who submits
				h.Log.Warn("the keys of a check cannot be had", "scope", c.Scope, "check", cmp.Or(c.Called, c.Name), "error", err)
				err = errors.New(whose + " cannot be had; its log says why")
			}
			return keys, whose, err
		}
	}
	id := c.Hook.Secret
	if id.Name == "" {
		return "", "", nil
	}
	whose = fmt.Sprintf("secret %s of %s", id.Name, id.User)
	if h.Secret == nil {
		return "", "", errors.New("this server keeps no secrets to sign questions with")
	}
	if keys, err = h.Secret(ctx, id); err != nil {
		err = fmt.Errorf("%s: %w", whose, err)
	}
	return keys, whose, err
}

// hooks are the clients by the certificates that they trust.
type hooks struct {
	mu  sync.Mutex
	all map[string]*http.Client
}

// hooksMost bounds how many are kept: a check's certificates change now and then.
const hooksMost = 50

func (x *hooks) of(ca string, carry func(*http.Transport, time.Duration) http.RoundTripper) (*http.Client, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if c := x.all[ca]; c != nil {
		return c, nil
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 2
	t.MaxResponseHeaderBytes = answerMax
	if ca != "" {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM([]byte(ca)) {
			return nil, errors.New("the certificates of the check are not PEM")
		}
		t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	var rt http.RoundTripper = t
	if carry != nil {
		rt = carry(t, connectWithin)
	}
	c := &http.Client{Transport: rt, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if x.all == nil || len(x.all) >= hooksMost {
		for _, old := range x.all {
			old.CloseIdleConnections()
		}
		x.all = map[string]*http.Client{}
	}
	x.all[ca] = c
	return c, nil
}

// connectWithin bounds how long a connection to a receiver may take to be made.
const connectWithin = 30 * time.Second

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
