package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/certs"
	"github.com/musterhq/muster/internal/cli"
)

// certificate is what a listener shows, read again when its file has changed.
type certificate struct {
	cert, key string

	mu      sync.Mutex
	read    *tls.Certificate
	changed time.Time // of the file, when it was read
}

// authority gets the certificates of the server's names where flags name some; nil: they
// name none.
func authority(o cli.ServerOptions, log *slog.Logger) (*certs.Manager, error) {
	if len(o.ACME.Domains) == 0 {
		return nil, nil
	}
	m, err := certs.New(certs.Config{
		Domains: o.ACME.Domains, Contact: o.ACME.Contact, Directory: o.ACME.Directory, CAFile: o.ACME.CAFile, Dir: filepath.Join(o.DataDir, "acme"), Log: log,
	})
	var wrong *certs.Error
	if errors.As(err, &wrong) {
		return nil, precondition("--acme-"+wrong.Field+": "+wrong.Message, wrong.Hint)
	}
	return m, err
}

// encrypted is a listener that speaks TLS where the server was given a certificate, or
// gets its own by acme.
func encrypted(l net.Listener, o cli.ServerOptions, acme *certs.Manager) (net.Listener, error) {
	switch {
	case acme != nil:
		return acme.Listener(l), nil
	case o.TLSCert == "" && o.TLSKey == "":
		return l, nil
	case o.TLSCert == "" || o.TLSKey == "":
		return nil, precondition("--tls-cert and --tls-key go together, and only one of them is given", "name both files")
	}
	c := &certificate{cert: o.TLSCert, key: o.TLSKey}
	if _, err := c.get(nil); err != nil {
		return nil, precondition("--tls-cert "+o.TLSCert+": "+err.Error(), "name a certificate and its key, both PEM, which the server's user can read")
	}
	return tls.NewListener(l, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get, NextProtos: []string{"http/1.1"}}), nil
}

// get is the certificate as it is now. One that cannot be read while another was leaves
// that in its place: it may be about to be written.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	info, err := os.Stat(c.cert)
	if err == nil && c.read != nil && info.ModTime().Equal(c.changed) {
		return c.read, nil
	}
	if err == nil {
		var read tls.Certificate
		if read, err = tls.LoadX509KeyPair(c.cert, c.key); err == nil {
			c.read, c.changed = &read, info.ModTime()
		}
	}
	if c.read != nil {
		return c.read, nil
	}
	return nil, fmt.Errorf("it cannot be read: %w", err)
}
