package deploy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/testing/kubetest"
)

// TestOnlyTheServerEntersPodsOfProjects asks a real API server, as who may do everything
// and as the server: a pod that is not there tells who was let through.
func TestOnlyTheServerEntersPodsOfProjects(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t, kubetest.Options{NoScheduler: true})
	i := install(t, c, map[string]any{"rbac.onlyServerEnters": true, "rbac.mayEnter": []any{"eve"}})
	for _, name := range []string{"muster-vision", "elsewhere"} {
		c.Kubectl(t, "create", "namespace", name)
	}
	c.Kubectl(t, "label", "namespace", "muster-vision", "muster.dev/project=vision")
	c.Kubectl(t, "create", "clusterrolebinding", "eve", "--clusterrole=cluster-admin", "--user=eve")
	// asked is what the API server says of a connection to a pod or a service.
	asked := func(kubeconfig, as, namespace, what string) string {
		t.Helper()
		args := []string{"create", "--raw", "/api/v1/namespaces/" + namespace + "/" + what, "-f", "-"}
		if as != "" {
			args = append(args, "--as", as)
		}
		out, _ := c.TryKubectl(t, kubeconfig, "{}", args...) // each fails: nothing is there
		return out
	}
	const refusal = "pods of projects are entered through Muster"
	ways := []string{"pods/x/exec?command=sh&stdout=true", "pods/x/attach?stdout=true", "pods/x/portforward?ports=80", "pods/x/proxy/", "services/x/proxy/"}
	kubetest.Eventually(t, "the API server follows the policy", func() error {
		if out := asked("", "", "muster-vision", ways[0]); !strings.Contains(out, refusal) {
			return fmt.Errorf("it says %s", out)
		}
		return nil
	})
	for _, way := range ways {
		if out := asked("", "", "muster-vision", way); !strings.Contains(out, refusal) {
			t.Errorf("the administrator is told of %s: %s", way, out)
		}
		for who, out := range map[string]string{
			"the administrator, elsewhere,": asked("", "", "elsewhere", way),
			"who may enter":                 asked("", "eve", "muster-vision", way),
		} {
			if strings.Contains(out, refusal) || !strings.Contains(out, "not found") {
				t.Errorf("%s is told of %s: %s", who, way, out)
			}
		}
	}
	for _, way := range ways[:3] { // what the server does
		if out := asked(i.rights, "", "muster-vision", way); strings.Contains(out, refusal) || !strings.Contains(out, "not found") {
			t.Errorf("the server is told of %s: %s", way, out)
		}
	}
	// kubectl debug puts a container of one's own into a pod.
	c.Kubectl(t, "-n", "muster-vision", "run", "x", "--image=busybox")
	if out, err := c.TryKubectl(t, "", "", "-n", "muster-vision", "debug", "x", "--image=busybox", "--", "sh"); err == nil || !strings.Contains(out, refusal) {
		t.Errorf("kubectl debug: %v %s", err, out)
	}
	if objects, err := render(t, "musters", nil); err != nil || len(of(objects, "ValidatingAdmissionPolicy")) != 0 {
		t.Errorf("without the switch there is a policy: %v", err)
	}
}
