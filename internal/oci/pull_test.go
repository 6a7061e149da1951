//go:build linux

package oci_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/musterhq/muster/internal/oci"
	"github.com/musterhq/muster/internal/testing/ocitest"
)

// open makes a store, and skips where layers cannot be unpacked.
func open(t testing.TB, o oci.Options) *oci.Store {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	s, err := oci.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.CanPull(); err != nil {
		t.Skipf("this takes a machine on which layers can be unpacked, as root: %v", err)
	}
	return s
}

func pull(t testing.TB, s *oci.Store, ref string, o oci.PullOptions) *oci.Image {
	t.Helper()
	img, err := s.Pull(context.Background(), ref, o)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func read(t testing.TB, elem ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// entries are the names in a directory; none where there is no directory.
func entries(dir string) (names []string) {
	all, _ := os.ReadDir(dir)
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}

func creds(r *ocitest.Registry) []oci.Credential {
	return []oci.Credential{{Server: r.Host, User: r.User, Password: r.Password}}
}

func TestPullOfEveryCompression(t *testing.T) {
	r := ocitest.New(t)
	config := v1.Config{
		Env: []string{"A=1"}, Entrypoint: []string{"/run"}, Cmd: []string{"-x"}, User: "1000:1000", WorkingDir: "/w", StopSignal: "SIGINT",
		Labels: map[string]string{"l": "v"}, ExposedPorts: map[string]struct{}{"80/tcp": {}}, Volumes: map[string]struct{}{"/data": {}},
	}
	r.Push(t, "team/app:v1", ocitest.Image(t, config,
		ocitest.NewLayer(ocitest.Tar(ocitest.File{Path: "a", Body: "gzip"}), ocitest.Gzip),
		ocitest.NewLayer(ocitest.Tar(ocitest.File{Path: "a", Body: "zstd"}), ocitest.Zstd),
		ocitest.NewLayer(ocitest.Tar(ocitest.File{Path: "a", Body: "plain"}), ocitest.Plain)))
	s := open(t, oci.Options{})
	var told []oci.Progress
	img := pull(t, s, r.Ref("team/app:v1"), oci.PullOptions{Progress: func(p oci.Progress) { told = append(told, p) }})
	for i, want := range []string{"gzip", "zstd", "plain"} {
		if got := read(t, img.Layers[i], "a"); got != want {
			t.Errorf("layer %d holds %q, want %q", i, got, want)
		}
	}
	want := oci.Config{Env: config.Env, Entrypoint: config.Entrypoint, Cmd: config.Cmd, User: config.User, WorkingDir: "/w", StopSignal: "SIGINT",
		Labels: config.Labels, ExposedPorts: []string{"80/tcp"}, Volumes: []string{"/data"}}
	if !reflect.DeepEqual(img.Config, want) {
		t.Errorf("config %+v, want %+v", img.Config, want)
	}
	last := told[len(told)-1]
	if last.LayersDone != 3 || last.Layers != 3 || last.Bytes != last.Total || last.Total != img.Size || img.Size == 0 {
		t.Errorf("the last progress is %+v of an image of %d bytes", last, img.Size)
	}
}

func TestPoliciesAskTheRegistryOnlyWhenTheyMust(t *testing.T) {
	r := ocitest.New(t)
	one := ocitest.Files(ocitest.File{Path: "f", Body: "one"})
	r.Push(t, "app:v1", ocitest.Image(t, v1.Config{}, one))
	s := open(t, oci.Options{})
	if _, err := s.Pull(t.Context(), r.Ref("app:v1"), oci.PullOptions{Policy: oci.Never}); oci.KindOf(err) != oci.NotPresent {
		t.Fatalf("Never with an empty cache: %v", err)
	}
	first := pull(t, s, r.Ref("app:v1"), oci.PullOptions{})
	r.Push(t, "app:v1", ocitest.Image(t, v1.Config{}, one, ocitest.Files(ocitest.File{Path: "f", Body: "two"})))
	r.Forget()
	for _, policy := range []oci.PullPolicy{oci.IfNotPresent, oci.Never} {
		if img := pull(t, s, r.Ref("app:v1"), oci.PullOptions{Policy: policy}); img.Digest != first.Digest {
			t.Errorf("%s gave %s instead of what is in the cache", policy, img.Digest)
		}
	}
	if n := len(r.Requests()); n != 0 {
		t.Errorf("the registry was asked %d times", n)
	}
	second := pull(t, s, r.Ref("app:v1"), oci.PullOptions{Policy: oci.Always})
	if second.Digest == first.Digest || len(second.Layers) != 2 || second.Layers[0] != first.Layers[0] {
		t.Errorf("Always gave %+v after %+v", second, first)
	}
	blobs := 0
	for _, q := range r.Requests() {
		if q.Method == "GET" && strings.Contains(q.Path, "/blobs/") {
			blobs++
		}
	}
	if blobs != 2 { // the configuration and the new layer
		t.Errorf("%d blobs were read, want 2", blobs)
	}
}

func TestAuthentication(t *testing.T) {
	for name, option := range map[string]ocitest.Option{"basic": ocitest.Basic("joe", "s3cr3t"), "bearer": ocitest.Bearer("joe", "s3cr3t")} {
		t.Run(name, func(t *testing.T) {
			r := ocitest.New(t, option)
			r.Push(t, "private:v1", ocitest.Image(t, v1.Config{}, ocitest.Files(ocitest.File{Path: "f", Body: "x"})))
			s := open(t, oci.Options{})
			pull(t, s, r.Ref("private:v1"), oci.PullOptions{Credentials: creds(r)})
			for what, c := range map[string][]oci.Credential{
				"none": nil, "wrong password": {{Server: r.Host, User: "joe", Password: "wr0ng"}}, "other server": {{Server: "example.com", User: "joe", Password: "s3cr3t"}},
			} {
				_, err := s.Pull(t.Context(), r.Ref("private:v1"), oci.PullOptions{Policy: oci.Always, Credentials: c})
				if oci.KindOf(err) != oci.Denied {
					t.Fatalf("%s: %v", what, err)
				}
				if strings.Contains(err.Error(), "wr0ng") || !strings.Contains(err.Error(), r.Host) || !strings.Contains(err.Error(), "not found or no access") {
					t.Errorf("%s: the words are %q", what, err)
				}
			}
			two := []oci.Credential{{Server: r.Host, User: "old", Password: "gone"}, {Server: "http://" + r.Host + "/v2/", User: "joe", Password: "s3cr3t"}}
			pull(t, s, r.Ref("private:v1"), oci.PullOptions{Policy: oci.Always, Credentials: two})
			_, err := s.Pull(t.Context(), r.Ref("private:none"), oci.PullOptions{Credentials: creds(r)})
			if oci.KindOf(err) != oci.NotFound {
				t.Errorf("a missing tag: %v", err)
			}
		})
	}
}

func TestFailuresAreToldApart(t *testing.T) {
	t.Parallel()
	r := ocitest.New(t)
	layer := ocitest.Files(ocitest.File{Path: "f", Body: "x"})
	other := "arm64"
	if ocitest.Arch() == other {
		other = "amd64"
	}
	r.Push(t, "foreign:v1", ocitest.ImageFor(t, "linux/"+other, v1.Config{}, layer))
	r.PushIndex(t, "index:v1", ocitest.Index(t, map[string]v1.Image{
		"linux/" + other: ocitest.ImageFor(t, "linux/"+other, v1.Config{}, layer), "linux/s390x": ocitest.ImageFor(t, "linux/s390x", v1.Config{}, layer)}))
	r.Push(t, "closed:v1", ocitest.Image(t, v1.Config{}, layer))
	r.Deny("closed")
	lie := ocitest.Files(ocitest.File{Path: "f", Body: "y"})
	lie.Diff = layer.Diff
	r.Push(t, "lie:v1", ocitest.Image(t, v1.Config{}, lie))
	s := open(t, oci.Options{IdleTimeout: 2 * time.Second})
	for _, c := range []struct {
		ref   string
		kind  oci.Kind
		words string
	}{
		{r.Ref("nothing:v1"), oci.NotFound, "no such image"},
		{r.Ref("closed:v1"), oci.Denied, "no access"},
		{r.Ref("Foreign:v1"), oci.BadName, "lower case"},
		{r.Ref("foreign:v1"), oci.WrongPlatform, "linux/" + other},
		{r.Ref("index:v1"), oci.WrongPlatform, "linux/s390x"},
		{r.Ref("lie:v1"), oci.Damaged, "configuration"},
		{freeAddress(t) + "/app:v1", oci.Unreachable, "connection refused"},
		{"registry.invalid/app:v1", oci.Unreachable, "registry.invalid"},
		{silentAddress(t) + "/app:v1", oci.Unreachable, "does not answer"},
	} {
		_, err := s.Pull(t.Context(), c.ref, oci.PullOptions{})
		if oci.KindOf(err) != c.kind || !strings.Contains(fmt.Sprint(err), c.words) {
			t.Errorf("%s: %s (%v), want %s with %q", c.ref, oci.KindOf(err), err, c.kind, c.words)
		}
		if err != nil && !strings.Contains(err.Error(), fmt.Sprintf("%q", c.ref)) {
			t.Errorf("the image is not named in %q", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Pull(ctx, r.Ref("closed:v1"), oci.PullOptions{}); oci.KindOf(err) != oci.Cancelled {
		t.Errorf("cancelled: %v", err)
	}
}

// freeAddress is one where nothing listens.
func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// silentAddress takes connections and never says a word.
func silentAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
		}
	}()
	return l.Addr().String()
}

func TestPlainHTTPIsSpokenOnlyWhereItIsAllowed(t *testing.T) {
	r := ocitest.New(t, ocitest.Basic("joe", "s3cr3t"))
	r.Push(t, "app:v1", ocitest.Image(t, v1.Config{}, ocitest.Files(ocitest.File{Path: "f", Body: "x"})))
	r.Forget()
	s := open(t, oci.Options{PlainHTTP: func(string) bool { return false }})
	_, err := s.Pull(t.Context(), r.Ref("app:v1"), oci.PullOptions{Credentials: creds(r)})
	if oci.KindOf(err) != oci.Unreachable || !strings.Contains(err.Error(), "TLS") {
		t.Errorf("got %v", err)
	}
	if n := len(r.Requests()); n != 0 {
		t.Errorf("%d requests were sent in the clear", n)
	}
}

func TestTheRightPlatformOfAnIndex(t *testing.T) {
	r := ocitest.New(t)
	images := map[string]v1.Image{}
	for _, p := range []string{"linux/amd64", "linux/arm64/v8", "linux/arm/v6", "linux/arm/v7", "unknown/unknown"} {
		images[p] = ocitest.ImageFor(t, p, v1.Config{}, ocitest.Files(ocitest.File{Path: "platform", Body: p}))
	}
	r.PushIndex(t, "app:v1", ocitest.Index(t, images))
	for _, p := range []string{"linux/amd64", "linux/arm64", "linux/arm/v7"} {
		s := open(t, oci.Options{Platform: p})
		img := pull(t, s, r.Ref("app:v1"), oci.PullOptions{})
		if got := read(t, img.Layers[0], "platform"); !strings.HasPrefix(got, p) {
			t.Errorf("for %s came %s", p, got)
		}
	}
}

func TestConcurrentPullsShareDownloads(t *testing.T) {
	r := ocitest.New(t)
	var layers []*ocitest.Layer
	for i := range 4 {
		layers = append(layers, ocitest.Files(ocitest.File{Path: fmt.Sprint(i), Body: string(ocitest.Noise(uint64(i), 300<<10))}))
	}
	r.Push(t, "a:v1", ocitest.Image(t, v1.Config{Env: []string{"A=1"}}, layers...))
	r.Push(t, "b:v1", ocitest.Image(t, v1.Config{}, layers[:3]...))
	r.Forget()
	r.Fault(ocitest.Fault{Do: ocitest.Slow, Path: layers[0].Sum.Hex, Rate: 1 << 20})
	s := open(t, oci.Options{})
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			ref := r.Ref("a:v1")
			if i%2 == 1 {
				ref = r.Ref("b:v1")
			}
			if _, err := s.Pull(t.Context(), ref, oci.PullOptions{Owner: fmt.Sprint("w/", i)}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for i, l := range layers {
		if n := r.Count("GET", l.Sum.Hex); n != 1 {
			t.Errorf("layer %d was downloaded %d times", i, n)
		}
	}
	if held := s.Held(); len(held) != 12 {
		t.Errorf("%d owners hold something: %v", len(held), held)
	}
}

func TestOnePullsFailureIsNotTheOthers(t *testing.T) {
	r := ocitest.New(t)
	layer := ocitest.Files(ocitest.File{Path: "f", Body: string(ocitest.Noise(1, 400<<10))})
	r.Push(t, "app:v1", ocitest.Image(t, v1.Config{}, layer))
	r.Fault(ocitest.Fault{Do: ocitest.Slow, Path: layer.Sum.Hex, Rate: 100 << 10, Times: 1})
	s := open(t, oci.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan struct{})
	var once, all sync.WaitGroup
	once.Add(1)
	go func() { once.Wait(); close(started) }()
	told := sync.OnceFunc(once.Done)
	all.Go(func() {
		_, err := s.Pull(ctx, r.Ref("app:v1"), oci.PullOptions{Progress: func(p oci.Progress) {
			if p.Bytes > 0 {
				told()
			}
		}})
		if oci.KindOf(err) != oci.Cancelled {
			t.Errorf("the cancelled pull: %v", err)
		}
	})
	<-started
	all.Go(func() { pull(t, s, r.Ref("app:v1"), oci.PullOptions{}) })
	cancel()
	all.Wait()
	if names := entries(filepath.Join(s.Dir(), "downloads")); len(names) > 0 {
		t.Errorf("downloads are left: %v", names)
	}
}

func TestWhiteoutsAndAttributes(t *testing.T) {
	r := ocitest.New(t)
	lower := ocitest.Files(
		ocitest.File{Path: "keep", Body: "k"}, ocitest.File{Path: "gone", Body: "g"}, ocitest.File{Path: "dir/"}, ocitest.File{Path: "dir/old", Body: "o"},
		ocitest.File{Path: "suid", Body: "s", Mode: 0o4755, UID: 7, GID: 8}, ocitest.File{Path: "sticky/", Mode: 0o1777},
		ocitest.File{Path: "x", Body: "x", PAX: map[string]string{"SCHILY.xattr.user.note": "hello", "SCHILY.xattr.trusted.overlay.redirect": "/etc"}},
		ocitest.File{Path: "hard", Link: "keep", Type: '1'}, ocitest.File{Path: "soft", Link: "/etc/passwd"})
	upper := ocitest.Files(
		ocitest.File{Path: ".wh.gone"}, ocitest.File{Path: "dir/.wh..wh..opq"}, ocitest.File{Path: "dir/new", Body: "n"},
		ocitest.File{Path: "here", Body: "h"}, ocitest.File{Path: ".wh.here"}, ocitest.File{Path: ".wh..wh.plnk"})
	r.Push(t, "app:v1", ocitest.Image(t, v1.Config{}, lower, upper))
	img := pull(t, open(t, oci.Options{}), r.Ref("app:v1"), oci.PullOptions{})
	if st := stat(t, img.Layers[0], "suid"); st.Mode&0o7777 != 0o4755 || st.Uid != 7 || st.Gid != 8 {
		t.Errorf("suid: mode %o, owner %d:%d", st.Mode, st.Uid, st.Gid)
	}
	if stat(t, img.Layers[0], "keep").Ino != stat(t, img.Layers[0], "hard").Ino {
		t.Error("the hard link is a file of its own")
	}
	if target, _ := os.Readlink(filepath.Join(img.Layers[0], "soft")); target != "/etc/passwd" {
		t.Errorf("the link leads to %q", target)
	}
	if v := xattr(filepath.Join(img.Layers[0], "x"), "trusted.overlay.redirect"); v != "" {
		t.Errorf("an attribute of overlayfs was taken from the image: %q", v)
	}
	if st := stat(t, img.Layers[1], "gone"); st.Rdev != 0 || st.Mode&0o170000 != 0o020000 {
		t.Errorf("the whiteout has mode %o", st.Mode)
	}
	if v := xattr(filepath.Join(img.Layers[1], "dir"), "trusted.overlay.opaque"); v != "y" {
		t.Errorf("the directory is not opaque: %q", v)
	}
	if got := entries(img.Layers[1]); !slices.Equal(got, []string{"dir", "gone", "here"}) {
		t.Errorf("the upper layer has %v", got)
	}
	merged := overlay(t, img.Layers)
	if got := entries(merged); !slices.Equal(got, []string{"dir", "hard", "here", "keep", "soft", "sticky", "suid", "x"}) {
		t.Errorf("stacked: %v", got)
	}
	if got := entries(filepath.Join(merged, "dir")); !slices.Equal(got, []string{"new"}) {
		t.Errorf("the opaque directory shows %v", got)
	}
}
