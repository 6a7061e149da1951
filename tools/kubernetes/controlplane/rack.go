package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// rackAddress is the machine outside as nodes and pods see it: what is
// forwarded into the rack answers there too.
const rackAddress = "10.89.0.1"

// rack is a network of its own in which all nodes of a cluster stand. Nothing
// leads in or out but what this process carries: to the API server and other
// addresses of the machine from inside (forward), to kubelets from outside
// (dial). So clusters never meet, ports are never taken, the machine's bridges,
// routes and sysctls stay as they are, and the network ends with its processes.
type rack struct {
	ns *os.File // the network namespace

	mu    sync.Mutex
	holes map[string]bool // addresses that are forwarded
}

func newRack() (*rack, error) {
	r := &rack{holes: map[string]bool{}}
	err := onThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("make a network for nodes: %w", err)
		}
		var err error
		if r.ns, err = os.Open("/proc/thread-self/ns/net"); err != nil {
			return err
		}
		if err := ip("link", "set", "lo", "up"); err != nil {
			return err
		}
		return ip("address", "add", rackAddress+"/32", "dev", "lo")
	})
	return r, err
}

// onThread runs do on a thread that ends afterwards, so that what do changes
// about the thread concerns nobody else.
func onThread(do func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread goes with the goroutine
		done <- do()
	}()
	return <-done
}

// inside runs do on a thread in the rack: its sockets belong there for good.
func (r *rack) inside(do func() error) error {
	return onThread(func() error {
		if err := unix.Setns(int(r.ns.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter the nodes' network: %w", err)
		}
		return do()
	})
}

// path names the network for other processes, as long as this one lives.
func (r *rack) path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), r.ns.Fd()) }

// forward makes a TCP address of the machine answer in the rack, for nodes
// under that address and for pods under the rack's with the same port. Twice is
// once.
func (r *rack) forward(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("forward %q: %w", address, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.holes[address] {
		return nil
	}
	for _, at := range []string{address, net.JoinHostPort(rackAddress, port)} {
		var l net.Listener
		err := r.inside(func() (err error) {
			l, err = net.Listen("tcp4", at)
			return err
		})
		if err != nil {
			return fmt.Errorf("forward %s: %w", address, err)
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					out, err := net.Dial("tcp4", address)
					if err != nil {
						c.Close() // as if nobody listened
						return
					}
					join(c, out)
				}()
			}
		}()
	}
	r.holes[address] = true
	return nil
}

// proxy lets the API server reach kubelets and pods: it asks for connections by
// HTTP CONNECT on a unix socket.
func (r *rack) proxy(socket string) error {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		var out net.Conn
		err := r.inside(func() (err error) {
			out, err = net.DialTimeout("tcp4", q.Host, 10*time.Second)
			return err
		})
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			out.Close()
			return
		}
		io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n")
		join(c, out)
	}))
	return nil
}

// egress is the API server's side of proxy.
func egress(dir string) (path string, err error) {
	path = filepath.Join(dir, "egress.yaml")
	return path, os.WriteFile(path, []byte(fmt.Sprintf(`apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection: {proxyProtocol: HTTPConnect, transport: {uds: {udsName: %q}}}
`, egressSocket(dir))), 0o600)
}

func egressSocket(dir string) string { return filepath.Join(dir, "egress.sock") }

// join copies both ways until both are done.
func join(a, b net.Conn) {
	var both sync.WaitGroup
	one := func(to, from net.Conn) {
		defer both.Done()
		io.Copy(to, from)
		if half, ok := to.(interface{ CloseWrite() error }); ok {
			half.CloseWrite()
		}
	}
	both.Add(2)
	go one(a, b)
	go one(b, a)
	both.Wait()
	a.Close()
	b.Close()
}

// ip runs iproute2 on this thread's network.
func ip(args ...string) error {
	out, err := exec.Command("ip", args...).CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("nodes take the program ip: apt-get install iproute2")
	}
	if err != nil {
		return fmt.Errorf("ip %s: %s", strings.Join(args, " "), strings.TrimSpace(string(out)))
	}
	return nil
}
