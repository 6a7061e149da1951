// Package compat is what the command lines of other tools have in common: a
// table of their commands and flags, of which each is either done or answered
// with one sentence that says why it has no meaning here. The packages below it
// hold the tables, and translate. Documentation is made from the same tables.
package compat

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/cli/terminal"
)

// Flag is one flag of a command.
type Flag struct {
	// Names it has, the first of which is the one that commands ask by. Those of
	// one letter are short ones.
	Names string
	Arg   string // what its value is called; "": it is a switch
	Bare  string // its value where it is given without one
	Many  bool   // it may be repeated; else the last one counts
	Does  string // what it does
	Void  string // why it has no meaning here, instead of Does
	// Refused says that a command with it cannot go on, as what it asks for
	// would silently be missing.
	Refused bool
	// Pass keeps it as it is written, in its place among others, for a reader
	// that has tables of its own.
	Pass bool
}

// Name is the first of its names.
func (f Flag) Name() string { name, _, _ := strings.Cut(f.Names, " "); return name }

// Command is a command with those below it.
type Command struct {
	Use   string // its name and what it takes
	Also  string // other names, with spaces between
	Short string
	Long  string
	// Void says why it has no meaning here, instead of Run. Harmless ones end
	// well, since scripts begin with them.
	Void     string
	Harmless bool
	Flags    []Flag
	Global   []Flag // also of all commands below it
	Most     int    // words that it takes; -1: any number
	// Stop is the number of words, plus one, after which all that follows is
	// another program's: of exec NAME COMMAND it is 2. 0: never.
	Stop   int
	Names  bool // it takes names of workloads
	Hidden bool
	Loose  bool // of a root: --long_name is --long-name, and what is unique may be cut short
	Run    func(*Call) error
	Sub    []*Command
	Words  *Words // of a root: what texts of muster's become
	// Fault, of a root, says of an error what the tool itself says of it, and returns
	// the error, perhaps with another exit code.
	Fault func(*Call, error) error
}

// Name is the command's name.
func (c *Command) Name() string { name, _, _ := strings.Cut(c.Use, " "); return name }

// All is a number of words without a bound.
const All = -1

// Main runs a command line and returns its exit code.
func Main(root *Command, args []string, streams terminal.Streams, hooks cli.Hooks) int {
	return cli.ToolMain(streams, hooks, func(t *cli.Tool) *cobra.Command {
		root.speak(t)
		cmd := build(root, root, t, nil, args)
		cmd.SetArgs(Own(cmd, args))
		return cmd
	})
}

// Cobra makes the commands of a table.
func Cobra(root *Command, t *cli.Tool) *cobra.Command {
	return build(root, root, t, nil, nil)
}

// speak has muster's texts put into the tool's words.
func (c *Command) speak(t *cli.Tool) {
	if c.Words != nil {
		t.Speak(c.Words.In)
	}
}

// build makes a command and those below it; of those that no word of the
// command line names, only what --help of the one above says. Words are nil
// where all may be asked about.
func build(c, root *Command, t *cli.Tool, above []Flag, words []string) *cobra.Command {
	if len(words) > 0 && (strings.HasPrefix(words[0], "__complete") || words[0] == "completion" || words[0] == "help") {
		words = nil
	}
	cmd := &cobra.Command{Use: c.Use, Aliases: strings.Fields(c.Also), Short: c.Short, Long: c.Long, Hidden: c.Hidden, Args: cobra.ArbitraryArgs}
	cmd.DisableFlagsInUseLine = true
	if c.Void != "" {
		cmd.Short, cmd.Long = c.Void, ""
		cmd.FParseErrWhitelist.UnknownFlags = true
	}
	global := slices.Concat(above, c.Global)
	values, passed := register(cmd, slices.Concat(c.Flags, global), root.Loose)
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return root.faulty(&Call{Tool: t, Context: cmd.Context(), Path: cmd.CommandPath()}, cli.Wrong(err.Error(), cmd.CommandPath()+" --help lists the flags"))
	})
	if c.Stop > 0 {
		cmd.Annotations = map[string]string{stopNote: strconv.Itoa(c.Stop)}
	}
	if c.Names {
		cmd.ValidArgsFunction = t.CompleteNames()
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		root.speak(t)
		call := &Call{Tool: t, Context: cmd.Context(), Args: args, Path: cmd.CommandPath(), Passed: *passed, values: values}
		if at := cmd.ArgsLenAtDash(); at >= 0 {
			call.Args, call.After = args[:at], args[at:]
			call.Dash = true
		}
		return root.faulty(call, c.run(call, cmd))
	}
	for _, below := range c.Sub {
		if words == nil || slices.ContainsFunc(words, below.called) {
			cmd.AddCommand(build(below, root, t, global, words))
			continue
		}
		stub := &cobra.Command{Use: below.Use, Aliases: strings.Fields(below.Also), Short: below.Short, Hidden: below.Hidden, Run: func(*cobra.Command, []string) {}}
		if below.Void != "" {
			stub.Short = below.Void
		}
		cmd.AddCommand(stub)
	}
	return cmd
}

