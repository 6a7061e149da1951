//go:build linux

package local

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/oci"
)

// shelved is an image of the shelf as the cache of images would give it.
func shelved(t *testing.T) *oci.Image {
	t.Helper()
	needBoxes(t)
	for _, img := range newShelf(t).images {
		if len(img.Layers) > 0 {
			return &oci.Image{Ref: img.Ref, Layers: img.Layers, Config: oci.Config{Env: img.Config.Env}}
		}
	}
	t.Fatal("the shelf is empty")
	return nil
}

func TestInstall(t *testing.T) {
	i := Installer{Dir: t.TempDir()}
	var log bytes.Buffer
	upper, done, err := i.Install(t.Context(), shelved(t), "set -e; echo $A; mkdir /new; echo made > /new/file", []string{"A=value"}, &log)
	if err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	data, err := os.ReadFile(filepath.Join(upper, "new", "file"))
	if err != nil || string(data) != "made\n" || !strings.Contains(log.String(), "value") {
		t.Errorf("made %q, %v; log %q", data, err, log.String())
	}
	if left, err := os.ReadDir(upper); err != nil || len(left) != 1 {
		t.Errorf("beside what it made there is %v, %v", left, err)
	}
	done()
	if left, err := os.ReadDir(i.Dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestInstallFails(t *testing.T) {
	i := Installer{Dir: t.TempDir()}
	var log bytes.Buffer
	_, _, err := i.Install(t.Context(), shelved(t), "echo so far; exit 4", nil, &log)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 4 || !strings.Contains(log.String(), "so far") {
		t.Errorf("%v, log %q; want code 4", err, log.String())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, _, err := i.Install(ctx, shelved(t), "sleep 1000", nil, &log); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("given up: %v", err)
	}
	slow := filepath.Join(t.TempDir(), "engine") // has not begun yet when it is to end
	if err := os.WriteFile(slow, []byte("#!/bin/sh\ncase \"$*\" in *' run '*) sleep 1 ;; esac\nexec runc \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	i.Engine = slow
	if _, _, err := i.Install(ctx, shelved(t), "sleep 1000", nil, &log); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("given up before it began: %v", err)
	}
	if left, err := os.ReadDir(i.Dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
