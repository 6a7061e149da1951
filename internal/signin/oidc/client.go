package oidc

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/musterhq/muster/internal/signin"
)

const (
	// patience is how long a provider may take for one answer.
	patience = 10 * time.Second
	// bodyMost bounds an answer, in bytes: a set of keys, or a token with many groups.
	bodyMost = 1 << 20
)

// newClient returns an HTTP client for a provider and nothing else: encrypted but for
// this machine's own addresses, with bounds, and without being sent elsewhere.
func newClient(caFile string) (*http.Client, error) {
	t := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: patience / 2}).DialContext,
		TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:     true,
		TLSHandshakeTimeout:   patience / 2,
		ResponseHeaderTimeout: patience,
		MaxIdleConns:          10,
		IdleConnTimeout:       time.Minute,
	}
	if caFile != "" {
		pem, err := os.ReadFile(caFile)
		if err != nil {
			return nil, fmt.Errorf("oidc.caFile: %w", err)
		}
		t.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("oidc.caFile: %s holds no certificate (PEM)", caFile)
		}
	}
	return &http.Client{
		Transport: bounded{t}, Timeout: patience,
		// What a provider says of its addresses it says in its configuration. One that
		// sends the server elsewhere would have it ask whatever it reaches.
		CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirect },
	}, nil
}

var errRedirect = errors.New("the provider sends the server elsewhere, where it does not go")

// bounded lets only what may be asked pass, and reads no more than it has to.
type bounded struct{ next http.RoundTripper }

// RoundTrip sends one request.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if problem := signin.Endpoint(r.URL.String()); problem != "" {
		return nil, fmt.Errorf("the provider's address %s %s", r.URL.Redacted(), problem)
	}
	resp, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	resp.Body = &limited{resp.Body, bodyMost}
	return resp, nil
}

// limited is a body that fails where it goes on for too long.
type limited struct {
	io.ReadCloser
	left int64
}

// Read reads on.
func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, fmt.Errorf("the provider's answer has more than %d bytes", bodyMost)
	}
	if int64(len(p)) > l.left {
		p = p[:l.left]
	}
	n, err := l.ReadCloser.Read(p)
	l.left -= int64(n)
	return n, err
}
