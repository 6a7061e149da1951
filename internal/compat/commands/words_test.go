package commands

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/compat"
)

// speakers are the tools that have words for what muster advises.
func speakers(t *testing.T) map[string]*compat.Words {
	t.Helper()
	out := map[string]*compat.Words{}
	for name, tool := range All() {
		if name == "muster compat" { // it is muster's own
			continue
		}
		if out[name] = tool.Words; tool.Words == nil {
			t.Errorf("%s has no words for what muster advises", name)
			delete(out, name)
		}
	}
	return out
}

// ofMuster are muster's own commands.
func ofMuster(t *testing.T) []string {
	t.Helper()
	alone(t)
	_, said := called(t, "muster", "__complete", "")
	var out []string
	for line := range strings.Lines(said) {
		if name, _, ok := strings.Cut(line, "\t"); ok && !slices.Contains([]string{"completion", "help", "jobq", "compat"}, name) {
			out = append(out, name)
		}
	}
	if len(out) < 40 {
		t.Fatalf("muster has the commands %v", out)
	}
	return out
}

func firstWord(s string) string { word, _, _ := strings.Cut(s, " "); return word }

// TestEveryCommandHasAWordOrNone makes who adds a command to muster say what does
// the same in each tool, or that nothing does.
func TestEveryCommandHasAWordOrNone(t *testing.T) {
	ours := ofMuster(t)
	for tool, w := range speakers(t) {
		for _, name := range ours {
			said := slices.ContainsFunc(w.Commands, func(s compat.Saying) bool { return firstWord(s.Ours) == name })
			if none := slices.Contains(w.None, name); said == none {
				t.Errorf("%s: muster %s has a word: %t, and is among those without: %t", tool, name, said, none)
			}
		}
		for _, name := range w.None {
			if !slices.Contains(ours, name) {
				t.Errorf("%s: %s is no command of muster's", tool, name)
			}
		}
		for _, s := range w.Commands {
			if !slices.Contains(ours, firstWord(s.Ours)) {
				t.Errorf("%s: %s is no command of muster's", tool, s.Ours)
			}
		}
	}
}

// typed is a command line of a tool in a text: its command, and the flags of all
// that is behind it up to the next piece of the sentence.
func typed(text string) (path string, c *compat.Command, flags []compat.Flag, rest string) {
	words := strings.Fields(text)
	if len(words) > 1 && words[0] == "muster" {
		words = append([]string{words[0] + " " + words[1]}, words[2:]...)
	}
	for n := len(words); n > 0; n-- {
		c, flags = find(words[:n])
		if c != nil && (c.Run != nil || c.Void != "") {
			return strings.Join(words[:n], " "), c, flags, strings.Join(words[n:], " ")
		}
	}
	return text, nil, nil, ""
}

var written = regexp.MustCompile(`(?:^|[\s(=])(--?[a-zA-Z][a-z-]*)`)

// unknown are the flags of a command line in a text which its command has not.
func unknown(flags []compat.Flag, rest string) []string {
	var out []string
	for _, m := range written.FindAllStringSubmatch(rest, -1) {
		name := strings.TrimLeft(m[1], "-")
		if name != "help" && !slices.ContainsFunc(flags, func(f compat.Flag) bool { return slices.Contains(strings.Fields(f.Names), name) }) {
			out = append(out, m[1])
		}
	}
	return out
}

// TestWordsAreCommands finds words that the tool itself would refuse.
func TestWordsAreCommands(t *testing.T) {
	for tool, w := range speakers(t) {
		for _, s := range w.Commands {
			path, c, flags, rest := typed(s.Theirs)
			if c == nil || c.Void != "" {
				t.Errorf("%s: %q is said for muster %s, and is no command", tool, s.Theirs, s.Ours)
				continue
			}
			if none := unknown(flags, rest); len(none) > 0 {
				t.Errorf("%s: %s has no flag %v", tool, path, none)
			}
		}
	}
}

// advised are the texts of the program that tell what to type next.
func advised(t *testing.T) []string {
	t.Helper()
	var dirs []string
	for _, pattern := range []string{"cli", "cli/*", "server", "control", "engine", "engine/*", "core/*", "core/*/*", "serviceproxy", "operations", "backend", "backend/*", "backend/*/*", "store", "oci", "secret", "notify", "../client"} {
		found, err := filepath.Glob(filepath.Join("../..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range found {
			if files, _ := filepath.Glob(filepath.Join(dir, "*.go")); len(files) > 0 {
				dirs = append(dirs, dir)
			}
		}
	}
	var out []string
	for text := range literals(t, dirs...) {
		if strings.Contains(text, "muster ") && !strings.Contains(text, "\n") && !strings.HasPrefix(text, "  muster ") { // not those that only help shows
			out = append(out, text)
		}
	}
	if len(out) < 100 {
		t.Fatalf("there are %d texts that name commands", len(out))
	}
	slices.Sort(out)
	return out
}

var separator = regexp.MustCompile(`[,;:] | and | or |\(`)

// TestAdviceIsInTheToolsWords puts every text of the program that names a
// command into the words of each tool: what comes out names no command of
// muster's for which the tool has its own, and no flag that its own has not.
func TestAdviceIsInTheToolsWords(t *testing.T) {
	texts := advised(t)
	if testing.Short() {
		texts = texts[:len(texts)/10]
	}
	for tool, w := range speakers(t) {
		for _, text := range texts {
			for _, piece := range separator.Split(w.In(text), -1) {
				at := strings.Index(piece, "muster ")
				if at > 0 && piece[at-1] != ' ' && piece[at-1] != '\'' {
					continue
				}
				if at >= 0 && !strings.HasPrefix(tool, "muster ") {
					rest := piece[at+len("muster "):]
					i := slices.IndexFunc(w.Commands, func(s compat.Saying) bool {
						return rest == s.Ours || strings.HasPrefix(rest, s.Ours+" ") || strings.HasPrefix(rest, s.Ours+"'")
					})
					none := slices.ContainsFunc(w.Flags, func(s compat.Saying) bool { return s.Theirs == "" && slices.Contains(strings.Fields(rest), s.Ours) })
					if i >= 0 && !none {
						t.Errorf("%s is told %q, and has %s for that", tool, piece, w.Commands[i].Theirs)
					}
					continue
				}
				for _, s := range w.Commands {
					name := s.Theirs
					from := strings.Index(piece, name+" ")
					if from < 0 {
						continue
					}
					path, c, flags, rest := typed(piece[from:])
					if c == nil {
						continue
					}
					if none := unknown(flags, rest); len(none) > 0 && !strings.Contains(rest, " -- ") {
						t.Errorf("%s is told %q (of %q): %s has no %v", tool, piece, text, path, none)
					}
				}
			}
		}
	}
}
