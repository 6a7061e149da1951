// Package slurmsite reads how a site of Slurm is divided, out of what sacctmgr dump
// writes and out of slurm.conf, as departments, projects and pools to be looked over
// before they are applied. What has no equivalent is named, and nothing is guessed.
package slurmsite

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml"

	"github.com/musterhq/muster/internal/core/spec"
)

// Site is what the files of a site say.
type Site struct {
	Records []Record
	// Commands make what no file for muster apply holds: who may do what, which nodes
	// are in which pool.
	Commands []string
	Notes    []Note // what became of what is not there as it was
}

// Record is a department, a project or a pool.
type Record struct {
	Remarks []string // for who looks it over
	Fields  yaml.MapSlice
}

// Note is about a line that means more, or something else, than what was made of it.
type Note struct {
	What string // account physics: GrpTRESMins
	Why  string
}

// String is the note for people.
func (n Note) String() string { return n.What + ": " + n.Why }

// UnknownFileError is of a file that is of neither kind.
type UnknownFileError struct {
	Index int // of those that were given, from 0
}

// Error implements error.
func (e *UnknownFileError) Error() string {
	return "it is neither what sacctmgr dump writes (Cluster - 'NAME':…) nor a slurm.conf with partitions (PartitionName=…)"
}

// Read reads files of either kind, in any order.
func Read(files ...string) (Site, error) {
	var s Site
	for i, text := range files {
		switch {
		case strings.Contains(text, "Cluster - "):
			if err := s.accounts(text); err != nil {
				return s, err
			}
		case strings.Contains(text, "PartitionName="):
			if err := s.partitions(text); err != nil {
				return s, err
			}
		default:
			return s, &UnknownFileError{i}
		}
	}
	if len(s.Records) == 0 {
		return s, errors.New("nothing in it becomes a department, a project or a pool")
	}
	// What others stand below comes first; pools are named by projects.
	rank := func(r Record) int { return slices.Index([]string{"Pool", "Department", "Project"}, r.kind()) }
	slices.SortStableFunc(s.Records, func(a, b Record) int { return cmp.Compare(rank(a), rank(b)) })
	return s, nil
}

func (r Record) kind() string { return fmt.Sprint(r.Fields[0].Value) }

// Text is the file for muster apply, with everything else as remarks.
func (s Site) Text() (string, error) {
	var out bytes.Buffer
	remark := func(text string) { fmt.Fprintf(&out, "# %s\n", strings.Map(visible, text)) }
	if len(s.Notes) > 0 {
		remark("Not as it was:")
		for _, n := range s.Notes {
			remark("  " + n.String())
		}
	}
	if len(s.Commands) > 0 {
		remark("Beside this file:")
		for _, c := range s.Commands {
			remark("  " + c)
		}
	}
	for i, r := range s.Records {
		if i > 0 {
			out.WriteString("---\n")
		}
		for _, text := range r.Remarks {
			remark(text)
		}
		text, err := yaml.MarshalWithOptions(r.Fields, yaml.Flow(false), yaml.UseJSONMarshaler())
		if err != nil {
			return "", err
		}
		out.Write(text)
	}
	return out.String(), nil
}

func (s *Site) note(what, why string) { s.Notes = append(s.Notes, Note{what, why}) }

// visible has no character that ends a line, or is none to look at.
func visible(r rune) rune {
	if !unicode.IsPrint(r) {
		return ' '
	}
	return r
}

// word matches names that a shell takes as they are.
var word = regexp.MustCompile(`^[A-Za-z0-9_@.][A-Za-z0-9_@.-]*$`)

// named is a name of Slurm as one of ours.
func named(name string) (string, error) {
	ours := strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, name), "-")
	if !spec.Named(ours) {
		return "", fmt.Errorf("%q cannot be a name here: of 1 to %d letters, digits and '-'", name, spec.MaxName)
	}
	return ours, nil
}
