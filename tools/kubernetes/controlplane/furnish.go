package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const containerdSocket = "/run/containerd/containerd.sock"

// sysctls are what kubelet wants of the machine and would set for all of it.
// In the node it finds them so, in files of the node's own.
var sysctls = map[string]string{
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}

// furnish makes a machine of the namespaces that this process is alone in.
func (o *nodeOptions) furnish() error {
	for _, step := range []func() error{o.mounts, o.identity, o.files} {
		if err := step(); err != nil {
			return fmt.Errorf("furnish node %s: %w", o.name, err)
		}
	}
	return nil
}

func (o *nodeOptions) mounts() error {
	// Nothing that is mounted from here on is seen outside.
	if err := mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE); err != nil {
		return err
	}
	if err := mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NOEXEC|unix.MS_NODEV); err != nil {
		return err
	}
	fake := filepath.Join(o.dir, "sysctl")
	for name, value := range sysctls {
		path, at := filepath.Join(fake, filepath.Base(name)), filepath.Join("/proc/sys", name)
		if err := os.MkdirAll(fake, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(value+"\n"), 0o644); err != nil {
			return err
		}
		if _, err := os.Stat(at); errors.Is(err, os.ErrNotExist) {
			continue // a kernel without it
		}
		if err := mount(path, at, "", unix.MS_BIND); err != nil {
			return err
		}
	}
	// The addresses of pods are given out per network, so by all nodes from one folder.
	leases := filepath.Join(o.cluster, "addresses")
	for at, from := range map[string]string{"/var/lib": filepath.Join(o.dir, "lib"), "/var/log": filepath.Join(o.dir, "log")} {
		if err := os.MkdirAll(from, 0o755); err != nil {
			return err
		}
		if err := mount(from, at, "", unix.MS_BIND); err != nil {
			return err
		}
	}
	if err := mount("tmpfs", "/run", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV); err != nil {
		return err
	}
	const cni = "/var/lib/cni/networks"
	for _, dir := range []string{leases, cni, "/var/lib/kubelet/device-plugins", "/run/lock"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := mount(leases, cni, "", unix.MS_BIND); err != nil {
		return err
	}
	// Kubernetes wants mounts to travel between kubelet, engine and containers.
	return mount("", "/", "", unix.MS_REC|unix.MS_SHARED)
}

func mount(from, at, kind string, flags uintptr) error {
	if err := unix.Mount(from, at, kind, flags, ""); err != nil {
		return fmt.Errorf("mount on %s: %w", at, err)
	}
	return nil
}

// identity names the machine and gets it the certificates of a node.
func (o *nodeOptions) identity() error {
	if err := unix.Sethostname([]byte(o.name)); err != nil {
		return fmt.Errorf("set host name %q: %w", o.name, err)
	}
	ca, err := openAuthority(o.cluster)
	if err != nil {
		return err
	}
	if err := ca.issue(o.dir, "kubelet", subject{name: "system:node:" + o.name, groups: []string{"system:nodes"}, dns: []string{o.name}, ips: []net.IP{net.ParseIP(o.ip)}}); err != nil {
		return err
	}
	server, err := os.ReadFile(filepath.Join(o.cluster, "server"))
	if err != nil {
		return err
	}
	_, err = ca.kubeconfig(o.dir, "kubelet", string(server))
	return err
}

// files writes what containerd, its network plugins and kubelet read.
func (o *nodeOptions) files() error {
	plugins, err := networkPlugins()
	if err != nil {
		return err
	}
	network := filepath.Join(o.dir, "network")
	if err := os.MkdirAll(network, 0o755); err != nil {
		return err
	}
	for path, text := range map[string]string{
		filepath.Join(network, "10-pods.conflist"): networkConfig,
		filepath.Join(o.dir, "containerd.toml"):    fmt.Sprintf(containerdConfig, containerdSocket, o.pause, plugins, network),
		filepath.Join(o.dir, "kubelet.yaml"): fmt.Sprintf(kubeletConfig, o.ip, filepath.Join(o.cluster, "ca.crt"),
			filepath.Join(o.dir, "kubelet.crt"), filepath.Join(o.dir, "kubelet.key"), containerdSocket, o.cgroup, o.lease, max(1, o.lease/4),
			rackAddress, dnsDomain),
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// networkPlugins finds the folder of the container network plugins.
func networkPlugins() (string, error) {
	for _, dir := range []string{"/usr/lib/cni", "/opt/cni/bin"} {
		if _, err := os.Stat(filepath.Join(dir, "bridge")); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("there are no container network plugins in /usr/lib/cni or /opt/cni/bin: apt-get install containernetworking-plugins")
}
