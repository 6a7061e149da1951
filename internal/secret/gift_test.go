package secret

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
)

// marker is in every value of these tests, as it is or in base 64.
const marker = "hush-this-is-the-value"

// sshKey has the form of a private key of OpenSSH; cipher "none" means that it
// has no passphrase.
func sshKey(cipher string) string {
	data := append([]byte("openssh-key-v1\x00"), binary.BigEndian.AppendUint32(nil, uint32(len(cipher)))...)
	data = append(append(data, cipher...), marker...)
	return "-----BEGIN OPENSSH PRIVATE KEY-----\n" + base64.StdEncoding.EncodeToString(data) + "\n-----END OPENSSH PRIVATE KEY-----\n"
}

// example is one good input for each type, and what a task gets of it.
type example struct {
	fields map[string]string
	values Values
	kept   map[string]string // fields of the secret
	gift   Gift
}

func examples() map[string]example {
	bytes := func(pairs ...string) Values {
		v := Values{}
		for i := 0; i < len(pairs); i += 2 {
			v[pairs[i]] = []byte(pairs[i+1])
		}
		return v
	}
	key := sshKey("none")
	file := func(name, variable, path, data string) backend.File {
		return backend.File{Name: name, EnvVar: variable, Path: path, Data: []byte(data)}
	}
	git := `ssh -i "$MUSTER_GIT_KEY" -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=accept-new`
	return map[string]example{
		"env": {fields: map[string]string{"variable": "API_TOKEN"}, values: bytes("value", marker+" two\n"), kept: map[string]string{"variable": "API_TOKEN"},
			gift: Gift{Env: map[string]string{"API_TOKEN": marker + " two\n"}}},
		"mounted": {values: bytes("value", marker+"\x00\xff"),
			gift: Gift{Files: []backend.File{file("secret.my-one", "SECRET_PATH_MY_ONE", "/secrets/my-one/secret", marker+"\x00\xff")}}},
		"docker": {fields: map[string]string{"username": "ada"}, values: bytes("password", marker+"\n"),
			kept: map[string]string{"server": "https://index.docker.io/v1/", "username": "ada"},
			gift: Gift{Credential: &backend.Credential{Server: "https://index.docker.io/v1/", User: "ada", Password: marker}}},
		"ssh": {fields: map[string]string{"path": "/keys/id"}, values: bytes("key", strings.ReplaceAll(key, "\n", "\r\n")), kept: map[string]string{"path": "/keys/id"},
			gift: Gift{Files: []backend.File{file("secret.my-one", "SECRET_PATH_MY_ONE", "/keys/id", key)}}},
		"git-ssh": {values: bytes("key", strings.TrimSpace(key)),
			gift: Gift{Files: []backend.File{file("secret.my-one", "MUSTER_GIT_KEY", "/secrets/my-one/secret", key)}, Env: map[string]string{"GIT_SSH_COMMAND": git}}},
		"sftp-ssh": {values: bytes("key", key, "known-hosts", marker),
			gift: Gift{Files: []backend.File{file("secret.my-one.key", "COMPOSER_SFTP_KEY_FILE", "/secrets/my-one/key", key),
				file("secret.my-one.known_hosts", "COMPOSER_SFTP_KNOWN_HOSTS_FILE", "/secrets/my-one/known_hosts", marker)}}},
		"s3": {fields: map[string]string{"path": "/aws"}, values: bytes("config", "[default]", "credentials", marker), kept: map[string]string{"path": "/aws"},
			gift: Gift{Files: []backend.File{file("secret.my-one.config", "AWS_CONFIG_FILE", "/aws/config", "[default]"),
				file("secret.my-one.credentials", "AWS_SHARED_CREDENTIALS_FILE", "/aws/credentials", marker)}}},
		"gcp": {values: bytes("credentials", `{"private_key": "`+marker+`"}`),
			gift: Gift{Files: []backend.File{file("secret.my-one", "GOOGLE_APPLICATION_CREDENTIALS", "/secrets/my-one/secret", `{"private_key": "`+marker+`"}`)}}},
		"oci": {values: bytes("config", "[DEFAULT]\nuser="+marker, "key", key),
			gift: Gift{Prelude: ociPrelude, Files: []backend.File{file("secret.my-one.config", "OCI_CONFIG_FILE", "/secrets/my-one/config", "[DEFAULT]\nuser="+marker),
				file("secret.my-one.key", "OCI_CLI_KEY_FILE", "/secrets/my-one/key", key)}}},
		"databricks": {fields: map[string]string{"host": "https://x.databricks.com"}, values: bytes("token", marker+"\r\n"), kept: map[string]string{"host": "https://x.databricks.com"},
			gift: Gift{Env: map[string]string{"DATABRICKS_HOST": "https://x.databricks.com", "DATABRICKS_TOKEN": marker}}},
		"hf": {values: bytes("token", marker), gift: Gift{Env: map[string]string{"HF_TOKEN": marker, "HUGGING_FACE_HUB_TOKEN": marker}}},
	}
}

