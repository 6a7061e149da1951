package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed support.go.txt
var support string

// listed is what go list says of a package.
type listed struct {
	ImportPath, Dir, Export string
	DepOnly                 bool
	GoFiles                 []string
	Module                  *struct{ Path, Dir string }
}

// program is a module with all its points compiled in.
type program struct {
	root, module string
	points       []*point
	overlay      string // the file for -overlay
}

// load finds the points of the packages and writes the overlay that holds them into
// dir. Nothing in the module changes.
func load(dir string, patterns []string) (*program, error) {
	packages, err := list(append([]string{"cmp", "os", "strconv", "syscall"}, patterns...)) // those are what the switch needs
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for _, p := range packages {
		exports[p.ImportPath] = p.Export
	}
	set := token.NewFileSet()
	imports := importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("nothing is known of %s", path)
		}
		return os.Open(exports[path])
	})
	p := &program{}
	replace := map[string]string{}
	for _, pkg := range packages {
		if pkg.DepOnly || pkg.Module == nil {
			continue
		}
		if p.root == "" {
			p.root, p.module = pkg.Module.Dir, pkg.Module.Path
			helper := filepath.Join(dir, "support.go")
			if err := os.WriteFile(helper, []byte(support), 0o666); err != nil {
				return nil, err
			}
			replace[filepath.Join(p.root, "internal", "mutant_", "support.go")] = helper
		}
		if err := p.add(dir, pkg, imports, replace); err != nil {
			return nil, fmt.Errorf("%s: %w", pkg.ImportPath, err)
		}
	}
	if len(p.points) == 0 {
		return nil, errors.New("there is nothing to change in these packages")
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	p.overlay = filepath.Join(dir, "overlay.json")
	return p, os.WriteFile(p.overlay, data, 0o666)
}

func list(patterns []string) ([]listed, error) {
	cmd := exec.Command("go", append([]string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,DepOnly,GoFiles,Module"}, patterns...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var packages []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); err == io.EOF {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
}

// source is one file of a package that is changed.
type source struct {
	name   string
	text   []byte
	clause int // where the package clause ends
	points []*point
}

func (p *program) add(dir string, pkg listed, imports types.Importer, replace map[string]string) error {
	set := token.NewFileSet()
	var files []*ast.File
	var sources []*source
	for _, name := range pkg.GoFiles {
		name = filepath.Join(pkg.Dir, name)
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files, sources = append(files, file), append(sources, &source{name: name, text: text, clause: set.Position(file.Name.End()).Offset})
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: imports, FakeImportC: true}
	checked, err := config.Check(pkg.ImportPath, set, files, info)
	if err != nil {
		return err
	}
	for i, file := range files {
		s := sources[i]
		if ast.IsGenerated(file) {
			continue
		}
		s.points = find(set, file, s.text, info, checked)
		for _, one := range s.points {
			p.points = append(p.points, one)
			one.number, one.pkg = len(p.points), pkg.ImportPath
			if one.file, err = filepath.Rel(p.root, s.name); err != nil {
				return err
			}
		}
	}
	texts, err := p.prune(pkg, imports, sources)
	if err != nil {
		return err
	}
	for i, s := range sources {
		if texts[i] == string(s.text) {
			continue
		}
		to := filepath.Join(dir, strings.ReplaceAll(strings.TrimPrefix(s.name, p.root+"/"), "/", "+"))
		if err := os.WriteFile(to, []byte(texts[i]), 0o666); err != nil {
			return err
		}
		replace[s.name] = to
	}
	return nil
}

// prune drops the points that do not type-check, until what is left does.
func (p *program) prune(pkg listed, imports types.Importer, sources []*source) ([]string, error) {
	for range 50 {
		set := token.NewFileSet()
		var files []*ast.File
		var texts []string
		for _, s := range sources {
			text := render(s.text, s.points)
			if text != string(s.text) {
				text = text[:s.clause] + `; import "` + p.support() + `"` + text[s.clause:]
			}
			file, err := parser.ParseFile(set, s.name, text, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			files, texts = append(files, file), append(texts, text)
		}
		var wrong []types.Error
		config := types.Config{
			Importer:    &withSupport{Importer: imports, path: p.support()},
			FakeImportC: true,
			Error:       func(err error) { wrong = append(wrong, err.(types.Error)) },
		}
		config.Check(pkg.ImportPath, set, files, nil)
		if len(wrong) == 0 {
			return texts, nil
		}
		dropped := false
		for _, err := range wrong {
			place := set.Position(err.Pos)
			for _, s := range sources {
				dropped = s.name == place.Filename && drop(s.points, place.Line) || dropped
			}
		}
		if !dropped {
			return nil, fmt.Errorf("%w: and no change is on that line", wrong[0])
		}
	}
	return nil, errors.New("what is left still does not type-check")
}

// drop leaves out the points that begin on a line of which the checker complains,
// or else those around it: too many rather than too few.
func drop(points []*point, line int) bool {
	dropped := false
	for _, p := range points {
		if p.line == line && !p.dropped {
			p.dropped, dropped = true, true
		}
	}
	for _, p := range points {
		if !dropped && p.line < line && line <= p.lastLine && !p.dropped {
			p.dropped, dropped = true, true
		}
	}
	return dropped
}

func (p *program) support() string { return p.module + "/internal/mutant_" }

// withSupport imports the package of the switch out of its source.
type withSupport struct {
	types.Importer
	path string
	pkg  *types.Package
}

func (w *withSupport) Import(path string) (*types.Package, error) {
	if path != w.path {
		return w.Importer.Import(path)
	}
	if w.pkg == nil {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, "support.go", support, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		config := types.Config{Importer: w.Importer}
		if w.pkg, err = config.Check(path, set, []*ast.File{file}, nil); err != nil {
			return nil, err
		}
	}
	return w.pkg, nil
}
