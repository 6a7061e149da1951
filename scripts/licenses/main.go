// Command licenses prints the licences of everything that the program is linked
// with: each text once, with the modules that it is of.
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	if err := write(os.Stdout, "."); err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
}

// texts are names of files that are licences, or belong to them.
var texts = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// write looks at what is linked for Linux, where the server runs, and into the client for
// Windows, which is linked with something more. root is that of the repository.
func write(out io.Writer, root string) error {
	var modules []string
	for goos, program := range map[string]string{"linux": "./cmd/muster", "windows": "./cmd/muster/front"} {
		cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}", program)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH=amd64", "CGO_ENABLED=0")
		cmd.Stderr = os.Stderr
		listed, err := cmd.Output()
		if err != nil {
			return err
		}
		modules = append(modules, strings.Split(strings.TrimSpace(string(listed)), "\n")...)
	}
	slices.Sort(modules)
	of := map[string][]string{} // by text
	same := map[string]string{} // the first of those that differ in white space alone
	note := func(text, who string) {
		key := strings.Join(strings.Fields(text), " ")
		if first, ok := same[key]; ok {
			text = first
		}
		same[key] = text
		if !slices.Contains(of[text], who) {
			of[text] = append(of[text], who)
		}
	}
	for _, m := range slices.Compact(modules) {
		words := strings.Fields(m)
		if len(words) != 3 {
			continue
		}
		files, err := licences(words[2])
		if err != nil {
			return err
		}
		if len(files) == 0 {
			return fmt.Errorf("%s %s has no licence", words[0], words[1])
		}
		for _, text := range files {
			note(text, words[0]+" "+words[1])
		}
	}
	if goroot, err := exec.Command("go", "env", "GOROOT").Output(); err == nil {
		files, err := licences(strings.TrimSpace(string(goroot)))
		if err != nil {
			return err
		}
		for _, text := range files {
			note(text, "the Go standard library")
		}
	}
	vendor := filepath.Join(root, "web", "vendor")
	err := filepath.WalkDir(vendor, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !texts.MatchString(d.Name()) {
			return err
		}
		data, err := os.ReadFile(path)
		note(strings.TrimSpace(string(data)), "of the pages: "+strings.TrimPrefix(filepath.Dir(path), vendor+string(filepath.Separator)))
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "Muster is linked with these modules, and its pages with these packages, under these licences. Written by `make generate`.")
	all := make([]string, 0, len(of))
	for text := range of {
		all = append(all, text)
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(of[a][0]+a, of[b][0]+b) })
	for _, text := range all {
		fmt.Fprintf(out, "\n%s\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(of[text], "\n"), strings.Repeat("-", 80), text)
	}
	return nil
}

// licences are the texts that lie in the folder of a module.
func licences(dir string) ([]string, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, f := range files {
		if f.IsDir() || !texts.MatchString(f.Name()) || strings.HasSuffix(f.Name(), ".go") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return nil, err
		}
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
		all = append(all, strings.TrimSpace(string(data)))
	}
	return all, nil
}
