package system

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// unpack takes an archive of a data directory apart.
func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			t.Fatal(err)
		case h.Typeflag == tar.TypeDir:
			err = root.MkdirAll(h.Name, 0o700)
		default:
			var data []byte
			if data, err = io.ReadAll(r); err == nil {
				err = root.WriteFile(h.Name, data, os.FileMode(h.Mode).Perm()) //nolint:gosec // bits of a mode
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestDataOfEveryFormatGoesOn: a server is started on what the program of each
// earlier format left when power was lost. All of it is there, what waited starts,
// and new work is taken.
func TestDataOfEveryFormatGoesOn(t *testing.T) {
	archives, err := filepath.Glob(filepath.Join("testdata", "formats", "format-*.tar.gz"))
	if err != nil || len(archives) < 8 {
		t.Fatalf("%d archives, %v", len(archives), err)
	}
	steps, err := filepath.Glob(filepath.Join("..", "..", "store", "sqlstore", "migrations", "sqlite", "*.sql"))
	if latest := fmt.Sprintf("format-%d.tar.gz", len(steps)); err != nil || !slices.ContainsFunc(archives, func(a string) bool { return filepath.Base(a) == latest }) {
		t.Errorf("there is no %s: make one with the program that writes it (testdata/formats/README.md)", latest)
	}
	for _, archive := range archives {
		format := strings.TrimSuffix(filepath.Base(archive), ".tar.gz")
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			dir, err := os.MkdirTemp(root, "format-")
			if err != nil {
				t.Fatal(err)
			}
			unpack(t, archive, dir)
			s := startIn(t, dir, "--fake-gpus", "4")
			for name, phase := range map[string]lifecycle.Phase{"done": lifecycle.Completed, "fails": lifecycle.Failed, "squares": lifecycle.Completed} {
				if w := s.workload(t, name); w.Phase != string(phase) {
					t.Errorf("%s is %s, want %s", name, w.Phase, phase)
				}
			}
			if got := s.output(t, "done"); got != "it was said\n" {
				t.Errorf("the log of done is %q", got)
			}
			// Its process is gone, which is told as such. It may run again before what
			// waits gets its turn.
			s.lostAndStopped(t, "holder")
			if w := s.ends(t, "waits"); w.Phase != string(lifecycle.Completed) {
				t.Errorf("what waited ended as %s: %s", w.Phase, w.Message)
			}
			if got := s.output(t, "waits"); got != "at last\n" {
				t.Errorf("the log of what waited is %q", got)
			}
			if _, err := s.conn.Submit(t.Context(), []byte(`{"name":"new","command":["echo","new"],"resources":{"gpu":1}}`), client.SubmitOptions{}); err != nil {
				t.Fatal(err)
			}
			if w := s.ends(t, "new"); w.Phase != string(lifecycle.Completed) {
				t.Errorf("new work ended as %s: %s", w.Phase, w.Message)
			}
			used, err := s.conn.Usage(t.Context(), client.UsageOptions{From: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
			if err != nil || used.Total <= 0 {
				t.Errorf("nothing is charged: %+v, %v", used, err)
			}
			s.secretIsKept(t, format)
		})
	}
}

// secretIsKept runs a workload that shows how long the secret is, where the version
// had secrets that a command could make.
func (s *server) secretIsKept(t *testing.T, format string) {
	t.Helper()
	if format == "format-2" {
		return
	}
	doc := `{"name":"secretive","command":"printf %s \"$TOKEN\" | wc -c","secrets":["token"]}`
	if _, err := s.conn.Submit(t.Context(), []byte(doc), client.SubmitOptions{}); err != nil {
		t.Fatal(err)
	}
	s.ends(t, "secretive")
	if got := strings.TrimSpace(s.output(t, "secretive")); got != "11" {
		t.Errorf("the secret has %q characters, want 11", got)
	}
}

func (s *server) workload(t *testing.T, name string) *api.Workload {
	t.Helper()
	w, err := s.conn.Workload(t.Context(), "default", name)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return w
}

// lostAndStopped waits until what ran is known to be lost, and stops it if it is
// to run again.
func (s *server) lostAndStopped(t *testing.T, name string) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		w := s.workload(t, name)
		if lifecycle.Phase(w.Phase).Ended() {
			return
		}
		if w.Attempt > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is not known to be lost: it is %s (%s %s)", name, w.Phase, w.Reason, w.Message)
		}
	}
	// Where it began, it may have ended by itself since: its directory went with the
	// machine on which it was.
	if _, err := s.conn.Stop(t.Context(), "default", name, api.StopOptions{}); err != nil && !lifecycle.Phase(s.workload(t, name).Phase).Ended() {
		t.Fatal(err)
	}
	s.ends(t, name)
}

// ends waits until a workload has ended.
func (s *server) ends(t *testing.T, name string) *api.Workload {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		w := s.workload(t, name)
		if lifecycle.Phase(w.Phase).Ended() {
			return w
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s has not ended: it is %s (%s %s)", name, w.Phase, w.Reason, w.Message)
		}
	}
}

func (s *server) output(t *testing.T, name string) string {
	t.Helper()
	body, err := s.conn.Logs(t.Context(), "default", name, client.LogOptions{})
	if err != nil {
		t.Fatalf("the log of %s: %v", name, err)
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
