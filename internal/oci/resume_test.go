//go:build linux

package oci_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/musterhq/muster/internal/oci"
	"github.com/musterhq/muster/internal/testing/ocitest"
)

// big is a layer of which half can be counted.
func big(seed uint64, n int) *ocitest.Layer {
	return ocitest.Files(ocitest.File{Path: fmt.Sprintf("data-%d", seed), Body: string(ocitest.Noise(seed, n))})
}

// received is how many bytes of a layer the registry sent, and how many of its
// answers were to requests for a part.
func received(r *ocitest.Registry, l *ocitest.Layer) (bytes int64, ranged int) {
	for _, q := range r.Requests() {
		if strings.Contains(q.Path, l.Sum.Hex) && q.Method == "GET" {
			bytes += q.Bytes
			if q.Range != "" {
				ranged++
			}
		}
	}
	return bytes, ranged
}

func TestABrokenDownloadGoesOn(t *testing.T) {
	t.Parallel()
	size := func(l *ocitest.Layer) int64 { return int64(len(l.Packed)) }
	for name, c := range map[string]struct {
		fault ocitest.Fault
		extra int64 // bytes that are sent more than once
	}{
		"cut":                       {ocitest.Fault{Do: ocitest.Cut, Times: 2}, 0},
		"hang":                      {ocitest.Fault{Do: ocitest.Hang, Times: 1}, 0},
		"cut, parts are refused":    {ocitest.Fault{Do: ocitest.Cut, Times: 1}, 1},
		"cut, then busy for a time": {ocitest.Fault{Do: ocitest.Cut, Times: 1}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := ocitest.New(t)
			layer := big(3, 2<<20)
			r.Push(t, "app:v1", ocitest.Image(t, v1.Config{}, layer))
			r.Forget()
			c.fault.Path, c.fault.After = layer.Sum.Hex, size(layer)/2
			r.Fault(c.fault)
			if strings.Contains(name, "refused") {
				r.Fault(ocitest.Fault{Do: ocitest.Refuse, Status: 416, Ranged: true})
			}
			if strings.Contains(name, "busy") {
				r.Fault(ocitest.Fault{Do: ocitest.Refuse, Status: 503, Ranged: true, Times: 2})
			}
			s := open(t, oci.Options{IdleTimeout: time.Second})
			img := pull(t, s, r.Ref("app:v1"), oci.PullOptions{})
			if got := read(t, img.Layers[0], "data-3"); got != string(ocitest.Noise(3, 2<<20)) {
				t.Error("the layer is not what was pushed")
			}
			_, ranged := received(r, layer)
			if ranged == 0 {
				t.Error("no part was asked for")
			}
			sent := ok(r, layer)
			if most := size(layer) + c.extra*size(layer)/2; sent > most {
				t.Errorf("%d bytes were sent, at most %d are needed", sent, most)
			}
		})
	}
}

// ok is how many bytes of a layer were sent in answers that were not refusals.
func ok(r *ocitest.Registry, l *ocitest.Layer) (n int64) {
	for _, q := range r.Requests() {
		if strings.Contains(q.Path, l.Sum.Hex) && q.Method == "GET" && q.Status < 300 {
			n += q.Bytes
		}
	}
	return n
}

