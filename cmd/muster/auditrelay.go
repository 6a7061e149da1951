package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/audit"
	"github.com/musterhq/muster/internal/notify"
	"github.com/musterhq/muster/internal/notify/relay"
	"github.com/musterhq/muster/internal/store"
)

// written is the audit log that a store has.
type written struct{ store.Store }

// Entries implements relay.Log.
func (w written) Entries(ctx context.Context, after int64, limit int) ([]core.AuditEntry, error) {
	return w.Audit(ctx, store.AuditQuery{After: after, Limit: limit})
}

// Head implements relay.Log.
func (w written) Head(ctx context.Context) (audit.Head, error) { return w.AuditHead(ctx) }

// auditFor bounds one try to hand the audit log on.
const auditFor = 15 * time.Second

// relayOf hands the audit log on to those whom flags name.
func relayOf(o cli.ServerOptions, st store.Store, log *slog.Logger) (*relay.Relay, error) {
	c := relay.Config{Log: written{st}, Dir: filepath.Join(o.DataDir, "audit-sent"), Slog: log, Timeout: auditFor}
	if o.AuditSecretFile != "" && len(o.AuditWebhook) == 0 {
		return nil, precondition("--audit-webhook-secret-file says nothing without --audit-webhook", "add --audit-webhook URL")
	}
	var roots *x509.CertPool
	if o.AuditCA != "" {
		text, err := os.ReadFile(o.AuditCA)
		if err != nil {
			return nil, precondition(fmt.Sprintf("--audit-ca: %v", err), "name a file that the server can read")
		}
		if roots = x509.NewCertPool(); !roots.AppendCertsFromPEM(text) {
			return nil, precondition("--audit-ca: "+o.AuditCA+" has no certificate", "write certificates into it, in PEM")
		}
	}
	host, err := os.Hostname()
	if err != nil {
		host = "" // it goes without
	}
	for _, to := range o.AuditSyslog {
		r, err := relay.Syslog(to, roots, audit.Sender{Host: host, PID: os.Getpid()})
		if err != nil {
			return nil, precondition(fmt.Sprintf("--audit-syslog: %v", err), "name one of these")
		}
		c.Receivers = append(c.Receivers, r)
	}
	keys := ""
	if o.AuditSecretFile != "" {
		at, err := placeOf(o, "audit-webhook-secret-file", o.AuditSecretFile)
		if err != nil {
			return nil, err
		}
		if keys, err = at.Only(); err != nil {
			return nil, precondition(fmt.Sprintf("--audit-webhook-secret-file: %v", err), "name a file that the server can read and others cannot, with a key in it, or vault:PATH, whose field keys has one")
		}
	}
	for _, to := range o.AuditWebhook {
		client := notify.Client(auditFor)
		if roots != nil {
			client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
		}
		r, err := relay.Webhook(to, keys, client, time.Now)
		if err != nil {
			return nil, precondition(fmt.Sprintf("--audit-webhook: %v", err), "write an http or https URL, and a key, or whsec_ and base64, into the file")
		}
		c.Receivers = append(c.Receivers, r)
	}
	seen := map[string]bool{}
	for _, r := range c.Receivers {
		if seen[r.Name()] {
			return nil, precondition("the audit log is handed on to "+r.Name()+" twice", "name each receiver once; they differ by more than what follows '?'")
		}
		seen[r.Name()] = true
	}
	return relay.New(c), nil
}
