package notify

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/address"
)

// event is a CloudEvent 1.0 in structured JSON.
type event struct {
	SpecVersion string    `json:"specversion"`
	ID          string    `json:"id"`
	Source      string    `json:"source"`
	Type        string    `json:"type"`
	Subject     string    `json:"subject,omitempty"`
	Time        time.Time `json:"time"`
	ContentType string    `json:"datacontenttype"`
	Data        data      `json:"data"`
}

type data struct {
	core.Happening
	User string `json:"user"`
	On   string `json:"on"` // the status that was asked for, in the words of who asked
}

// typeOf is the type of a delivery's event.
func typeOf(d *core.Delivery) string {
	switch {
	case d.What.Workload == "":
		return "dev.muster.test.v1"
	case !d.What.EndsAt.IsZero():
		return "dev.muster.workload.deadlinenear.v1"
	}
	return "dev.muster.workload." + strings.ToLower(string(d.What.Phase)) + ".v1"
}

func (s *Sender) event(d *core.Delivery) ([]byte, error) {
	e := event{
		SpecVersion: "1.0", ID: d.ID, Source: s.c.Source, Type: typeOf(d), Time: d.What.At.UTC(), ContentType: "application/json",
		Data: data{Happening: d.What, User: cmp.Or(d.What.Owner, d.User), On: d.On},
	}
	if d.What.Workload != "" {
		e.Subject = "workloads/" + string(d.What.Workload)
	}
	return json.Marshal(e)
}

// webhook posts the event, signed as Standard Webhooks has it.
func (s *Sender) webhook(ctx context.Context, d *core.Delivery) error {
	body, err := s.event(d)
	if err != nil {
		return fatal{err}
	}
	header := http.Header{}
	header.Set("Content-Type", "application/cloudevents+json; charset=utf-8")
	at := strconv.FormatInt(s.c.Clock().Unix(), 10)
	header.Set("webhook-id", d.ID)
	header.Set("webhook-timestamp", at)
	if d.To.Secret != "" {
		text, err := s.value(ctx, d, d.To.Secret)
		if err != nil {
			return err
		}
		signature, err := Sign(text, d.ID, at, body)
		if err != nil {
			return fatal{fmt.Errorf("secret %s: %w", d.To.Secret, err)}
		}
		header.Set("webhook-signature", signature)
	}
	return Post(ctx, s.http, d.To.Webhook, header, body)
}

// Sign returns a signature with each key, one key a line: whsec_ and base64, or
// the bytes themselves.
func Sign(keys, id, at string, body []byte) (string, error) {
	var all []string
	for line := range strings.Lines(keys) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		key := []byte(line)
		if coded, ok := strings.CutPrefix(line, "whsec_"); ok {
			var err error
			if key, err = base64.StdEncoding.DecodeString(coded); err != nil {
				return "", errors.New("what follows whsec_ is not base64")
			}
		}
		h := hmac.New(sha256.New, key)
		fmt.Fprintf(h, "%s.%s.", id, at)
		h.Write(body)
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(h.Sum(nil)))
	}
	if len(all) == 0 {
		return "", errors.New("it holds no key")
	}
	return strings.Join(all, " "), nil
}

// slack posts a text to one of Slack's incoming webhooks.
func (s *Sender) slack(ctx context.Context, d *core.Delivery) error {
	to := d.To.Slack
	if name := d.To.SlackSecret(); name != "" {
		text, err := s.value(ctx, d, name)
		if err != nil {
			return err
		}
		to = strings.TrimSpace(text)
	}
	// Slack asks for these three and no others.
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace
	body, err := json.Marshal(map[string]string{"text": "*" + escape(subject(d)) + "*\n" + escape(text(d))})
	if err != nil {
		return fatal{err}
	}
	return Post(ctx, s.http, to, http.Header{"Content-Type": {"application/json; charset=utf-8"}}, body)
}

// Client follows redirects only where the request stays what it is and goes to
// the same server: a receiver must not choose what else this machine asks.
func Client(timeout time.Duration) *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = timeout
	t.MaxIdleConnsPerHost = 1
	return &http.Client{Transport: t, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		first := via[0]
		if r.Method != first.Method || r.URL.Scheme != first.URL.Scheme || r.URL.Host != first.URL.Host || len(via) > 3 {
			return http.ErrUseLastResponse
		}
		return nil
	}}
}

// Unanswered says of what sort a failure is, in words of ours: an error tells
// the address, which may be a secret, and what the other side has said, which is
// none of the user's business.
func Unanswered(err error) error {
	var timeout net.Error
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var dial *net.OpError
	var refused *address.Refused
	switch {
	case errors.As(err, &refused):
		return fatal{fmt.Errorf("its receiver is %s, which this server does not call for others; whoever runs it may allow it with --allow-addresses", refused.Sort)}
	case errors.As(err, &name) && !name.IsTimeout:
		return errors.New("the name of its receiver is not found")
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return errors.New("its receiver does not answer in time")
	case errors.Is(err, syscall.ECONNREFUSED):
		return errors.New("its receiver refuses connections")
	case errors.As(err, &certificate):
		return errors.New("the certificate of its receiver is not trusted")
	case errors.As(err, &record), errors.As(err, &alert):
		return errors.New("its receiver does not speak TLS as it should")
	case errors.As(err, &dial) && dial.Op != "read" && dial.Op != "write":
		return errors.New("its receiver cannot be reached")
	case errors.As(err, &dial), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("its receiver ends the connection without an answer")
	}
	return errors.New("what its receiver answers is not HTTP")
}

// Post sends body. Of the answer only its status is told: the address may be
// of a private network, whose pages are nobody's business.
func Post(ctx context.Context, client *http.Client, to string, header http.Header, body []byte) error {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fatal{errors.New("its address is not an http or https URL")}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return fatal{errors.New("its address cannot be used")}
	}
	r.Header = header
	r.Header.Set("User-Agent", "muster")
	resp, err := client.Do(r)
	if err != nil {
		return Unanswered(err)
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // so that the connection can be used again
	switch code := resp.StatusCode; {
	case code >= 200 && code < 300:
		return nil
	case code == http.StatusGone:
		return fatal{errors.New("its receiver answers 410 Gone: it wants no more")}
	case code >= 300 && code < 400:
		return fmt.Errorf("its receiver answers %d, which leads elsewhere; redirects are followed on the same host, with 307 and 308", code)
	default:
		return fmt.Errorf("its receiver answers %d %s", code, http.StatusText(code))
	}
}