func TestTheNextPullGoesOnWhereTheLastOneEnded(t *testing.T) {
	t.Parallel()
	r := ocitest.New(t)
	layer := big(4, 2<<20)
	r.Push(t, "app:v1", ocitest.Image(t, v1.Config{}, layer))
	half := int64(len(layer.Packed) / 2)
	r.Fault(ocitest.Fault{Do: ocitest.Hang, Path: layer.Sum.Hex, After: half, Times: 1})
	r.Fault(ocitest.Fault{Do: ocitest.Hang, Path: layer.Sum.Hex})
	dir := t.TempDir()
	s := open(t, oci.Options{Dir: dir, IdleTimeout: 300 * time.Millisecond})
	_, err := s.Pull(t.Context(), r.Ref("app:v1"), oci.PullOptions{})
	if oci.KindOf(err) != oci.Stalled {
		t.Fatalf("a registry that hangs: %v", err)
	}
	if left := entries(filepath.Join(dir, "tmp")); len(left) > 0 {
		t.Errorf("garbage is left: %v", left)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r.Heal()
	r.Forget()
	s = open(t, oci.Options{Dir: dir})
	img := pull(t, s, r.Ref("app:v1"), oci.PullOptions{})
	if got := read(t, img.Layers[0], "data-4"); got != string(ocitest.Noise(4, 2<<20)) {
		t.Error("the layer is not what was pushed")
	}
	if n, ranged := received(r, layer); ranged != 1 || n > int64(len(layer.Packed))-half+64<<10 {
		t.Errorf("%d bytes of %d were downloaded again, with %d requests for a part", n, len(layer.Packed), ranged)
	}
	if left := entries(filepath.Join(dir, "downloads")); len(left) > 0 {
		t.Errorf("downloads are left: %v", left)
	}
}

func TestADamagedTransferIsNoticed(t *testing.T) {
	t.Parallel()
	r := ocitest.New(t)
	layer := big(5, 1<<20)
	r.Push(t, "app:v1", ocitest.Image(t, v1.Config{}, layer))
	r.Fault(ocitest.Fault{Do: ocitest.Corrupt, Path: layer.Sum.Hex, After: int64(len(layer.Packed)) - 20<<10})
	s := open(t, oci.Options{})
	_, err := s.Pull(t.Context(), r.Ref("app:v1"), oci.PullOptions{})
	if oci.KindOf(err) != oci.Damaged {
		t.Fatalf("a changed byte: %v", err)
	}
	if len(s.List()) != 0 || s.Usage().Bytes != 0 {
		t.Errorf("something of it stayed: %+v", s.Usage())
	}
	// A byte that changes nothing of the content: the time in gzip's header.
	r.Heal()
	r.Fault(ocitest.Fault{Do: ocitest.Corrupt, Path: layer.Sum.Hex, After: 5})
	if _, err := s.Pull(t.Context(), r.Ref("app:v1"), oci.PullOptions{}); oci.KindOf(err) != oci.Damaged {
		t.Errorf("a changed byte of the header: %v", err)
	}
	r.Heal()
	pull(t, s, r.Ref("app:v1"), oci.PullOptions{})
}

func TestDamageOnDiskOfHalfADownloadHeals(t *testing.T) {
	t.Parallel()
	r := ocitest.New(t)
	layer := big(6, 1<<20)
	r.Push(t, "app:v1", ocitest.Image(t, v1.Config{}, layer))
	r.Fault(ocitest.Fault{Do: ocitest.Hang, Path: layer.Sum.Hex, After: int64(len(layer.Packed) / 2), Times: 1})
	r.Fault(ocitest.Fault{Do: ocitest.Hang, Path: layer.Sum.Hex})
	s := open(t, oci.Options{IdleTimeout: 300 * time.Millisecond})
	if _, err := s.Pull(t.Context(), r.Ref("app:v1"), oci.PullOptions{}); oci.KindOf(err) != oci.Stalled {
		t.Fatal(err)
	}
	part := filepath.Join(s.Dir(), "downloads", entries(filepath.Join(s.Dir(), "downloads"))[0])
	b := []byte(read(t, part))
	copy(b[len(b)/2:], make([]byte, 1000))
	if err := os.WriteFile(part, b, 0o600); err != nil {
		t.Fatal(err)
	}
	r.Heal()
	img := pull(t, s, r.Ref("app:v1"), oci.PullOptions{})
	if got := read(t, img.Layers[0], "data-6"); got != string(ocitest.Noise(6, 1<<20)) {
		t.Error("the layer is not what was pushed")
	}
}

func TestABusyRegistryIsAskedAgain(t *testing.T) {
	t.Parallel()
	r := ocitest.New(t)
	r.Push(t, "app:v1", ocitest.Image(t, v1.Config{}, ocitest.Files(ocitest.File{Path: "f", Body: "x"})))
	s := open(t, oci.Options{})
	r.Fault(ocitest.Fault{Do: ocitest.Refuse, Status: 503, Path: "/manifests/", Times: 2})
	pull(t, s, r.Ref("app:v1"), oci.PullOptions{})
	r.Fault(ocitest.Fault{Do: ocitest.Refuse, Status: 429, Path: "/manifests/"})
	_, err := s.Pull(t.Context(), r.Ref("app:v1"), oci.PullOptions{Policy: oci.Always})
	var e *oci.Error
	if oci.KindOf(err) != oci.Busy || !asError(err, &e) || !e.Temporary() {
		t.Errorf("a registry that stays busy: %v", err)
	}
}

func TestAnExpiredTokenIsRenewed(t *testing.T) {
	t.Parallel()
	r := ocitest.New(t, ocitest.Bearer("joe", "s3cr3t"))
	layer := big(7, 1<<20)
	r.Push(t, "app:v1", ocitest.Image(t, v1.Config{}, layer))
	r.Fault(ocitest.Fault{Do: ocitest.Cut, Path: layer.Sum.Hex, After: int64(len(layer.Packed) / 2), Times: 1})
	s := open(t, oci.Options{})
	pull(t, s, r.Ref("app:v1"), oci.PullOptions{Credentials: creds(r), Progress: func(p oci.Progress) {
		if p.Bytes > 0 && p.LayersDone == 0 {
			r.ExpireTokens()
		}
	}})
}

const victimDir, victimRef = "OCI_TEST_VICTIM_DIR", "OCI_TEST_VICTIM_REF"

// TestMain is also the process that is killed in the middle of a pull.
func TestMain(m *testing.M) {
	if dir := os.Getenv(victimDir); dir != "" {
		s, err := oci.Open(oci.Options{Dir: dir})
		if err == nil {
			err = s.CanPull()
		}
		if err == nil {
			_, err = s.Pull(tContext(), os.Getenv(victimRef), oci.PullOptions{Progress: func(p oci.Progress) { fmt.Println("bytes", p.Bytes) }})
		}
		fmt.Println("ended", oci.KindOf(err), err)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestKillInTheMiddleOfAPull(t *testing.T) {
	t.Parallel()
	r := ocitest.New(t)
	var layers []*ocitest.Layer
	for i := range 3 {
		layers = append(layers, big(uint64(10+i), 2<<20))
	}
	r.Push(t, "app:v1", ocitest.Image(t, v1.Config{}, append(layers, ocitest.Files(ocitest.File{Path: "small", Body: "s"}))...))
	for _, l := range layers {
		r.Fault(ocitest.Fault{Do: ocitest.Hang, Path: l.Sum.Hex, After: int64(len(l.Packed)) / 2})
	}
	dir := t.TempDir()
	open(t, oci.Options{Dir: dir}).Close() // skips where it cannot work

	victim := exec.Command(os.Args[0])
	victim.Env = append(os.Environ(), victimDir+"="+dir, victimRef+"="+r.Ref("app:v1"))
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	var n int64
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if _, err := fmt.Sscanf(lines.Text(), "bytes %d", &n); err != nil {
			t.Fatalf("the victim said %q", lines.Text())
		}
		if n > 1<<20 {
			break
		}
	}
	if _, err := oci.Open(oci.Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), fmt.Sprint(victim.Process.Pid)) {
		t.Errorf("a second process got the directory, or was not told who has it: %v", err)
	}
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	victim.Wait()

	r.Heal()
	r.Forget()
	s := open(t, oci.Options{Dir: dir})
	if left := entries(filepath.Join(dir, "tmp")); len(left) > 0 {
		t.Errorf("garbage is left: %v", left)
	}
	img := pull(t, s, r.Ref("app:v1"), oci.PullOptions{})
	for i := range layers {
		if got := read(t, img.Layers[i], fmt.Sprintf("data-%d", 10+i)); got != string(ocitest.Noise(uint64(10+i), 2<<20)) {
			t.Errorf("layer %d is not what was pushed", i)
		}
	}
	if left := entries(filepath.Join(dir, "downloads")); len(left) > 0 {
		t.Errorf("downloads are left: %v", left)
	}
	ranged := 0
	for _, l := range layers {
		_, n := received(r, l)
		ranged += n
	}
	if ranged == 0 {
		t.Error("the pull began from the start")
	}
}

func TestWithoutRootItIsSaidWhatWorks(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("this takes root: it becomes somebody else to show what works without")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "victim")
	b, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	const nobody = 65534
	for _, err := range []error{os.WriteFile(program, b, 0o755), os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(program, 0o755), os.Mkdir(filepath.Join(dir, "images"), 0o755), os.Chown(filepath.Join(dir, "images"), nobody, nobody)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	victim := exec.Command(program)
	victim.Env = append(os.Environ(), victimDir+"="+filepath.Join(dir, "images"), victimRef+"=app")
	victim.Dir = "/"
	victim.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := victim.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "ended needs_root") || !strings.Contains(string(out), "run the server as root") {
		t.Errorf("it said %q (%v)", out, err)
	}
}
