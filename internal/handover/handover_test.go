package handover

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// source is a data directory with some of everything.
func source(t *testing.T) (dir string, m Manifest) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{
		Database: "records", "secrets.key": "key", "logs/w/0.0.log": "a line\n", "logs/kube/v/0.0.log": strings.Repeat("much\n", 1<<16), "audit-sent/a": "7",
		"token": "not this", "server.lock": "1", "local/tasks/x": "nor this", "images/l": "nor a cache",
	} {
		write(t, filepath.Join(dir, name), text)
	}
	id, err := Identify(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, Manifest{Format: 3, Version: "v", Installation: "i", ID: id, From: "here"}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func pack(t *testing.T, dir string, m Manifest) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := Pack(&out, dir, m); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// files are those below dir, with what is in them.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		all[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func take(dir string, stream io.Reader) (Manifest, error) {
	return Take(stream, dir, func(Manifest) error { return nil }, func(string, Manifest) error { return nil })
}

func TestWhatGoesArrivesAsItWas(t *testing.T) {
	t.Parallel()
	from, m := source(t)
	to := t.TempDir()
	write(t, filepath.Join(to, "server.lock"), "2")
	write(t, filepath.Join(to, "logs", "left", "by a program that was ended"), "")
	write(t, filepath.Join(to, stageDir, "half"), "")
	got, err := take(to, bytes.NewReader(pack(t, from, m)))
	if err != nil {
		t.Fatal(err)
	}
	if m.Archive = archive; got != m {
		t.Errorf("%+v, want %+v", got, m)
	}
	want := files(t, from)
	for _, stays := range []string{"token", "local/tasks/x", "images/l"} {
		delete(want, stays)
	}
	want["server.lock"] = "2"
	have := files(t, to)
	delete(have, hereFile)
	if len(have) != len(want) {
		t.Errorf("%d files, want %d", len(have), len(want))
	}
	for name, text := range want {
		if have[name] != text {
			t.Errorf("%s is %.40q, want %.40q", name, have[name], text)
		}
	}
	if here, err := HereOf(to); err != nil || here == nil || *here != m {
		t.Errorf("%+v, %v", here, err)
	}
	if _, err := take(to, bytes.NewReader(pack(t, from, m))); err == nil || !strings.Contains(err.Error(), "has records already") {
		t.Errorf("a second time: %v", err)
	}
}

// TestWhatIsNotWholeIsNotTaken cuts a stream everywhere, and changes bytes of it.
func TestWhatIsNotWholeIsNotTaken(t *testing.T) {
	t.Parallel()
	from, m := source(t)
	whole := pack(t, from, m)
	to := t.TempDir()
	refused := func(what string, at int, stream []byte) {
		t.Helper()
		if _, err := take(to, bytes.NewReader(stream)); !errors.Is(err, ErrStream) {
			t.Fatalf("%s %d of %d: %v", what, at, len(whole), err)
		}
		if left := files(t, to); len(left) != 0 {
			t.Fatalf("%s %d left %v", what, at, left)
		}
	}
	for n := 0; n < len(whole); n += 1 + min(61, (len(whole)-n)/2) { // each byte of its end
		refused("cut at", n, whole[:n])
	}
	plain := unzip(t, whole)
	for _, text := range []string{"records", "a line", "key"} {
		n := bytes.Index(plain, []byte(text))
		changed := bytes.Clone(plain)
		changed[n] ^= 1
		refused("changed at", n, zip(t, changed))
	}
	if _, err := take(to, bytes.NewReader(whole)); err != nil {
		t.Fatal(err)
	}
}

func unzip(t *testing.T, b []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func zip(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestNothingIsWrittenElsewhere sends names and kinds of files that do not go.
func TestNothingIsWrittenElsewhere(t *testing.T) {
	t.Parallel()
	for _, h := range []tar.Header{
		{Name: "../out"}, {Name: "logs/../../out"}, {Name: "/tmp/out"}, {Name: "token"}, {Name: "logs//a"}, {Name: "logs/./a"}, {Name: ""},
		{Name: "logs/a", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, {Name: "logs/a", Typeflag: tar.TypeLink, Linkname: "secrets.key"},
	} {
		var out bytes.Buffer
		w := tar.NewWriter(&out)
		if err := packJSON(w, manifestEntry, Manifest{Archive: archive}); err != nil {
			t.Fatal(err)
		}
		h.Mode = 0o600
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		base := t.TempDir()
		to := filepath.Join(base, "d")
		if err := os.Mkdir(to, 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := take(to, bytes.NewReader(zip(t, out.Bytes()))); !errors.Is(err, ErrStream) || !strings.Contains(err.Error(), "does not go") {
			t.Errorf("%q: %v", h.Name, err)
		}
		if left := files(t, base); len(left) != 0 {
			t.Errorf("%q left %v", h.Name, left)
		}
	}
}

// TestWhoeverLooksMayRefuse: what is refused leaves nothing, at the manifest and at the
// end, and so does a stream of another form.
func TestWhoeverLooksMayRefuse(t *testing.T) {
	t.Parallel()
	from, m := source(t)
	to, no := t.TempDir(), errors.New("no")
	stream := pack(t, from, m)
	yes := func(Manifest) error { return nil }
	if _, err := Take(bytes.NewReader(stream), to, func(Manifest) error { return no }, nil); !errors.Is(err, no) {
		t.Error(err)
	}
	if _, err := Take(bytes.NewReader(stream), to, yes, func(stage string, _ Manifest) error {
		if files(t, stage)[Database] != "records" {
			t.Error("the records are not there to be looked at")
		}
		return no
	}); !errors.Is(err, no) {
		t.Error(err)
	}
	other := bytes.Replace(unzip(t, stream), []byte(`"archive":1`), []byte(`"archive":9`), 1)
	if _, err := take(to, bytes.NewReader(zip(t, other))); err == nil || !strings.Contains(err.Error(), "has the form 9") {
		t.Error(err)
	}
	if left := files(t, to); len(left) != 0 {
		t.Errorf("it left %v", left)
	}
	// Records that change while they are packed are no whole stream.
	m.ID = strings.Repeat("0", 64)
	if err := Pack(io.Discard, from, m); err == nil || !strings.Contains(err.Error(), "changed meanwhile") {
		t.Error(err)
	}
}
