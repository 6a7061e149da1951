package deploy

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/testing/kubetest"
)

// rare are rights that the server uses where nothing that a test of this
// package does leads it, each with why it has them.
var rare = map[string]string{
	"get pods":                "a pod that is there already, or was bound meanwhile",
	"get namespaces":          "an object of a workload was deleted, perhaps with its namespace",
	"create namespaces":       "a project without one",
	"get pods/log":            "a pod of a real kubelet",
	"create networkpolicies":  "the namespace of a project, with server.isolateNetwork",
	"get resourcequotas":      "the namespace of a project, with server.mirrorQuotas",
	"create resourcequotas":   "the same",
	"update resourcequotas":   "the same, where the limit of the project has changed",
	"create limitranges":      "the same",
	"create tokenreviews":     "a service account comes in with its token",
	"get pods/exec":           "muster exec",
	"create pods/exec":        "muster exec",
	"get pods/attach":         "muster attach",
	"create pods/attach":      "muster attach",
	"get pods/portforward":    "muster port-forward",
	"create pods/portforward": "muster port-forward",
	"patch events":            "an event that repeats",
	"create secrets":          "a workload with secrets",
	"create pods/eviction":    "a pod of others whose workload is stopped or displaced",
	"delete secrets":          "a workload with secrets",
	"update workloads":        "a service that was changed by muster update",
	"get workloads":           "an object that was applied",
	"create services":         "asked of a patch that creates, and not audited as such",
	"list nodes":              "an API server that does not stream lists: before 1.34",
	"list namespaces":         "the same",
	"list pods":               "the same",
	"list workloads":          "the same",

	"patch pods":                    "a part of a GPU, and a pod whose labels were removed",
	"get services":                  "a service of replicas whose name is taken",
	"get secrets":                   "a secret whose name is taken",
	"list events":                   "a pod that does not come up",
	"get storageclasses":            "a volume that waits for its first pod",
	"create resourceclaims":         "a workload on a node whose GPUs are had by claims",
	"delete resourceclaims":         "the same, where one may name an owner only of what one may delete (OwnerReferencesPermissionEnforcement)",
	"update resourceclaims/binding": "what a claim has, since Kubernetes 1.36",
	"get persistentvolumeclaims":    "a pod with a volume",
	"get persistentvolumes":         "the same, where the volume is there",
	"patch persistentvolumeclaims":  "the same, where the volume waits for its first pod",
	"get statefulsets":              "a pod of others that one has made",
	"get daemonsets":                "the same",
	"get jobs":                      "the same",
	"get pytorchjobs":               "the same", "get mpijobs": "the same", "get tfjobs": "the same", "get xgboostjobs": "the same",
	"get jaxjobs": "the same", "get paddlejobs": "the same", "get trainjobs": "the same", "get jobsets": "the same",
	"get leaderworkersets": "the same", "get rayclusters": "the same", "get rayjobs": "the same", "get rayservices": "the same",
	"get podgroups": "the same",
}

// claimsOfOthers is a pod of others that asks for a GPU by a claim, and a node
// that has one.
const claimsOfOthers = `apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: driver-0}
spec: {driver: gpu.nvidia.com, nodeName: driver-0, pool: {name: driver-0, generation: 1, resourceSliceCount: 1}, devices: [{name: gpu-0, attributes: {type: {string: gpu}}}]}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.nvidia.com}
spec: {selectors: [{cel: {expression: "device.driver == 'gpu.nvidia.com'"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: one, namespace: muster-default}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: claims, namespace: muster-default}
spec: {schedulerName: muster, resourceClaims: [{name: gpu, resourceClaimName: one}], containers: [{name: c, image: any, resources: {claims: [{name: gpu}]}}]}
`