// called reports whether a word is one of the command's names.
func (c *Command) called(word string) bool {
	return word == c.Name() || slices.Contains(strings.Fields(c.Also), word)
}

// faulty has the tool say first what it says itself of an error.
func (c *Command) faulty(call *Call, err error) error {
	if err == nil || c.Fault == nil || call.Context.Err() != nil {
		return err
	}
	return c.Fault(call, err)
}

func (c *Command) run(call *Call, cmd *cobra.Command) error {
	switch {
	case c.Void != "":
		call.Tool.Say("%s: %s", call.Path, c.Void)
		if c.Harmless {
			return nil
		}
		return cli.Exit(1)
	case c.Run == nil && len(call.Args) > 0:
		return cli.Wrong(fmt.Sprintf("%q is not a command of %s", call.Args[0], call.Path), call.Path+" --help lists the commands")
	case c.Run == nil:
		return cmd.Help()
	case c.Most >= 0 && len(call.Args) > c.Most:
		return cli.Wrong(fmt.Sprintf("%s: there is no use for %q", call.Path, strings.Join(call.Args[c.Most:], " ")), cmd.UseLine())
	}
	if err := call.void(); err != nil {
		return err
	}
	return c.Run(call)
}

// Call is one command line.
type Call struct {
	*cli.Tool
	Context context.Context
	Path    string   // the command's whole name
	Args    []string // words before --
	After   []string // words after it
	Dash    bool     // whether there is a --
	Passed  []string // flags of which the table says Pass, as written
	values  map[string]*value
}

// void says of every flag that has no meaning here why that is.
func (c *Call) void() error {
	used := map[*value]bool{}
	for _, v := range c.values {
		if !v.given || v.flag.Void == "" || used[v] {
			continue
		}
		used[v] = true
		if v.flag.Refused {
			return cli.Wrong(fmt.Sprintf("%s %s: %s", c.Path, dashed(v.flag.Name()), v.flag.Void), "leave it out")
		}
	}
	for _, v := range ordered(used) {
		c.Say("%s %s: %s", c.Path, dashed(v.flag.Name()), v.flag.Void)
	}
	return nil
}

func ordered(used map[*value]bool) []*value {
	var all []*value
	for v := range used {
		all = append(all, v)
	}
	slices.SortFunc(all, func(a, b *value) int { return strings.Compare(a.flag.Names, b.flag.Names) })
	return all
}

func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

func (c *Call) value(name string) *value {
	v := c.values[name]
	if v == nil {
		return &value{} // of another command that shares the code
	}
	return v
}

// Given reports whether a flag was written.
func (c *Call) Given(name string) bool { return c.value(name).given }

// Text is the value of a flag, the last one.
func (c *Call) Text(name string) string { return c.value(name).String() }

// Bool reports whether a switch is on.
func (c *Call) Bool(name string) bool { return c.value(name).String() == "true" }

// All are the values of a flag that may be repeated.
func (c *Call) All(name string) []string { return c.value(name).texts }

// List are the values of a flag, of which each may be several with commas
// between.
func (c *Call) List(name string) []string {
	var all []string
	for _, text := range c.value(name).texts {
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				all = append(all, part)
			}
		}
	}
	return all
}

// Int is a whole number; none where the flag is not given.
func (c *Call) Int(name string, none int) (int, error) {
	if !c.Given(name) {
		return none, nil
	}
	n, err := strconv.Atoi(c.Text(name))
	if err != nil {
		return 0, cli.Wrong(fmt.Sprintf("%s %s: %q is not a whole number", c.Path, dashed(name), c.Text(name)), "like 2")
	}
	return n, nil
}

// First is the first word, or "".
func (c *Call) First() string {
	if len(c.Args) == 0 {
		return ""
	}
	return c.Args[0]
}

// Need returns the only word that a command must have.
func (c *Call) Need(what string) (string, error) {
	if len(c.Args) == 0 || c.Args[0] == "" {
		return "", cli.Wrong(fmt.Sprintf("%s needs %s", c.Path, what), c.Path+" --help shows how it is written")
	}
	return c.Args[0], nil
}
