package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const cgroups = "/sys/fs/cgroup"

// hierarchies are the folders in which a control group must be: one each for
// the controllers of version 1, or the only one of version 2.
func hierarchies() ([]string, error) {
	if _, err := os.Stat(filepath.Join(cgroups, "cgroup.controllers")); err == nil {
		return []string{cgroups}, passDown()
	}
	entries, err := os.ReadDir(cgroups)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() { // no link: a controller's second name
			out = append(out, filepath.Join(cgroups, e.Name()))
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("nodes take control groups: %s is empty", cgroups)
	}
	return out, nil
}

// passDown has the root of version 2 hand its controllers to the groups below:
// kubelet takes a group for missing where they are.
func passDown() error {
	all, err := os.ReadFile(filepath.Join(cgroups, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for _, c := range strings.Fields(string(all)) {
		if err := os.WriteFile(filepath.Join(cgroups, "cgroup.subtree_control"), []byte("+"+c), 0o644); err != nil {
			return fmt.Errorf("hand controller %s to control groups: %w", c, err)
		}
	}
	return nil
}

// makeGroups makes a control group everywhere: kubelet expects it.
func makeGroups(name string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	for _, h := range all {
		if err := os.MkdirAll(h+name, 0o755); err != nil {
			return fmt.Errorf("make control group %s: %w", name, err)
		}
	}
	return nil
}

// removeGroups removes it with all below it. Its processes are dead, but the
// kernel may need a moment to see it.
func removeGroups(name string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		var failed []error
		for _, h := range all {
			failed = append(failed, removeTree(h+name))
		}
		if err := errors.Join(failed...); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// removeTree removes the folders of a control group, the deepest first; the
// files in them go by themselves.
func removeTree(root string) error {
	var dirs []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return nil // what is gone is gone
	})
	for _, dir := range slices.Backward(dirs) {
		if e := os.Remove(dir); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = e
		}
	}
	return err
}