func TestTheRightsAreThoseThatTheServerUses(t *testing.T) {
	dir := t.TempDir()
	audit, policy := filepath.Join(dir, "audit.log"), filepath.Join(dir, "policy.yaml")
	write(t, policy, "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata, userGroups: ['system:serviceaccounts']}]\n")
	c := kubetest.Start(t, kubetest.Options{NoScheduler: true, ServerFlags: []string{"--audit-policy-file=" + policy, "--audit-log-path=" + audit}})
	i := install(t, c, map[string]any{"leaderElection.enabled": true})
	c.Kwok(t, 2, kubetest.NodeShape{GPUs: 4})
	p := i.serve(t, 1, "--leader-elect", "--listen", "0.0.0.0:0")
	p.answers(t, "/readyz", 200)
	if code, text := p.probe("/metrics"); code != 200 || !strings.Contains(text, "muster_") {
		t.Errorf("metrics: %d %.100s", code, text)
	}

	i.muster(t, "run", "--name", "one", "--image", "any", "--gpus", "1", "--", "sleep", "1000")
	i.muster(t, "wait", "one", "--for", "Running", "--timeout", "3m")
	doc := filepath.Join(dir, "gang.yaml")
	write(t, doc, "kind: distributed\nname: gang\nimage: any\ncommand: train\nworkers: 2\nresources: {gpu: 2}\nannotations: {sim/duration: 1s}\n")
	i.muster(t, "run", "-f", doc)
	i.muster(t, "wait", "gang", "--timeout", "3m")
	c.Kubectl(t, "-n", "muster-default", "wait", "--for=create", "--timeout=180s", "workload/gang")
	c.Kubectl(t, "-n", "muster-default", "wait", "--for=condition=Completed", "--timeout=180s", "workload/gang")
	i.muster(t, "delete", "gang", "-y", "--wait")
	c.Kubectl(t, "-n", "muster-default", "wait", "--for=create", "--timeout=180s", "workload/one")
	c.Kubectl(t, "-n", "muster-default", "wait", "--for=condition=Running", "--timeout=180s", "workload/one")
	c.Kubectl(t, "-n", "muster-default", "delete", "workload", "one")
	kubetest.Eventually(t, "everything removed", func() error {
		if left := c.Kubectl(t, "-n", "muster-default", "get", "pods,workloads", "-o", "name"); left != "" {
			return fmt.Errorf("there are %s", left)
		}
		return nil
	})
	// What others make and leave to us: of three pods one has no room.
	c.Kubectl(t, "label", "namespace", "muster-default", "muster.dev/project=default", "--overwrite")
	others := filepath.Join(dir, "others.yaml")
	write(t, others, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: others, namespace: muster-default}\nspec:\n  replicas: 3\n  selector: {matchLabels: {app: others}}\n"+
		"  template: {metadata: {labels: {app: others}}, spec: {schedulerName: muster, containers: [{name: c, image: any, resources: {limits: {nvidia.com/gpu: 4}}}]}}\n")
	c.Kubectl(t, "apply", "-f", others)
	c.Kubectl(t, "-n", "muster-default", "wait", "--for=jsonpath={.status.readyReplicas}=2", "--timeout=180s", "deployment/others")
	kubetest.Eventually(t, "the third told why it waits", func() error {
		if text := c.Kubectl(t, "-n", "muster-default", "get", "events", "--field-selector", "reason=FailedScheduling", "-o", "name"); text == "" {
			return errors.New("there is no event")
		}
		return nil
	})
	c.Kubectl(t, "-n", "muster-default", "delete", "deployment", "others", "--cascade=foreground")
	c.Kwok(t, 1, kubetest.NodeShape{Prefix: "driver"})
	claims := filepath.Join(dir, "claims.yaml")
	write(t, claims, claimsOfOthers)
	c.Kubectl(t, "apply", "-f", claims)
	c.Kubectl(t, "-n", "muster-default", "wait", "--for=jsonpath={.status.phase}=Running", "--timeout=180s", "pod/claims")
	if has := c.Kubectl(t, "-n", "muster-default", "get", "resourceclaim", "one", "-o", "jsonpath={.status.allocation.devices.results[*].device}"); has != "gpu-0" {
		t.Errorf("the claim of a pod of others has %q", has)
	}

	for _, line := range strings.Split(i.said(t), "\n") {
		if strings.Contains(line, "forbidden") && !strings.Contains(line, `cannot list resource \"secrets\"`) {
			t.Errorf("a right is missing: %s", line)
		}
	}

	used, user := map[string]bool{}, "system:serviceaccount:"+i.namespace+":"+i.account
	p.end(15)
	for _, e := range audited(t, audit) {
		if e.User.Username == user && e.ResponseStatus.Code != 403 && e.ObjectRef.Resource != "" {
			name := e.ObjectRef.Resource
			if e.ObjectRef.Subresource != "" {
				name += "/" + e.ObjectRef.Subresource
			}
			used[e.Verb+" "+name] = true
		}
	}
	if len(used) < 15 {
		t.Fatalf("only %v were audited", slices.Sorted(maps.Keys(used)))
	}
	for right := range granted(t, i) {
		if !used[right] && rare[right] == "" {
			t.Errorf("the chart allows the server to %s, which it never does", right)
		}
	}
}

// What is said to be rare is allowed: else the list speaks of rights that are gone.
func TestRareRightsAreGranted(t *testing.T) {
	objects, err := render(t, "musters", map[string]any{"leaderElection.enabled": true})
	if err != nil {
		t.Fatal(err)
	}
	all := rightsOf(t, ownRoles(t, append(of(objects, "ClusterRole"), of(objects, "Role")...)))
	if len(all) < len(rare) {
		t.Fatalf("the chart allows %v only", slices.Sorted(maps.Keys(all)))
	}
	for right := range rare {
		if !all[right] {
			t.Errorf("%s is listed as rare, and the chart does not allow it", right)
		}
	}
}

