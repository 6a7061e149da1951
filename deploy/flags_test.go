package deploy

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/testing/kubetest"
)

// noValue are flags of muster server for which the chart has no value, and why.
var noValue = map[string]string{
	"backend":         "a server in a cluster drives that, and no machine",
	"kubeconfig":      "the cluster is the one that it runs in",
	"kube-context":    "the same",
	"fake-cpus":       "of a machine",
	"fake-gpus":       "of a machine",
	"tasks-as":        "of a machine that is shared",
	"root-tasks-as":   "the same",
	"setuid-programs": "the same",
	"socket":          "the same",
	"help":            "it is no setting",
	"acme-domain":     "in a cluster cert-manager writes tls.existingSecret, and whatever leads port 443 of a name to the service ends the encryption",
	"acme-contact":    "the same",
	"acme-directory":  "the same",
	"acme-ca":         "the same",

	"data-dir": "the volume is there", "no-autostart": "of every command", "no-color": "of every command", "output": "of every command", "server": "of every command",
}

// everything has every flag of the server in use.
var everything = map[string]any{
	"leaderElection.enabled": true, "server.runtimeClass": "nvidia", "server.reservationImage": "busybox", "server.awaitMove": true,
	"server.takeOver": []any{"kube"}, "server.registry": "registry.example.com/muster", "server.imageCache": "10Gi", "server.uiHosts": []any{"muster.example.com"},
	"server.tokenAudience": "muster", "server.podSecurity": "baseline", "server.isolateNetwork": true, "server.mirrorQuotas": true, "server.shareLinks": true, "server.allowAddresses": []any{"hooks.example.com:443", "10.0.0.0/8"}, "server.refuseAddresses": []any{"private", "fd00::/8"}, "server.nodeGrace": "2m", "admission.enabled": true, "admission.userPrefix": "oidc:",
	"server.moveRest": "5m", "server.inOrder": true, "server.past.weight": 0.5, "server.past.window": "14d", "server.past.halfLife": "2d",
	"tls.existingSecret": "muster-tls", "sso.existingSecret": "muster-sso", "vault.existingSecret": "muster-vault", "secretsKey.existingSecret": "muster-keys", "checkKeys.existingSecret": "muster-check-keys",
	"audit.syslog": []any{"tls://siem.example.com:6514"}, "audit.webhooks": []any{"https://siem.example.com/muster?a=b: c"}, "audit.existingSecret": "muster-audit",
	"audit.signingKeys": "keys", "audit.ca": "ca.pem", "traces.endpoint": "http://otel:4318", "traces.headers": []any{"Authorization=Bearer x: y"},
	"metrics.sampleEvery": "15s", "metrics.seriesMemory": "128Mi",
	"smtp.server": "smtp.example.com:587", "smtp.from": "a@example.com", "smtp.user": "a", "smtp.existingSecret": "mail", "smtp.plain": true,
	"clusters": []any{map[string]any{"name": "east", "secret": "east", "key": "kubeconfig"}},
}

// flagsOfServer are those that muster server --help lists.
func flagsOfServer(t *testing.T) (all []string) {
	t.Helper()
	binary, err := kubetest.Program()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(binary, "server", "--help").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, m := range regexp.MustCompile(`(?m)^ +(?:-\w, )?--([a-z-]+)`).FindAllStringSubmatch(string(out), -1) {
		all = append(all, m[1])
	}
	if len(all) < 40 {
		t.Fatalf("only %v were found in\n%s", all, out)
	}
	return all
}

// argsOf are the arguments of the chart's server.
func argsOf(t *testing.T, set map[string]any) []string {
	t.Helper()
	objects, err := render(t, "musters", set)
	if err != nil {
		t.Fatal(err)
	}
	return texts(at(t, one(t, objects, "Deployment"), "spec.template.spec.containers.0.args"))
}

// TestEveryFlagHasAValueOrAReason: a setting that a server knows can be made where Helm
// installs it, without extraArgs.
func TestEveryFlagHasAValueOrAReason(t *testing.T) {
	args, known := argsOf(t, everything), flagsOfServer(t)
	set := map[string]bool{}
	for _, a := range args[1:] {
		name, _, _ := strings.Cut(strings.TrimPrefix(a, "--"), "=")
		set[name] = true
		if !slices.Contains(known, name) {
			t.Errorf("the chart says %s, which muster server does not know", a)
		}
	}
	for _, name := range known {
		if !set[name] && noValue[name] == "" {
			t.Errorf("the chart has no value for --%s: add one, or a reason here", name)
		}
	}
	for name := range noValue {
		if !slices.Contains(known, name) {
			t.Errorf("--%s has a reason, and muster server does not know it", name)
		}
	}
	for _, want := range []string{
		"--allow-addresses=hooks.example.com:443", "--refuse-addresses=fd00::/8", "--audit-webhook=https://siem.example.com/muster?a=b: c", "--otlp-header=Authorization=Bearer x: y",
		"--tls-cert=/etc/muster/tls/tls.crt", "--sso=/etc/muster/sso/sso.yaml", "--secrets-vault=/etc/muster/vault/vault.yaml", "--audit-ca=/etc/muster/audit/ca.pem",
		"--past-weight=0.5", "--advertise=https://muster.musters.svc:80",
	} {
		if !slices.Contains(args, want) {
			t.Errorf("no %s among %q", want, args)
		}
	}
}

// TestEveryFileOfAFlagIsMounted: what the server is told to read, its pod has.
func TestEveryFileOfAFlagIsMounted(t *testing.T) {
	objects, err := render(t, "musters", everything)
	if err != nil {
		t.Fatal(err)
	}
	pod := at(t, one(t, objects, "Deployment"), "spec.template.spec")
	mounted, volumes := map[string]string{}, map[string]bool{}
	for _, m := range at(t, pod, "containers.0.volumeMounts").([]any) {
		mounted[at(t, m, "mountPath").(string)] = at(t, m, "name").(string)
	}
	for _, v := range at(t, pod, "volumes").([]any) {
		volumes[at(t, v, "name").(string)] = true
	}
	files := 0
	for _, a := range texts(at(t, pod, "containers.0.args")) {
		i := strings.Index(a, "=/etc/")
		if i < 0 {
			continue
		}
		files++
		path := a[i+1:]
		name := mounted[path] // where it is a directory
		if name == "" {
			name = mounted[path[:strings.LastIndex(path, "/")]]
		}
		if name == "" || !volumes[name] {
			t.Errorf("%s: nothing is mounted there", a)
		}
	}
	if files < 8 {
		t.Errorf("only %d flags name files", files)
	}
	if _, err := render(t, "musters", map[string]any{"audit.ca": "ca.pem"}); err == nil || !strings.Contains(err.Error(), "audit.existingSecret") {
		t.Errorf("a file of no secret: %v", err)
	}
}
