//go:build linux

package chaos_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/musterhq/muster/internal/testing/chaos"
	"github.com/musterhq/muster/internal/testing/kubetest"
	"github.com/musterhq/muster/internal/testing/ocitest"
	"github.com/musterhq/muster/internal/testing/testdisk"
)

var (
	seed = flag.Uint64("chaos.seed", 1, "what is done follows from it")
	long = flag.Duration("chaos.for", 0, "go on for so long, on a disk of its own where that can be; 0: until the kills are done")
	keep = flag.String("chaos.keep", "", "where the ledger and what servers said are kept after a violation")
)

func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "__supervisor") { // in name, see TestASupervisorIsNotTakenForWhatItForked
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	os.Exit(kubetest.Main(m))
}

// TestKills is sixty kills under a load of everything, and all promises kept.
func TestKills(t *testing.T) {
	c := chaos.Config{Users: 3, Pause: 300 * time.Millisecond, Between: 300 * time.Millisecond, Image: image(t)}
	if *long > 0 && testdisk.Need() == "" {
		c.Volume = 512 << 20
	}
	play(t, c, 60)
}

// TestPowerCuts takes the machine its power: what was on the disk is all that is left.
func TestPowerCuts(t *testing.T) {
	if missing := testdisk.Need(); missing != "" {
		t.Skip(missing)
	}
	play(t, chaos.Config{Users: 3, Pause: 100 * time.Millisecond, Between: 1500 * time.Millisecond, Volume: 256 << 20, PowerCuts: true}, 5)
}

func play(t *testing.T, c chaos.Config, kills int) {
	t.Helper()
	var err error
	if c.Program, err = kubetest.Program(); err != nil {
		t.Fatal(err)
	}
	c.Seed, c.Dir = *seed, t.TempDir()
	c.Progress = func(line string) { t.Log(line) }
	w, err := chaos.Open(t.Context(), c)
	if w != nil {
		defer func() {
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		}()
	}
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	h, err := w.Play(t.Context(), func(deeds []chaos.Deed) bool {
		return chaos.Kills(deeds) >= kills && time.Since(begun) >= *long
	})
	if err != nil {
		keepFiles(t, c.Dir)
		t.Fatal(err)
	}
	found := chaos.Check(h)
	fmt.Printf("seed %d, %v\n", c.Seed, time.Since(begun).Round(time.Second))
	chaos.Report(os.Stdout, h, found)
	for _, v := range found {
		t.Error(v)
	}
	if t.Failed() {
		if data, err := json.MarshalIndent(h.Of(found), "", " "); err == nil {
			_ = os.WriteFile(filepath.Join(c.Dir, "found.json"), data, 0o600)
		}
		keepFiles(t, c.Dir)
	}
}

// keepFiles copies what tells how a violation came about to where it was asked for.
func keepFiles(t *testing.T, dir string) {
	t.Helper()
	if *keep == "" {
		return
	}
	to := filepath.Join(*keep, t.Name())
	if err := os.MkdirAll(to, 0o755); err != nil {
		t.Error(err)
		return
	}
	for _, name := range []string{"ledger.jsonl", "server.log", "evidence/marks", "found.json", "data/local/supervisor.log", "volume/data/local/supervisor.log"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, filepath.Base(name)), data, 0o644)
		}
		if err != nil {
			t.Error(err)
		}
	}
	t.Logf("ledger, evidence and what servers said: %s", to)
}

// image is one with a shell, in a registry on this machine; empty where
// containers cannot run.
func image(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Log("without containers: they take root")
		return ""
	}
	if _, err := exec.LookPath("runc"); err != nil {
		t.Log("without containers: there is no runc")
		return ""
	}
	if _, err := exec.LookPath("busybox"); err != nil {
		t.Log("without containers: there is no busybox")
		return ""
	}
	r := ocitest.New(t)
	r.Push(t, "busybox:1", ocitest.Image(t, v1.Config{Env: []string{"PATH=/bin"}}, ocitest.Busybox(t)))
	return r.Ref("busybox:1")
}
