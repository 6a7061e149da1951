package deploy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestThePodMayDoNothingThatItNeedsNot(t *testing.T) {
	objects, err := render(t, "musters", nil)
	if err != nil {
		t.Fatal(err)
	}
	pod := at(t, one(t, objects, "Deployment"), "spec.template.spec")
	for path, want := range map[string]any{
		"securityContext.runAsNonRoot": true, "securityContext.seccompProfile.type": "RuntimeDefault",
		"containers.0.securityContext.readOnlyRootFilesystem":   true,
		"containers.0.securityContext.allowPrivilegeEscalation": false,
		"containers.0.securityContext.capabilities.drop.0":      "ALL",
		"containers.0.livenessProbe.httpGet.path":               "/livez",
		"containers.0.readinessProbe.httpGet.path":              "/readyz",
		"serviceAccountName":                                    "muster",
	} {
		if got := at(t, pod, path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	for _, kind := range []string{"Service", "ServiceAccount", "Secret", "PersistentVolumeClaim", "NetworkPolicy"} {
		one(t, objects, kind)
	}
	if len(of(objects, "PodDisruptionBudget")) != 0 {
		t.Error("a disruption budget of one server would keep its node from being drained")
	}
	for _, o := range of(objects, "ClusterRole") {
		for _, r := range at(t, o, "rules").([]any) {
			for _, field := range []string{"apiGroups", "resources", "verbs"} {
				if slices.Contains(texts(at(t, r, field)), "*") {
					t.Errorf("%v has a wildcard in %v", at(t, o, "metadata.name"), r)
				}
			}
		}
	}
}

func TestSwitchesOfTheChart(t *testing.T) {
	if _, err := render(t, "musters", map[string]any{"replicas": 2}); err == nil || !strings.Contains(err.Error(), "leaderElection.enabled") {
		t.Errorf("two servers without an election: %v", err)
	}
	objects, err := render(t, "musters", map[string]any{
		"replicas": 2, "leaderElection.enabled": true, "persistence.existingClaim": "mine",
		"token.existingSecret": "theirs", "server.runtimeClass": "nvidia", "metrics.annotations": false,
		"clusters":           []any{map[string]any{"name": "east", "secret": "east", "key": nil}},
		"networkPolicy.from": []any{map[string]any{"podSelector": map[string]any{}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	d := one(t, objects, "Deployment")
	args := texts(at(t, d, "spec.template.spec.containers.0.args"))
	for _, want := range []string{"--leader-elect", "--leader-elect-namespace=musters", "--kube-runtime-class=nvidia", "--cluster=east=/etc/muster/clusters/east/kubeconfig"} {
		if !slices.Contains(args, want) {
			t.Errorf("no %s among %v", want, args)
		}
	}
	if at(t, d, "spec.strategy.type") != "RollingUpdate" || len(of(objects, "Secret"))+len(of(objects, "PersistentVolumeClaim")) != 0 {
		t.Error("what is there already is made again")
	}
	if len(of(objects, "PodDisruptionBudget")) != 0 {
		t.Error("of two servers one is ready: a disruption budget would keep its node from being drained")
	}
	one(t, objects, "Role")
	if _, there := at(t, d, "spec.template.metadata.annotations").(map[string]any)["prometheus.io/scrape"]; there {
		t.Error("metrics are announced though that is off")
	}
	if objects, _ = render(t, "musters", map[string]any{"networkPolicy.enabled": false, "rbac.create": false, "serviceAccount.create": false}); len(objects) != 4 {
		t.Errorf("%d objects without rights, account and policy", len(objects))
	}
}

func TestTasksAreToldWhereTheServerIs(t *testing.T) {
	for want, set := range map[string]map[string]any{
		"--advertise=http://muster.musters.svc":      nil,
		"--advertise=http://muster.musters.svc:8080": {"service.port": 8080},
		"--advertise=https://muster.example":         {"server.advertise": "https://muster.example"},
		"":                                           {"server.advertise": "none"},
	} {
		objects, err := render(t, "musters", set)
		if err != nil {
			t.Fatal(err)
		}
		args := texts(at(t, one(t, objects, "Deployment"), "spec.template.spec.containers.0.args"))
		i := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "--advertise") })
		if want == "" && i >= 0 || want != "" && (i < 0 || args[i] != want) {
			t.Errorf("%v: no %q among %v", set, want, args)
		}
	}
}

func TestMailOfTheChart(t *testing.T) {
	for why, set := range map[string]map[string]any{
		"smtp.from":           {"smtp.server": "smtp.example.com:587"},
		"smtp.existingSecret": {"smtp.server": "smtp.example.com:587", "smtp.from": "a@example.com", "smtp.user": "a"},
	} {
		if _, err := render(t, "musters", set); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%v: %v", set, err)
		}
	}
	objects, err := render(t, "musters", map[string]any{
		"smtp.server": "smtp.example.com:587", "smtp.from": "a@example.com", "smtp.user": "a", "smtp.existingSecret": "mail", "smtp.key": "word", "smtp.plain": true,
	})
	if err != nil {
		t.Fatal(err)
	}
	pod := at(t, one(t, objects, "Deployment"), "spec.template.spec")
	args := texts(at(t, pod, "containers.0.args"))
	for _, want := range []string{"--smtp-server=smtp.example.com:587", "--smtp-from=a@example.com", "--smtp-user=a", "--smtp-password-file=/etc/muster/smtp/word", "--smtp-plain"} {
		if !slices.Contains(args, want) {
			t.Errorf("no %s among %v", want, args)
		}
	}
	if at(t, pod, "volumes.3.secret.secretName") != "mail" || at(t, pod, "containers.0.volumeMounts.3.mountPath") != "/etc/muster/smtp" {
		t.Errorf("the password is not where it is read: %v", at(t, pod, "volumes"))
	}
	if objects, _ = render(t, "musters", nil); strings.Contains(strings.Join(texts(at(t, one(t, objects, "Deployment"), "spec.template.spec.containers.0.args")), " "), "smtp") {
		t.Error("without a server there is mail")
	}
}

func TestTheSchemaKnowsEveryValue(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(chart, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	names(schema, "", known)
	for path := range paths(values(t, nil), "", map[string]bool{}) {
		if !known[path] && !strings.HasPrefix(path, "resources.") {
			t.Errorf("%s of values.yaml is not in values.schema.json", path)
		}
	}
	have := paths(values(t, nil), "", map[string]bool{})
	for path := range known {
		if !have[path] && path != "global" {
			t.Errorf("%s of values.schema.json is not in values.yaml", path)
		}
	}
}

// names are the paths that a schema names.
func names(schema map[string]any, prefix string, into map[string]bool) {
	properties, _ := schema["properties"].(map[string]any)
	for name, below := range properties {
		into[prefix+name] = true
		names(below.(map[string]any), prefix+name+".", into)
	}
}
