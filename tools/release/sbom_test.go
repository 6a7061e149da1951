package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// TestTheBillOfMaterialsNamesAllThatIsLinked compares it with what the compiler says,
// which it is not made of.
func TestTheBillOfMaterialsNamesAllThatIsLinked(t *testing.T) {
	t.Parallel()
	r := made(t)
	f, err := os.Open(filepath.Join(r.out, r.name("sbom.cdx.json")))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(f, cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, c := range *bom.Components {
		have[c.Name+" "+c.Version] = true
		if c.Licenses == nil {
			t.Errorf("%s has no licence", c.PackageURL)
		}
	}
	list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}", "./cmd/muster")
	list.Dir, list.Env = r.root, append(os.Environ(), "CGO_ENABLED=0")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); line != "" {
			n++
			if !have[line] {
				t.Errorf("%s is linked and not listed", line)
			}
		}
	}
	if n < 20 {
		t.Errorf("looked at %d", n)
	}
}
