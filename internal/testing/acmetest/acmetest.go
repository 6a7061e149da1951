// Package acmetest is an authority that speaks ACME for tests: Let's Encrypt's own test
// server, on addresses of this machine, with a DNS where every name leads to it.
package acmetest

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/letsencrypt/challtestsrv"
	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
)

// Authority is one that runs.
type Authority struct {
	Directory string         // its URL
	CAFile    string         // certificates by which it is known
	Roots     *x509.CertPool // certificates that it gives come from these

	names *challtestsrv.ChallSrv
	srv   *httptest.Server
}

// Start starts one that asks names at a port of this machine whether they are who they
// say, and gives certificates for so many seconds. Names of blocked it refuses. It keeps
// files in dir.
func Start(dir string, port int, seconds uint64, blocked ...string) (*Authority, error) {
	if err := os.Setenv("PEBBLE_VA_NOSLEEP", "1"); err != nil { // it would wait between tries
		return nil, err
	}
	quiet := log.New(io.Discard, "", 0)
	at, err := free()
	if err != nil {
		return nil, err
	}
	names, err := challtestsrv.New(challtestsrv.Config{Log: quiet, DNSAddrs: []string{at}})
	if err != nil {
		return nil, err
	}
	names.SetDefaultDNSIPv4("127.0.0.1")
	names.SetDefaultDNSIPv6("")
	go names.Run()

	store := db.NewMemoryStore()
	for _, b := range blocked {
		err = errors.Join(err, store.AddBlockedDomain(b))
	}
	issuer := ca.New(quiet, store, "", "ecdsa", 0, 1, map[string]ca.Profile{"default": {ValidityPeriod: seconds}})
	front := wfe.New(quiet, store, va.New(quiet, 0, port, false, at, store), issuer, []string{"ca.example"}, false, false, 1, 1)
	srv := httptest.NewTLSServer(front.Handler())
	a := &Authority{Directory: srv.URL + wfe.DirectoryPath, CAFile: filepath.Join(dir, "authority.pem"), Roots: x509.NewCertPool(), names: names, srv: srv}
	a.Roots.AppendCertsFromPEM(issuer.GetRootCert(0).PEM())
	if err = errors.Join(err, os.WriteFile(a.CAFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600)); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

// Close ends it.
func (a *Authority) Close() {
	a.srv.Close()
	a.names.Shutdown()
}

// free is an address of this machine that nobody listens on.
func free() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
