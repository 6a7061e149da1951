// Package kubetest gives tests a Kubernetes of their own: a real control plane
// (etcd and upstream's components, version 1.35), any number of nodes that are
// not there (kwok), and real ones (containerd, kubelet, GPUs without hardware).
//
// Clusters never meet: each has an address, a folder and, for its real nodes, a
// network and mounts of its own, so packages may test at the same time. A
// cluster ends with the process that started it, however that ends, and leaves
// nothing on the machine; see tools/kubernetes for how.
//
// scripts/kubernetes builds the programs. Where they, or root and the packages
// that real nodes take, are missing, tests skip and say what to do; with CI set
// they fail instead.
package kubetest

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/musterhq/muster/internal/testing/ocitest"
)

// Options change a control plane. The zero value is one as upstream ships it.
type Options struct {
	// Further flags, such as --default-unreachable-toleration-seconds=5 of the
	// API server.
	ServerFlags, ControllerFlags, SchedulerFlags []string
	// NoControllers leaves the controller manager out, and with it the admission
	// of what only it provides: pods need no service account then.
	NoControllers bool
	// NoScheduler leaves pods to whoever binds them.
	NoScheduler bool
	// QuickLoss has a node count as lost 10 s after its last sign of life instead
	// of 50 s. It costs many small writes with many nodes.
	QuickLoss bool
}

// Cluster is a running one. Its methods may be called from several goroutines.
type Cluster struct {
	Kubeconfig string       // path of the administrator's
	Server     string       // URL of the API server: https://127.x.y.z:26443
	Config     *rest.Config // the administrator's, without a limit of requests, speaking protobuf
	Client     kubernetes.Interface

	dir, bin string
	network  string // of real nodes; empty where there can be none
	options  Options
	up       *process

	mu       sync.Mutex
	kwok     bool           // runs
	names    map[string]int // how many fake nodes each prefix has
	nodes    int            // real ones so far
	registry *ocitest.Registry
}

// Start starts a cluster that ends with the test. It takes about 3 s and, idle,
// 400 MiB: several tests of a package do well to share one, see Open.
func Start(tb testing.TB, o Options) *Cluster {
	tb.Helper()
	c, err := Open(o)
	if err != nil {
		Fail(tb, err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Errorf("the cluster's end: %v", err)
		}
	})
	return c
}

// Open starts a cluster for callers without a test, such as TestMain; Close
// ends it. Fail turns its error into a skipped or failed test.
func Open(o Options) (*Cluster, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	// A short path, unlike that of a test's folder: sockets lie below it.
	dir, err := os.MkdirTemp("", "kube-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir, bin: bin, options: o, names: map[string]int{}}
	if err := c.open(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Cluster) open() error {
	var ready struct{ Server, Kubeconfig, Network string }
	var err error
	if c.up, err = launch(c.dir, &ready, c.program("kube"), c.arguments()...); err != nil {
		return fmt.Errorf("start a control plane: %w", err)
	}
	c.Server, c.Kubeconfig, c.network = ready.Server, ready.Kubeconfig, ready.Network
	if c.Config, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig); err != nil {
		return err
	}
	c.Config.QPS = -1
	c.Config.ContentType = runtime.ContentTypeProtobuf
	c.Config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	c.Client, err = kubernetes.NewForConfig(c.Config)
	return err
}

func (c *Cluster) arguments() []string {
	args := []string{"up", "--control", "--dir", c.dir}
	if !keep() {
		args = append(args, "--temporary")
	}
	controllers := c.options.ControllerFlags
	if c.options.QuickLoss {
		controllers = append([]string{"--node-monitor-grace-period=10s", "--node-monitor-period=1s"}, controllers...)
	}
	for _, f := range []struct {
		name   string
		values []string
	}{{"server", c.options.ServerFlags}, {"controller", controllers}, {"scheduler", c.options.SchedulerFlags}} {
		for _, v := range f.values {
			args = append(args, "--"+f.name+"-flag="+v)
		}
	}
	if c.options.NoControllers {
		args = append(args, "--no-controllers")
	}
	if c.options.NoScheduler {
		args = append(args, "--no-scheduler")
	}
	return args
}

// Close ends the cluster with all that belongs to it. With
// MUSTER_KUBERNETES_KEEP set its folder, with all logs, stays.
func (c *Cluster) Close() error {
	err := c.up.close()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.registry != nil {
		c.registry.Close()
	}
	if keep() {
		fmt.Fprintln(os.Stderr, "kept:", c.dir)
		return err
	}
	return errors.Join(err, os.RemoveAll(c.dir)) // the process does so too, but may never have started
}

func keep() bool { return os.Getenv("MUSTER_KUBERNETES_KEEP") != "" }

// StopServer kills the API server. Everything else lives on, and so do all data.
func (c *Cluster) StopServer(tb testing.TB) {
	tb.Helper()
	c.order(tb, order{Do: "kill", Name: "kube-apiserver"})
}

// StartServer starts the API server after StopServer and waits until it is
// ready.
func (c *Cluster) StartServer(tb testing.TB) {
	tb.Helper()
	c.order(tb, order{Do: "start", Name: "kube-apiserver"})
	c.order(tb, order{Do: "await-server"})
}

// Forward lets real nodes reach a TCP address of the machine, HOST:PORT, as if
// they were it, and their pods at Outside with the same port.
func (c *Cluster) Forward(tb testing.TB, address string) {
	tb.Helper()
	c.order(tb, order{Do: "forward", Address: address})
}

// Outside is the machine as pods on real nodes see it: the API server and what
// was forwarded answers there.
const Outside = "10.89.0.1"

func (c *Cluster) order(tb testing.TB, o order) {
	tb.Helper()
	if err := c.up.order(o); err != nil {
		tb.Fatalf("%s %s%s: %v", o.Do, o.Name, o.Address, err)
	}
}

func (c *Cluster) program(name string) string { return filepath.Join(c.bin, name) }

// host is the cluster's own address of the loopback network.
func (c *Cluster) host() string {
	u, err := url.Parse(c.Server)
	if err != nil {
		return "127.0.0.1"
	}
	return u.Hostname()
}

// lease is how long a node is believed after its last sign of life.
func (c *Cluster) lease() time.Duration {
	if c.options.QuickLoss {
		return 8 * time.Second
	}
	return 40 * time.Second
}
