// Package settings reads the files in which the owner of a server says something about
// it: YAML whose fields are those of a type, with errors that name field and line.
package settings

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"

	"github.com/musterhq/muster/internal/core/spec/codec"
	"github.com/musterhq/muster/internal/core/spec/schema"
)

// Kind is one sort of settings.
type Kind[T any] struct {
	fields *schema.Field
	empty  string // what to write into a file that is empty
	check  func(*T) codec.Errors
	files  func(*T) []*string
}

// Of is the sort of settings that are a T. check says what of them is wrong that a
// type cannot say, and files are their fields that name files.
func Of[T any](doc, empty string, files func(*T) []*string, check func(*T) codec.Errors) Kind[T] {
	return Kind[T]{fields: schema.New(reflect.TypeFor[T](), doc, schema.Vocabulary{}), empty: empty, files: files, check: check}
}

// Read reads settings; files that they name by no whole path are below dir. An error
// is codec.Errors, by line.
func (k Kind[T]) Read(data []byte, dir string) (*T, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, codec.Errors{{Problem: "the file is empty", Hint: k.empty}}
	}
	n, src, err := codec.ReadTree(data)
	if err != nil {
		return nil, err
	}
	s := new(T)
	v := reflect.ValueOf(s).Elem()
	errs, zeros := k.fields.Read(&n, src, false, v)
	k.fields.Fill(v, func() string { return "" }, zeros)
	if len(errs) == 0 {
		for _, path := range k.files(s) {
			if *path != "" && !filepath.IsAbs(*path) {
				*path = filepath.Join(dir, *path)
			}
		}
		errs = k.check(s)
		for i := range errs {
			errs[i].Line = src.LineOf(&n, errs[i].Path)
		}
	}
	if err := errs.InOrder(); err != nil {
		return nil, err
	}
	return s, nil
}

// ReadFile reads the settings of a file.
func (k Kind[T]) ReadFile(path string) (*T, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return k.Read(data, filepath.Dir(path))
}
