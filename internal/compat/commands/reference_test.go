package commands

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/cli/terminal"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/convert/runai"
	"github.com/musterhq/muster/internal/convert/slurm"
	"github.com/musterhq/muster/internal/convert/source"
)

// wanted is one command of a reference with its flags.
type wanted struct {
	words []string
	flags []string
}

// reference reads the commands and flags of a platform's own documentation.
func reference(t *testing.T, name string) []wanted {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "reference", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []wanted
	for sc := bufio.NewScanner(f); sc.Scan(); {
		line := sc.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		commands, flags, _ := strings.Cut(line, ": ")
		for one := range strings.SplitSeq(commands, "|") {
			words := strings.Fields(one)
			switch name {
			case "runai", "mcli":
				words = append([]string{name}, words...)
			case "jobq":
				words = append([]string{"muster jobq"}, words[2:]...)
			}
			out = append(out, wanted{words, strings.Fields(flags)})
		}
	}
	if len(out) == 0 {
		t.Fatalf("%s: the reference is empty", name)
	}
	return out
}

// find walks a table along words, and collects the flags on the way.
func find(words []string) (*compat.Command, []compat.Flag) {
	c := All()[words[0]]
	if c == nil {
		return nil, nil
	}
	global := slices.Clone(c.Global)
	for _, w := range words[1:] {
		i := slices.IndexFunc(c.Sub, func(s *compat.Command) bool { return s.Name() == w || slices.Contains(strings.Fields(s.Also), w) })
		if i < 0 {
			return nil, nil
		}
		c = c.Sub[i]
		global = append(global, c.Global...)
	}
	return c, slices.Concat(c.Flags, global)
}

var platforms = []string{"runai", "mcli", "slurm", "jobq"}

func TestEveryFlagOfTheReferencesIsKnown(t *testing.T) {
	for _, p := range platforms {
		for _, want := range reference(t, p) {
			c, flags := find(want.words)
			if c == nil {
				t.Errorf("there is no command %v", want.words)
				continue
			}
			if c.Void == "" && c.Run == nil && len(c.Sub) == 0 {
				t.Errorf("%v is neither done nor answered", want.words)
			}
			for _, flag := range want.flags {
				name := strings.TrimLeft(flag, "-")
				if name == "help" || name == "h" && p != "slurm" {
					continue
				}
				i := slices.IndexFunc(flags, func(f compat.Flag) bool {
					return slices.Contains(strings.Fields(f.Names), strings.ReplaceAll(name, "_", "-"))
				})
				if i < 0 {
					t.Errorf("%v has no flag %s", want.words, flag)
				}
			}
		}
	}
}

// visit calls f for every command with its whole name.
func visit(path string, c *compat.Command, above []compat.Flag, f func(path string, c *compat.Command, flags []compat.Flag)) {
	global := slices.Concat(above, c.Global)
	f(path, c, slices.Concat(c.Flags, global))
	for _, s := range c.Sub {
		visit(path+" "+s.Name(), s, global, f)
	}
}

func everyCommand(f func(path string, c *compat.Command, flags []compat.Flag)) {
	all := All()
	for _, name := range sortedNames(all) {
		visit(name, all[name], nil, f)
	}
}

func sortedNames(all map[string]*compat.Command) []string {
	var names []string
	for n := range all {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// sentence reports whether a text is one sentence of a bearable length.
func sentence(s string) bool {
	return len(s) > 10 && len(s) < 240 && strings.HasSuffix(s, ".") && !strings.Contains(strings.TrimSuffix(s, "."), ". ")
}

func TestEveryFlagIsDoneOrAnswered(t *testing.T) {
	everyCommand(func(path string, c *compat.Command, flags []compat.Flag) {
		if c.Void != "" && (!sentence(c.Void) || c.Run != nil) {
			t.Errorf("%s: %q is not the one sentence why it has no meaning", path, c.Void)
		}
		seen := map[string]string{}
		for _, f := range c.Flags {
			for name := range strings.FieldsSeq(f.Names) {
				if other, twice := seen[name]; twice {
					t.Errorf("%s: --%s belongs to both %s and %s", path, name, other, f.Name())
				}
				seen[name] = f.Name()
			}
			switch {
			case f.Pass && f.Does == "" && f.Void == "":
			case f.Void != "" && f.Does == "" && sentence(f.Void):
			case f.Does != "" && f.Void == "":
			default:
				t.Errorf("%s --%s: neither done nor answered with one sentence: %q %q", path, f.Name(), f.Does, f.Void)
			}
		}
	})
}

// called runs a command line that no server answers, and returns what it says.
func called(t *testing.T, tool string, args ...string) (code int, said string) {
	t.Helper()
	var out, err bytes.Buffer
	streams := terminal.Streams{In: strings.NewReader(""), Out: &out, Err: &err}
	name, rest, _ := strings.Cut(tool, " ")
	if name == "muster" {
		return cli.Main(append(strings.Fields(rest), args...), streams, cli.Hooks{Commands: Below}), out.String() + err.String()
	}
	code, ok := Main(name, append(strings.Fields(rest), args...), streams, cli.Hooks{})
	if !ok {
		t.Fatalf("there is no tool %s", name)
	}
	return code, out.String() + err.String()
}

func alone(t *testing.T) {
	t.Helper()
	t.Setenv("MUSTER_DATA_DIR", t.TempDir())
	t.Setenv("MUSTER_SERVER", "")
	t.Setenv("MUSTER_NO_AUTOSTART", "1")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("MUSTER_CONFIG", "")
}

func TestWhatHasNoMeaningIsAnswered(t *testing.T) {
	alone(t)
	globals := map[string]bool{}
	everyCommand(func(path string, c *compat.Command, flags []compat.Flag) {
		if c.Void != "" {
			code, said := called(t, path, "--some-flag", "word")
			if want := map[bool]int{true: 0, false: 1}[c.Harmless]; code != want || !strings.Contains(said, c.Void) {
				t.Errorf("%s: exit code %d (want %d), it says %q", path, code, want, said)
			}
			return
		}
		if c.Run == nil {
			return
		}
		asked := c.Flags
		if tool, _, _ := strings.Cut(path, " "); !globals[tool] { // one command stands for all that share them
			globals[tool], asked = true, flags
		}
		for _, f := range asked {
			if f.Void == "" {
				continue
			}
			for name := range strings.FieldsSeq(f.Names) {
				word := "--" + name
				if len(name) == 1 {
					word = "-" + name
				}
				if f.Arg != "" && f.Bare == "" {
					word += "=1"
				}
				if path == "runai my-credential create" && name == "config-file" {
					continue // there it is the file of a secret
				}
				code, said := called(t, path, word)
				if !strings.Contains(said, f.Void) && !strings.Contains(said, strings.TrimSuffix(f.Void, ".")) {
					if taken(flags, name, f) {
						continue // the command's own flag has that name
					}
					t.Errorf("%s %s: exit code %d, it says %q, not %q", path, word, code, said, f.Void)
				}
				if f.Refused && code == 0 {
					t.Errorf("%s %s is refused and ends with 0", path, word)
				}
			}
		}
	})
}

// taken reports whether another flag has a name first.
func taken(flags []compat.Flag, name string, f compat.Flag) bool {
	i := slices.IndexFunc(flags, func(g compat.Flag) bool { return slices.Contains(strings.Fields(g.Names), name) })
	return i >= 0 && flags[i].Names != f.Names
}

// samples are values that flags which are handed on may have.
func samples(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "samples.txt"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			out[name] = value
		}
	}
	return out
}

