package kubetest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// Missing says what this machine lacks, and how it could be had.
type Missing struct{ What string }

func (m *Missing) Error() string { return m.What }

// Fail ends the test with err: skipped where this machine lacks something, and
// failed where anything else is wrong, or where CI is set: nothing may be
// lacking there.
func Fail(tb testing.TB, err error) {
	tb.Helper()
	var missing *Missing
	if errors.As(err, &missing) && os.Getenv("CI") == "" {
		tb.Skip(err)
	}
	tb.Fatal(err)
}

// programs is the folder of the programs.
var programs = sync.OnceValues(func() (string, error) {
	if runtime.GOOS != "linux" {
		return "", &Missing{"a cluster for tests takes Linux"}
	}
	root, err := root()
	if err != nil {
		return "", err
	}
	out, err := exec.Command(filepath.Join(root, "scripts", "kubernetes"), "--where").Output()
	dir := strings.TrimSpace(string(out))
	if err != nil {
		return "", &Missing{fmt.Sprintf("Kubernetes for tests is not built (%s): run make kubernetes", dir)}
	}
	return dir, nil
})

// root is the folder of this module: tests run in that of their package.
func root() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, e := os.Stat(filepath.Join(dir, "scripts", "kubernetes")); e == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("there is no scripts/kubernetes above this folder: tests run in the folder of their package")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}

// canNode says what a real node lacks here.
func canNode() error {
	if os.Geteuid() != 0 {
		return &Missing{"a real node takes root: its namespaces, mounts and control groups do"}
	}
	var lacks []string
	for _, n := range []struct {
		pkg   string
		paths []string
	}{
		{"containerd", []string{"/usr/bin/containerd"}},
		{"runc", []string{"/usr/sbin/runc", "/usr/bin/runc"}},
		{"containernetworking-plugins", []string{"/usr/lib/cni/bridge", "/opt/cni/bin/bridge"}},
		{"iproute2", []string{"/sbin/ip", "/usr/sbin/ip", "/bin/ip"}},
		{"busybox-static", []string{"/bin/busybox", "/usr/bin/busybox"}},
	} {
		if !anyOf(n.paths) {
			lacks = append(lacks, n.pkg)
		}
	}
	if len(lacks) > 0 {
		return &Missing{"a real node takes what is not installed: apt-get install --no-install-recommends " + strings.Join(lacks, " ")}
	}
	return nil
}

func anyOf(paths []string) bool {
	for _, p := range paths {
		if _, err := os.Stat(p); err == nil {
			return true
		}
	}
	return false
}
