//go:build linux

package oci_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/oci"
)

func TestCheckRef(t *testing.T) {
	sum := strings.Repeat("0123456789abcdef", 4)
	for _, ref := range []string{
		"ubuntu", "ubuntu:24.04", "team/app", "team/app:v1", "localhost/app", "localhost:5000/app:v1", "registry.example.com/a/b/c:x_Y.z-1", "127.0.0.1:5000/a",
		"app@sha256:" + sum, "app:v1@sha256:" + sum, "x/a-b_c.d__e---f/g", "nvcr.io/nvidia/pytorch:24.10-py3", "[::1]:5000/a:b", "Host.example.com/a",
	} {
		if err := oci.CheckRef(ref); err != nil {
			t.Errorf("%q: %v", ref, err)
		}
	}
	for ref, hint := range map[string]string{
		"": "empty", " app": "white space", "app ": "white space", "a b": "white space", "a\tb": "white space", "a\x00b": "control",
		"http://host/app": "no http:// in front", "docker://app": "no docker:// in front", `a\b`: "separated by '/'", "/app": "file's path", "./app": "file's path", "~/app": "file's path",
		sum: "add the repository", "sha256:" + sum: "without a repository", "App": "lower case: app", "team/App:v1": "lower case: app", "app:": "empty",
		"app:" + strings.Repeat("a", 129): "at most 128", "app:v 1": "white space", "app:-v1": "not allowed", "app:v1!": "not allowed", "app:ü": "not allowed",
		"app@sha256:abc": "64 hexadecimal", "app@md5:" + sum: "sha256", "app@": "sha256", "app@sha256:" + strings.ToUpper(sum): "lower case", "a@b@c": "more than once",
		"team//app": "empty", "app/": "empty", "host:port/app": "host and port", "-host.com/app": "host and port", ":v1": "no repository", "@sha256:" + sum: "no repository",
		strings.Repeat("a", 256): "at most 255", strings.Repeat("a", 2000): "at most 255", "app_": "not allowed", ".app": "not allowed", "a..b": "not allowed", "ünder": "not allowed",
		"host.com:99999999/app": "host and port",
	} {
		err := oci.CheckRef(ref)
		if oci.KindOf(err) != oci.BadName || !strings.Contains(err.Error(), hint) {
			t.Errorf("%.80q: %v, want a hint about %q", ref, err, hint)
		}
	}
}

func FuzzCheckRef(f *testing.F) {
	for _, s := range []string{"a/b:c", "h:1/a@sha256:", "[::1]/a", "[:8:1]/a", "::", "a@@", "//"} {
		f.Add(s)
	}
	s, err := oci.Open(oci.Options{Dir: f.TempDir()})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		err := oci.CheckRef(ref)
		_, pulled := s.Pull(t.Context(), ref, oci.PullOptions{Policy: oci.Never})
		if (oci.KindOf(err) == oci.BadName) != (oci.KindOf(pulled) == oci.BadName) {
			t.Errorf("%q: CheckRef says %v, Pull says %v", ref, err, pulled)
		}
	})
}

func TestDockerConfig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	if c, err := oci.DockerConfig(path); err != nil || c != nil {
		t.Errorf("no file: %v, %v", c, err)
	}
	put := func(s string) {
		if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(`{"auths":{"https://index.docker.io/v1/":{"auth":"am9lOnMzY3I6M3Q="},"ghcr.io":{"username":"u","password":"p"},"acr.io":{"auth":"PHRva2VuPjo=","identitytoken":"idt"},"helper.io":{}},"credsStore":"x"}`)
	got, err := oci.DockerConfig(path)
	if err != nil || len(got) != 3 {
		t.Fatalf("%d credentials, %v", len(got), err)
	}
	if c := got[2]; c.User != "joe" || c.Password != "s3cr:3t" || c.Server != "https://index.docker.io/v1/" {
		t.Errorf("docker.io: %s", c)
	}
	if c := got[0]; c.IdentityToken != "idt" || strings.Contains(c.String(), "idt") {
		t.Errorf("acr.io: %s", c)
	}
	for _, bad := range []string{"{", `{"auths":{"a.io":{"auth":"!!"}}}`, `{"auths":{"a.io":{"auth":"bm9jb2xvbg=="}}}`} {
		put(bad)
		if _, err := oci.DockerConfig(path); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}
