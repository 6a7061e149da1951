//go:build linux

package oci

import (
	"archive/tar"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/testing/ocitest"
)

// fortress is a directory to unpack into, beside things that must not change.
type fortress struct {
	dir, canary string
	before      map[string]string
}

func newFortress(t testing.TB) *fortress {
	t.Helper()
	outside := t.TempDir()
	f := &fortress{dir: filepath.Join(outside, "store", "layer"), canary: filepath.Join(outside, "canary")}
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.canary, []byte("alive"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.before = f.look(t)
	return f
}

// look describes everything outside the layer.
func (f *fortress) look(t testing.TB) map[string]string {
	t.Helper()
	seen := map[string]string{}
	outside := filepath.Dir(f.canary)
	err := filepath.WalkDir(outside, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if p == f.dir {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		seen[p] = info.Mode().String() + ownerOf(info)
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(p)
			seen[p] += string(b)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

func (f *fortress) check(t testing.TB) {
	t.Helper()
	after := f.look(t)
	if len(after) != len(f.before) {
		t.Fatalf("outside there were %v, now there are %v", f.before, after)
	}
	for p, was := range f.before {
		if after[p] != was {
			t.Fatalf("%s was %q and is %q", p, was, after[p])
		}
	}
	// Nothing inside is a door either.
	err := filepath.WalkDir(f.dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type()&fs.ModeDevice != 0 {
			if info, err := d.Info(); err != nil || !isWhiteout(info) {
				t.Fatalf("%s is a device", p)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func needRoot(t testing.TB) {
	t.Helper()
	if err := probeUnpack(t.TempDir()); err != nil {
		t.Skipf("this takes root and the right to make devices and set owners: %v", err)
	}
}

func TestHostileArchivesTouchNothingOutside(t *testing.T) {
	needRoot(t)
	for i := range ocitest.Attacks("/x/y") {
		f := newFortress(t)
		a := ocitest.Attacks(f.canary)[i]
		t.Run(a.Name, func(t *testing.T) {
			_, err := unpack(t.Context(), bytes.NewReader(a.Archive), f.dir, 0)
			f.check(t)
			if a.Refused != (err != nil) {
				t.Errorf("refused: %v, want %v (%v)", err != nil, a.Refused, err)
			}
			if err := os.RemoveAll(f.dir); err != nil {
				t.Errorf("the remains cannot be removed: %v", err)
			}
		})
	}
}

func TestWritingThroughALinkStaysInside(t *testing.T) {
	needRoot(t)
	f := newFortress(t)
	archive := ocitest.Tar(ocitest.File{Path: "usr/lib/"}, ocitest.File{Path: "lib", Link: "/usr/lib"}, ocitest.File{Path: "lib/x", Body: "x"},
		ocitest.File{Path: "lib64", Link: "usr/../lib"}, ocitest.File{Path: "lib64/y", Body: "y"})
	if _, err := unpack(t.Context(), bytes.NewReader(archive), f.dir, 0); err != nil {
		t.Fatal(err)
	}
	f.check(t)
	for _, name := range []string{"x", "y"} {
		if b, err := os.ReadFile(filepath.Join(f.dir, "usr/lib", name)); err != nil || string(b) != name {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
}

func TestTheLastEntryOfANameCounts(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	archive := ocitest.Tar(
		ocitest.File{Path: "a", Body: "1"}, ocitest.File{Path: "a", Body: "2"},
		ocitest.File{Path: "d/x", Body: "x"}, ocitest.File{Path: "d", Body: "file"},
		ocitest.File{Path: "f", Body: "file"}, ocitest.File{Path: "f/"}, ocitest.File{Path: "f/y", Body: "y"},
		ocitest.File{Path: ".wh.w"}, ocitest.File{Path: "w/", Mode: 0o700}, ocitest.File{Path: "w/z", Body: "z"},
		ocitest.File{Path: "p", Type: tar.TypeFifo})
	if _, err := unpack(t.Context(), bytes.NewReader(archive), dir, 0); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "2", "d": "file", "f/y": "y", "w/z": "z"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if v := opaqueOf(filepath.Join(dir, "w")); v != "y" {
		t.Errorf("a directory in place of a whiteout shows what it hid (%q)", v)
	}
}

func TestEntryPath(t *testing.T) {
	for name, want := range map[string]string{
		"": ".", "./": ".", "/": ".", "a": "a", "/a": "a", "./a/b/": "a/b", "a//b": "a/b", "a/./b": "a/b", "...": "...", "a..b": "a..b",
		"..": "", "a/../b": "", "../a": "", "a/..": "", "a\x00b": "", strings.Repeat("a", 256): "",
	} {
		got, err := entryPath(name)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%q is %q (%v), want %q", name, got, err, want)
		}
	}
}

func TestAttributesThatAreTaken(t *testing.T) {
	for name, want := range map[string]bool{
		"user.note": true, "security.capability": true, "system.posix_acl_access": true,
		"user.overlay.redirect": false, "trusted.overlay.opaque": false, "trusted.x": false, "security.selinux": false, "security.ima": false,
	} {
		if keepXattr(name) != want {
			t.Errorf("%s: %v, want %v", name, !want, want)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	needRoot(f)
	for _, a := range ocitest.Attacks("/tmp/canary") {
		if len(a.Archive) <= 8<<10 {
			f.Add(a.Archive)
		}
	}
	f.Add(ocitest.Tar(ocitest.File{Path: "d/"}, ocitest.File{Path: "d/f", Body: "x"}, ocitest.File{Path: "l", Link: "../.."}, ocitest.File{Path: "l/d/.wh.f"}))
	f.Fuzz(func(t *testing.T, archive []byte) {
		fort := newFortress(t)
		// The limit keeps sparse files from filling the disk.
		_, err := unpack(t.Context(), bytes.NewReader(archive), fort.dir, 8<<20)
		fort.check(t)
		if err != nil && classify(err) == nil {
			t.Errorf("no words for %v", err)
		}
		if err := os.RemoveAll(fort.dir); err != nil {
			t.Errorf("the remains cannot be removed: %v", err)
		}
	})
}
