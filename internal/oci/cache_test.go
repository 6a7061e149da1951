//go:build linux

package oci_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/musterhq/muster/internal/oci"
	"github.com/musterhq/muster/internal/testing/ocitest"
)

func asError(err error, e **oci.Error) bool { return errors.As(err, e) }

func tContext() context.Context { return context.Background() }

// clock gives a later time at every look.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(time.Second)
	return c.at
}

func refs(s *oci.Store) (out []string) {
	for _, i := range s.List() {
		out = append(out, i.Ref[strings.IndexByte(i.Ref, '/')+1:])
	}
	return out
}

func TestTheLeastRecentlyUsedGoFirstAndWhatIsHeldStays(t *testing.T) {
	r := ocitest.New(t)
	for i := range 5 {
		r.Push(t, fmt.Sprintf("app%d:v1", i), ocitest.Image(t, v1.Config{}, big(uint64(i), 1<<20)))
	}
	dir := t.TempDir()
	o := oci.Options{Dir: dir, MaxBytes: 3<<20 + 512<<10, Now: newClock().now}
	s := open(t, o)
	for i := range 3 {
		pull(t, s, r.Ref(fmt.Sprintf("app%d:v1", i)), oci.PullOptions{})
	}
	pull(t, s, r.Ref("app0:v1"), oci.PullOptions{}) // now app1 is the oldest
	pull(t, s, r.Ref("app3:v1"), oci.PullOptions{Owner: "w/3/0"})
	if got := refs(s); !slices.Equal(got, []string{"app0:v1", "app2:v1", "app3:v1"}) {
		t.Fatalf("after the fourth pull there are %v", got)
	}
	// The order of use and who holds what survive a restart.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, o)
	if got := s.Held(); len(got) != 1 || !strings.HasSuffix(got["w/3/0"][0], "app3:v1") {
		t.Errorf("after a restart is held: %v", got)
	}
	pull(t, s, r.Ref("app4:v1"), oci.PullOptions{})
	if got := refs(s); !slices.Equal(got, []string{"app0:v1", "app3:v1", "app4:v1"}) {
		t.Fatalf("after the fifth pull there are %v", got)
	}
	for _, i := range []int{0, 1, 2} {
		pull(t, s, r.Ref(fmt.Sprintf("app%d:v1", i)), oci.PullOptions{})
	}
	if got := refs(s); !slices.Contains(got, "app3:v1") || len(got) != 3 {
		t.Errorf("the held image was evicted: %v", got)
	}
	if u := s.Usage(); u.Bytes > o.MaxBytes || u.HeldBytes < 1<<20 {
		t.Errorf("usage %+v", u)
	}
	if err := s.Remove(r.Ref("app3:v1")); !errors.Is(err, oci.ErrInUse) || !strings.Contains(err.Error(), "w/3/0") {
		t.Errorf("removing what is held: %v", err)
	}
	if err := s.Release("w/3/0"); err != nil {
		t.Fatal(err)
	}
	if err := s.Release("w/3/0"); err != nil {
		t.Errorf("releasing twice: %v", err)
	}
	if err := s.Remove(r.Ref("app3:v1")); err != nil {
		t.Error(err)
	}
	if freed := s.Prune(); freed < 2<<20 || s.Usage().Bytes != 0 || len(entries(filepath.Join(dir, "layers"))) != 0 {
		t.Errorf("pruning freed %d bytes and left %+v", freed, s.Usage())
	}
}

func TestSharedLayersStayWithTheOtherImage(t *testing.T) {
	r := ocitest.New(t)
	base, a, b := big(1, 1<<20), big(2, 100<<10), big(3, 100<<10)
	r.Push(t, "a:v1", ocitest.Image(t, v1.Config{}, base, a))
	r.Push(t, "b:v1", ocitest.Image(t, v1.Config{}, base, b))
	s := open(t, oci.Options{})
	pull(t, s, r.Ref("a:v1"), oci.PullOptions{})
	img := pull(t, s, r.Ref("b:v1"), oci.PullOptions{})
	if err := s.Remove(r.Ref("a:v1")); err != nil {
		t.Fatal(err)
	}
	if n := s.Usage().Layers; n != 2 {
		t.Errorf("%d layers are left, want 2", n)
	}
	read(t, img.Layers[0], "data-1")
	if err := s.Remove(r.Ref("a:v1")); oci.KindOf(err) != oci.NotPresent {
		t.Errorf("removing twice: %v", err)
	}
}

func TestHoldOfWhatIsGone(t *testing.T) {
	r := ocitest.New(t)
	r.Push(t, "a:v1", ocitest.Image(t, v1.Config{}, big(1, 1000)))
	s := open(t, oci.Options{})
	img := pull(t, s, r.Ref("a:v1"), oci.PullOptions{})
	s.Prune()
	if err := s.Hold("w/1/0", img); oci.KindOf(err) != oci.NotPresent {
		t.Errorf("got %v", err)
	}
	img = pull(t, s, r.Ref("a:v1"), oci.PullOptions{})
	for range 2 {
		if err := s.Hold("w/1/0", img); err != nil {
			t.Fatal(err)
		}
	}
	if freed := s.Prune(); freed != 0 {
		t.Errorf("%d bytes of a held image were removed", freed)
	}
	if got := s.Held()["w/1/0"]; len(got) != 1 {
		t.Errorf("held twice: %v", got)
	}
}

