package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"
)

// insideNode is the face of the process that is the node: runNode calls it.
const insideNode = "inside-node"

// nodeOptions describe a node, to runNode and to runInside alike.
type nodeOptions struct {
	dir, cluster, network string
	name, ip, cgroup      string
	pause                 string
	resources             []string
	claims                []string
	lease                 int // seconds
}

func (o *nodeOptions) flags() *pflag.FlagSet {
	flags := pflag.NewFlagSet("node", pflag.ContinueOnError)
	flags.StringVar(&o.dir, "dir", "", "folder of the node's files")
	flags.StringVar(&o.cluster, "cluster", "", "folder of the control plane")
	flags.StringVar(&o.network, "network", "", "network of the nodes, as kube up has told it")
	flags.StringVar(&o.name, "name", "", "of the node")
	flags.StringVar(&o.ip, "ip", "", "address of the node, in 10.89.0.0/16")
	flags.StringVar(&o.cgroup, "cgroup", "", "control group of its pods, directly below the root: /NAME")
	flags.StringVar(&o.pause, "pause", "", "image of pod sandboxes")
	flags.StringArrayVar(&o.resources, "resource", nil, "extended resource and how many there are: nvidia.com/gpu=4")
	flags.StringArrayVar(&o.claims, "claims", nil, "driver whose GPUs are had by resource claims, and how many there are: gpu.nvidia.com=4")
	flags.IntVar(&o.lease, "lease", 40, "after how many seconds without a sign of life the node counts as gone")
	return flags
}

// runNode is a machine: it starts itself once more in namespaces of its own, as
// the first process there, and cleans up when that has ended. Its processes,
// mounts, sockets and files under /run and /var exist in there only, and end
// with it whatever happens; control groups cannot be hidden so, and are removed.
func runNode(args []string) error {
	var o nodeOptions
	if err := o.flags().Parse(args); err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := o.enterNetwork(); err != nil {
		return err
	}
	if err := makeGroups(o.cgroup); err != nil {
		return err
	}
	// The one inside ends with the orders on standard input, which it shares, or
	// by the signal of a terminal, which goes to both.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM)
	inside := exec.Command(self, append([]string{insideNode}, args...)...)
	inside.Stdin, inside.Stdout, inside.Stderr = os.Stdin, os.Stdout, os.Stderr
	inside.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC,
		Pdeathsig:  syscall.SIGKILL,
	}
	return errors.Join(inside.Run(), removeGroups(o.cgroup))
}

func (o *nodeOptions) check() error {
	for _, f := range []struct{ flag, value string }{{"dir", o.dir}, {"cluster", o.cluster}, {"network", o.network}, {"name", o.name}, {"pause", o.pause}} {
		if f.value == "" {
			return fmt.Errorf("--%s is missing", f.flag)
		}
	}
	if net.ParseIP(o.ip).To4() == nil {
		return fmt.Errorf("--ip is %q: give an IPv4 address", o.ip)
	}
	if strings.LastIndex(o.cgroup, "/") != 0 || len(o.cgroup) < 2 {
		return fmt.Errorf("--cgroup is %q: give /NAME", o.cgroup)
	}
	return nil
}

// enterNetwork moves this thread, the main one, and so all children, to the
// network of the nodes.
func (o *nodeOptions) enterNetwork() error {
	ns, err := os.Open(o.network)
	if err != nil {
		return fmt.Errorf("enter the nodes' network: %w", err)
	}
	defer ns.Close()
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter the nodes' network %s: %w", o.network, err)
	}
	return ip("address", "replace", o.ip+"/32", "dev", "lo")
}

// runInside is the node's first process.
func runInside(args []string) error {
	var o nodeOptions
	if err := o.flags().Parse(args); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := o.furnish(); err != nil {
		return err
	}
	k := newKeeper(o.dir)
	// No goodbye at the end: with the first process all of them go.
	if err := k.start("containerd", "/usr/bin/containerd", "--config", filepath.Join(o.dir, "containerd.toml")); err != nil {
		return err
	}
	if err := awaitSocket(containerdSocket, k.failed); err != nil {
		return err
	}
	if err := k.start("kubelet", self, "kubelet", "--config="+filepath.Join(o.dir, "kubelet.yaml"), "--kubeconfig="+filepath.Join(o.dir, "kubelet.kubeconfig"),
		"--hostname-override="+o.name, "--node-ip="+o.ip, "--root-dir=/var/lib/kubelet"); err != nil {
		return err
	}
	plugin := []string{self, "device-plugin", "--node", o.name, "--unhealthy", filepath.Join(o.dir, "unhealthy")}
	for _, r := range o.resources {
		plugin = append(plugin, "--resource", r)
	}
	if err := k.start("device-plugin", plugin...); err != nil {
		return err
	}
	for _, c := range o.claims {
		driver, count, _ := strings.Cut(c, "=")
		if err := k.start(driver, self, "claim-driver", "--node", o.name, "--driver", driver, "--count", count,
			"--kubeconfig", filepath.Join(o.cluster, "admin.kubeconfig"), "--prepared", filepath.Join(o.dir, "prepared")); err != nil {
			return err
		}
	}
	fmt.Println("{}")
	return k.follow(os.Stdin, os.Stdout)
}

// awaitSocket waits until somebody listens.
func awaitSocket(path string, failed <-chan error) error {
	for deadline := time.Now().Add(startWithin); ; {
		c, err := net.Dial("unix", path)
		if err == nil {
			return c.Close()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("nobody listens on %s after %s: %w", path, startWithin, err)
		}
		select {
		case err := <-failed:
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}
