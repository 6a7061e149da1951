// Package certs gets the certificates of this server from an authority that speaks ACME
// (RFC 8555), such as Let's Encrypt, and renews them before they end. That names lead to
// this server is shown by TLS-ALPN-01 (RFC 8737): on the port that is encrypted itself.
package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// Config says for which names, and from whom.
type Config struct {
	Domains   []string // names of this server; none: no certificates are asked for
	Contact   string   // mail address of the account there; empty: none
	Directory string   // URL of the authority; empty: Let's Encrypt
	CAFile    string   // file with certificates by which the authority is known; empty: the machine's
	Dir       string   // where account, keys and certificates are kept
	Log       *slog.Logger
}

// Error says which of the settings is wrong, and what to do.
type Error struct{ Field, Message, Hint string }

func (e *Error) Error() string { return e.Field + ": " + e.Message }

// Manager has the certificates of some names.
type Manager struct {
	domains []string
	auto    autocert.Manager
	log     *slog.Logger
	begun   sync.Once
}

// callFor bounds one request to the authority.
const callFor = time.Minute

var hostName = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// New checks the settings; nothing is asked of anybody yet.
func New(c Config) (*Manager, error) {
	for _, d := range c.Domains {
		switch {
		case strings.HasPrefix(d, "*."):
			return nil, &Error{"domain", fmt.Sprintf("%q stands for many names, and certificates of these are for who changes their DNS", d), "name each host by itself"}
		case net.ParseIP(d) != nil || len(d) > 253 || !hostName.MatchString(d):
			return nil, &Error{"domain", fmt.Sprintf("%q is no name of a host with a domain, in lower case", d), "write it like muster.example.com"}
		}
	}
	if c.Contact != "" && (strings.Count(c.Contact, "@") != 1 || strings.ContainsAny(c.Contact, " \t,:<>") || strings.HasPrefix(c.Contact, "@") || strings.HasSuffix(c.Contact, "@")) {
		return nil, &Error{"contact", fmt.Sprintf("%q is no mail address", c.Contact), "write it like ops@example.com"}
	}
	if u, err := url.Parse(c.Directory); c.Directory != "" && (err != nil || u.Scheme != "https" || u.Host == "") {
		return nil, &Error{"directory", fmt.Sprintf("%q is no https URL", c.Directory), "write that of the authority's directory, like https://ca.example.com/acme/acme/directory"}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if c.CAFile != "" {
		text, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, &Error{"ca", err.Error(), "name a file that the server can read"}
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(text) {
			return nil, &Error{"ca", c.CAFile + " has no certificate", "write certificates into it, in PEM"}
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	m := &Manager{domains: c.Domains, log: c.Log}
	m.auto = autocert.Manager{
		Prompt: autocert.AcceptTOS, Cache: autocert.DirCache(c.Dir), HostPolicy: autocert.HostWhitelist(c.Domains...), Email: c.Contact,
		Client: &acme.Client{DirectoryURL: c.Directory, HTTPClient: &http.Client{Transport: transport, Timeout: callFor}, UserAgent: "muster"},
	}
	if c.Directory == "" {
		m.auto.Client.DirectoryURL = autocert.DefaultACMEDirectory
	}
	return m, nil
}

// Listener speaks TLS on l by these certificates.
func (m *Manager) Listener(l net.Listener) net.Listener {
	return tls.NewListener(l, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: m.get, NextProtos: []string{"http/1.1", acme.ALPNProto}})
}

// get is the certificate for who connects. Who names no host gets that of the first name:
// an address says as much.
func (m *Manager) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if hello.ServerName == "" {
		h := *hello
		h.ServerName, hello = m.domains[0], &h
	}
	return m.auto.GetCertificate(hello)
}

// Keep asks for the certificates before anybody else connects, says what it has come to,
// and again where it has failed, until ctx ends. It begins once, when the listener is open:
// the authority comes there. Each is renewed a month before it ends, or once a third of its
// time is left. A nil Manager has none to keep.
func (m *Manager) Keep(ctx context.Context) {
	if m == nil {
		return
	}
	m.begun.Do(func() {
		for _, d := range m.domains {
			go m.keep(ctx, d)
		}
	})
}

// lookEvery is how often it is looked whether a certificate is still good; firstWait and
// longestWait are between tries that fail, the longest as authorities bound tries by the
// hour.
const (
	lookEvery   = 12 * time.Hour
	firstWait   = 2 * time.Minute
	longestWait = time.Hour
)

func (m *Manager) keep(ctx context.Context, domain string) {
	wait, until := firstWait, time.Time{}
	for {
		cert, err := m.get(modern(domain))
		pause := lookEvery
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			pause, wait = wait, min(2*wait, longestWait)
			m.log.Warn("there is no certificate", "domain", domain, "directory", m.auto.Client.DirectoryURL, "error", reason(err), "again", pause)
		case !cert.Leaf.NotAfter.Equal(until):
			until, wait = cert.Leaf.NotAfter, firstWait
			m.log.Info("certificate", "domain", domain, "issuer", cert.Leaf.Issuer.CommonName, "until", until.UTC().Format(time.RFC3339))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// reason is what people can use of an error: the authority's own words where it has said
// some.
func reason(err error) string {
	var a *acme.AuthorizationError
	if errors.As(err, &a) && len(a.Errors) > 0 {
		var all []string
		for _, e := range a.Errors {
			all = append(all, e.Error())
		}
		slices.Sort(all)
		return strings.Join(slices.Compact(all), "; ")
	}
	return err.Error()
}

// modern is how a client says hello that knows elliptic curves, as all do today.
func modern(domain string) *tls.ClientHelloInfo {
	return &tls.ClientHelloInfo{
		ServerName: domain, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
		SupportedCurves: []tls.CurveID{tls.CurveP256}, SignatureSchemes: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256},
	}
}
