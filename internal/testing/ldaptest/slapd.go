// Package ldaptest is a directory for tests: OpenLDAP's slapd, on addresses of this
// machine.
package ldaptest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/go-ldap/ldap/v3"
)

// ErrNone says that there is no slapd here.
var ErrNone = errors.New("no slapd is installed: apt-get install slapd")

// Who looks people up there.
const (
	BindDN   = "cn=muster,dc=acme,dc=com"
	Password = "a password of the server"
	Users    = "ou=people,dc=acme,dc=com"
	Groups   = "ou=groups,dc=acme,dc=com"
)

// Directory is a running directory, in which ann (of the groups vision and staff), bob (of
// none) and "a*b" have the password "pw of NAME". Only BindDN reads it.
type Directory struct {
	URL, TLS string // ldap:// with STARTTLS, and ldaps://
	CAFile   string // with the certificate of both

	cmd *exec.Cmd
	log bytes.Buffer
}

// patience is how long the directory may take to be there.
const patience = time.Minute

// Start starts a directory that keeps its files in dir. It must be closed.
func Start(dir string) (*Directory, error) {
	program, err := exec.LookPath("slapd")
	if err != nil {
		if program, err = exec.LookPath("/usr/sbin/slapd"); err != nil {
			return nil, ErrNone
		}
	}
	cert, key, err := certificate(dir)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "ldap")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, err
	}
	const schema = "/etc/ldap/schema/"
	conf := fmt.Sprintf(`include %[1]score.schema
include %[1]scosine.schema
include %[1]sinetorgperson.schema
pidfile %[2]s/pid
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload memberof
TLSCertificateFile %[3]s
TLSCertificateKeyFile %[4]s
database mdb
maxsize 16777216
suffix "dc=acme,dc=com"
rootdn "cn=root,dc=acme,dc=com"
rootpw root
directory %[2]s
overlay memberof
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact="%[5]s" read by anonymous auth by * none
`, schema, data, cert, key, BindDN)
	path := filepath.Join(dir, "slapd.conf")
	if err := os.WriteFile(path, []byte(conf), 0o600); err != nil {
		return nil, err
	}
	d := &Directory{CAFile: cert}
	if d.URL, err = free("ldap"); err != nil {
		return nil, err
	}
	if d.TLS, err = free("ldaps"); err != nil {
		return nil, err
	}
	d.cmd = exec.Command(program, "-f", path, "-h", d.URL+" "+d.TLS, "-d", "0")
	d.cmd.Stdout, d.cmd.Stderr = &d.log, &d.log
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	if err := d.fill(); err != nil {
		d.Close()
		return nil, fmt.Errorf("%w\n%s", err, d.log.String())
	}
	return d, nil
}

// Close ends it.
func (d *Directory) Close() {
	_ = d.cmd.Process.Kill()
	_ = d.cmd.Wait()
}

func free(scheme string) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return scheme + "://" + l.Addr().String(), nil
}

// fill waits until the directory is there, and writes its entries.
func (d *Directory) fill() error {
	var c *ldap.Conn
	var err error
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if c, err = ldap.DialURL(d.URL); err == nil {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("slapd does not come up: %w", err)
		}
	}
	defer c.Close()
	if err := c.Bind("cn=root,dc=acme,dc=com", "root"); err != nil {
		return err
	}
	add := func(dn string, pairs ...string) {
		r := ldap.NewAddRequest(dn, nil)
		for i := 0; i+1 < len(pairs); i += 2 {
			r.Attribute(pairs[i], []string{pairs[i+1]})
		}
		if err == nil {
			if err = c.Add(r); err != nil {
				err = fmt.Errorf("%s: %w", dn, err)
			}
		}
	}
	add("dc=acme,dc=com", "objectClass", "domain", "dc", "acme")
	add(BindDN, "objectClass", "person", "cn", "muster", "sn", "muster", "userPassword", Password)
	add(Users, "objectClass", "organizationalUnit", "ou", "people")
	add(Groups, "objectClass", "organizationalUnit", "ou", "groups")
	for _, name := range []string{"ann", "bob", "a*b"} {
		add("uid="+ldap.EscapeDN(name)+","+Users, "objectClass", "inetOrgPerson", "uid", name, "cn", name, "sn", name, "userPassword", "pw of "+name)
	}
	add("uid=nobody,"+Users, "objectClass", "inetOrgPerson", "uid", "nobody", "cn", "without a password", "sn", "nobody")
	for _, name := range []string{"vision", "staff"} {
		add("cn="+name+","+Groups, "objectClass", "groupOfNames", "cn", name, "member", "uid=ann,"+Users)
	}
	return err
}

// certificate writes a certificate for this machine, and its key.
func certificate(dir string) (cert, key string, err error) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "127.0.0.1"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	signed, err := x509.CreateCertificate(rand.Reader, c, c, &k.PublicKey, k)
	if err != nil {
		return "", "", err
	}
	private, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		return "", "", err
	}
	cert, key = filepath.Join(dir, "ldap.pem"), filepath.Join(dir, "ldap.key")
	for _, f := range []struct {
		path, kind string
		body       []byte
	}{{cert, "CERTIFICATE", signed}, {key, "PRIVATE KEY", private}} {
		if err := os.WriteFile(f.path, pem.EncodeToMemory(&pem.Block{Type: f.kind, Bytes: f.body}), 0o600); err != nil {
			return "", "", err
		}
	}
	return cert, key, nil
}