func made(t *testing.T, b *Box, typ string) (core.Secret, Values) {
	t.Helper()
	e := examples()[typ]
	s, err := Make(b, "ada", "my-one", typ, e.fields, e.values, time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	values, err := b.Unseal(s)
	if err != nil {
		t.Fatal(err)
	}
	return s, values
}

func TestEveryTypeGivesWhatItSays(t *testing.T) {
	t.Parallel()
	b, all := box(t), examples()
	if len(all) != len(Types()) {
		t.Errorf("%d examples of %d types", len(all), len(Types()))
	}
	for _, typ := range Types() {
		e, ok := all[typ.Name]
		if !ok {
			t.Errorf("no example of type %s", typ.Name)
			continue
		}
		s, values := made(t, b, typ.Name)
		if s.User != "ada" || s.Name != "my-one" || s.Type != typ.Name || !s.CreatedAt.Equal(time.Unix(1, 0)) || !reflect.DeepEqual(s.Fields, e.kept) {
			t.Errorf("%s: made %+v, want fields %v", typ.Name, s, e.kept)
		}
		g, err := Give(s, values, spec.SecretUse{Name: "my-one"})
		e.gift.Secret = "my-one"
		if err != nil || !reflect.DeepEqual(g, e.gift) {
			t.Errorf("%s: %v\n got %s\nwant %s", typ.Name, err, plain(g), plain(e.gift))
		}
	}
}

// plain shows a gift of these tests with its values.
func plain(g Gift) string {
	type shown Gift
	return fmt.Sprintf("%+v", shown(g))
}

func TestUseNamesAnotherVariableOrPath(t *testing.T) {
	t.Parallel()
	b := box(t)
	for typ, want := range map[string]struct{ env, path string }{
		"env": {"X", ""}, "mounted": {"X", "/x"}, "docker": {}, "ssh": {"X", "/x"}, "git-ssh": {"X", "/x"},
		"sftp-ssh": {"", "/x/key"}, "s3": {"", "/x/config"}, "gcp": {"X", "/x"}, "oci": {"", "/x/config"}, "databricks": {}, "hf": {"X", ""},
	} {
		s, values := made(t, b, typ)
		usual, err := Give(s, values, spec.SecretUse{})
		if err != nil {
			t.Fatal(err)
		}
		g, err := Give(s, values, spec.SecretUse{Env: "X"})
		switch {
		case want.env == "" && (err == nil || !strings.Contains(err.Error(), "env")):
			t.Errorf("%s: another variable was accepted: %v, %v", typ, g, err)
		case want.env == "":
		case err != nil:
			t.Errorf("%s: %v", typ, err)
		case len(g.Files) > 0:
			if g.Files[0].EnvVar != "X" || g.Files[0].Name == usual.Files[0].Name || typ == "git-ssh" && !strings.Contains(g.Env["GIT_SSH_COMMAND"], `"$X"`) {
				t.Errorf("%s as X: %v", typ, g)
			}
		case len(g.Env) != 1 || !strings.Contains(g.Env["X"], marker):
			t.Errorf("%s as X: %v", typ, g)
		}
		g, err = Give(s, values, spec.SecretUse{Path: "/x"})
		switch {
		case want.path == "" && (err == nil || !strings.Contains(err.Error(), "path")):
			t.Errorf("%s: another path was accepted: %v, %v", typ, g, err)
		case want.path == "":
		case err != nil || g.Files[0].Path != want.path || g.Files[0].EnvVar != usual.Files[0].EnvVar:
			t.Errorf("%s at /x: %v, %v", typ, g, err)
		}
	}
	s, values := made(t, b, "mounted")
	for _, bad := range []spec.SecretUse{{Env: "1X"}, {Env: "A=B"}, {Path: "x"}, {Path: "/x/../y"}, {Path: "/"}, {Path: "/x/"}, {Path: "/a\x00b"}} {
		if g, err := Give(s, values, bad); err == nil {
			t.Errorf("%+v was accepted: %v", bad, g)
		}
	}
	if _, err := Give(s, nil, spec.SecretUse{}); err == nil || !strings.Contains(err.Error(), `"value"`) {
		t.Errorf("without its value: %v", err)
	}
	s.Type = "later"
	if _, err := Give(s, values, spec.SecretUse{}); err == nil || !strings.Contains(err.Error(), "later") {
		t.Errorf("an unknown type: %v", err)
	}
}

func TestClashesAreNamed(t *testing.T) {
	t.Parallel()
	b := box(t)
	give := func(name, typ string, use spec.SecretUse) Gift {
		t.Helper()
		e := examples()[typ]
		s, err := Make(b, "ada", name, typ, e.fields, e.values, time.Unix(1, 0))
		if err != nil {
			t.Fatal(err)
		}
		g, err := Give(s, e.values, use)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	for _, c := range []struct {
		gifts []Gift
		says  string
	}{
		{[]Gift{give("one", "git-ssh", spec.SecretUse{}), give("two", "git-ssh", spec.SecretUse{})}, "GIT_SSH_COMMAND"},
		{[]Gift{give("one", "hf", spec.SecretUse{}), give("two", "hf", spec.SecretUse{})}, "HF_TOKEN"},
		{[]Gift{give("one", "hf", spec.SecretUse{}), give("two", "hf", spec.SecretUse{Env: "OTHER"})}, ""},
		{[]Gift{give("one", "s3", spec.SecretUse{Path: "/a"}), give("two", "mounted", spec.SecretUse{Path: "/a/config"})}, "/a/config"},
		{[]Gift{give("one", "mounted", spec.SecretUse{}), give("one", "mounted", spec.SecretUse{Env: "X", Path: "/x"}), give("two", "docker", spec.SecretUse{}), give("three", "docker", spec.SecretUse{})}, ""},
		{[]Gift{give("one", "mounted", spec.SecretUse{Env: "HF_TOKEN"}), give("two", "hf", spec.SecretUse{})}, "HF_TOKEN"},
		{nil, ""},
	} {
		err := Clash(c.gifts)
		if (err == nil) != (c.says == "") || err != nil && (!strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), `"one"`) || !strings.Contains(err.Error(), `"two"`)) {
			t.Errorf("%v: %v; want %q", c.gifts, err, c.says)
		}
	}
}

