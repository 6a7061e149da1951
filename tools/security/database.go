package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The database of weaknesses in Go modules, as its own module has it: the module proxy
// serves it, so that no other host has to be reached. To take a newer one:
// go mod download -json golang.org/x/vulndb@latest, and Version and Sum from there.
const (
	databaseModule  = "golang.org/x/vulndb"
	databaseVersion = "v0.0.0-20261105234957-e22db6528018"
	databaseSum     = "h1:mfngRv0Yoh0VApsXKEN82CjD99kl7mtparN3bs3JnqI="
)

// entry is what the index needs of a report in OSV's form.
type entry struct {
	ID       string    `json:"id"`
	Modified time.Time `json:"modified"`
	Aliases  []string  `json:"aliases"`
	Affected []struct {
		Package struct {
			Name string `json:"name"`
		} `json:"package"`
	} `json:"affected"`
}

// indexed is a report in the index of a module.
type indexed struct {
	ID       string    `json:"id"`
	Modified time.Time `json:"modified"`
}

// module is a module in the index.
type module struct {
	Path  string    `json:"path"`
	Vulns []indexed `json:"vulns"`
}

// known is a report in the index of reports.
type known struct {
	ID       string    `json:"id"`
	Modified time.Time `json:"modified"`
	Aliases  []string  `json:"aliases,omitempty"`
}

// database writes the database below dir in the form of https://go.dev/doc/security/vuln/database
// and returns its URL and when it was so.
func database(dir string) (string, time.Time, error) {
	source, err := download()
	if err != nil {
		return "", time.Time{}, err
	}
	files, err := filepath.Glob(filepath.Join(source, "data", "osv", "GO-*.json"))
	if err != nil || len(files) < 4000 {
		return "", time.Time{}, fmt.Errorf("%s@%s has %d reports in data/osv, which is not all: %w", databaseModule, databaseVersion, len(files), err)
	}
	for _, d := range []string{"ID", "index"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return "", time.Time{}, err
		}
	}
	newest, err := pinned()
	if err != nil {
		return "", newest, err
	}
	byPath, all := map[string][]indexed{}, []known{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return "", newest, err
		}
		var e entry
		if err := json.Unmarshal(text, &e); err != nil {
			return "", newest, fmt.Errorf("%s: %w", f, err)
		}
		if err := os.WriteFile(filepath.Join(dir, "ID", e.ID+".json"), text, 0o644); err != nil {
			return "", newest, err
		}
		all = append(all, known{e.ID, e.Modified, e.Aliases})
		for _, path := range e.modules() {
			byPath[path] = append(byPath[path], indexed{e.ID, e.Modified})
		}
	}
	var modules []module
	for path, vulns := range byPath {
		slices.SortFunc(vulns, func(a, b indexed) int { return cmp.Compare(a.ID, b.ID) })
		modules = append(modules, module{path, vulns})
	}
	slices.SortFunc(modules, func(a, b module) int { return cmp.Compare(a.Path, b.Path) })
	for name, what := range map[string]any{"db": map[string]time.Time{"modified": newest}, "modules": modules, "vulns": all} {
		text, err := json.Marshal(what)
		if err != nil {
			return "", newest, err
		}
		if err := os.WriteFile(filepath.Join(dir, "index", name+".json"), text, 0o644); err != nil {
			return "", newest, err
		}
	}
	return (&url.URL{Scheme: "file", Path: dir}).String(), newest, nil
}

// pinned is when the database was as it is pinned, which stands in its version.
func pinned() (time.Time, error) {
	parts := strings.Split(databaseVersion, "-")
	if len(parts) != 3 {
		return time.Time{}, fmt.Errorf("%s is no version with a time", databaseVersion)
	}
	return time.Parse("20060102150405", parts[1])
}

// modules are those that a report is about, each once. From which version on it is mended is left
// out of the index, so that the report itself is read for each.
func (e entry) modules() []string {
	var all []string
	for _, a := range e.Affected {
		all = append(all, a.Package.Name)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// download has the module of the database in the module cache, and returns where.
func download() (string, error) {
	at := databaseModule + "@" + databaseVersion
	cmd := exec.Command("go", "mod", "download", "-json", at)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	var got struct{ Dir, Sum, Error string }
	if e := json.Unmarshal(text, &got); err != nil || e != nil || got.Error != "" {
		return "", fmt.Errorf("%s cannot be had from the module proxy: %v %s; it is needed once, and then offline", at, err, got.Error)
	}
	if got.Sum != databaseSum {
		return "", fmt.Errorf("%s has the sum %s, and is pinned with %s", at, got.Sum, databaseSum)
	}
	return got.Dir, nil
}
