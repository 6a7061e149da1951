package convert_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/convert"
	"github.com/musterhq/muster/internal/convert/export"
	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// read is what holds for every source: it is refused with line and reason, or
// becomes valid documents, each note of a fate that is known.
func read(t *testing.T, f source.Format, data []byte) {
	t.Helper()
	r, err := convert.ImportAs(f, data)
	var errs codec.Errors
	switch {
	case err == nil && len(r.Documents) == 0:
		t.Fatal("neither a document nor a refusal")
	case err != nil && (!errors.As(err, &errs) || len(errs) == 0):
		t.Fatalf("a refusal of no kind: %v", err)
	}
	for _, e := range errs {
		if strings.TrimSpace(e.Problem) == "" {
			t.Fatalf("a refusal without a reason: %+v", e)
		}
		if e.Line == 0 && f != source.Native && len(data) <= 1<<20 {
			t.Fatalf("a refusal without a line: %+v", e)
		}
	}
	for _, n := range r.Notes {
		if n.Fate == source.Approximated && (!n.Lossy || n.Reason == "") || n.Fate == source.Refused && err == nil {
			t.Fatalf("a note that contradicts itself: %+v", n)
		}
	}
	for _, d := range r.Documents {
		if errs := spec.Validate(spec.WithDefaults(d)); len(errs) > 0 {
			t.Fatalf("a document that is none: %v", errs)
		}
		if again, err := spec.Parse(spec.YAML(d)); err != nil || !again.Equal(d) {
			t.Fatalf("a document that cannot be written: %v\n%s", err, spec.YAML(d))
		}
	}
}

func fuzz(f *testing.F, format source.Format) {
	for name, data := range corpus(f) {
		if strings.HasPrefix(name, string(format)+"/") {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) { read(t, format, data) })
}

func FuzzKubernetes(f *testing.F) { fuzz(f, source.Kubernetes) }
func FuzzSbatch(f *testing.F)     { fuzz(f, source.Sbatch) }
func FuzzMcli(f *testing.F)       { fuzz(f, source.Mcli) }
func FuzzRunai(f *testing.F)      { fuzz(f, source.Runai) }
func FuzzSkyPilot(f *testing.F)   { fuzz(f, source.SkyPilot) }
func FuzzDstack(f *testing.F)     { fuzz(f, source.Dstack) }

// FuzzExport: whatever was imported and can be exported comes back as it was.
func FuzzExport(f *testing.F) {
	for _, data := range corpus(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := convert.Import(data)
		if err != nil {
			return
		}
		for _, d := range r.Documents {
			for _, format := range []source.Format{source.Kubernetes, source.Sbatch, source.Mcli} {
				text, _, err := export.Export(d, format)
				if err != nil {
					continue
				}
				again, err := convert.ImportAs(format, text)
				if err != nil {
					t.Fatalf("%s: what was exported cannot be read: %v\n%s", format, err, text)
				}
				if !spec.WithDefaults(again.Documents[0]).Equal(spec.WithDefaults(d)) {
					t.Fatalf("%s: another workload came back:\n%s\nof\n%s\nby\n%s", format, spec.YAML(again.Documents[0]), spec.YAML(d), text)
				}
			}
		}
	})
}
