package cli

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/session"
)

// TestSecretsAreSent looks at what each way to give a secret becomes, and that
// no value is ever printed.
func TestSecretsAreSent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"f", "g"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("hidden-"+name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args, input    string
		name           string
		fields, values map[string]string
	}{
		{"env API_TOKEN=hidden", "", "api-token", map[string]string{"variable": "API_TOKEN"}, map[string]string{"value": "hidden"}},
		{"env API_TOKEN=a=hidden", "", "api-token", map[string]string{"variable": "API_TOKEN"}, map[string]string{"value": "a=hidden"}},
		{"env API_TOKEN --name tok -", "hidden\n", "tok", map[string]string{"variable": "API_TOKEN"}, map[string]string{"value": "hidden"}},
		{"env API_TOKEN=-", "hidden\n", "api-token", map[string]string{"variable": "API_TOKEN"}, map[string]string{"value": "hidden"}},
		{"env tok --variable API_TOKEN --from-file F", "", "tok", map[string]string{"variable": "API_TOKEN"}, map[string]string{"value": "hidden-f"}},
		{"mounted cfg --from-file F --path /etc/cfg", "", "cfg", map[string]string{"path": "/etc/cfg"}, map[string]string{"value": "hidden-f\n"}},
		{"docker ghcr --registry ghcr.io --username ana --password-stdin", "hidden\r\n", "ghcr", map[string]string{"server": "ghcr.io", "username": "ana"}, map[string]string{"password": "hidden"}},
		{"ssh k --from-file F", "", "k", nil, map[string]string{"key": "hidden-f\n"}},
		{"git-ssh k -", "hidden", "k", nil, map[string]string{"key": "hidden"}},
		{"sftp-ssh k --from-file F --known-hosts-file G", "", "k", nil, map[string]string{"key": "hidden-f\n", "known-hosts": "hidden-g\n"}},
		{"s3 b --config-file F --credentials-file G", "", "b", nil, map[string]string{"config": "hidden-f\n", "credentials": "hidden-g\n"}},
		{"gcp b --from-file F", "", "b", nil, map[string]string{"credentials": "hidden-f\n"}},
		{"oci b --config-file F --key-file G", "", "b", nil, map[string]string{"config": "hidden-f\n", "key": "hidden-g\n"}},
		{"databricks d --host https://d --from-file F", "", "d", map[string]string{"host": "https://d"}, map[string]string{"token": "hidden-f"}},
		{"hf h --from-file F --everywhere -o json", "", "h", nil, map[string]string{"token": "hidden-f"}},
	} {
		var sent api.NewSecret
		w := newWorld(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if err := json.NewDecoder(r.Body).Decode(&sent); err != nil || r.URL.Path != "/v1/secrets" {
				t.Errorf("%s %v", r.URL, err)
			}
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(201)
			json.NewEncoder(rw).Encode(api.Secret{Name: sent.Name, Type: sent.Type, Everywhere: sent.Everywhere}) //nolint:errcheck // a test's own server
		}))
		w.s.IO.In = strings.NewReader(c.input)
		args := strings.NewReplacer(" F", " "+filepath.Join(dir, "f"), " G", " "+filepath.Join(dir, "g")).Replace(c.args)
		if code := w.run(append([]string{"secret", "create"}, strings.Fields(args)...)...); code != 0 {
			t.Errorf("%s: exit code %d: %s", c.args, code, w.err.String())
		}
		values := map[string]string{}
		for k, v := range sent.Values {
			values[k] = string(v)
		}
		typ, _, _ := strings.Cut(c.args, " ")
		if sent.Name != c.name || sent.Type != typ || !maps.Equal(sent.Fields, c.fields) || !maps.Equal(values, c.values) || sent.Everywhere != strings.Contains(c.args, "--everywhere") {
			t.Errorf("%s: sent %s %s %v %v", c.args, sent.Type, sent.Name, sent.Fields, values)
		}
		if strings.Contains(w.out.String()+w.err.String(), "hidden") {
			t.Errorf("%s: a value is printed: %s%s", c.args, w.out.String(), w.err.String())
		}
	}
}

func TestWrongSecrets(t *testing.T) {
	t.Parallel()
	for args, says := range map[string]string{
		"env":                              "takes a type and a name",
		"env A value":                      "values never stand behind the name",
		"env A=":                           "empty value",
		"env A":                            "--from-file FILE",
		"env A=x -":                        "contradicts",
		"env A=x --from-file f":            "contradicts",
		"env A=x --username u":             "--username is not for a secret of type env",
		"env A --variable B --name c":      "contradicts",
		"hf h --name x":                    "--name is for type env",
		"docker d --password-stdin":        "needs --username",
		"hf h --password-stdin":            "is for type docker",
		"s3 b":                             "needs --config-file",
		"hf h --from-file nowhere-to-find": "no such file",
		"ssh k":                            "the key of the secret is missing",
		"dockr d":                          "did you mean docker?",
	} {
		w := newWorld(t, http.NotFoundHandler())
		if code := w.run(append([]string{"secret", "create"}, strings.Fields(args)...)...); code != session.ExitUsage || !strings.Contains(w.err.String(), says) {
			t.Errorf("%s: exit code %d: %s; want %q", args, code, w.err.String(), says)
		}
	}
}