// event is one line of the API server's audit log.
type event struct {
	Verb           string
	User           struct{ Username string }
	ObjectRef      struct{ Resource, Subresource string }
	ResponseStatus struct{ Code int }
}

func audited(t *testing.T, path string) (all []event) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) == nil { // the last line may be half
			all = append(all, e)
		}
	}
	return all
}

// rolesOf are the server's own roles.
func rolesOf(t *testing.T, i *installed) []map[string]any {
	t.Helper()
	text, err := os.ReadFile(i.manifest)
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Items []map[string]any }
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	return ownRoles(t, append(of(list.Items, "ClusterRole"), of(list.Items, "Role")...))
}

func ownRoles(t *testing.T, all []map[string]any) []map[string]any {
	t.Helper()
	return slices.DeleteFunc(all, func(o map[string]any) bool {
		return at(t, o, "metadata.name") != "muster" // of users
	})
}

// granted are the rights of the server's own roles, VERB RESOURCE.
func granted(t *testing.T, i *installed) map[string]bool {
	t.Helper()
	return rightsOf(t, rolesOf(t, i))
}

func rightsOf(t *testing.T, roles []map[string]any) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, o := range roles {
		for _, r := range at(t, o, "rules").([]any) {
			for _, resource := range texts(at(t, r, "resources")) {
				for _, verb := range texts(at(t, r, "verbs")) {
					all[verb+" "+resource] = true
				}
			}
		}
	}
	return all
}

// ruleOf is where the role of the whole cluster speaks of a resource first.
func ruleOf(t *testing.T, i *installed, resource string) int {
	t.Helper()
	n := slices.IndexFunc(at(t, rolesOf(t, i)[0], "rules").([]any), func(r any) bool { return slices.Contains(texts(at(t, r, "resources")), resource) })
	if n < 0 {
		t.Fatalf("the role says nothing of %s", resource)
	}
	return n
}

func TestAMissingRightIsNamed(t *testing.T) {
	c := kubetest.Start(t, kubetest.Options{NoScheduler: true})
	i := install(t, c, nil)
	c.Kwok(t, 1, kubetest.NodeShape{GPUs: 1})
	c.Kubectl(t, "patch", "clusterrole", "muster", "--type=json", "-p",
		fmt.Sprintf(`[{"op":"replace","path":"/rules/%d/verbs","value":["get","list","watch","delete"]}]`, ruleOf(t, i, "pods")))
	p := i.serve(t, 1)
	p.answers(t, "/readyz", 200)
	kubetest.Eventually(t, "the right withdrawn", func() error { return i.may(c, "create", "", "pods") })
	i.muster(t, "run", "--name", "one", "--image", "any", "--", "true")
	kubetest.Eventually(t, "the workload says what is missing", func() error {
		out := i.muster(t, "get", "one", "-o", "json")
		if !strings.Contains(out, `cannot create resource \"pods\"`) {
			return fmt.Errorf("it says %s", out)
		}
		return nil
	})
	p.end(15)

	c.Kubectl(t, "patch", "clusterrole", "muster", "--type=json", "-p",
		fmt.Sprintf(`[{"op":"replace","path":"/rules/%d/verbs","value":["list"]},{"op":"remove","path":"/rules/%d"}]`, ruleOf(t, i, "nodes"), ruleOf(t, i, "customresourcedefinitions")))
	kubetest.Eventually(t, "the right withdrawn", func() error { return i.may(c, "get", "apiextensions.k8s.io", "customresourcedefinitions") })
	i.serve(t, 1)
	kubetest.Eventually(t, "the log says what is missing", func() error {
		for _, want := range []string{`cannot watch resource`, `customresourcedefinitions.apiextensions.k8s.io`} {
			if !strings.Contains(i.said(t), want) {
				return fmt.Errorf("nothing of %s", want)
			}
		}
		return nil
	})
}

// may fails while the server's account may do something.
func (i *installed) may(c *kubetest.Cluster, verb, group, resource string) error {
	r, err := c.Client.AuthorizationV1().SubjectAccessReviews().Create(context.Background(), &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               "system:serviceaccount:" + i.namespace + ":" + i.account,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource, Name: "workloads.muster.dev"},
		},
	}, metav1.CreateOptions{})
	if err == nil && r.Status.Allowed {
		err = fmt.Errorf("it may still %s %s", verb, resource)
	}
	return err
}
