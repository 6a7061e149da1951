package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// build bundles the pages. The same sources give the same bytes on every
// machine: names are fixed, and nothing of the machine is written.
func build(web string, args []string) error {
	out, err := target(args, filepath.Join(web, "dist"))
	if err != nil {
		return err
	}
	files := map[string][]byte{}
	// Before the page there is the theme, which must not wait for the rest.
	for _, r := range []api.BuildResult{bundle(web, out, "app.tsx", api.FormatESModule), bundle(web, out, "theme.ts", api.FormatIIFE), bundle(web, out, "worker.ts", api.FormatIIFE)} {
		if len(r.Errors) > 0 {
			return fmt.Errorf("%s", strings.Join(api.FormatMessages(r.Errors, api.FormatMessagesOptions{Kind: api.ErrorMessage}), ""))
		}
		for _, f := range r.OutputFiles {
			if filepath.Base(f.Path) == "later.css" {
				continue // nothing would load it, and app.css has all of it; a test says so
			}
			files[filepath.Base(f.Path)] = f.Contents
		}
	}
	for _, name := range []string{"index.html", "icon.svg", "app.webmanifest"} {
		if files[name], err = os.ReadFile(filepath.Join(web, "src", name)); err != nil {
			return err
		}
	}
	if files["licences.txt"], err = licences(web); err != nil {
		return err
	}
	return replace(out, files)
}

func bundle(web, out, entry string, format api.Format) api.BuildResult {
	return api.Build(api.BuildOptions{
		EntryPoints:       []string{filepath.Join(web, "src", entry)},
		AbsWorkingDir:     web,
		Outdir:            out,
		Bundle:            true,
		Format:            format,
		Splitting:         format == api.FormatESModule, // what is imported when it is needed is a file of its own
		EntryNames:        "[name]",
		ChunkNames:        "[name]",
		AssetNames:        "[name]",
		Target:            api.ES2022,
		JSX:               api.JSXAutomatic,
		JSXImportSource:   "preact",
		NodePaths:         []string{filepath.Join(web, "vendor")},
		Loader:            map[string]api.Loader{".woff2": api.LoaderFile, ".svg": api.LoaderFile},
		MinifySyntax:      true,
		MinifyWhitespace:  true,
		MinifyIdentifiers: true,
		MangleProps:       `^\$[a-z]\w+$`, // keys of texts (src/texts): their length is not sent
		Charset:           api.CharsetUTF8,
		LegalComments:     api.LegalCommentsNone, // licences.txt has them whole
		Plugins:           []api.Plugin{screens(web)},
		LogLevel:          api.LogLevelSilent,
	})
}

// replace makes dir hold these files and no others.
func replace(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	old, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range old {
		if _, ok := files[e.Name()]; !ok {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// screens answers the import "screens:all" with every folder of src/screens, so
// that a new screen is a new folder and no line anywhere else.
func screens(web string) api.Plugin {
	return api.Plugin{Name: "screens", Setup: func(b api.PluginBuild) {
		b.OnResolve(api.OnResolveOptions{Filter: `^screens:all$`}, func(api.OnResolveArgs) (api.OnResolveResult, error) {
			return api.OnResolveResult{Path: "all", Namespace: "screens"}, nil
		})
		b.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: "screens"}, func(api.OnLoadArgs) (api.OnLoadResult, error) {
			text, err := listed(filepath.Join(web, "src", "screens"))
			return api.OnLoadResult{Contents: &text, Loader: api.LoaderJS, ResolveDir: filepath.Join(web, "src")}, err
		})
	}}
}

func listed(dir string) (string, error) {
	found, err := filepath.Glob(filepath.Join(dir, "*", "index.tsx"))
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("%s holds no screens: %v", dir, err)
	}
	slices.Sort(found)
	var b bytes.Buffer
	var names []string
	for i, f := range found {
		name := fmt.Sprintf("s%d", i)
		fmt.Fprintf(&b, "import %s from './screens/%s/index.tsx'\n", name, filepath.Base(filepath.Dir(f)))
		names = append(names, name)
	}
	fmt.Fprintf(&b, "export const screens = [%s]\n", strings.Join(names, ", "))
	return b.String(), nil
}
