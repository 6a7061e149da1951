package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/vuln/scan"
)

// message is what govulncheck says, as far as it matters here.
type message struct {
	Config *struct {
		Version string `json:"scanner_version"`
		Go      string `json:"go_version"`
	} `json:"config"`
	OSV *struct {
		ID      string `json:"id"`
		Summary string `json:"summary"`
	} `json:"osv"`
	Finding *finding `json:"finding"`
}

// finding is that a weakness is there: in a module, a package, or by a function that is
// linked in, which is what counts.
type finding struct {
	OSV   string `json:"osv"`
	Fixed string `json:"fixed_version"`
	Trace []struct {
		Module   string `json:"module"`
		Version  string `json:"version"`
		Package  string `json:"package"`
		Function string `json:"function"`
		Receiver string `json:"receiver"`
	} `json:"trace"`
}

// exceptionsFile holds the weaknesses that are known and do no harm here, each with the
// reason: GO-YYYY-NNNN, then words.
const exceptionsFile = "tools/security/exceptions.txt"

// vulnerable looks whether program, a build of the product with its symbols, has functions with
// known weaknesses linked in.
func vulnerable(ctx context.Context, program string) error {
	text, err := os.ReadFile(exceptionsFile)
	if err != nil {
		return err
	}
	excepted, err := exceptions(string(text))
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "vulndb")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	db, newest, err := database(dir)
	if err != nil {
		return err
	}
	program, err = filepath.Abs(program)
	if err != nil {
		return err
	}
	var out, complaints bytes.Buffer
	cmd := scan.Command(ctx, "-db", db, "-mode", "binary", "-format", "json", program)
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("govulncheck: %w: %s", err, complaints.String())
	}
	report, err := read(&out)
	if err != nil {
		return err
	}
	fmt.Printf("weaknesses: database of %s, %d in modules that are linked in, %d of them in functions that are, %d with a reason\n", newest.Format(time.DateOnly), len(report.modules), len(report.linked), len(excepted))
	return judge(report, excepted)
}

// exceptions reads the file of that name: lines of an ID and a reason.
func exceptions(text string) (map[string]string, error) {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		id, reason, _ := strings.Cut(line, " ")
		if !strings.HasPrefix(id, "GO-") || len(strings.Fields(reason)) < 4 {
			return nil, fmt.Errorf("%s: %q is no ID of a weakness with a reason in a sentence", exceptionsFile, line)
		}
		all[id] = strings.TrimSpace(reason)
	}
	return all, nil
}

// found is what govulncheck has found: summaries, modules that have a weakness, and
// functions with one that are linked in, by its ID.
type found struct {
	summary, modules map[string]string
	linked           map[string][]string
}

// read takes govulncheck's messages apart.
func read(r io.Reader) (found, error) {
	f := found{map[string]string{}, map[string]string{}, map[string][]string{}}
	configured := false
	for d := json.NewDecoder(r); ; {
		var m message
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return f, fmt.Errorf("govulncheck's answer: %w", err)
		}
		switch {
		case m.Config != nil:
			configured = true
		case m.OSV != nil:
			f.summary[m.OSV.ID] = m.OSV.Summary
		case m.Finding != nil && len(m.Finding.Trace) > 0:
			at := m.Finding.Trace[0]
			f.modules[m.Finding.OSV] = fmt.Sprintf("%s %s, mended in %s", at.Module, at.Version, m.Finding.Fixed)
			if at.Function != "" {
				name := strings.TrimPrefix(at.Package+"."+at.Receiver+"."+at.Function, ".")
				f.linked[m.Finding.OSV] = append(f.linked[m.Finding.OSV], strings.ReplaceAll(name, "..", "."))
			}
		}
	}
	if !configured {
		return f, errors.New("govulncheck has not said what it looked with: its answer is not one")
	}
	return f, nil
}

// few names some of the functions: of a package that is affected as a whole there are hundreds.
func few(names []string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	if most := 4; len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// ofGo begins the reason of an exception for a weakness of Go's own library, which another Go
// than the one at hand may have mended.
const ofGo = "Go itself:"

// judge fails for what is linked in and not excepted, and for exceptions of what is not
// there any more.
func judge(f found, excepted map[string]string) error {
	var wrong []string
	for _, id := range slices.Sorted(maps.Keys(f.linked)) {
		if _, ok := excepted[id]; !ok {
			wrong = append(wrong, fmt.Sprintf("%s (%s): %s\n  linked in: %s\n  take the mended version, or write a reason into %s", id, f.summary[id], f.modules[id], few(f.linked[id]), exceptionsFile))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(excepted)) {
		if len(f.linked[id]) == 0 && !strings.HasPrefix(excepted[id], ofGo) {
			wrong = append(wrong, fmt.Sprintf("%s: %s is linked in no more: take its line away", exceptionsFile, id))
		}
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "\n"))
	}
	return nil
}
