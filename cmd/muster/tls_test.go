package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/cli"
)

// selfSigned writes a certificate of a number and its key, and returns the number that a
// client is shown.
func selfSigned(t *testing.T, cert, key string, number int64) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(number), Subject: pkix.Name{CommonName: "localhost"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	for path, b := range map[string]*pem.Block{key: {Type: "PRIVATE KEY", Bytes: private}, cert: {Type: "CERTIFICATE", Bytes: der}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(cert, time.Time{}, time.Now().Add(time.Duration(number)*time.Second)); err != nil {
		t.Fatal(err)
	}
}

// TestACertificateIsReadAgain: one that is renewed is shown without a restart, and one
// that is being written does not end what there is.
func TestACertificateIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	o := cli.ServerOptions{TLSCert: filepath.Join(dir, "cert"), TLSKey: filepath.Join(dir, "key")}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	if _, err := encrypted(tcp, o, nil); err == nil {
		t.Error("a certificate that is not there is taken")
	}
	if _, err := encrypted(tcp, cli.ServerOptions{TLSKey: o.TLSKey}, nil); err == nil {
		t.Error("a key without a certificate is taken")
	}
	if plain, err := encrypted(tcp, cli.ServerOptions{}, nil); err != nil || plain != tcp {
		t.Errorf("without a certificate it is %v, %v", plain, err)
	}
	selfSigned(t, o.TLSCert, o.TLSKey, 1)
	l, err := encrypted(tcp, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _ = c.(*tls.Conn).Handshake() }() // and nothing more
		}
	}()
	shown := func() int64 {
		c, err := tls.Dial("tcp", tcp.Addr().String(), &tls.Config{InsecureSkipVerify: true, ServerName: "localhost"}) //nolint:gosec // its number is looked at
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	if n := shown(); n != 1 {
		t.Errorf("certificate %d is shown, want 1", n)
	}
	selfSigned(t, o.TLSCert, o.TLSKey, 2)
	if n := shown(); n != 2 {
		t.Errorf("certificate %d is shown, want 2", n)
	}
	if err := os.WriteFile(o.TLSCert, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := shown(); n != 2 {
		t.Errorf("certificate %d is shown while another is written, want 2", n)
	}
}