func TestBadInputIsNamed(t *testing.T) {
	t.Parallel()
	b := box(t)
	type edit func(fields map[string]string, values Values)
	field := func(name, text string) edit { return func(f map[string]string, _ Values) { f[name] = text } }
	value := func(name, text string) edit { return func(_ map[string]string, v Values) { v[name] = []byte(text) } }
	without := func(name string) edit {
		return func(f map[string]string, v Values) { delete(f, name); delete(v, name) }
	}
	pem := func(kind, more string) string {
		return "-----BEGIN " + kind + "-----\n" + more + "bm90aGluZw==\n-----END " + kind + "-----\n"
	}
	for i, c := range []struct {
		typ, name string
		edit      edit
		says      string
	}{
		{"env", "", nil, "name"}, {"env", "Upper", nil, "name"}, {"env", "-a", nil, "name"}, {"env", strings.Repeat("a", 53), nil, "52"},
		{"nothing", "a", nil, "hf"}, {"", "a", nil, "git-ssh"},
		{"env", "a", without("variable"), "variable"}, {"env", "a", field("variable", "1A"), "variable"}, {"env", "a", field("variable", "A=B"), "variable"},
		{"env", "a", without("value"), "value"}, {"env", "a", value("value", marker+"\x00"), "mounted"}, {"env", "a", value("value", marker+"\xff"), "mounted"},
		{"env", "a", value("value", strings.Repeat(marker, 10000)), "mounted"}, {"env", "a", field("path", "/x"), "unknown"}, {"env", "a", value("extra", "x"), `"extra" is unknown`},
		{"mounted", "a", value("value", ""), "empty"}, {"mounted", "a", value("value", strings.Repeat("x", 1<<20+1)), "volume"}, {"mounted", "a", field("path", "x"), "path"},
		{"docker", "a", without("username"), "username"}, {"docker", "a", field("username", "a b"), "username"}, {"docker", "a", field("server", ""), "server"},
		{"docker", "a", field("server", "https://u:p@host"), "server"}, {"docker", "a", value("password", marker+"\nmore"), "password"}, {"docker", "a", value("password", "\n"), "empty"},
		{"ssh", "a", value("key", "ssh-ed25519 AAAA "+marker), "public"}, {"ssh", "a", value("key", pem("PUBLIC KEY", "")), "public"}, {"ssh", "a", value("key", marker), "BEGIN"},
		{"ssh", "a", value("key", "PuTTY-User-Key-File-2: "+marker), "puttygen"}, {"git-ssh", "a", value("key", sshKey("aes256-ctr")), "passphrase"},
		{"git-ssh", "a", value("key", pem("ENCRYPTED PRIVATE KEY", "")), "passphrase"}, {"sftp-ssh", "a", value("key", pem("RSA PRIVATE KEY", "Proc-Type: 4,ENCRYPTED\n\n")), "passphrase"},
		{"ssh", "a", value("key", pem("CERTIFICATE", "")), "BEGIN"}, {"gcp", "a", value("credentials", `{"k": "`+marker), "JSON"}, {"s3", "a", without("config"), "config"},
		{"databricks", "a", without("host"), "host"}, {"hf", "a", value("token", marker+"\x1b[0m"), "token"}, {"hf", "a", field("x", "y"), "there are none"},
	} {
		e := examples()[c.typ]
		fields, values := map[string]string{}, Values{}
		for k, v := range e.fields {
			fields[k] = v
		}
		for k, v := range e.values {
			values[k] = v
		}
		if c.edit != nil {
			c.edit(fields, values)
		}
		s, err := Make(b, "ada", c.name, c.typ, fields, values, time.Unix(1, 0))
		switch {
		case err == nil || !strings.Contains(err.Error(), c.says):
			t.Errorf("%d: %s: %v; want an error that says %q", i, c.typ, err, c.says)
		case strings.Contains(err.Error(), marker) || s.Sealed != nil:
			t.Errorf("%d: %s: the error shows the value, or there is a secret: %v", i, c.typ, err)
		}
	}
	if _, err := Make(b, "", "a", "hf", nil, Values{"token": []byte("x")}, time.Unix(1, 0)); err == nil {
		t.Error("a secret of nobody was made")
	}
}

