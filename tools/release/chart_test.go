package main

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

// unpacked are the files of a .tar.gz, in their order.
func unpacked(t *testing.T, path string) []file {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	plain, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var all []file
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, file{h.Name, h.Mode, data})
	}
}

// TestTheChartIsThatOfTheRepository compares the package with the files that the tests
// of deploy install in a cluster. Only the two versions differ.
func TestTheChartIsThatOfTheRepository(t *testing.T) {
	t.Parallel()
	r := here(t)
	if err := r.chart(); err != nil {
		t.Fatal(err)
	}
	files := unpacked(t, filepath.Join(r.out, "muster-9.8.7.tgz"))
	if len(files) == 0 || files[0].name != "muster/Chart.yaml" {
		t.Fatalf("the first of %d files is not Chart.yaml", len(files))
	}
	have := map[string]bool{}
	for _, f := range files {
		have[f.name] = true
		source, err := os.ReadFile(filepath.Join(r.root, "deploy", "helm", f.name))
		if err != nil {
			t.Error(err)
		}
		if f.name != "muster/Chart.yaml" {
			if !bytes.Equal(source, f.data) {
				t.Errorf("%s is another", f.name)
			}
			continue
		}
		var lines []string
		for line := range strings.Lines(string(f.data)) {
			if !strings.Contains(string(source), line) {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
		if got := strings.Join(lines, "; "); got != `version: "9.8.7"; appVersion: "9.8.7"` {
			t.Errorf("of Chart.yaml these are other: %s", got)
		}
	}
	for _, name := range below(t, filepath.Join(r.root, "deploy", "helm", "muster")) {
		info, err := os.Stat(filepath.Join(r.root, "deploy", "helm", "muster", name))
		if err != nil || !info.IsDir() && !have["muster/"+filepath.ToSlash(name)] {
			t.Errorf("%s is not in the package (%v)", name, err)
		}
	}
}
