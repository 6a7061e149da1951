package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/convert"
	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// verdict is what became of a file.
type verdict string

const (
	clean   verdict = "clean"      // the document says the same
	noted   verdict = "with notes" // something means nothing here, and nothing is lost
	lossy   verdict = "lossy"      // exit code 9: it takes --allow-lossy
	refused verdict = "refused"    // exit code 2
)

var verdicts = []verdict{clean, noted, lossy, refused}

// file is one file of the folder.
type file struct {
	name    string // below the folder
	path    string
	format  source.Format
	verdict verdict
	reasons []string // without where in the file, each once
}

// counted is a folder of files.
type counted struct{ files []file }

const largest = 4 << 20 // no file that people write is larger

// read imports every file below dir, in the order of their names.
func read(dir string) (*counted, error) {
	c := &counted{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err != nil || info.Size() > largest {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		whole, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		f := judge(data)
		f.name, f.path = name, whole
		c.files = append(c.files, f)
		return nil
	})
	if err == nil && len(c.files) == 0 {
		err = fmt.Errorf("there is no file in %s", dir)
	}
	return c, err
}

// judge imports one file.
func judge(data []byte) file {
	r, err := convert.Import(data)
	f := file{format: r.Format, verdict: clean}
	reasons := map[string]bool{}
	var errs codec.Errors
	switch {
	case errors.As(err, &errs):
		f.verdict = refused
		for _, e := range errs {
			reasons[reason(e.Path, e.Problem)] = true
		}
	case err != nil:
		f.verdict = refused
		reasons[err.Error()] = true
	default:
		for _, n := range r.Notes {
			switch {
			case n.Lossy:
				f.verdict = lossy
				reasons[reason(n.Field, n.Reason)] = true
			case n.Fate == source.Ignored && f.verdict == clean:
				f.verdict = noted
			}
		}
	}
	f.reasons = slices.Sorted(maps.Keys(reasons))
	return f
}

var (
	index  = regexp.MustCompile(`\[\d+\]`)
	quoted = regexp.MustCompile(`"[^"]*"`)
	number = regexp.MustCompile(`\b\d+\b`)
)

// reason is what is said of a field, in words that other files share.
func reason(field, why string) string {
	parts := strings.Split(index.ReplaceAllString(field, ""), ".")
	if field = strings.Join(parts[max(0, len(parts)-2):], "."); field != "" {
		field += ": "
	}
	return field + number.ReplaceAllString(quoted.ReplaceAllString(why, `"…"`), "N")
}

// print writes the table, and the reasons by how many files have them.
func (c *counted) print(out io.Writer, names bool) {
	by := map[source.Format]map[verdict]int{}
	for _, f := range c.files {
		if by[f.format] == nil {
			by[f.format] = map[verdict]int{}
		}
		by[f.format][f.verdict]++
	}
	fmt.Fprintf(out, "%-12s %6s", "format", "files")
	for _, v := range verdicts {
		fmt.Fprintf(out, " %10s", v)
	}
	fmt.Fprintln(out)
	for _, format := range slices.Sorted(maps.Keys(by)) {
		all := 0
		for _, n := range by[format] {
			all += n
		}
		fmt.Fprintf(out, "%-12s %6d", format, all)
		for _, v := range verdicts {
			fmt.Fprintf(out, " %10d", by[format][v])
		}
		fmt.Fprintln(out)
	}
	for _, v := range []verdict{refused, lossy} {
		c.printReasons(out, v, names)
	}
	if names {
		for _, f := range c.files {
			fmt.Fprintf(out, "%s\t%s\t%s\n", f.verdict, f.format, f.name)
		}
	}
}

func (c *counted) printReasons(out io.Writer, v verdict, names bool) {
	of := map[string][]string{}
	for _, f := range c.files {
		if f.verdict == v {
			for _, r := range f.reasons {
				of[r] = append(of[r], f.name)
			}
		}
	}
	if len(of) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s, files by reason:\n", v)
	reasons := slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(of[b]), len(of[a])), cmp.Compare(a, b))
	})
	for _, r := range reasons {
		fmt.Fprintf(out, "%5d  %s\n", len(of[r]), r)
		if names {
			for _, name := range of[r][:min(5, len(of[r]))] {
				fmt.Fprintf(out, "         %s\n", name)
			}
		}
	}
}