// fateOf is what becomes of a flag that is handed on to the reader of command
// lines: done, or why not.
func fateOf(tool string, f compat.Flag, sample string) (note source.Note, err error) {
	word := "--" + f.Name()
	sample, beside, _ := strings.Cut(sample, " + ")
	if f.Arg != "" && (f.Bare == "" || sample != "") {
		word += "=" + sample
	}
	var res *source.Result
	if tool == "runai" {
		command := []string{"submit"}
		rest := append([]string{word}, strings.Fields(beside)...)
		if f.Name() != "image" {
			rest = append(rest, "--image=ubuntu")
		}
		switch n := f.Name(); {
		case n == "slots-per-worker":
			command = []string{"submit-dist", "mpi"}
		case strings.HasPrefix(n, "master-"), strings.Contains(n, "topology"), slices.Contains([]string{"workers", "processes", "clean-pod-policy", "cleanup-policy", "no-master", "framework"}, n):
			command = []string{"submit-dist", "pytorch"}
			if n != "workers" && n != "processes" {
				rest = append(rest, "--workers=2")
			}
		case strings.HasPrefix(n, "metric"), strings.Contains(n, "replicas"), strings.Contains(n, "scale"), strings.Contains(n, "concurrency"), n == "serving-port":
			command = []string{"inference", "submit"}
			if n != "max-replicas" {
				rest = append(rest, "--max-replicas=4")
			}
		}
		res, err = runai.Import(append(command, append(rest, "--", "true")...))
	} else {
		res, err = slurm.Import([]byte("#!/bin/sh\ntrue\n"), slurm.Submission{Options: append([]string{word}, strings.Fields(beside)...)})
	}
	if err != nil && !answered(res, f) {
		return note, err
	}
	for _, n := range res.Notes {
		if n.Field == "--"+f.Name() {
			note = n
			if n.Fate != source.Ignored {
				break
			}
		}
	}
	if note.Fate == "" {
		return note, fmt.Errorf("nothing is said of it")
	}
	if note.Fate == source.Ignored && note.Reason == "" {
		return note, fmt.Errorf("it is ignored without a reason")
	}
	return note, nil
}

// notTaken are flags without which the work would be another one: they are
// refused with a sentence whatever they say.
var notTaken = []string{"tres-per-task", "extra"}

func answered(res *source.Result, f compat.Flag) bool {
	return slices.Contains(notTaken, f.Name()) && slices.ContainsFunc(res.Notes, func(n source.Note) bool {
		return n.Field == "--"+f.Name() && n.Fate == source.Refused && n.Reason != ""
	})
}

func TestFlagsHandedOnAreDoneOrAnswered(t *testing.T) {
	values := samples(t)
	for tool, path := range map[string]string{"runai": "runai submit", "sbatch": "sbatch"} {
		_, flags := find(strings.Fields(path))
		for _, f := range flags {
			if !f.Pass {
				continue
			}
			sample := values[tool+":"+f.Name()]
			if sample == "" && f.Arg != "" && f.Bare == "" {
				if sample = "1"; strings.Contains(f.Name(), "memory") && tool == "runai" {
					sample = "1Gi" // 1 is a byte, in which nothing starts
				}
			}
			if _, err := fateOf(tool, f, sample); err != nil {
				t.Errorf("%s --%s=%s: %v", path, f.Name(), sample, err)
			}
		}
	}
}
