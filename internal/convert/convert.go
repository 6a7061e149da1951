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
	"fmt"

	"github.com/musterhq/muster/internal/convert/dstack"
	"github.com/musterhq/muster/internal/convert/kubernetes"
	"github.com/musterhq/muster/internal/convert/mcli"
	"github.com/musterhq/muster/internal/convert/runai"
	"github.com/musterhq/muster/internal/convert/skypilot"
	"github.com/musterhq/muster/internal/convert/slurm"
	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// Import reads a source and detects its format by the content. It fails with
// codec.Errors, each with its line where the source has one, and the notes of
// what could be read are then in the result all the same, which has no
// documents.
func Import(data []byte) (*source.Result, error) {
	format, trees, err := detect(data)
	if err != nil {
		return &source.Result{Format: format}, err
	}
	if len(trees) > 0 && format != source.Native {
		r := &source.Reader{Format: format}
		documents(r, trees)
		return r.Result()
	}
	return ImportAs(format, data)
}

// ImportAs is Import of a source in a known format.
func ImportAs(format source.Format, data []byte) (*source.Result, error) {
	r := &source.Reader{Format: format}
	if !r.IsUTF8(data) {
		return r.Result()
	}
	switch format {
	case source.Native:
		return natives(data)
	case source.Sbatch:
		slurm.Read(r, string(data))
	case source.Runai:
		runai.Read(r, string(data))
	case source.Kubernetes, source.Mcli, source.SkyPilot, source.Dstack:
		if trees, ok := r.Trees(data); ok {
			documents(r, trees)
		}
	default:
		r.Refuse(0, "", "", fmt.Sprintf("%q is not a format that is read", format), "allowed are "+source.Joined(source.Formats()))
	}
	return r.Result()
}

// documents reads the formats that are YAML.
func documents(r *source.Reader, trees []codec.Tree) {
	switch r.Format {
	case source.Kubernetes:
		kubernetes.Read(r, trees)
	case source.SkyPilot:
		skypilot.Read(r, trees, source.Place{})
	case source.Mcli:
		if o := r.Single(trees); o != nil {
			r.Add(mcli.Read(r, o))
		}
	default:
		if o := r.Single(trees); o != nil {
			r.Add(dstack.Read(r, o, source.Place{}))
		}
	}
}
