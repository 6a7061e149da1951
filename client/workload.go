package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
)

// AllProjects in place of a project stands for every project, or for the one
// that a document names.
const AllProjects = "-"

// SubmitOptions refine a submission.
type SubmitOptions struct {
	// Project takes the document; "": the one that the document names.
	Project string
	// Key makes repeating the submission harmless. Without one a key is made,
	// so that a lost connection does not lead to two workloads.
	Key string
	// DryRun checks the document and answers as if it had been submitted, with
	// what would become of it.
	DryRun bool
	// YAML says that the document is YAML and not JSON.
	YAML bool
}

// Submit sends one workload document.
func (c *Client) Submit(ctx context.Context, document []byte, o SubmitOptions) (*api.Workload, error) {
	k := call{method: http.MethodPost, path: workloads(o.Project), body: document, again: true, header: http.Header{}}
	if o.Key == "" {
		o.Key = rand.Text()
	}
	k.header.Set("Idempotency-Key", o.Key)
	k.header.Set("Content-Type", "application/json")
	if o.YAML {
		k.header.Set("Content-Type", "application/yaml")
	}
	if o.DryRun {
		k.query = url.Values{"dry_run": {"true"}}
	}
	return one[api.Workload](ctx, c, k)
}

// Bulk submits many documents; each is taken or refused by itself.
func (c *Client) Bulk(ctx context.Context, documents []json.RawMessage) (*api.BulkResult, error) {
	body, err := json.Marshal(documents)
	if err != nil {
		return nil, err
	}
	return one[api.BulkResult](ctx, c, call{method: http.MethodPost, path: "/v1/workloads:bulk", body: body})
}

// Together submits many documents in their order, or none where one of them is
// refused; later ones may wait for earlier ones. A dry run answers with what
// would become of each. Project and YAML of o are not used.
func (c *Client) Together(ctx context.Context, documents []json.RawMessage, o SubmitOptions) ([]api.Workload, error) {
	body, err := json.Marshal(documents)
	if err != nil {
		return nil, err
	}
	if o.Key == "" {
		o.Key = rand.Text()
	}
	q := url.Values{"together": {"true"}}
	if o.DryRun {
		q.Set("dry_run", "true")
	}
	done, err := one[api.BulkResult](ctx, c, call{
		method: http.MethodPost, path: "/v1/workloads:bulk", query: q, body: body, again: true, header: http.Header{"Idempotency-Key": {o.Key}},
	})
	if err != nil {
		return nil, err
	}
	out := make([]api.Workload, len(done.Items))
	for i, item := range done.Items {
		if item.Workload == nil {
			return nil, fmt.Errorf("the answer has no workload for document %d", i+1)
		}
		out[i] = *item.Workload
	}
	return out, nil
}

// ListOptions select workloads. Zero fields do not restrict.
type ListOptions struct {
	Project string // "": all
	User    string
	Kinds   []string
	Phases  []string
	Live    bool      // only those that have not ended
	Prefix  string    // of the name
	Since   time.Time // created at or after
	Before  time.Time // created before
	Labels  map[string]string
	Filter  string // as in the pages: status:failed user:@me gpus>=8
	Deleted bool   // also those that have been deleted
	Number  int64  // only the one of that number; 0: any
	Limit   int    // of one page; 0: the server's default
	Cursor  string
	Summary bool // without history, tasks and document
	Table   bool // without history and the tasks of former attempts
	Bare    bool // as Summary, without why what waits waits
}

// Workloads returns one page of workloads, newest first.
func (c *Client) Workloads(ctx context.Context, o ListOptions) (*api.WorkloadList, error) {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	set("user", o.User)
	set("kind", strings.Join(o.Kinds, ","))
	set("phase", strings.Join(o.Phases, ","))
	set("prefix", o.Prefix)
	set("filter", o.Filter)
	set("since", instant(o.Since))
	set("before", instant(o.Before))
	set("cursor", o.Cursor)
	for k, v := range o.Labels {
		q.Add("label", k+"="+v)
	}
	if o.Live {
		q.Set("live", "true")
	}
	if o.Deleted {
		q.Set("deleted", "true")
	}
	if o.Number > 0 {
		q.Set("number", strconv.FormatInt(o.Number, 10))
	}
	if o.Limit > 0 {
		q.Set("limit", strconv.Itoa(o.Limit))
	}
	switch {
	case o.Bare:
		q.Set("view", "bare")
	case o.Summary:
		q.Set("view", "summary")
	case o.Table:
		q.Set("view", "table")
	default:
		q.Set("view", "full")
	}
	return one[api.WorkloadList](ctx, c, call{method: http.MethodGet, path: workloads(o.Project), query: q, again: true})
}

func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// Workload returns one workload, whole, by its name or id.
func (c *Client) Workload(ctx context.Context, project, name string) (*api.Workload, error) {
	return one[api.Workload](ctx, c, call{method: http.MethodGet, path: workload(project, name), again: true})
}

// Why answers why a workload does not run, when it is expected to start, and
// what could be changed.
func (c *Client) Why(ctx context.Context, project, name string) (*api.Why, error) {
	return one[api.Why](ctx, c, call{method: http.MethodGet, path: workload(project, name) + "/why", again: true})
}

// Stop ends a workload; its definition and logs stay. It returns once the wish
// is durable, not once the tasks have ended.
func (c *Client) Stop(ctx context.Context, project, name string, o api.StopOptions) (*api.Workload, error) {
	body, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	return one[api.Workload](ctx, c, call{method: http.MethodPost, path: workload(project, name) + ":stop", body: body})
}

