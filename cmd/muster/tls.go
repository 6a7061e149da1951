package main

import (
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/cli"
)

// certificate is what a listener shows, read again when its file has changed.
type certificate struct {
	cert, key string

	mu      sync.Mutex
	read    *tls.Certificate
	changed time.Time // of the file, when it was read
}

// encrypted is a listener that speaks TLS where the server was given a certificate.
func encrypted(l net.Listener, o cli.ServerOptions) (net.Listener, error) {
	switch {
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
