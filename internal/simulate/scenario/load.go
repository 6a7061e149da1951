package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// sharesFile holds sums of fair shares instead of cases.
const sharesFile = "fairshare.json"

// Set is a folder of cases.
type Set struct {
	Cases  []*Case // by file, and as in the file
	Shares []*ShareCase
}

// Load reads every *.json of a folder. The error names the file, the position
// in it, and the field, of everything that is wrong.
func Load(folder fs.FS) (*Set, error) {
	names, err := fs.Glob(folder, "*.json")
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, errors.New("the folder has no *.json: give one with scenario files")
	}
	slices.Sort(names)
	set := new(Set)
	var errs []error
	for _, name := range names {
		text, err := fs.ReadFile(folder, name)
		if err == nil {
			err = set.add(name, text)
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return set, nil
}

// add reads one file.
func (s *Set) add(name string, text []byte) error {
	var items []json.RawMessage
	if err := json.Unmarshal(text, &items); err != nil {
		return fmt.Errorf("%s: want a list of cases: %w", name, err)
	}
	file := strings.TrimSuffix(path.Base(name), ".json")
	var errs []error
	for i, item := range items {
		var err error
		if path.Base(name) == sharesFile {
			c := &ShareCase{File: file, Index: i}
			if err = decode(item, c); err == nil {
				err = c.validate()
			}
			s.Shares = append(s.Shares, c)
		} else {
			c := &Case{File: file}
			if err = decode(item, c); err == nil {
				err = c.Validate()
			}
			s.Cases = append(s.Cases, c)
		}
		errs = append(errs, each(err, fmt.Sprintf("%s[%d]: ", name, i)))
	}
	return errors.Join(errs...)
}

// each puts a prefix before every error of a joined one.
func each(err error, prefix string) error {
	joined, ok := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
		return nil
	case !ok:
		return fmt.Errorf("%s%w", prefix, err)
	}
	var errs []error
	for _, e := range joined.Unwrap() {
		errs = append(errs, each(e, prefix))
	}
	return errors.Join(errs...)
}