// TestNothingPrintedShowsAValue prints everything in every way.
func TestNothingPrintedShowsAValue(t *testing.T) {
	t.Parallel()
	b := box(t)
	keys := lines(t, b.path)
	raw, err := os.ReadFile(b.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, typ := range Types() {
		s, values := made(t, b, typ.Name)
		g, err := Give(s, values, spec.SecretUse{})
		if err != nil {
			t.Fatal(err)
		}
		hidden := []string{keys[0], string(raw[:8]), marker, fmt.Sprintf("%x", marker), fmt.Sprintf("%d", []byte(marker))[1:20], base64.StdEncoding.EncodeToString([]byte(marker))[:24], strings.Split(sshKey("none"), "\n")[1]}
		type inside struct {
			Any    any
			Gift   Gift
			Gifts  []Gift
			Values Values
			Box    *Box
		}
		for _, x := range []any{b, &b, s, &s, values, &values, g, &g, []any{g, values, b}, map[string]any{"x": g}, inside{g, g, []Gift{g}, values, b}, &inside{Gift: g, Values: values, Box: b}, typ} {
			var said []string
			for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%10.3v"} {
				said = append(said, fmt.Sprintf(verb, x))
			}
			said = append(said, fmt.Sprint(x), fmt.Sprintln(x))
			if text, err := json.Marshal(x); err == nil {
				said = append(said, string(text))
			} else if !strings.Contains(err.Error(), "unsupported type") {
				t.Errorf("%s: json of %T: %v", typ.Name, x, err)
			}
			for _, text := range said {
				if slices.ContainsFunc(hidden, func(h string) bool { return strings.Contains(text, h) }) {
					t.Errorf("%s: printing %T shows a value: %.200s", typ.Name, x, text)
				}
			}
		}
		if !strings.Contains(g.String(), "my-one") {
			t.Errorf("%s: a gift prints as %s", typ.Name, g)
		}
	}
}

