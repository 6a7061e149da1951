package enter

import (
	"archive/tar"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/cli/session"
)

type entry struct {
	name string
	kind byte
	link string
	body string
	mode int64
}

func archive(t *testing.T, entries ...entry) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		if e.mode == 0 {
			e.mode = 0o755
		}
		if err := w.WriteHeader(&tar.Header{Name: e.name, Typeflag: e.kind, Linkname: e.link, Size: int64(len(e.body)), Mode: e.mode}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

// A task may send what it likes: nothing is written outside the target.
func TestNothingIsUnpackedOutsideTheTarget(t *testing.T) {
	t.Parallel()
	for name, entries := range map[string][]entry{
		"a path up":             {{name: "tree/", kind: tar.TypeDir}, {name: "tree/../../evil", kind: tar.TypeReg, body: "x"}},
		"an absolute path":      {{name: "tree/", kind: tar.TypeDir}, {name: "/evil", kind: tar.TypeReg, body: "x"}},
		"a sibling":             {{name: "tree/", kind: tar.TypeDir}, {name: "evil", kind: tar.TypeReg, body: "x"}},
		"through a link":        {{name: "tree/", kind: tar.TypeDir}, {name: "tree/l", kind: tar.TypeSymlink, link: ".."}, {name: "tree/l/evil", kind: tar.TypeReg, body: "x"}},
		"through an outer link": {{name: "tree/", kind: tar.TypeDir}, {name: "tree/l", kind: tar.TypeSymlink, link: "OUTSIDE"}, {name: "tree/l/evil", kind: tar.TypeReg, body: "x"}},
		"a directory in a link": {{name: "tree/", kind: tar.TypeDir}, {name: "tree/l", kind: tar.TypeSymlink, link: "OUTSIDE"}, {name: "tree/l/evil/", kind: tar.TypeDir}},
		"a hard link":           {{name: "tree/", kind: tar.TypeDir}, {name: "tree/h", kind: tar.TypeLink, link: "../outside/secret"}},
		"a link over a link":    {{name: "tree/", kind: tar.TypeDir}, {name: "tree/l", kind: tar.TypeSymlink, link: "OUTSIDE/secret"}, {name: "tree/h", kind: tar.TypeLink, link: "tree/l"}, {name: "tree/h/x", kind: tar.TypeReg, body: "x"}},
		"another file":          {{name: "tree", kind: tar.TypeReg, body: "x"}, {name: "evil", kind: tar.TypeReg, body: "x"}},
	} {
		dir := t.TempDir()
		outside := filepath.Join(dir, "outside")
		if err := os.Mkdir(outside, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("kept"), 0o644); err != nil {
			t.Fatal(err)
		}
		for i := range entries {
			entries[i].link = strings.ReplaceAll(entries[i].link, "OUTSIDE", outside)
		}
		into := filepath.Join(dir, "into")
		if err := os.Mkdir(into, 0o755); err != nil {
			t.Fatal(err)
		}
		err := unpack(archive(t, entries...), newMeter(&session.Session{}, true), "tree", into)
		if err == nil {
			t.Errorf("%s was taken", name)
		}
		var found []string
		if err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if rel, _ := filepath.Rel(dir, p); strings.Contains(rel, "evil") {
				found = append(found, rel)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if left, _ := os.ReadFile(filepath.Join(outside, "secret")); len(found) > 0 || string(left) != "kept" {
			t.Errorf("%s: wrote %q, secret is %q", name, found, left)
		}
	}
}

// What is in a directory comes with that directory first: else its place would
// be beside the target.
func TestWhatIsInADirectoryStaysInTheTarget(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	into := filepath.Join(dir, "into")
	if err := os.Mkdir(into, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, first := range []entry{{name: "evil", kind: tar.TypeReg, body: "x"}, {name: "evil", kind: tar.TypeSymlink, link: "/"}, {name: ".", kind: tar.TypeReg, body: "x"}} {
		if err := unpack(archive(t, first), newMeter(&session.Session{}, true), ".", into); err == nil {
			t.Errorf("%+v was taken", first)
		}
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
		t.Errorf("beside the target lies %v: %v", all, err)
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "g", PAXRecords: map[string]string{"comment": "c"}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	b.Write(archive(t, entry{name: "./", kind: tar.TypeDir}, entry{name: "./f", kind: tar.TypeReg, body: "new"}).Bytes())
	if err := unpack(&b, newMeter(&session.Session{}, true), ".", into); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(filepath.Join(into, "f")); string(got) != "new" {
		t.Errorf("f is %q", got)
	}
}

// Two copies do not lead outside where one does not: a link that the first has
// made is not what the second is written to.
func TestADirectoryIsNotWrittenThroughALinkOfItsName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	outside, into := filepath.Join(dir, "outside"), filepath.Join(dir, "into")
	for _, d := range []string{outside, into} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m := newMeter(&session.Session{}, true)
	if err := unpack(archive(t, entry{name: "x", kind: tar.TypeSymlink, link: outside}), m, "x", into); err != nil {
		t.Fatal(err)
	}
	tree := func(base string) *bytes.Buffer {
		return archive(t, entry{name: base + "/", kind: tar.TypeDir}, entry{name: base + "/f", kind: tar.TypeReg, body: "new"})
	}
	if err := unpack(tree("x"), m, "x", into); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("the second copy says %v", err)
	}
	if all, err := os.ReadDir(outside); err != nil || len(all) > 0 {
		t.Fatalf("it wrote %v where the link leads: %v", all, err)
	}
	if err := unpack(tree("."), m, ".", filepath.Join(into, "x")); err != nil { // the link itself was named
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(filepath.Join(outside, "f")); string(got) != "new" {
		t.Errorf("f is %q", got)
	}
}

// A file that is there is replaced, not written through.
func TestAFileTakesThePlaceOfALink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	outside, into := filepath.Join(dir, "outside"), filepath.Join(dir, "into")
	if err := os.WriteFile(outside, []byte("kept"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(into, "tree"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tree/x", "single"} {
		if err := os.Symlink(outside, filepath.Join(into, name)); err != nil {
			t.Fatal(err)
		}
	}
	m := newMeter(&session.Session{}, true)
	if err := unpack(archive(t, entry{name: "tree/", kind: tar.TypeDir}, entry{name: "tree/x", kind: tar.TypeReg, body: "new", mode: 0o4750}), m, "tree", into); err != nil {
		t.Fatal(err)
	}
	if err := unpack(archive(t, entry{name: "f", kind: tar.TypeReg, body: "new"}), m, "f", filepath.Join(into, "single")); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadFile(outside); string(left) != "kept" {
		t.Errorf("what the link led to is %q", left)
	}
	info, err := os.Lstat(filepath.Join(into, "tree", "x"))
	if err != nil || info.Mode() != 0o750 {
		t.Errorf("x is %v: %v", info, err)
	}
}

func TestPathsInTasks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]remotePath{
		"a:b": {"a", -1, "b"}, "a:": {"a", -1, "."}, "a:3:b": {"a", 3, "b"}, "a:3:": {"a", 3, "."}, "a:x:b": {"a", -1, "x:b"}, "a:/b/c": {"a", -1, "/b/c"},
	} {
		if got, ok, err := readRemote(text); !ok || err != nil || got != want {
			t.Errorf("%s is %+v, %v, %v", text, got, ok, err)
		}
	}
	for _, text := range []string{"a", "./a:b", "/x/a:b", "", ":b", "."} {
		if got, ok, _ := readRemote(text); ok {
			t.Errorf("%s is taken for %+v", text, got)
		}
	}
	if _, _, err := readRemote("a:99999999999999999999:b"); err == nil {
		t.Error("a rank that is no number is taken")
	}
}
