//go:build linux

package oci_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/musterhq/muster/internal/oci"
	"github.com/musterhq/muster/internal/testing/ocitest"
)

func model(t testing.TB) string {
	dir := t.TempDir()
	write(t, dir, map[string]string{"config.json": "{}", "weights/a.bin": string(ocitest.Noise(1, 1<<20)), "weights/b.bin": string(ocitest.Noise(2, 300<<10)), "empty": "", ".musterignore": "*.tmp\n.musterignore\n", "x.tmp": "x"})
	if err := os.Symlink("weights/a.bin", filepath.Join(dir, "latest.bin")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAnArtifactComesBackAsItWas(t *testing.T) {
	t.Parallel()
	r := ocitest.New(t, ocitest.Bearer("joe", "s3cr3t"))
	c := oci.NewClient(oci.Options{})
	dir := model(t)
	o := oci.ArtifactOptions{Annotations: map[string]string{"loss": "0.1"}, Credentials: creds(r), Created: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	made, err := c.PushArtifact(t.Context(), dir, r.Ref("models/m:v1"), o)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, f := range made.Files {
		paths = append(paths, f.Path)
	}
	if want := []string{"config.json", "empty", "latest.bin", "weights/a.bin", "weights/b.bin"}; !slices.Equal(paths, want) {
		t.Errorf("published are %v, want %v", paths, want)
	}
	if made.Size != 2+2*(1<<20)+300<<10 {
		t.Errorf("the size is %d", made.Size)
	}
	to := t.TempDir()
	back, err := c.PullArtifact(t.Context(), made.Ref, to, oci.PullOptions{Credentials: creds(r)})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, made) || back.Annotations["loss"] != "0.1" || back.Annotations["org.opencontainers.image.created"] != "2030-01-01T00:00:00Z" {
		t.Errorf("came back:\n%+v, published was\n%+v", back, made)
	}
	for _, p := range paths {
		if read(t, to, p) != read(t, dir, p) {
			t.Errorf("%s is not what was published", p)
		}
	}
	if got := entries(to); !slices.Equal(got, []string{"config.json", "empty", "latest.bin", "weights"}) {
		t.Errorf("the directory holds %v", got)
	}
	// Again: nothing is sent and nothing fetched.
	r.Forget()
	if again, err := c.PushArtifact(t.Context(), dir, r.Ref("models/m:v1"), o); err != nil || again.Digest != made.Digest {
		t.Errorf("published again: %+v, %v", again, err)
	}
	if _, err := c.PullArtifact(t.Context(), made.Ref, to, oci.PullOptions{Credentials: creds(r)}); err != nil {
		t.Error(err)
	}
	if n := r.Count("PATCH", "/blobs/") + r.Count("GET", "/blobs/"); n != 0 {
		t.Errorf("%d blobs were transferred again", n)
	}
}

// TestAnArtifactIsWhatOrasReads checks the form that other tools rely on.
func TestAnArtifactIsWhatOrasReads(t *testing.T) {
	t.Parallel()
	r := ocitest.New(t)
	if _, err := oci.NewClient(oci.Options{}).PushArtifact(t.Context(), model(t), r.Ref("m:v1"), oci.ArtifactOptions{Type: "application/x.test"}); err != nil {
		t.Fatal(err)
	}
	raw, err := r.Image(t, "m:v1").RawManifest()
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		SchemaVersion           int
		MediaType, ArtifactType string
		Config                  struct{ MediaType, Digest string }
		Layers                  []struct {
			MediaType   string
			Annotations map[string]string
		}
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	if m.SchemaVersion != 2 || m.MediaType != "application/vnd.oci.image.manifest.v1+json" || m.ArtifactType != "application/x.test" ||
		m.Config.MediaType != "application/vnd.oci.empty.v1+json" || m.Config.Digest != "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a" {
		t.Errorf("the manifest is %s", raw)
	}
	if len(m.Layers) != 5 || m.Layers[3].Annotations["org.opencontainers.image.title"] != "weights/a.bin" {
		t.Errorf("the layers are %+v", m.Layers)
	}
}

func TestABrokenArtifactTransferGoesOn(t *testing.T) {
	t.Parallel()
	r := ocitest.New(t)
	c := oci.NewClient(oci.Options{IdleTimeout: 300 * time.Millisecond})
	dir := t.TempDir()
	write(t, dir, map[string]string{"w": string(ocitest.Noise(1, 1<<20))})
	made, err := c.PushArtifact(t.Context(), dir, r.Ref("m:v1"), oci.ArtifactOptions{})
	if err != nil {
		t.Fatal(err)
	}
	to, digest := t.TempDir(), made.Files[0].Digest
	r.Fault(ocitest.Fault{Do: ocitest.Hang, Path: digest, After: 512 << 10, Times: 1})
	r.Fault(ocitest.Fault{Do: ocitest.Hang, Path: digest})
	if _, err := c.PullArtifact(t.Context(), made.Ref, to, oci.PullOptions{}); oci.KindOf(err) != oci.Stalled {
		t.Fatalf("a registry that hangs: %v", err)
	}
	r.Heal()
	r.Forget()
	if _, err := c.PullArtifact(t.Context(), made.Ref, to, oci.PullOptions{}); err != nil {
		t.Fatal(err)
	}
	if read(t, to, "w") != read(t, dir, "w") {
		t.Error("the file is not what was published")
	}
	for _, q := range r.Requests() {
		if strings.Contains(q.Path, digest) && (q.Range == "" || q.Bytes > 600<<10) {
			t.Errorf("too much was fetched: %+v", q)
		}
	}
}

func TestArtifactsStayInTheirDirectory(t *testing.T) {
	t.Parallel()
	r := ocitest.New(t)
	c := oci.NewClient(oci.Options{})
	for i, title := range []string{"../evil", "/evil", "a/../../evil", "a/./b", "", ".", "a\\b", "a\nb", "a//b"} {
		ref := r.Ref(fmt.Sprintf("m:v%d", i))
		r.PushRaw(t, fmt.Sprintf("m:v%d", i), []byte("evil"), title)
		outside := t.TempDir()
		to := filepath.Join(outside, "to")
		_, err := c.PullArtifact(t.Context(), ref, to, oci.PullOptions{})
		if title != "" && oci.KindOf(err) != oci.Damaged {
			t.Errorf("%q: %v", title, err)
		}
		if got := append(entries(outside), entries(to)...); !slices.Equal(got, []string{"to"}) && len(got) > 0 {
			t.Errorf("%q made %v", title, got)
		}
	}
	// A link that is there already is no way out either.
	outside := t.TempDir()
	to := filepath.Join(outside, "to")
	write(t, outside, map[string]string{"to/": "", "secret/": ""})
	if err := os.Symlink("../secret", filepath.Join(to, "weights")); err != nil {
		t.Fatal(err)
	}
	r.PushRaw(t, "m:link", []byte("evil"), "weights/w")
	if _, err := c.PullArtifact(t.Context(), r.Ref("m:link"), to, oci.PullOptions{}); err == nil || len(entries(filepath.Join(outside, "secret"))) > 0 {
		t.Errorf("written through a link: %v, %v", err, entries(filepath.Join(outside, "secret")))
	}
}

func TestWhatCannotBePublished(t *testing.T) {
	t.Parallel()
	r := ocitest.New(t)
	c := oci.NewClient(oci.Options{})
	leak := t.TempDir()
	if err := os.Symlink("/etc/hostname", filepath.Join(leak, "w")); err != nil {
		t.Fatal(err)
	}
	for words, dir := range map[string]string{"no files": t.TempDir(), "symbolic link out": leak, "cannot be opened": filepath.Join(leak, "none")} {
		_, err := c.PushArtifact(t.Context(), dir, r.Ref("m:v1"), oci.ArtifactOptions{})
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", words, err)
		}
	}
	r.Push(t, "image:v1", ocitest.Image(t, v1.Config{}, big(1, 100)))
	if _, err := c.PullArtifact(t.Context(), r.Ref("image:v1"), t.TempDir(), oci.PullOptions{}); oci.KindOf(err) != oci.Damaged || !strings.Contains(err.Error(), "container image") {
		t.Errorf("an image: %v", err)
	}
	r.PushRaw(t, "m:v1", []byte("x"), "w")
	if _, err := open(t, oci.Options{}).Pull(t.Context(), r.Ref("m:v1"), oci.PullOptions{}); oci.KindOf(err) != oci.Damaged || !strings.Contains(err.Error(), "artifact") {
		t.Errorf("an artifact pulled as an image: %v", err)
	}
}
