package deploy

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/musterhq/muster/internal/testing/kubetest"
)

// people apply objects to a cluster whose API server says who they are.
type people struct {
	*installed
	t *testing.T
}

// try is kubectl apply as somebody, of a workload whose annotations and fields of the
// spec are added.
func (p people) try(who, name, annotations, spec string) (string, error) {
	p.t.Helper()
	text := fmt.Sprintf(`{"apiVersion":"muster.dev/v1alpha1","kind":"Workload","metadata":{"name":%q,"annotations":{%s}},"spec":{"image":"any","command":"sleep 1000"%s}}`, name, annotations, spec)
	return p.c.TryKubectl(p.t, "", text, "-n", "muster-vision", "--as", who, "apply", "-f", "-")
}

func (p people) apply(who, name, annotations, spec string) {
	p.t.Helper()
	if out, err := p.try(who, name, annotations, spec); err != nil {
		p.t.Fatalf("%s may not apply %s: %v %s", who, name, err, out)
	}
}

// of is a field of an object.
func (p people) of(name, path string) string {
	p.t.Helper()
	return p.c.Kubectl(p.t, "-n", "muster-vision", "get", "workload", name, "-o", "jsonpath={"+path+"}")
}

// runsAs waits until the workload of an object runs, and looks whose it is.
func (p people) runsAs(name, user string) {
	p.t.Helper()
	kubetest.Eventually(p.t, name+" running", func() error {
		if phase := p.of(name, ".status.phase"); phase != "Running" {
			return fmt.Errorf("it is %s: %s", phase, p.of(name, ".status"))
		}
		return nil
	})
	var w struct{ User string }
	if err := json.Unmarshal([]byte(p.muster(p.t, "describe", name, "-p", "vision", "-o", "json")), &w); err != nil || w.User != user {
		p.t.Errorf("%s is %s's (%v), and %s applied it", name, w.User, err, user)
	}
}

// refused waits until an object says that it was refused, and why.
func (p people) refused(name, why string) {
	p.t.Helper()
	kubetest.Eventually(p.t, name+" refused: "+why, func() error {
		if text := p.of(name, `.status.conditions[?(@.type=="Invalid")]`); !strings.Contains(text, `"status":"True"`) || !strings.Contains(text, why) {
			return fmt.Errorf("it says %s", text)
		}
		return nil
	})
}