// Restart runs an ended workload again, as a new attempt; or tasks of an array that
// have ended.
func (c *Client) Restart(ctx context.Context, project, name string, o api.RestartOptions) (*api.Workload, error) {
	return c.act(ctx, project, name, "restart", o)
}

// Approve approves an admission check of a workload.
func (c *Client) Approve(ctx context.Context, project, name string, o api.DecisionOptions) (*api.Workload, error) {
	return c.act(ctx, project, name, "approve", o)
}

// Reject rejects an admission check of a workload, which ends it.
func (c *Client) Reject(ctx context.Context, project, name string, o api.DecisionOptions) (*api.Workload, error) {
	return c.act(ctx, project, name, "reject", o)
}

// Preempt takes the resources of a workload back; it is queued again.
func (c *Client) Preempt(ctx context.Context, project, name string, o api.PreemptOptions) (*api.Workload, error) {
	return c.act(ctx, project, name, "preempt", o)
}

// Move starts a workload again elsewhere; it keeps its reservation.
func (c *Client) Move(ctx context.Context, project, name string, o api.PreemptOptions) (*api.Workload, error) {
	return c.act(ctx, project, name, "move", o)
}

// Hold keeps a workload that waits from being queued.
func (c *Client) Hold(ctx context.Context, project, name string, o api.HoldOptions) (*api.Workload, error) {
	return c.act(ctx, project, name, "hold", o)
}

// Release lets a workload go that is held.
func (c *Client) Release(ctx context.Context, project, name string, o api.HoldOptions) (*api.Workload, error) {
	return c.act(ctx, project, name, "release", o)
}

// Scale changes how many replicas an inference workload wants.
func (c *Client) Scale(ctx context.Context, project, name string, o api.ScaleOptions) (*api.Workload, error) {
	return c.act(ctx, project, name, "scale", o)
}

// Update replaces the document of an inference workload.
func (c *Client) Update(ctx context.Context, project, name string, document []byte) (*api.Workload, error) {
	k := call{method: http.MethodPost, path: workload(project, name) + ":update", body: document, header: http.Header{"Content-Type": {"application/yaml"}}}
	return one[api.Workload](ctx, c, k)
}

// Revise runs an ended workload again with another document, as a new attempt. A
// dry run only checks that document, also while the workload has not ended.
func (c *Client) Revise(ctx context.Context, project, name string, document []byte, dryRun bool) (*api.Workload, error) {
	k := call{method: http.MethodPost, path: workload(project, name) + ":revise", body: document, again: dryRun, header: http.Header{"Content-Type": {"application/yaml"}}}
	if dryRun {
		k.query = url.Values{"dry_run": {"true"}}
	}
	return one[api.Workload](ctx, c, k)
}

// Change changes priority and limits of a workload that has not ended: a JSON
// merge patch of its document.
func (c *Client) Change(ctx context.Context, project, name string, patch map[string]any) (*api.Workload, error) {
	return send[api.Workload](ctx, c, http.MethodPatch, workload(project, name), patch, false)
}

// ChangeMetadata merges into what is kept with a workload; a nil takes a key away.
func (c *Client) ChangeMetadata(ctx context.Context, project, name string, patch map[string]any) (*api.Workload, error) {
	return send[api.Workload](ctx, c, http.MethodPatch, workload(project, name)+"/metadata", patch, false)
}

// FirstError is the first thing that went wrong in an attempt, over the output
// of all its tasks; a negative attempt is the latest that has begun.
func (c *Client) FirstError(ctx context.Context, project, name string, attempt int) (*api.FirstErrorResult, error) {
	q := url.Values{"attempt": {strconv.Itoa(attempt)}}
	return one[api.FirstErrorResult](ctx, c, call{method: http.MethodGet, path: workload(project, name) + "/first-error", query: q, again: true})
}

func (c *Client) act(ctx context.Context, project, name, verb string, options any) (*api.Workload, error) {
	body, err := json.Marshal(options)
	if err != nil {
		return nil, err
	}
	return one[api.Workload](ctx, c, call{method: http.MethodPost, path: workload(project, name) + ":" + verb, body: body})
}

// Delete ends a workload and removes it with its logs.
func (c *Client) Delete(ctx context.Context, project, name string) (*api.Workload, error) {
	return one[api.Workload](ctx, c, call{method: http.MethodDelete, path: workload(project, name)})
}

// Transitions returns the history of a workload (of all workloads when name is
// empty) with Seq greater than after, at most limit (0: the server's default),
// with the words of a dialect where one is named.
func (c *Client) Transitions(ctx context.Context, project, name string, after int64, limit int, dialect string) (*api.TransitionList, error) {
	q := url.Values{}
	if dialect != "" {
		q.Set("dialect", dialect)
	}
	if after > 0 {
		q.Set("after", strconv.FormatInt(after, 10))
	}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	path := "/v1/transitions"
	if name != "" {
		path = workload(project, name) + "/transitions"
	}
	return one[api.TransitionList](ctx, c, call{method: http.MethodGet, path: path, query: q, again: true})
}

func one[T any](ctx context.Context, c *Client, k call) (*T, error) {
	out := new(T)
	if err := c.do(ctx, k, out); err != nil {
		return nil, err
	}
	return out, nil
}

func workloads(project string) string {
	if project == "" {
		project = AllProjects
	}
	return "/v1/projects/" + url.PathEscape(project) + "/workloads"
}

func workload(project, name string) string {
	return workloads(project) + "/" + url.PathEscape(name)
}
