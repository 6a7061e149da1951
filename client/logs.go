package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// LogOptions choose a part of the output of one task.
type LogOptions struct {
	Attempt *int  // nil: the latest
	Task    int   // its index
	Tail    *int  // only the last lines; nil: all
	Offset  int64 // begin at this byte
	Follow  bool  // go on until the task has ended
}

// Logs opens the output of a task; the caller closes it. A task that never
// wrote anything is a problem with code no_logs.
func (c *Client) Logs(ctx context.Context, project, name string, o LogOptions) (io.ReadCloser, error) {
	q := url.Values{"task": {strconv.Itoa(o.Task)}}
	if o.Attempt != nil {
		q.Set("attempt", strconv.Itoa(*o.Attempt))
	}
	if o.Tail != nil {
		q.Set("tail", strconv.Itoa(*o.Tail))
	}
	if o.Offset > 0 {
		q.Set("offset", strconv.FormatInt(o.Offset, 10))
	}
	if o.Follow {
		q.Set("follow", "true")
	}
	resp, err := c.send(ctx, call{method: http.MethodGet, path: workload(project, name) + "/logs", query: q, again: true})
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}