// TestWhatPeopleApplyIsTheirs: who makes an object with kubectl, the API server says; as
// them it is submitted, changed and deleted, by Muster's rules, and nobody writes another
// name into one.
func TestWhatPeopleApplyIsTheirs(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", strings.Split(probesAt(0), ":")[0]+":0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	l.Close()
	c := kubetest.Start(t, kubetest.Options{NoScheduler: true})
	i := install(t, c, map[string]any{"admission.enabled": true, "admission.url": "https://" + at})
	c.Kwok(t, 1, kubetest.NodeShape{GPUs: 4})
	for _, name := range []string{"muster-vision", "muster-gone"} {
		c.Kubectl(t, "create", "namespace", name)
	}
	for _, who := range []string{"ann", "bob", "carl", "eve", "system:serviceaccount:muster-vision:ci"} {
		c.Kubectl(t, "create", "clusterrolebinding", strings.ReplaceAll(who, ":", "-"), "--clusterrole=muster-edit", "--user="+who)
		c.Kubectl(t, "create", "clusterrolebinding", "see-"+strings.ReplaceAll(who, ":", "-"), "--clusterrole=muster-view", "--user="+who)
	}
	flags := []string{"--kube-admission", at}
	server := i.serve(t, 10, flags...)
	server.answers(t, "/readyz", 200)
	for _, command := range []string{
		"project create vision", "project create gone", "user create ann", "user create bob", "user create carl",
		"access-rule create --user ann --role l1-researcher --project vision", "access-rule create --user bob --role l1-researcher --project vision",
		"access-rule create --user ann --role l1-researcher --project gone",
		"access-rule create --group system:serviceaccount:muster-vision:ci --role l1-researcher --project vision", "access enable",
	} {
		i.muster(t, strings.Fields(command)...)
	}
	p := people{i, t}
	kubetest.Eventually(t, "the API server knows the server", func() error {
		out, err := p.try("ann", "hers", "", "")
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	p.runsAs("hers", "ann")
	if log := i.muster(t, "audit", "list", "--actor", "ann", "-o", "json"); !strings.Contains(log, `"user:ann"`) || !strings.Contains(log, "hers") {
		t.Errorf("the audit log: %s", log)
	}

	// Another's name, and another's workload, are put right.
	p.apply("ann", "lies", `"muster.dev/submitted-by":"bob","muster.dev/workload-id":"x"`, "")
	p.runsAs("lies", "ann")
	if by, of := p.of("lies", `.metadata.annotations.muster\.dev/submitted-by`), p.of("lies", `.metadata.annotations.muster\.dev/workload-id`); by != "ann" || of != "" {
		t.Errorf("it says that it is of %q, and of workload %q", by, of)
	}
	const ci = "system:serviceaccount:muster-vision:ci"
	p.apply(ci, "robot", "", "")
	p.runsAs("robot", ci)

	// Muster's rules decide, whatever the cluster's allow.
	p.apply("carl", "norole", "", "")
	p.refused("norole", "carl may not create")
	p.apply("eve", "nobody", "", "")
	p.refused("nobody", "muster user create eve")
	p.apply("bob", "hers", "", `,"priority":"low"`)
	p.refused("hers", "and this is ann")
	p.apply("ann", "hers", "", `,"priority":"high"`)
	kubetest.Eventually(t, "her change taken", func() error {
		if got := i.muster(t, "describe", "hers", "-p", "vision", "-o", "json"); !strings.Contains(got, `"priority": "high"`) {
			return fmt.Errorf("it is %s", got)
		}
		return nil
	})
	drop := func(who, name string) (string, error) {
		return c.TryKubectl(t, "", "", "-n", "muster-vision", "--as", who, "delete", "workload", name)
	}
	if out, err := drop("bob", "hers"); err == nil || !strings.Contains(out, "bob may not delete") {
		t.Errorf("bob deletes hers: %v %s", err, out)
	}
	if out, err := drop("ann", "hers"); err != nil {
		t.Errorf("ann deletes hers: %v %s", err, out)
	}
	kubetest.Eventually(t, "hers deleted", func() error {
		if _, err := i.try("describe", "hers", "-p", "vision"); err == nil {
			return fmt.Errorf("it is there")
		}
		return nil
	})

	// Without the server nobody gets a name that is not theirs, and a namespace can go.
	text := `{"apiVersion":"muster.dev/v1alpha1","kind":"Workload","metadata":{"name":"x"},"spec":{"image":"any","command":"sleep 1000"}}`
	if out, err := c.TryKubectl(t, "", text, "-n", "muster-gone", "--as", "ann", "apply", "-f", "-"); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	kubetest.Eventually(t, "a workload in the other namespace", func() error {
		if phase := c.Kubectl(t, "-n", "muster-gone", "get", "workload", "x", "-o", "jsonpath={.status.phase}"); phase != "Running" {
			return fmt.Errorf("it is %s", phase)
		}
		return nil
	})
	server.end(syscall.SIGTERM)
	for annotations, why := range map[string]string{"": "is missing", `"muster.dev/submitted-by":"ann"`: "must be bob"} {
		if out, err := p.try("bob", "later", annotations, ""); err == nil || !strings.Contains(out, why) {
			t.Errorf("bob applies with %q while the server is away: %v %s", annotations, err, out)
		}
	}
	p.apply("bob", "later", `"muster.dev/submitted-by":"bob"`, "")
	if out, err := p.try("ann", "robot", `"muster.dev/submitted-by":"`+ci+`"`, `,"priority":"low"`); err == nil || !strings.Contains(out, "must be ann") {
		t.Errorf("ann changes another's in its name: %v %s", err, out)
	}
	if out, err := drop("ann", "lies"); err == nil || !strings.Contains(out, "failed calling webhook") {
		t.Errorf("ann deletes hers while nobody says whether she may: %v %s", err, out)
	}
	c.Kubectl(t, "delete", "namespace", "muster-gone", "--timeout=180s")
	i.serve(t, 11, flags...).answers(t, "/readyz", 200)
	p.runsAs("later", "bob")
}
