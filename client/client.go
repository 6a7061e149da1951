// Package client talks to a Muster server over its REST API: through the unix
// socket of this machine or over HTTP with a token. Every method blocks until
// the server has answered or ctx is done.
//
// What the server refuses comes back as an *api.Problem, and so does a server
// that cannot be reached (code CodeUnreachable). A context that has ended
// comes back as its own error.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
)

// CodeUnreachable is the code of the problem that says that no server answered.
const CodeUnreachable = "unreachable"

// Options say which server to talk to, and how.
type Options struct {
	// Address is unix:///path/to/socket, the path itself, http://host:port or
	// https://host:port.
	Address string
	// Token is sent as a bearer token; the unix socket needs none.
	Token string
	// UserAgent names the program in the server's log; default "muster-client".
	UserAgent string
	// Retries is how often a call that may be repeated is tried again when the
	// connection fails. 0: 4 times, within about a second; negative: never.
	Retries int
	// Transport carries requests in place of connections to Address; nil: these do.
	Transport http.RoundTripper
}

// Client is a connection to one server. It is safe for concurrent use. What is
// done with workloads are its own methods; all else stands under what it is done
// with.
type Client struct {
	Projects      ProjectService
	Departments   ProjectService
	Pools         PoolService
	Nodes         NodeService
	Licenses      LicenseService
	Policies      PolicyService
	Checks        CheckService
	Approvals     ApprovalService
	Reservations  ReservationService
	Schedules     ScheduleService
	Secrets       SecretService
	Access        AccessService
	Templates     TemplateService
	Notifications NotificationService
	WeeklyReports WeeklyReportService
	Budgets       BudgetService

	http    *http.Client
	base    string // scheme and host
	address string
	token   string
	agent   string
	retries int
}

// New returns a client for the server at o.Address. It does not connect: a
// wrong form of the address is its only error.
func New(o Options) (*Client, error) {
	network, target, base, err := parseAddress(o.Address)
	if err != nil {
		return nil, err
	}
	tr := &http.Transport{
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
		Proxy:               http.ProxyFromEnvironment,
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	if network == "unix" {
		tr.Proxy = nil
		tr.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", target)
		}
	} else {
		tr.DialContext = dialer.DialContext
	}
	var carry http.RoundTripper = tr
	if o.Transport != nil {
		carry = o.Transport
	}
	c := &Client{http: &http.Client{Transport: carry}, base: base, address: o.Address, token: o.Token, agent: o.UserAgent, retries: o.Retries}
	if c.agent == "" {
		c.agent = "muster-client"
	}
	if c.retries == 0 {
		c.retries = 4
	}
	c.Projects, c.Departments = c.Of(Projects), c.Of(Departments)
	c.Pools, c.Nodes, c.Licenses, c.Reservations = PoolService{c}, NodeService{c}, LicenseService{c}, ReservationService{c}
	c.Policies = PolicyService{c}
	c.Checks, c.Approvals = CheckService{c}, ApprovalService{c}
	c.Budgets = BudgetService{c}
	c.Schedules = ScheduleService{c}
	c.Secrets, c.Templates, c.Notifications, c.Access, c.WeeklyReports = SecretService{c}, TemplateService{c}, NotificationService{c}, AccessService{c}, WeeklyReportService{c}
	return c, nil
}

// Address is where the server is, as it was given to New.
func (c *Client) Address() string { return c.address }

// Close drops idle connections; the client may still be used.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// SocketPath returns the path of the unix socket that an address names; ok is
// false for an address of another form.
func SocketPath(address string) (path string, ok bool) {
	network, target, _, err := parseAddress(address)
	return target, err == nil && network == "unix"
}

func parseAddress(address string) (network, target, base string, err error) {
	path, isUnix := strings.CutPrefix(address, "unix:")
	switch {
	case isUnix:
		path = strings.TrimPrefix(path, "//")
	case strings.HasPrefix(address, "/") || strings.HasPrefix(address, "."):
		path, isUnix = address, true
	}
	if isUnix && path != "" {
		return "unix", path, "http://muster", nil
	}
	u, perr := url.Parse(address)
	if perr != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", "", "", &api.Problem{
			Title: "Bad address", Code: "invalid", Detail: fmt.Sprintf("server address %q is not understood", address),
			Hint: "write unix:///path/to/muster.sock, http://host:port or https://host:port",
		}
	}
	return "tcp", u.Host, u.Scheme + "://" + u.Host + strings.TrimSuffix(u.Path, "/"), nil
}

