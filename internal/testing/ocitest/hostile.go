package ocitest

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Attack is an archive that tries to reach out of where it is unpacked.
type Attack struct {
	Name    string
	Archive []byte
	// Refused says that no pull may succeed; otherwise it may, if nothing
	// outside is touched.
	Refused bool
}

// Attacks aim at canary, the absolute path of a file outside. None of them may
// change it, or anything else outside the layer.
func Attacks(canary string) []Attack {
	dir := canary[:strings.LastIndexByte(canary, '/')]
	base := canary[len(dir)+1:]
	evil := func(path string) File { return File{Path: path, Body: "evil"} }
	up := strings.Repeat("../", 20)
	return []Attack{
		{"dots in the path", Tar(evil(up + canary[1:])), true},
		{"dots in the middle", Tar(evil("a/../../../../../../../../../.." + canary)), true},
		{"absolute path", Tar(evil(canary)), false},
		{"write through an absolute link", Tar(File{Path: "out", Link: dir}, evil("out/"+base)), false},
		{"write through a relative link", Tar(File{Path: "out", Link: up + dir[1:]}, evil("out/"+base)), true},
		{"write onto a link", Tar(File{Path: "out", Link: canary}, evil("out")), false},
		{"directory onto a link", Tar(File{Path: "out", Link: dir}, File{Path: "out/", Mode: 0o777, UID: 4242}), false},
		{"link to a link", Tar(File{Path: "a", Link: "/"}, File{Path: "a/b", Link: up}, evil("b/"+canary[1:])), true},
		{"links in a circle", Tar(File{Path: "a", Link: "b"}, File{Path: "b", Link: "a"}, evil("a/x")), true},
		{"hard link out", Tar(File{Path: "hard", Link: up + canary[1:], Type: tar.TypeLink}, evil("hard")), true},
		{"absolute hard link", Tar(File{Path: "hard", Link: canary, Type: tar.TypeLink}), true},
		{"hard link through a link", Tar(File{Path: "out", Link: up + dir[1:]}, File{Path: "hard", Link: "out/" + base, Type: tar.TypeLink}), true},
		{"hard link to a link", Tar(File{Path: "out", Link: canary}, File{Path: "hard", Link: "out", Type: tar.TypeLink}, File{Path: "hard", Body: "evil", Mode: 0o777}), false},
		{"hard link to itself", Tar(File{Path: "a", Body: "a"}, File{Path: "a", Link: "a", Type: tar.TypeLink}), false},
		{"hard link to a directory", Tar(File{Path: "d/"}, File{Path: "e", Link: "d", Type: tar.TypeLink}), true},
		{"hard link in place of its parent", Tar(File{Path: "d/"}, File{Path: "d/f", Body: "f"}, File{Path: "d", Link: "d/f", Type: tar.TypeLink}), true},
		{"whiteout of the parent", Tar(File{Path: "a/.wh..."}), true},
		{"whiteout of dot dot", Tar(File{Path: ".wh..."}, File{Path: "b/"}, File{Path: "b/.wh..", Body: ""}), true},
		{"whiteout without a name", Tar(File{Path: "a/.wh."}), true},
		{"whiteout through a link", Tar(File{Path: "out", Link: up + dir[1:]}, File{Path: "out/.wh." + base}), true},
		{"opaque through a link", Tar(File{Path: "out", Link: up + dir[1:]}, File{Path: "out/.wh..wh..opq"}), true},
		{"below a whiteout", Tar(File{Path: ".wh.gone"}, evil("gone/x")), false},
		{"block device", Tar(File{Path: "disk", Type: tar.TypeBlock, Major: 8, Mode: 0o666}), false},
		{"character device", Tar(File{Path: "mem", Type: tar.TypeChar, Major: 1, Minor: 1, Mode: 0o666}), false},
		{"forged whiteout", Tar(File{Path: "etc", Type: tar.TypeChar}), false},
		{"overlay redirect", Tar(File{Path: "d/", PAX: map[string]string{"SCHILY.xattr.trusted.overlay.redirect": dir, "SCHILY.xattr.user.overlay.redirect": dir}}), false},
		{"file below a file", Tar(File{Path: "f", Body: "f"}, evil("f/g")), true},
		{"the root is a link", Tar(File{Path: "./", Link: dir, Type: tar.TypeSymlink}, evil(base)), true},
		{"long name", Tar(evil(strings.Repeat("n", 300))), true},
		{"long path", Tar(evil(strings.Repeat("d/", 5000) + "f")), true},
		{"long link", Tar(File{Path: "l", Link: strings.Repeat("d/", 5000)}), true},
		{"huge size", HugeFile(1 << 50), true},
		{"cut off", Tar(File{Path: "f", Body: strings.Repeat("x", 4096)})[:2048], true},
		{"no archive", []byte(strings.Repeat("this is no archive. ", 100)), true},
	}
}

// HugeFile is an archive that claims a file of size bytes and ends.
func HugeFile(size int64) []byte {
	b := Tar(File{Path: "huge", Body: "x"})[:512]
	h := &tar.Header{Name: "huge", Typeflag: tar.TypeReg, Mode: 0o644, Size: size}
	var out strings.Builder
	w := tar.NewWriter(&out)
	if err := w.WriteHeader(h); err != nil {
		return b
	}
	return []byte(out.String())
}

// PushRaw stores an artifact of one file under any title, also one that no
// honest client would write.
func (r *Registry) PushRaw(t testing.TB, rest string, body []byte, title string) {
	t.Helper()
	file := &Layer{Packed: body, Type: "application/octet-stream"}
	file.Sum, _, _ = v1.SHA256(bytes.NewReader(body))
	config := &Layer{Packed: []byte("{}"), Type: "application/vnd.oci.empty.v1+json"}
	config.Sum, _, _ = v1.SHA256(bytes.NewReader(config.Packed))
	ref := r.parse(t, rest)
	for _, l := range []*Layer{file, config} {
		if err := remote.WriteLayer(ref.Context(), l, r.auth()); err != nil {
			t.Fatal(err)
		}
	}
	m := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1, ArtifactType: "application/x.test",
		Config: v1.Descriptor{MediaType: config.Type, Digest: config.Sum, Size: 2},
		Layers: []v1.Descriptor{{MediaType: file.Type, Digest: file.Sum, Size: int64(len(body)), Annotations: map[string]string{"org.opencontainers.image.title": title}}}}
	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Put(ref, manifest(raw), r.auth()); err != nil {
		t.Fatal(err)
	}
}

type manifest []byte

func (m manifest) RawManifest() ([]byte, error)        { return m, nil }
func (m manifest) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }
