package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestCommandsAreFoundByTheirNames holds the table to what the commands say, as a
// command that is called by a name that is not there would not be made.
func TestCommandsAreFoundByTheirNames(t *testing.T) {
	t.Parallel()
	s := newWorld(t, nil).s
	for _, c := range commands(Hooks{}) {
		made := c.make(s)
		if names := strings.Join(append([]string{made.Name()}, made.Aliases...), " "); names != c.names {
			t.Errorf("the table says %q of %q", c.names, names)
		}
		if !slices.ContainsFunc(newRoot(s, Hooks{}, nil).Groups(), func(g *cobra.Group) bool { return g.ID == c.group }) {
			t.Errorf("%s: there is no group %s", c.names, c.group)
		}
	}
}

// TestOnlyWhatIsMeantIsMade is about what a command costs, and about those lines
// for which everything has to be there.
func TestOnlyWhatIsMeantIsMade(t *testing.T) {
	t.Parallel()
	all := len(commands(Hooks{}))
	for line, want := range map[string]int{
		"get":                                 1,
		"ls -a":                               1,
		"--server unix:///s get":              1,
		"--data-dir=/d --no-autostart logs x": 1,
		"-o json get":                         1,
		"project list":                        1,
		"__complete logs x":                   1,
		"__completeNoDesc -o json project l":  1,
		"":                                    all,
		"--help":                              all,
		"help get":                            all,
		"gte":                                 all,
		"-ojson get":                          all,
		"--unknown get":                       all,
		"__complete ge":                       all,
		"__complete get":                      all,
		"completion bash":                     all,
		"--server":                            all,
	} {
		s := newWorld(t, nil).s
		if got := len(newRoot(s, Hooks{}, strings.Fields(line)).Commands()); got != want {
			t.Errorf("muster %s: %d commands are made, want %d", line, got, want)
		}
	}
}
