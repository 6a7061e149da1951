package relay

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/audit"
	"github.com/musterhq/muster/internal/notify"
)

// bodyLongest is about how many bytes one request carries: one entry more may be longer.
const bodyLongest = 1 << 20

// webhook posts entries in JSON, one a line.
type webhook struct {
	url, name, keys string
	http            *http.Client
	clock           func() time.Time
}

// Webhook is a receiver at an http or https URL. With keys, one a line, requests are
// signed as notifications are.
func Webhook(to, keys string, client *http.Client, clock func() time.Time) (Receiver, error) {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is not an http or https URL", to)
	}
	if keys != "" {
		if _, err := notify.Sign(keys, "", "", nil); err != nil {
			return nil, fmt.Errorf("the file of its secret: %w", err)
		}
	}
	shown := *u
	shown.User, shown.RawQuery, shown.Fragment = nil, "", "" // where secrets may be
	return &webhook{url: to, name: shown.String(), keys: keys, http: client, clock: clock}, nil
}

// Name implements Receiver.
func (w *webhook) Name() string { return w.name }

// Close implements Receiver.
func (w *webhook) Close() { w.http.CloseIdleConnections() }

// Send implements Receiver: a request is taken whole, or not at all.
func (w *webhook) Send(ctx context.Context, all []core.AuditEntry) (int, error) {
	var body []byte
	n := 0
	for n < len(all) && len(body) < bodyLongest {
		body = append(body, audit.Lines(all[n:n+1])...)
		n++
	}
	id := fmt.Sprintf("audit-%d-%d-%.12s", all[0].Seq, all[n-1].Seq, all[n-1].Hash)
	at := strconv.FormatInt(w.clock().Unix(), 10)
	header := http.Header{"Content-Type": {"application/jsonl; charset=utf-8"}}
	header.Set("webhook-id", id)
	header.Set("webhook-timestamp", at)
	if w.keys != "" {
		signature, err := notify.Sign(w.keys, id, at, body)
		if err != nil {
			return 0, err
		}
		header.Set("webhook-signature", signature)
	}
	if err := notify.Post(ctx, w.http, w.url, header, body); err != nil {
		return 0, err
	}
	return n, nil
}
