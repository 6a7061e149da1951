package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestTheProgramCopiesItself(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	as := func(path string, args ...string) error {
		cmd := exec.Command(path)
		cmd.Args = append([]string{"exe"}, args...)
		return cmd.Run()
	}
	target := filepath.Join(t.TempDir(), "muster")
	for range 2 { // a pod's start may be tried again
		if err := as(self, "__copy", target); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(target)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o755 {
		t.Errorf("its mode is %v", info.Mode())
	}
	if err := as(target, "version"); err != nil {
		t.Errorf("the copy does not run: %v", err)
	}
	if _, err := os.Stat(target + ".part"); !os.IsNotExist(err) {
		t.Errorf("a part is left: %v", err)
	}
	if err := as(self, "__copy", filepath.Join(target, "no", "such")); err == nil {
		t.Error("a copy that cannot be made is none")
	}
}

func TestWhatEverybodyCanRun(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, "bin")
	path := filepath.Join(dir, "muster")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	open := func() bool { // everything, from the top
		for _, p := range []string{root, filepath.Dir(root)} {
			if err := os.Chmod(p, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		return forAll(path)
	}
	if !open() {
		t.Fatalf("%s cannot be run by everybody", path)
	}
	for _, closed := range []string{path, dir, root} {
		if err := os.Chmod(closed, 0o700); err != nil {
			t.Fatal(err)
		}
		if forAll(path) {
			t.Errorf("with %s closed %s can be run by everybody", closed, path)
		}
		if err := os.Chmod(closed, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if forAll(filepath.Join(dir, "other")) {
		t.Error("what is not there can be run")
	}
}
