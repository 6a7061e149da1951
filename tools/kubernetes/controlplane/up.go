package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/pflag"
)

// controlPlane is what runUp makes.
type controlPlane struct {
	dir     string
	self    string // this program
	host    string // an address of the loopback network that is its alone
	rack    *rack  // nil where nodes cannot be
	keeper  *keeper
	options upOptions

	dns    sync.Once
	dnsErr error
}

type upOptions struct {
	dir                           string
	server, controllers, schedule []string // further flags
	noControllers, noScheduler    bool
	control, temporary            bool
}

// upReady is the line that says that a control plane is up.
type upReady struct {
	Server     string `json:"server"`
	Kubeconfig string `json:"kubeconfig"`
	Network    string `json:"network,omitempty"` // of its nodes; empty where there can be none
}

// Ports are the same in all control planes: each has a host of its own.
const (
	serverPort     = "26443"
	etcdPort       = "22379"
	etcdPeerPort   = "22380"
	controllerPort = "20257"
	schedulerPort  = "20259"
)

// startWithin bounds how long the API server may take to be ready.
const startWithin = 3 * time.Minute

// runUp is a control plane from its certificates to its end.
func runUp(args []string) (err error) {
	var o upOptions
	flags := pflag.NewFlagSet("up", pflag.ContinueOnError)
	flags.StringVar(&o.dir, "dir", "", "folder of everything; a short path, as sockets lie in it")
	flags.StringArrayVar(&o.server, "server-flag", nil, "further flag of kube-apiserver, as often as needed")
	flags.StringArrayVar(&o.controllers, "controller-flag", nil, "further flag of kube-controller-manager")
	flags.StringArrayVar(&o.schedule, "scheduler-flag", nil, "further flag of kube-scheduler")
	flags.BoolVar(&o.noControllers, "no-controllers", false, "without kube-controller-manager")
	flags.BoolVar(&o.noScheduler, "no-scheduler", false, "without kube-scheduler")
	flags.BoolVar(&o.control, "control", false, "take orders from standard input and end with it")
	flags.BoolVar(&o.temporary, "temporary", false, "remove the folder at the end, unless that is a failure")
	if err := flags.Parse(args); err != nil {
		return err
	}
	p, err := newControlPlane(o)
	if err != nil {
		return err
	}
	defer func() { p.close(err == nil) }()
	// 1. etcd and the API server, until it says that it is ready.
	if err := p.startServer(); err != nil {
		return err
	}
	// 2. The others, which expect it.
	if err := p.startOthers(); err != nil {
		return err
	}
	ready := upReady{Server: p.server(), Kubeconfig: filepath.Join(p.dir, "admin.kubeconfig")}
	if p.rack != nil {
		ready.Network = p.rack.path()
	}
	if err := json.NewEncoder(os.Stdout).Encode(ready); err != nil {
		return err
	}
	// 3. Orders.
	var orders io.Reader
	if o.control {
		orders = os.Stdin
	}
	return p.keeper.follow(orders, os.Stdout)
}

func newControlPlane(o upOptions) (*controlPlane, error) {
	if o.dir == "" {
		return nil, errors.New("--dir is missing: a folder for its files")
	}
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return nil, err
	}
	p := &controlPlane{dir: dir, options: o}
	if p.self, err = os.Executable(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	b := make([]byte, 3)
	rand.Read(b) // never fails
	p.host = net.IPv4(127, 1+b[0]%254, b[1], 1+b[2]%254).String()
	if os.Geteuid() == 0 {
		if err := p.openRack(); err != nil {
			return nil, err
		}
	}
	if err := p.identify(); err != nil {
		return nil, err
	}
	p.keeper = newKeeper(dir)
	p.keeper.extra = map[string]func(order) error{
		"await-server": func(order) error { return p.await() },
		"forward": func(o order) error {
			if p.rack == nil {
				return errors.New("forward: there are no nodes without root")
			}
			return p.rack.forward(o.Address)
		},
		"dns": func(order) error {
			if p.rack == nil {
				return errors.New("dns: there are no nodes without root")
			}
			return p.resolve()
		},
	}
	return p, nil
}

