package kubetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// HelmProgram is the path of Helm, as scripts/helm builds it.
var HelmProgram = sync.OnceValues(func() (string, error) {
	root, err := root()
	if err != nil {
		return "", err
	}
	out, err := exec.Command(filepath.Join(root, "scripts", "helm"), "--where").Output()
	path := strings.TrimSpace(string(out))
	if err != nil {
		return "", &Missing{fmt.Sprintf("Helm for tests is not built (%s): run scripts/helm", path)}
	}
	return path, nil
})

// Helm runs Helm with the administrator's rights and returns what it prints.
func (c *Cluster) Helm(tb testing.TB, args ...string) string {
	tb.Helper()
	out, err := c.TryHelm(tb, args...)
	if err != nil {
		tb.Fatalf("helm %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// TryHelm is Helm for what may fail.
func (c *Cluster) TryHelm(tb testing.TB, args ...string) (string, error) {
	tb.Helper()
	path, err := HelmProgram()
	if err != nil {
		Fail(tb, err)
	}
	home := tb.TempDir()
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig, "HOME="+home, "XDG_CACHE_HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+home)
	var failed strings.Builder
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, failed.String())
	}
	return string(out), err
}

// Tools puts kubectl and helm into a folder, as scripts that lead to this cluster.
func (c *Cluster) Tools(tb testing.TB, dir string) {
	tb.Helper()
	helm, err := HelmProgram()
	if err != nil {
		Fail(tb, err)
	}
	for name, line := range map[string]string{
		"kubectl": fmt.Sprintf("exec '%s' kubectl --kubeconfig '%s' \"$@\"", c.program("kube"), c.Kubeconfig),
		"helm":    fmt.Sprintf("KUBECONFIG='%s' exec '%s' \"$@\"", c.Kubeconfig, helm),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+line+"\n"), 0o755); err != nil {
			tb.Fatal(err)
		}
	}
}
