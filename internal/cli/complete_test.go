package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestWhatFlagsMayBeIsOffered: a press of the tab key after a flag offers every word
// that its help names, and never a file where no file is meant.
func TestWhatFlagsMayBeIsOffered(t *testing.T) {
	root := newRoot(newWorld(t, nil).s, Hooks{}, []string{cobra.ShellCompRequestCmd, ""})
	flags := 0
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.NoOptDefVal != "" || isFile(f.Name) {
				return
			}
			flags++
			values, ok := c.GetFlagCompletionFunc(f.Name)
			if !ok {
				t.Errorf("%s --%s: the shell offers files", c.CommandPath(), f.Name)
				return
			}
			words, named := enumerated(f.Usage)
			if !named {
				return
			}
			offered, _ := values(c, nil, "")
			for _, w := range words {
				if !slices.ContainsFunc(offered, func(o string) bool { return strings.Split(o, "\t")[0] == w }) {
					t.Errorf("%s --%s (%s): %q is not among %q", c.CommandPath(), f.Name, f.Usage, w, offered)
				}
			}
		})
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	if flags < 200 {
		t.Errorf("only %d flags were seen", flags)
	}
}

// enumerated are the words that a flag's help lists as its values: "a, b or c", or
// a|b|c.
func enumerated(usage string) (words []string, ok bool) {
	if i := strings.LastIndex(usage, ": "); i >= 0 {
		usage = usage[i+2:]
	}
	if strings.Contains(usage, "|") {
		return strings.Split(usage, "|"), !strings.Contains(usage, "[")
	}
	head, last, ok := strings.Cut(usage, " or ")
	if !ok || strings.ContainsAny(last, " =") {
		return nil, false
	}
	words = append(strings.Split(head, ", "), last)
	return words, !slices.ContainsFunc(words, func(w string) bool { return w == "" || strings.ContainsAny(w, " =/:.…") || strings.ToLower(w) != w })
}
