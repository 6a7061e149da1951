package deploy

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/testing/kubetest"
)

func TestASecondServerTakesOver(t *testing.T) {
	c := kubetest.Start(t, kubetest.Options{NoScheduler: true})
	i := install(t, c, map[string]any{"leaderElection.enabled": true, "replicas": 2})
	c.Kwok(t, 1, kubetest.NodeShape{GPUs: 4})
	first := i.serve(t, 1, "--leader-elect")
	first.answers(t, "/readyz", 200)
	i.muster(t, "run", "--name", "stays", "--image", "any", "--gpus", "1", "--", "sleep", "1000")
	i.muster(t, "wait", "stays", "--for", "Running", "--timeout", "3m")

	second := i.serve(t, 2, "--leader-elect")
	second.answers(t, "/livez", 200)
	second.answers(t, "/readyz", 503)
	kubetest.Eventually(t, "the second to know whom it waits for", func() error { return contains(i.said(t), "standing by") })
	if code, _ := second.probe("/metrics"); code != 503 {
		t.Errorf("a server that stands by has metrics: %d", code)
	}

	first.end(9) // as loss of power would
	second.answers(t, "/readyz", 200)
	i.muster(t, "wait", "stays", "--for", "Running", "--timeout", "3m")
	i.muster(t, "run", "--name", "next", "--image", "any", "--gpus", "1", "--", "sleep", "1000")
	i.muster(t, "wait", "next", "--for", "Running", "--timeout", "3m")

	third := i.serve(t, 3, "--leader-elect")
	third.answers(t, "/livez", 200)
	second.end(15) // in order: it gives the lease back
	third.answers(t, "/readyz", 200)

	// Who is told that another leads ends, whatever it was about to do.
	c.Kubectl(t, "-n", i.namespace, "patch", "lease", "muster", "--type=merge", "-p", `{"spec":{"holderIdentity":"someone-else","leaseDurationSeconds":3600,"renewTime":"2100-01-01T00:00:00.000000Z"}}`)
	<-third.ended
	if code := third.cmd.ProcessState.ExitCode(); code == 0 {
		t.Error("losing the lead looks like a proper end")
	}
	if err := contains(i.said(t), "the lead was lost"); err != nil {
		t.Error(err)
	}
}

type missing string

func (m missing) Error() string { return "nobody said " + string(m) }

func contains(text, part string) error {
	if !strings.Contains(text, part) {
		return missing(part)
	}
	return nil
}
