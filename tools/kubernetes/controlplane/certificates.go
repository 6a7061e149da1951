package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// authority signs for one cluster. Its files are ca.crt and ca.key in dir.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// subject is whom a certificate is for.
type subject struct {
	name   string   // the common name: Kubernetes' user
	groups []string // the organizations: Kubernetes' groups
	dns    []string // where it serves, if it does
	ips    []net.IP
}

// newAuthority makes one and stores it.
func newAuthority(dir string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t := template(subject{name: "kube-ca"})
	t.IsCA, t.BasicConstraintsValid, t.KeyUsage = true, true, x509.KeyUsageCertSign|x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, t, t, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	if err := writePair(filepath.Join(dir, "ca"), der, key); err != nil {
		return nil, err
	}
	return openAuthority(dir)
}

// openAuthority reads the one of a cluster that is there.
func openAuthority(dir string) (*authority, error) {
	cert, err := readPEM(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return nil, err
	}
	a := &authority{dir: dir}
	if a.cert, err = x509.ParseCertificate(cert); err != nil {
		return nil, err
	}
	key, err := readPEM(filepath.Join(dir, "ca.key"))
	if err != nil {
		return nil, err
	}
	a.key, err = x509.ParseECPrivateKey(key)
	return a, err
}

// issue writes FILE.crt and FILE.key below dir.
func (a *authority) issue(dir, file string, s subject) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.CreateCertificate(rand.Reader, template(s), a.cert, &key.PublicKey, a.key)
	if err != nil {
		return fmt.Errorf("sign for %s: %w", s.name, err)
	}
	return writePair(filepath.Join(dir, file), der, key)
}

func template(s subject) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: s.name, Organization: s.groups},
		NotBefore:    now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		DNSNames:    s.dns, IPAddresses: s.ips,
	}
}

func writePair(path string, der []byte, key *ecdsa.PrivateKey) error {
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	if err := writePEM(path+".crt", "CERTIFICATE", der); err != nil {
		return err
	}
	return writePEM(path+".key", "EC PRIVATE KEY", private)
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

func readPEM(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s holds no PEM block", path)
	}
	return block.Bytes, nil
}

// kubeconfig writes NAME.kubeconfig below dir for the pair NAME.crt, NAME.key
// there, and returns its path.
func (a *authority) kubeconfig(dir, name, server string) (string, error) {
	path := filepath.Join(dir, name+".kubeconfig")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: %q, certificate-authority: %q}}]
users: [{name: %[3]s, user: {client-certificate: %[4]q, client-key: %[5]q}}]
contexts: [{name: test, context: {cluster: test, user: %[3]s}}]
current-context: test
`, server, filepath.Join(a.dir, "ca.crt"), name, filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key"))
	return path, os.WriteFile(path, []byte(text), 0o600)
}