// inTask runs a shell command as a backend would: with the files of g, their
// variables, its environment and its prelude.
func inTask(t *testing.T, g Gift, command string, env ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "it's a $dir; with spaces")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	env = append(env, "PATH="+os.Getenv("PATH"))
	for k, v := range g.Env {
		env = append(env, k+"="+v)
	}
	for _, f := range g.Files {
		at := filepath.Join(dir, f.Name)
		if err := os.WriteFile(at, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
		env = append(env, f.EnvVar+"="+at)
	}
	cmd := exec.Command("/bin/sh", "-c", g.Prelude+command)
	cmd.Env, cmd.Dir = env, t.TempDir()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}

func TestGitFindsItsKey(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("this takes git: apt-get install git")
	}
	s, values := made(t, box(t), "git-ssh")
	g, err := Give(s, values, spec.SecretUse{})
	if err != nil {
		t.Fatal(err)
	}
	// An ssh that shows the key it was given, and no host.
	bin := t.TempDir()
	script := "#!/bin/sh\n[ \"$1\" = -i ] && cat \"$2\" >&2\nexit 1\n"
	if err := os.WriteFile(filepath.Join(bin, "ssh"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	got := inTask(t, g, `PATH="$BIN:$PATH"; "$GIT" ls-remote ssh://nowhere.invalid/x 2>&1 || true`, "BIN="+bin, "GIT="+git)
	if !strings.Contains(got, sshKey("none")) {
		t.Errorf("ssh did not get the key:\n%s", got)
	}
}

func TestOracleFindsItsKey(t *testing.T) {
	t.Parallel()
	b := box(t)
	config := "[DEFAULT]\nuser=ocid1\nkey_file = ~/.oci/key.pem\nfingerprint=a\\b\nregion=x" // no end of line
	s, err := Make(b, "ada", "o", "oci", nil, Values{"config": []byte(config), "key": []byte(sshKey("none"))}, time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	values, err := b.Unseal(s)
	if err != nil {
		t.Fatal(err)
	}
	g, err := Give(s, values, spec.SecretUse{})
	if err != nil {
		t.Fatal(err)
	}
	got := inTask(t, g, `[ "$OCI_CONFIG_FILE" = "$OCI_CLI_CONFIG_FILE" ] && sh -c 'cat "$OCI_CLI_CONFIG_FILE"; cat "$(sed -n s/^key_file=//p "$OCI_CONFIG_FILE")"; stat -c %a "$OCI_CONFIG_FILE"'`)
	text, rest, ok := strings.Cut(got, "key_file=")
	path, rest, _ := strings.Cut(rest, "\n")
	if want := "fingerprint=a\\b\nregion=x\n" + sshKey("none") + "600\n"; !ok || text != "[DEFAULT]\nuser=ocid1\n" || rest != want || !filepath.IsAbs(path) {
		t.Errorf("a task sees\n%s\nwant its own path of the key, and the rest as it was", got)
	}
}