func TestHalfWrittenThingsAreNotTakenForWhole(t *testing.T) {
	r := ocitest.New(t)
	r.Push(t, "a:v1", ocitest.Image(t, v1.Config{}, big(1, 1000), big(2, 1000)))
	r.Push(t, "b:v1", ocitest.Image(t, v1.Config{}, big(3, 1000)))
	for name, spoil := range map[string]func(dir, layer string) error{
		"tree without description": func(dir, layer string) error { return os.Remove(filepath.Join(dir, "meta", layer+".json")) },
		"description without tree": func(dir, layer string) error { return os.RemoveAll(filepath.Join(dir, "layers", layer)) },
		"torn description": func(dir, layer string) error {
			return os.Truncate(filepath.Join(dir, "meta", layer+".json"), 10)
		},
		"written before the machine went down": func(dir, layer string) error {
			return os.WriteFile(filepath.Join(dir, "meta", layer+".json"), []byte(`{"diffID":"sha256:`+layer+`","size":1,"boot":"another"}`), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, oci.Options{Dir: dir})
			img := pull(t, s, r.Ref("a:v1"), oci.PullOptions{})
			pull(t, s, r.Ref("b:v1"), oci.PullOptions{})
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if err := spoil(dir, filepath.Base(img.Layers[1])); err != nil {
				t.Fatal(err)
			}
			s = open(t, oci.Options{Dir: dir})
			if got := refs(s); !slices.Equal(got, []string{"b:v1"}) {
				t.Errorf("the cache claims to have %v", got)
			}
			r.Forget()
			img = pull(t, s, r.Ref("a:v1"), oci.PullOptions{})
			if got := read(t, img.Layers[1], "data-2"); got != string(ocitest.Noise(2, 1000)) {
				t.Error("the layer is not whole")
			}
			if n := r.Count("GET", "/blobs/"); n != 2 { // the configuration and one layer
				t.Errorf("%d blobs were read, want 2", n)
			}
		})
	}
}

func TestAFullDisk(t *testing.T) {
	r := ocitest.New(t)
	for i := range 3 {
		r.Push(t, fmt.Sprintf("app%d:v1", i), ocitest.Image(t, v1.Config{}, big(uint64(i), 5<<20)))
	}
	r.Push(t, "huge:v1", ocitest.Image(t, v1.Config{}, big(9, 40<<20)))
	dir := tmpfs(t, 16<<20)
	s := open(t, oci.Options{Dir: filepath.Join(dir, "images")})
	defer s.Close()
	pull(t, s, r.Ref("app0:v1"), oci.PullOptions{Owner: "w/0/0"})
	pull(t, s, r.Ref("app1:v1"), oci.PullOptions{})
	// There is room for the third only without the second.
	pull(t, s, r.Ref("app2:v1"), oci.PullOptions{})
	if got := refs(s); !slices.Equal(got, []string{"app0:v1", "app2:v1"}) {
		t.Errorf("there are %v", got)
	}
	_, err := s.Pull(t.Context(), r.Ref("huge:v1"), oci.PullOptions{})
	if oci.KindOf(err) != oci.NoSpace || !strings.Contains(err.Error(), "disk is full") {
		t.Fatalf("an image larger than the disk: %v", err)
	}
	for _, d := range []string{"tmp", "downloads"} {
		if left := entries(filepath.Join(dir, "images", d)); len(left) > 0 {
			t.Errorf("%s holds %v", d, left)
		}
	}
	pull(t, s, r.Ref("app0:v1"), oci.PullOptions{Policy: oci.Never})
	pull(t, s, r.Ref("app1:v1"), oci.PullOptions{})
}

func TestALayerLargerThanTheCacheIsRefused(t *testing.T) {
	r := ocitest.New(t)
	r.Push(t, "bomb:v1", ocitest.Image(t, v1.Config{}, ocitest.Files(ocitest.File{Path: "zeros", Body: strings.Repeat("\x00", 8<<20)})))
	s := open(t, oci.Options{MaxBytes: 1 << 20})
	_, err := s.Pull(t.Context(), r.Ref("bomb:v1"), oci.PullOptions{})
	if oci.KindOf(err) != oci.NoSpace || !strings.Contains(err.Error(), "limit") {
		t.Errorf("got %v", err)
	}
	if u := s.Usage(); u.Bytes != 0 {
		t.Errorf("usage %+v", u)
	}
}

func TestOpenRefusesWhatCannotWork(t *testing.T) {
	for words, o := range map[string]oci.Options{
		"empty":    {},
		"negative": {Dir: t.TempDir(), MaxBytes: -1},
		"os/arch":  {Dir: t.TempDir(), Platform: "amd64"},
	} {
		if _, err := oci.Open(o); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
