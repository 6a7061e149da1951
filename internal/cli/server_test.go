package cli

import (
	"strings"
	"testing"
)

func TestAContextIsOfABackend(t *testing.T) {
	t.Parallel()
	err := checkBackends(&ServerOptions{KubeContext: "east", Clusters: []string{"west=file"}})
	if err == nil || !strings.Contains(err.Error(), "--kube-context") {
		t.Errorf("a context of no cluster: %v", err)
	}
	if err := checkBackends(&ServerOptions{KubeContext: "east", Backends: []string{"kube"}}); err != nil {
		t.Error(err)
	}
}
