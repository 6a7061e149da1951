package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/musterhq/muster/api"
)

// LogOptions choose a part of the output of one task.
type LogOptions struct {
	Attempt *int      // nil: the latest
	Task    int       // its index
	Run     *int      // of a task that had to leave; nil: the latest
	Tail    *int      // only the last lines; nil: all
	Offset  int64     // begin at this byte
	Since   time.Time // only what was written from then on; zero: all
	Follow  bool      // go on until the task has ended
	// Times puts the time at which it was written before each line, and before
	// the first byte: api.LogTimeWidth characters.
	Times bool
	// Part is the part that is wanted instead of a task's output: build, the
	// output of building its image.
	Part string
}

// Log is the output of a task while it is read.
type Log struct {
	io.ReadCloser
	// Offset is the byte of the log with which the reader began; negative: the
	// server did not say.
	Offset int64
}

// Logs opens the output of a task; the caller closes it. A task that never
// wrote anything is a problem with code no_logs.
func (c *Client) Logs(ctx context.Context, project, name string, o LogOptions) (*Log, error) {
	q := url.Values{"task": {strconv.Itoa(o.Task)}}
	if o.Attempt != nil {
		q.Set("attempt", strconv.Itoa(*o.Attempt))
	}
	if o.Run != nil {
		q.Set("run", strconv.Itoa(*o.Run))
	}
	if o.Tail != nil {
		q.Set("tail", strconv.Itoa(*o.Tail))
	}
	if o.Offset > 0 {
		q.Set("offset", strconv.FormatInt(o.Offset, 10))
	}
	if !o.Since.IsZero() {
		q.Set("since", instant(o.Since))
	}
	if o.Times {
		q.Set("times", "true")
	}
	if o.Follow {
		q.Set("follow", "true")
	}
	if o.Part != "" {
		q.Set("part", o.Part)
	}
	resp, err := c.send(ctx, call{method: http.MethodGet, path: workload(project, name) + "/logs", query: q, again: true})
	if err != nil {
		return nil, err
	}
	l := &Log{ReadCloser: resp.Body, Offset: -1}
	if n, err := strconv.ParseInt(resp.Header.Get(api.LogOffsetHeader), 10, 64); err == nil && n >= 0 {
		l.Offset = n
	}
	return l, nil
}
