package web_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/web"
)

// tool runs tools/web, which is a module of its own.
func tool(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"run", "."}, args...)...)
	cmd.Dir = filepath.Join("..", "tools", "web")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// contents are the files of a folder by name.
func contents(t *testing.T, f fs.FS) map[string]string {
	t.Helper()
	out := map[string]string{}
	entries, err := fs.ReadDir(f, ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := fs.ReadFile(f, e.Name())
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(text)
	}
	return out
}

func TestTheBundleIsWhatTheSourcesGive(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dist")
	if out, err := tool(t, "build", dir); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	committed, err := fs.Sub(web.Dist, "dist")
	if err != nil {
		t.Fatal(err)
	}
	have, want := contents(t, committed), contents(t, os.DirFS(dir))
	for name := range want {
		if have[name] != want[name] {
			t.Errorf("web/dist/%s is not what web/src gives; make generate writes it again", name)
		}
	}
	for name := range have {
		if _, ok := want[name]; !ok {
			t.Errorf("web/dist/%s is of nothing in web/src; make generate removes it", name)
		}
	}
}

func TestTheTypesAreThoseOfTheAPI(t *testing.T) {
	file := filepath.Join(t.TempDir(), "types.ts")
	if out, err := tool(t, "types", file); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile("src/api/types.ts")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Error("web/src/api/types.ts is not what api/openapi.json says; make generate writes it again")
	}
}

// budget is how large what is loaded at first may be, compressed, with the English texts: the page must
// be there at once, on slow lines too.
const budget = 130_000

func TestTheBundleStaysSmall(t *testing.T) {
	var b bytes.Buffer
	for _, name := range []string{"app.js", "chunk.js", "app.css", "theme.js"} {
		text, err := web.Dist.ReadFile("dist/" + name)
		if err != nil {
			t.Fatal(err)
		}
		w := gzip.NewWriter(&b)
		if _, err := w.Write(text); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d bytes", b.Len())
	if b.Len() > budget {
		t.Errorf("the pages take %d bytes compressed, %d are allowed: import what is seldom needed with import()", b.Len(), budget)
	}
}

// Nothing is loaded from elsewhere, and nothing is executed that is written into
// the page: the content policy would refuse it anyway.
func TestNothingComesFromElsewhere(t *testing.T) {
	page, err := web.Dist.ReadFile("dist/index.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"http://", "https://", "<style", "style=", "onload=", "javascript:"} {
		if strings.Contains(string(page), bad) {
			t.Errorf("index.html has %q", bad)
		}
	}
	if n := strings.Count(string(page), "<script"); n != strings.Count(string(page), "<script src=")+strings.Count(string(page), `<script type="module" src=`) {
		t.Error("index.html has a script written into it")
	}
}

// allowed are the licences of what is served.
var allowed = map[string]bool{"MIT": true, "Apache-2.0": true, "0BSD": true, "BSD-3-Clause": true, "ISC": true, "OFL-1.1": true}

func TestWhatIsVendoredIsWhatWasFetched(t *testing.T) {
	text, err := os.ReadFile("vendor/VENDOR.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Name, Version, Licence, Why, Integrity string
		Files                                  map[string]string
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{"VENDOR.json": true}
	for _, p := range all {
		if !allowed[p.Licence] || p.Why == "" || !strings.HasPrefix(p.Integrity, "sha512-") || p.Files["LICENSE"] == "" {
			t.Errorf("%s: needs a licence that is allowed, its text, why it is there, and its integrity: %+v", p.Name, p)
		}
		for name, want := range p.Files {
			path := filepath.Join(p.Name, filepath.FromSlash(name))
			listed[path] = true
			body, err := os.ReadFile(filepath.Join("vendor", path))
			if err != nil {
				t.Error(err)
				continue
			}
			if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != want {
				t.Errorf("web/vendor/%s was changed; go run . vendor in tools/web fetches it again", path)
			}
		}
	}
	err = fs.WalkDir(os.DirFS("vendor"), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !listed[filepath.FromSlash(path)] {
			t.Errorf("web/vendor/%s is in no list", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheSourcesAreOfTheirTypes(t *testing.T) {
	out, err := tool(t, "check")
	if err != nil && strings.Contains(out, "registry.npmjs.org") {
		t.Skipf("this takes TypeScript, which npm fetches once from registry.npmjs.org; with a network, or node_modules from elsewhere, it runs: %s", out)
	}
	if err != nil {
		t.Errorf("%s", out)
	}
}

var (
	cssComment = regexp.MustCompile(`(?s)/\*.*?\*/`)
	cssRule    = regexp.MustCompile(`([^{}]+)\{`)
	cssClass   = regexp.MustCompile(`\.([a-z][\w-]*)`)
)

// selectors are those of all rules of a sheet.
func selectors(sheet string) []string {
	var out []string
	for _, rule := range cssRule.FindAllStringSubmatch(cssComment.ReplaceAllString(sheet, ""), -1) {
		if at := strings.TrimSpace(rule[1]); !strings.HasPrefix(at, "@") {
			out = append(out, strings.Split(rule[1], ",")...)
		}
	}
	return out
}

func classes(of string) []string {
	var out []string
	for _, c := range cssClass.FindAllStringSubmatch(of, -1) {
		out = append(out, c[1])
	}
	return out
}

// What comes later brings no sheet of its own: nothing would load it.
func TestEverySheetIsLoadedAtFirst(t *testing.T) {
	loaded, err := web.Dist.ReadFile("dist/app.css")
	if err != nil {
		t.Fatal(err)
	}
	err = fs.WalkDir(os.DirFS("src"), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".css" {
			return err
		}
		text, err := os.ReadFile(filepath.Join("src", path))
		for _, s := range selectors(string(text)) {
			for _, c := range classes(s) {
				if !strings.Contains(string(loaded), "."+c) {
					t.Errorf("src/%s is about .%s, and app.css has nothing of it: import it in what is loaded at first", path, c)
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Every sheet is loaded with every page, so a class is one folder's: the one with a
// rule about nothing but it. No other may have such a rule, and of a screen's classes
// no other may speak at all.
func TestNoSheetIsAboutTheClassesOfAnother(t *testing.T) {
	sheets := map[string][]string{}
	err := filepath.WalkDir("src", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".css" {
			return err
		}
		text, err := os.ReadFile(path)
		folder := filepath.ToSlash(filepath.Dir(path))
		sheets[folder] = append(sheets[folder], selectors(string(text))...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	owner := map[string]string{}
	for _, folder := range slices.Sorted(maps.Keys(sheets)) {
		for _, s := range sheets[folder] {
			first, _, _ := strings.Cut(strings.TrimSpace(s), " ")
			if c := classes(first); len(c) == 1 {
				if o, ok := owner[c[0]]; ok && o != folder {
					t.Errorf("%s: %q begins with a class of %s", folder, strings.TrimSpace(s), o)
				}
				owner[c[0]] = folder
			}
		}
	}
	for folder, all := range sheets {
		for _, s := range all {
			for _, c := range classes(s) {
				if o := owner[c]; o != folder && strings.HasPrefix(o, "src/screens/") {
					t.Errorf("%s: %q speaks of .%s, which is of %s", folder, strings.TrimSpace(s), c, o)
				}
			}
		}
	}
}
