package submit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/internal/cli/document"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/convert"
	"github.com/musterhq/muster/internal/convert/export"
	foreign "github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// NewImport makes the command import.
func NewImport(s *session.Session) *cobra.Command {
	var from string
	var explain, allow bool
	cmd := &cobra.Command{
		Use: "import FILE|- [flags]", Short: "Make a workload document of a file for another system",
		Long: `Reads what was written for another system and prints the workload document that
says the same. By its content it knows manifests of Kubernetes (Job, PyTorchJob,
MPIJob, JobSet, TrainJob, RayJob, TFJob, LeaderWorkerSet, Deployment, Pod and others),
scripts for sbatch, YAML of mcli, SkyPilot and dstack, and command lines of runai.

With --explain it says of every field whether it is kept, translated, approximated,
ignored or refused, and why. A file of which meaning would be lost makes no document
(exit code 9) unless --allow-lossy is given. muster run -f takes the same files.`,
		Example: "  muster import job.yaml --explain\n  muster import train.sbatch > train.yaml\n  helm template . | muster import - --allow-lossy\n  muster run -f train.sbatch --follow",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return session.UsageError("muster import takes one file", "muster import FILE; - is standard input")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			return importFile(s, args[0], foreign.Format(from), explain, allow)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "format of the file, where its content does not tell: "+formatWords(foreign.Formats()))
	cmd.Flags().BoolVar(&explain, "explain", false, "say what became of every field, instead of the document")
	cmd.Flags().BoolVar(&allow, "allow-lossy", false, "make a document though meaning is lost")
	return cmd
}

func formatWords(formats []foreign.Format) string {
	words := make([]string, len(formats))
	for i, f := range formats {
		words[i] = string(f)
	}
	return strings.Join(words, ", ")
}

// converted is what a file of any format says.
func converted(s *session.Session, data []byte, from foreign.Format) (*foreign.Result, error) {
	if from == "" {
		var err error
		if from, err = convert.Detect(data); err != nil {
			return convert.Import(data)
		}
	}
	return document.Imported(s, from, data)
}

func importFile(s *session.Session, file string, from foreign.Format, explain, allow bool) error {
	data, err := document.Read(s, file)
	if err != nil {
		return err
	}
	if file == "-" {
		file = "standard input"
	}
	r, err := converted(s, data, from)
	if explain {
		if perr := document.Notes(s, r); perr != nil {
			return perr
		}
	}
	var errs codec.Errors
	switch {
	case errors.As(err, &errs):
		return session.BadDocument(file, errs)
	case err != nil:
		return err
	case explain:
		return nil
	}
	if err := document.Lossless(s, file, r, allow); err != nil {
		return err
	}
	return documents(s, r)
}

// documents prints workload documents, and of what is run again and again the schedule.
func documents(s *session.Session, r *foreign.Result) error {
	var b bytes.Buffer
	docs := make([]any, len(r.Documents))
	for i, d := range r.Documents {
		docs[i] = d
		if when := r.Schedules[d]; when != nil {
			record, err := recordOf(when, d)
			if err != nil {
				return err
			}
			docs[i] = record
		}
	}
	switch s.Format() {
	case "json":
		for _, d := range docs {
			data, err := json.MarshalIndent(d, "", "  ")
			if err != nil {
				return err
			}
			b.Write(append(data, '\n'))
		}
	case "jsonl":
		for _, d := range docs {
			data, err := json.Marshal(d)
			if err != nil {
				return err
			}
			b.Write(append(data, '\n'))
		}
	default:
		for i, d := range r.Documents {
			if i > 0 {
				b.WriteString("---\n")
			}
			if when := r.Schedules[d]; when != nil {
				b.Write(when.YAML(d))
			} else {
				b.Write(spec.YAML(d))
			}
		}
	}
	_, err := s.IO.Out.Write(b.Bytes())
	return err
}

// NewExport makes the command export.
func NewExport(s *session.Session) *cobra.Command {
	var format, file, project string
	var allow bool
	cmd := &cobra.Command{
		Use: "export [WORKLOAD] --format kubernetes|sbatch|mcli [flags]", Short: "Write a workload as a file for another system",
		Long: `Writes a workload of the server, or with -f a document or any file that muster import
takes, as a manifest of Kubernetes, a script for sbatch or YAML of mcli. What the
format has no words for is kept where only muster import sees it, and said on
standard error; importing the file again makes the same workload.`,
		Example: "  muster export train-7 --format kubernetes > job.yaml\n  muster export -f train.yaml --format sbatch",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || (len(args) == 1) == (file != "") {
				return session.UsageError("muster export takes one workload, or a file with -f", "muster export NAME --format kubernetes, or muster export -f FILE --format kubernetes")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := session.OneOf("format", format, string(foreign.Kubernetes), string(foreign.Sbatch), string(foreign.Mcli)); err != nil {
				return err
			}
			doc, err := exported(cmd.Context(), s, args, file, project, allow)
			if err != nil {
				return err
			}
			data, notes, err := export.Export(doc, foreign.Format(format))
			var errs codec.Errors
			if errors.As(err, &errs) {
				return session.BadDocument(file, errs)
			}
			if err != nil {
				return err
			}
			for _, n := range notes {
				s.Say("%s: %s", n.Field, n.Reason)
			}
			_, err = s.IO.Out.Write(data)
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&format, "format", "kubernetes", "kubernetes, sbatch or mcli")
	f.StringVarP(&file, "file", "f", "", "a file instead of a workload of the server; - is standard input")
	f.StringVarP(&project, "project", "p", s.Setting("MUSTER_PROJECT"), "project of the workload (MUSTER_PROJECT)")
	f.BoolVar(&allow, "allow-lossy", false, "with -f: though meaning of the file is lost")
	return cmd
}

// exported returns the document to write.
func exported(ctx context.Context, s *session.Session, args []string, file, project string, allow bool) (*spec.Document, error) {
	if file != "" {
		src := document.Source{File: file}
		var err error
		if src.Data, err = document.Read(s, file); err != nil {
			return nil, err
		}
		if file == "-" {
			src.File = "standard input"
		}
		all, err := document.ReadDocuments(s, src, allow, false)
		if err != nil {
			return nil, err
		}
		if err := document.Once(all); err != nil {
			return nil, err
		}
		p, err := document.Only(all)
		return p.Doc, err
	}
	c, err := s.Connect(ctx)
	if err != nil {
		return nil, err
	}
	w, err := s.Resolve(ctx, c, session.Scope{Project: project}, args[0])
	if err != nil {
		return nil, err
	}
	var doc spec.Document
	if err := json.Unmarshal(w.Spec, &doc); err != nil {
		return nil, fmt.Errorf("the document of %s: %w", w.Name, err)
	}
	return &doc, nil
}