func (p *controlPlane) openRack() (err error) {
	if p.rack, err = newRack(); err != nil {
		return err
	}
	if err := p.rack.forward(p.at(serverPort)); err != nil {
		return err
	}
	return p.rack.proxy(egressSocket(p.dir))
}

// close ends everything. The logs of a failure stay. Nodes end by themselves but
// may still be at it, so the folder may take more than one try.
func (p *controlPlane) close(well bool) {
	p.keeper.close()
	if !p.options.temporary || !well {
		return
	}
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if os.RemoveAll(p.dir) == nil {
			return
		}
	}
}

// at is the address of a port of this control plane.
func (p *controlPlane) at(port string) string { return net.JoinHostPort(p.host, port) }

func (p *controlPlane) server() string { return "https://" + p.at(serverPort) }

// in is the path of a file of this control plane.
func (p *controlPlane) in(name string) string { return filepath.Join(p.dir, name) }

// identify writes certificates, keys and kubeconfigs.
func (p *controlPlane) identify() error {
	ca, err := newAuthority(p.dir)
	if err != nil {
		return fmt.Errorf("make certificates: %w", err)
	}
	pairs := map[string]subject{
		"apiserver": {name: "kube-apiserver", dns: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
			ips: []net.IP{net.ParseIP(p.host), net.IPv4(10, 0, 0, 1), net.ParseIP(rackAddress)}},
		"kubelet-client": {name: "kube-apiserver-kubelet-client", groups: []string{"system:masters"}},
		"admin":          {name: "admin", groups: []string{"system:masters"}},
		"controllers":    {name: "system:kube-controller-manager"},
		"scheduler":      {name: "system:kube-scheduler"},
	}
	for file, s := range pairs {
		if err := ca.issue(p.dir, file, s); err != nil {
			return err
		}
	}
	for _, name := range []string{"admin", "controllers", "scheduler"} {
		if _, err := ca.kubeconfig(p.dir, name, p.server()); err != nil {
			return err
		}
	}
	// Nodes read it from here.
	if err := os.WriteFile(p.in("server"), []byte(p.server()), 0o600); err != nil {
		return err
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	if err := writePEM(p.in("accounts.key"), "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key)); err != nil {
		return err
	}
	return writePEM(p.in("accounts.pub"), "PUBLIC KEY", public)
}

func (p *controlPlane) startServer() error {
	if err := p.keeper.start("etcd", p.self, "etcd", "--dir", p.in("etcd"), "--client", p.at(etcdPort), "--peer", p.at(etcdPeerPort)); err != nil {
		return err
	}
	flags, err := p.serverFlags()
	if err != nil {
		return err
	}
	if err := p.keeper.start("kube-apiserver", flags...); err != nil {
		return err
	}
	return p.await()
}

// await waits until the API server is ready.
func (p *controlPlane) await() error {
	pair, err := tls.LoadX509KeyPair(p.in("admin.crt"), p.in("admin.key"))
	if err != nil {
		return err
	}
	ca, err := openAuthority(p.dir)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, // one that is killed and started again must not be asked on the old connection
		TLSClientConfig:   &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}},
	}}
	ctx, cancel := context.WithTimeout(context.Background(), startWithin)
	defer cancel()
	for {
		answer, err := client.Get(p.server() + "/readyz")
		if err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
			err = errors.New(answer.Status)
		}
		select {
		case failed := <-p.keeper.failed:
			return failed
		case <-ctx.Done():
			return fmt.Errorf("the API server is not ready after %s (%w): see %s", startWithin, err, p.keeper.log("kube-apiserver"))
		case <-time.After(50 * time.Millisecond):
		}
	}
}
