package server_test

import (
	"strings"
	"testing"
)

// TestAssetsAreTheirMakers sees to it that a researcher changes what they made, or are an
// editor of, and a project's lead everybody's.
func TestAssetsAreTheirMakers(t *testing.T) {
	r := newRealm(t)
	r.person("ann", "l1-researcher", "vision")
	r.person("bob", "l1-researcher", "vision")
	r.person("eve", "l2-researcher", "vision")
	r.person("lea", "project-lead", "vision")
	const path = "/v1/projects/vision/environments"
	const torch = `{"name":"torch","description":%s,"editors":["eve"],"document":{"image":"reg/torch:1"}}`
	doc := func(description string) string { return strings.ReplaceAll(torch, "%s", `"`+description+`"`) }
	const made = `{"name":"plain","document":{"image":"reg/plain:1"}}`
	for _, c := range []struct {
		who, method, path, body string
		want                    int
		says                    string
	}{
		{"ann", "POST", path, doc("first"), 201, ""},
		{"bob", "GET", path + "/torch", "", 200, "first"},
		{"bob", "PUT", path + "/torch", doc("bob was here"), 403, "bob may update only their own environments in project or department vision, and this is ann's"},
		{"bob", "DELETE", path + "/torch", "", 403, "permission delete:environments is missing there"},
		{"eve", "PUT", path + "/torch", doc("no role for that"), 403, "update:environments"},
		{"ann", "PUT", path + "/torch", doc("second"), 200, "second"},
		{"lea", "PUT", path + "/torch", doc("third"), 200, "third"},
		{"bob", "PUT", path + "/nosuch", strings.ReplaceAll(made, "plain", "nosuch"), 404, "nosuch"},
		{"ann", "POST", path, strings.ReplaceAll(made, `"name"`, `"editors":["bob"],"name"`), 201, ""},
		{"bob", "PUT", path + "/plain", strings.ReplaceAll(made, `:1"`, `:2"`), 200, "plain:2"}, // an editor
		{"ann", "DELETE", path + "/torch", "", 204, ""},
		{"lea", "DELETE", path + "/plain", "", 204, ""},
	} {
		status, text := r.as(c.who, c.method, c.path, c.body)
		if status != c.want || !strings.Contains(text, c.says) {
			t.Errorf("%s %s as %s: %d, want %d with %q: %s", c.method, c.path, c.who, status, c.want, c.says, text)
		}
	}
	if _, text := r.as("", "GET", "/v1/audit?result=refused", ""); text == "" {
		t.Error("the audit log says nothing")
	}
}

// TestSecretsOfScopes sees to it that a scope's secrets are seen where they are of use and
// nowhere else, and that their makers and whoever runs the place forget them.
func TestSecretsOfScopes(t *testing.T) {
	r := newRealm(t)
	r.person("ann", "l1-researcher", "vision")
	r.person("bob", "l1-researcher", "vision")
	r.person("tom", "l2-researcher", "vision")
	r.person("kim", "credentials-administrator", "research")
	r.person("mo", "l1-researcher", "audio")
	r.person("xi", "l1-researcher", "zq-hidden")
	const hf = `{"name":"NAME","type":"hf","values":{"token":"aGlkZGVu"}}`
	named := func(name string) string { return strings.ReplaceAll(hf, "NAME", name) }
	const vision, research, system = "/v1/projects/vision/secrets", "/v1/projects/research/secrets", "/v1/projects/-/secrets"
	for _, c := range []struct {
		who, method, path, body string
		want                    int
		says, not               string
	}{
		{"ann", "POST", vision, named("of-ann"), 201, `"createdBy":"ann"`, "aGlkZGVu"},
		{"ann", "POST", vision, named("of-ann"), 409, "of-ann", ""},
		{"ann", "POST", research, named("above"), 403, "create:credentials", ""},
		{"tom", "POST", vision, named("of-tom"), 403, "create:credentials", ""},
		{"kim", "POST", research, named("above"), 201, `"project":"research"`, ""},
		{"kim", "POST", system, named("top"), 403, "create:credentials", ""},
		{"tom", "GET", vision, "", 200, `"name":"above"`, "aGlkZGVu"},
		{"tom", "GET", vision, "", 200, `"name":"of-ann"`, "hidden"},
		{"mo", "GET", vision, "", 403, "read:credentials", "of-ann"},
		{"mo", "GET", "/v1/projects/audio/secrets", "", 200, `"name":"above"`, "of-ann"},
		{"mo", "GET", system, "", 200, `"items"`, "of-ann"}, // what they may read of all
		{"xi", "GET", system, "", 200, `"items"`, "above"},
		{"tom", "POST", "/v1/projects/vision/workloads", `{"project":"vision","name":"named","command":["fake"],"image":"x","secrets":[{"name":"above"}]}`, 201, "", ""},
		{"xi", "POST", "/v1/projects/zq-hidden/workloads", `{"project":"zq-hidden","name":"named","command":["fake"],"image":"x","secrets":[{"name":"above"}]}`, 422, "has no secret", ""},
		{"bob", "DELETE", vision + "/of-ann", "", 403, "bob may delete only their own credentials in project or department vision, and this is ann's", ""},
		{"bob", "DELETE", vision + "/nosuch", "", 404, "nosuch", ""},
		{"ann", "DELETE", vision + "/of-ann", "", 204, "", ""},
		{"kim", "DELETE", research + "/above", "", 204, "", ""},
		{"tom", "GET", vision, "", 200, `"items":[]`, ""},
	} {
		status, text := r.as(c.who, c.method, c.path, c.body)
		if status != c.want || !strings.Contains(text, c.says) || c.not != "" && strings.Contains(text, c.not) {
			t.Errorf("%s %s as %s: %d, want %d with %q and without %q: %s", c.method, c.path, c.who, status, c.want, c.says, c.not, text)
		}
	}
}

// TestRefusalsNameNobodyOfHiddenProjects sees to it that one cannot tell by a refusal
// whether a project is there that one has nothing to do with, or who runs it.
func TestRefusalsNameNobodyOfHiddenProjects(t *testing.T) {
	r := newRealm(t)
	r.person("ann", "l1-researcher", "vision")
	r.person("zq-lead", "project-lead", "zq-hidden")
	r.person("lea", "project-lead", "vision")
	for _, path := range []string{"workloads", "environments", "policies", "secrets", "schedules"} {
		_, there := r.as("ann", "GET", "/v1/projects/zq-hidden/"+path, "")
		_, absent := r.as("ann", "GET", "/v1/projects/zq-nosuch/"+path, "")
		if strings.ReplaceAll(there, "zq-hidden", "P") != strings.ReplaceAll(absent, "zq-nosuch", "P") {
			t.Errorf("%s: what is hidden is told from what is not there:\n%s\n%s", path, there, absent)
		}
	}
	if _, text := r.as("ann", "POST", "/v1/projects/vision/policies", `{}`); !strings.Contains(text, "administrator") {
		t.Errorf("nobody is named: %s", text)
	}
	if _, text := r.as("ann", "POST", "/v1/projects/vision/checks/x/test", `{}`); !strings.Contains(text, "permission update:policies") {
		t.Errorf("the refusal does not say what is missing: %s", text)
	}
}
