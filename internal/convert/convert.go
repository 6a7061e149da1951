// Package convert reads what people wrote for other systems (Kubernetes
// manifests, sbatch scripts, mcli, Run:ai, SkyPilot and dstack) as workload
// documents, and writes documents back for some of them.
//
// It is pure: bytes in, documents and notes out. It guesses nothing in
// silence: every line of a source is accounted for by a Note, and what a
// document cannot say is lossy. It never asks for more GPUs, another number of
// tasks or a longer time than its source; where a source contradicts itself it
// refuses, with line and reason.
package convert

import (
	"bytes"
	"fmt"

	"github.com/musterhq/muster/internal/core/spec"
)

// Import reads a source whose format its content tells. It fails with
// spec.Errors, each with its line where the source has one, and the notes of
// what could be read are then in the result all the same, which has no
// documents.
func Import(data []byte) (*Result, error) {
	format, trees, err := detect(data)
	if err != nil {
		return &Result{Format: format}, err
	}
	if len(trees) > 0 && format != Native {
		r := &reader{format: format}
		documents(r, trees)
		return r.result()
	}
	return ImportAs(format, data)
}

// ImportAs is Import of a source in a known format.
func ImportAs(format Format, data []byte) (*Result, error) {
	r := &reader{format: format}
	if !r.utf8(data) {
		return r.result()
	}
	switch format {
	case Native:
		return natives(data)
	case Sbatch:
		r.sbatch(string(data))
	case Runai:
		r.runaiText(string(data))
	case Kubernetes, Mcli, SkyPilot, Dstack:
		trees, err := spec.ReadTrees(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")))
		switch {
		case err != nil:
			r.fail(err)
		case len(trees) == 0:
			r.refuse(1, "", "", "the file is empty", "import a file that holds something")
		default:
			documents(r, trees)
		}
	default:
		r.refuse(0, "", "", fmt.Sprintf("%q is not a format that is read", format), "allowed are "+joined(Formats()))
	}
	return r.result()
}

// documents reads the formats that are YAML.
func documents(r *reader, trees []spec.Tree) {
	switch r.format {
	case Kubernetes:
		r.kubernetes(trees)
	case SkyPilot:
		r.skypilot(trees)
	case Mcli:
		if o := r.only(trees); o != nil {
			r.add(r.mcli(o))
		}
	default:
		if o := r.only(trees); o != nil {
			r.add(r.dstack(o))
		}
	}
}