// call is one request.
type call struct {
	method string
	path   string
	query  url.Values
	header http.Header
	body   []byte
	stream io.Reader // instead of body, for a call that is made once
	// again says that repeating the call is harmless once the server may have
	// seen it.
	again bool
}

// do sends a call and decodes the answer into out, unless that is nil.
func (c *Client) do(ctx context.Context, k call, out any) error {
	resp, err := c.send(ctx, k)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if out == nil {
		_, err = io.Copy(io.Discard, resp.Body)
	} else {
		err = json.NewDecoder(resp.Body).Decode(out)
	}
	if err != nil {
		return c.failed(ctx, fmt.Errorf("the answer broke off: %w", err))
	}
	return nil
}

// send returns a response with status 2xx; its body is the caller's to close.
func (c *Client) send(ctx context.Context, k call) (*http.Response, error) {
	wait, patience := 50*time.Millisecond, tooFastMost
	for try := 0; ; try++ {
		resp, err := c.once(ctx, k)
		if err == nil {
			if resp.StatusCode < 300 {
				return resp, nil
			}
			pause := tooFast(resp)
			if pause == 0 || pause > patience || k.stream != nil || c.retries < 0 {
				defer resp.Body.Close()
				return nil, readProblem(resp)
			}
			_ = resp.Body.Close()
			if err := sleep(ctx, pause); err != nil {
				return nil, err
			}
			patience -= pause
			try-- // nothing has failed: it was asked too often, and nothing was done
			continue
		}
		if ctx.Err() != nil || try >= c.retries || k.stream != nil || !k.again && !neverSent(err) {
			return nil, c.failed(ctx, err)
		}
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
		wait *= 2
	}
}

// tooFastMost is for how long in all a call waits that was sent too early.
const tooFastMost = time.Minute

// tooFast is how long to wait before a call is sent again that came too early for the
// server, which has done nothing of it; 0: that is not what was wrong.
func tooFast(resp *http.Response) time.Duration {
	if resp.StatusCode != http.StatusTooManyRequests {
		return 0
	}
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || seconds <= 0 {
		return 0
	}
	return time.Duration(min(seconds, int(tooFastMost/time.Second)+1)) * time.Second
}

func (c *Client) once(ctx context.Context, k call) (*http.Response, error) {
	target := c.base + k.path
	if len(k.query) > 0 {
		target += "?" + k.query.Encode()
	}
	body := k.stream
	if k.body != nil {
		body = bytes.NewReader(k.body)
	}
	req, err := http.NewRequestWithContext(ctx, k.method, target, body)
	if err != nil {
		return nil, err
	}
	for name, values := range k.header {
		req.Header[name] = values
	}
	if k.body != nil && req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	req.Header.Set("User-Agent", c.agent)
	return c.http.Do(req)
}

// neverSent reports whether the connection could not even be made.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// failed is what a call that got no answer returns.
func (c *Client) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &api.Problem{
		Title: "Server unreachable", Code: CodeUnreachable,
		Detail: fmt.Sprintf("the server at %s does not answer: %v", c.address, cause(err)),
		Hint:   "start it with muster server, or name another with --server or MUSTER_SERVER",
	}
}

// cause takes off what net/http wraps around an error: the whole URL.
func cause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// readProblem makes a problem of any answer that is not a success.
func readProblem(resp *http.Response) *api.Problem {
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	p := &api.Problem{}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if strings.HasSuffix(kind, "json") && json.Unmarshal(data, p) == nil && p.Code != "" {
		if p.Status == 0 {
			p.Status = resp.StatusCode
		}
		return p
	}
	text := strings.TrimSpace(string(data))
	if len(text) > 200 {
		text = text[:200] + "…"
	}
	return &api.Problem{
		Title: http.StatusText(resp.StatusCode), Status: resp.StatusCode, Code: codeOf(resp.StatusCode),
		Detail: fmt.Sprintf("the server answered %s: %s", resp.Status, text),
		Hint:   "is that the address of a Muster server?",
	}
}

func codeOf(status int) string {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return "unauthenticated"
	case status == http.StatusNotFound:
		return "not_found"
	case status == http.StatusConflict || status == http.StatusPreconditionFailed:
		return "conflict"
	case status == http.StatusServiceUnavailable || status == http.StatusBadGateway || status == http.StatusGatewayTimeout:
		return "unavailable"
	case status < 500:
		return "invalid"
	default:
		return "internal"
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
