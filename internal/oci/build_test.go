//go:build linux

package oci_test

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/oci"
	"github.com/musterhq/muster/internal/testing/ocitest"
)

// write makes files below dir; names that end with '/' are directories.
func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, body := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(p, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(p, []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// headers lists the archive of an image's last layer.
func headers(t testing.TB, img v1.Image) map[string]*tar.Header {
	t.Helper()
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	r, err := layers[len(layers)-1].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out := map[string]*tar.Header{}
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out[h.Name] = h
	}
}

func names(m map[string]*tar.Header) (out []string) {
	for name := range m {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func code(t testing.TB) string {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"train.py": "print(1)\n", "run.sh": "#!/bin/sh\n", "pkg/mod.py": "x = 1\n", "pkg/data/keep.txt": "k", "pkg/data/drop.bin": "d",
		".git/config": "g", "secret.env": "s", ".dockerignore": "# comment\n.git\n**/*.bin\n*.env\n!pkg/data/keep.txt\n",
	})
	if err := os.Chmod(filepath.Join(dir, "run.sh"), 0o764); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("pkg/mod.py", filepath.Join(dir, "link.py")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestBuildAppendsCodeAndSendsNoBaseLayer(t *testing.T) {
	r := ocitest.New(t, ocitest.Bearer("joe", "s3cr3t"))
	base := big(1, 1<<20)
	r.Push(t, "base:v1", ocitest.Image(t, v1.Config{Env: []string{"PATH=/bin", "MODE=old"}, Cmd: []string{"sh"}, User: "root", Labels: map[string]string{"a": "1"}}, base))
	r.Forget()
	s := open(t, oci.Options{})
	o := oci.BuildOptions{
		Base: r.Ref("base:v1"), Target: r.Ref("team/app:v2"), Credentials: creds(r),
		Layers: []oci.LayerSource{{Dir: code(t), To: "/workspace/app", Ignore: []string{"pkg/mod.py"}, Comment: "code"}},
		Env:    map[string]string{"MODE": "new", "B": "2"}, Workdir: "/workspace/app", Entrypoint: []string{"python"}, Labels: map[string]string{"b": "2"},
	}
	built, err := s.Build(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range r.Requests() {
		if q.Received > 100<<10 || q.Method == "GET" && strings.Contains(q.Path, base.Sum.Hex) {
			t.Errorf("the base was transferred: %+v", q)
		}
	}
	img := r.Image(t, "team/app:v2")
	if d, _ := img.Digest(); d.String() != built.Digest || built.Size < int64(len(base.Packed)) {
		t.Errorf("the registry has %s, built is %+v", d, built)
	}
	c, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.Config.Env, []string{"PATH=/bin", "MODE=new", "B=2"}) || c.Config.Cmd != nil || c.Config.User != "root" || c.Config.Labels["a"]+c.Config.Labels["b"] != "12" {
		t.Errorf("config %+v", c.Config)
	}
	files := headers(t, img)
	want := []string{"workspace/app/", "workspace/app/.dockerignore", "workspace/app/link.py", "workspace/app/pkg/", "workspace/app/pkg/data/", "workspace/app/pkg/data/keep.txt", "workspace/app/run.sh", "workspace/app/train.py"}
	if got := names(files); !slices.Equal(got, want) {
		t.Errorf("the layer has %v, want %v", got, want)
	}
	if h := files["workspace/app/run.sh"]; h.Mode != 0o755 || h.Uid != 0 {
		t.Errorf("run.sh: mode %o of %d", h.Mode, h.Uid)
	}
	pulled := pull(t, s, built.Ref, oci.PullOptions{Credentials: creds(r)})
	if got := read(t, pulled.Layers[1], "workspace/app/train.py"); got != "print(1)\n" {
		t.Errorf("train.py is %q", got)
	}

	// The same again, from another copy with other times: the same image.
	o.Layers[0].Dir, o.Target = code(t), r.Ref("team/app:v3")
	if again, err := s.Build(t.Context(), o); err != nil || again.Digest != built.Digest {
		t.Errorf("the same build gave %s and %s (%v)", built.Digest, again.Digest, err)
	}
}

func TestBuildAcrossRegistriesAndFromNothing(t *testing.T) {
	from, to := ocitest.New(t, ocitest.Basic("a", "1")), ocitest.New(t, ocitest.Basic("b", "2"))
	base := big(1, 100<<10)
	from.Push(t, "base:v1", ocitest.Image(t, v1.Config{}, base))
	s := open(t, oci.Options{})
	all := append(creds(from), creds(to)...)
	for name, o := range map[string]oci.BuildOptions{
		"app:v1":     {Base: from.Ref("base:v1")},
		"scratch:v1": {Base: oci.Scratch},
	} {
		o.Target, o.Credentials, o.Layers = to.Ref(name), all, []oci.LayerSource{{Dir: code(t), To: "/"}}
		o.Created = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		if _, err := s.Build(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		img := pull(t, s, o.Target, oci.PullOptions{Credentials: all})
		if got := read(t, img.Layers[len(img.Layers)-1], "train.py"); got != "print(1)\n" {
			t.Errorf("%s: train.py is %q", name, got)
		}
	}
}

func TestBuildTurnsAnOverlayBackIntoALayer(t *testing.T) {
	r := ocitest.New(t)
	r.Push(t, "base:v1", ocitest.Image(t, v1.Config{}, ocitest.Files(
		ocitest.File{Path: "etc/"}, ocitest.File{Path: "etc/gone", Body: "g"}, ocitest.File{Path: "old/"}, ocitest.File{Path: "old/x", Body: "x"}, ocitest.File{Path: "tmp/", Mode: 0o1777})))
	s := open(t, oci.Options{})
	lower := pull(t, s, r.Ref("base:v1"), oci.PullOptions{}).Layers[0]
	scratch := t.TempDir()
	upper, work := filepath.Join(scratch, "upper"), filepath.Join(scratch, "work")
	write(t, scratch, map[string]string{"upper/": "", "work/": ""})
	merged := mount(t, "overlay", "overlay", "lowerdir="+lower+",upperdir="+upper+",workdir="+work)
	// What an installation does: files, removals, a directory made anew.
	write(t, merged, map[string]string{"usr/lib/pkg/a.py": "a", "tmp/trash": "t"})
	when := time.Unix(1_700_000_000, 500_000_000)
	err := os.Chtimes(filepath.Join(merged, "usr/lib/pkg/a.py"), when, when)
	for _, e := range []error{err, os.Remove(filepath.Join(merged, "etc/gone")), os.RemoveAll(filepath.Join(merged, "old")), os.Mkdir(filepath.Join(merged, "old"), 0o755),
		os.Link(filepath.Join(merged, "usr/lib/pkg/a.py"), filepath.Join(merged, "usr/lib/pkg/b.py")), os.Chown(filepath.Join(merged, "usr/lib/pkg"), 12, 13),
		unix.Setxattr(filepath.Join(merged, "usr/lib/pkg/a.py"), "user.note", []byte("n"), 0)} {
		if e != nil {
			t.Fatal(e)
		}
	}
	if _, err := s.Build(t.Context(), oci.BuildOptions{Base: r.Ref("base:v1"), Target: r.Ref("app:v1"), Layers: []oci.LayerSource{{Dir: upper, Upper: true, Ignore: []string{"tmp/*"}}}}); err != nil {
		t.Fatal(err)
	}
	files := headers(t, r.Image(t, "app:v1"))
	want := []string{"etc/", "etc/.wh.gone", "old/", "old/.wh..wh..opq", "tmp/", "usr/", "usr/lib/", "usr/lib/pkg/", "usr/lib/pkg/a.py", "usr/lib/pkg/b.py"}
	if got := names(files); !slices.Equal(got, want) {
		t.Errorf("the layer has %v, want %v", got, want)
	}
	if h := files["usr/lib/pkg/a.py"]; h.ModTime.Unix() != when.Unix() || h.PAXRecords["SCHILY.xattr.user.note"] != "n" {
		t.Errorf("a.py: %+v", h)
	}
	if h := files["usr/lib/pkg/b.py"]; h.Typeflag != tar.TypeLink || h.Linkname != "usr/lib/pkg/a.py" {
		t.Errorf("b.py: %+v", h)
	}
	if h := files["usr/lib/pkg/"]; h.Uid != 12 || h.Gid != 13 {
		t.Errorf("pkg is %d:%d's", h.Uid, h.Gid)
	}
	if h := files["tmp/"]; h.Mode != 0o1777 {
		t.Errorf("tmp has mode %o", h.Mode)
	}
	again := overlay(t, pull(t, s, r.Ref("app:v1"), oci.PullOptions{}).Layers)
	for dir, want := range map[string][]string{"etc": nil, "old": nil, "usr/lib/pkg": {"a.py", "b.py"}} {
		if got := entries(filepath.Join(again, dir)); !slices.Equal(got, want) {
			t.Errorf("%s shows %v, want %v", dir, got, want)
		}
	}
}

func TestBuildFailures(t *testing.T) {
	r := ocitest.New(t, ocitest.Basic("joe", "s3cr3t"))
	r.Push(t, "base:v1", ocitest.Image(t, v1.Config{}, big(1, 1000)))
	r.Deny("closed")
	s := open(t, oci.Options{})
	for name, c := range map[string]struct {
		o     oci.BuildOptions
		kind  oci.Kind
		words string
	}{
		"base missing":     {oci.BuildOptions{Base: r.Ref("none:v1"), Target: r.Ref("app:v1")}, oci.NotFound, "none:v1"},
		"digest as target": {oci.BuildOptions{Base: r.Ref("base:v1"), Target: r.Ref("app@sha256:" + strings.Repeat("a", 64))}, oci.BadName, "name a tag"},
		"closed target":    {oci.BuildOptions{Base: r.Ref("base:v1"), Target: r.Ref("closed:v1")}, oci.Denied, "right to push"},
		"no directory":     {oci.BuildOptions{Base: r.Ref("base:v1"), Target: r.Ref("app:v1"), Layers: []oci.LayerSource{{Dir: filepath.Join(t.TempDir(), "none")}}}, oci.Internal, "no such file"},
		"bad pattern":      {oci.BuildOptions{Base: r.Ref("base:v1"), Target: r.Ref("app:v1"), Layers: []oci.LayerSource{{Dir: t.TempDir(), Ignore: []string{"[a"}}}}, oci.Internal, `"[a"`},
	} {
		c.o.Credentials = creds(r)
		_, err := s.Build(t.Context(), c.o)
		if oci.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.words) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: %s (%v), want %s with %q", name, oci.KindOf(err), err, c.kind, c.words)
		}
	}
	if left := entries(filepath.Join(s.Dir(), "tmp")); len(left) > 0 {
		t.Errorf("garbage is left: %v", left)
	}
	var log bytes.Buffer
	if _, err := s.Build(t.Context(), oci.BuildOptions{Base: r.Ref("base:v1"), Target: r.Ref("app:v1"), Credentials: creds(r), Log: &log}); err != nil || !strings.Contains(log.String(), "pushing") {
		t.Errorf("the log is %q (%v)", log.String(), err)
	}
}
