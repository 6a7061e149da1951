package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// versionsOfChart are the lines that say which version a chart, and what it installs, is of.
var versionsOfChart = regexp.MustCompile(`(?m)^(version|appVersion): .*$`)

// chart makes a package of the Helm chart, as helm package does: its files below its
// name. The image's tag is its appVersion.
func (r *release) chart() error {
	root := filepath.Join(r.root, "deploy", "helm")
	var all []file
	err := filepath.WalkDir(filepath.Join(root, "muster"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if name == filepath.Join("muster", "Chart.yaml") {
			if found := versionsOfChart.FindAll(data, -1); len(found) != 2 {
				return fmt.Errorf("%s has %d lines of versions, not version and appVersion", path, len(found))
			}
			data = versionsOfChart.ReplaceAll(data, []byte(`$1: "`+r.version+`"`))
			all = append([]file{{filepath.ToSlash(name), 0o644, data}}, all...) // Helm wants it first
			return err
		}
		all = append(all, file{filepath.ToSlash(name), 0o644, data})
		return err
	})
	if err != nil {
		return err
	}
	data, err := tarred(all, r.date)
	if err != nil {
		return err
	}
	return r.put("muster-"+r.version+".tgz", data, 0o644)
}
