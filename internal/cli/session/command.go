package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core/nearest"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Group is a command that only has others below it.
func Group(word, short string, aliases ...string) *cobra.Command {
	return &cobra.Command{
		Use: word, Aliases: aliases, Short: short,
		Args: NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
}

// FlagAlias gives a flag another name, which other tools have for it.
func FlagAlias(f *pflag.FlagSet, name, other string) {
	before := f.GetNormalizeFunc()
	f.SetNormalizeFunc(func(f *pflag.FlagSet, given string) pflag.NormalizedName {
		if given == other {
			given = name
		}
		return before(f, given)
	})
}

// NoArgs refuses words that no command takes, with a suggestion.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !cmd.HasAvailableSubCommands() {
		return UsageError(fmt.Sprintf("%s takes no arguments, and %q is one", cmd.CommandPath(), args[0]), cmd.CommandPath()+" --help shows what it takes")
	}
	e := UsageError(fmt.Sprintf("%q is not a command of %s", args[0], cmd.CommandPath()), cmd.CommandPath()+" --help lists the commands")
	var names, harmful []string
	for _, c := range cmd.Commands() {
		of := &names
		if slices.Contains(destroying, c.Name()) {
			of = &harmful
		}
		*of = append(append(*of, c.Name()), c.Aliases...)
	}
	near := nearest.Words(args[0], names)
	if len(near) == 0 && len(args[0]) > 2 { // two letters mean too many things
		near = nearest.Words(args[0], harmful)
	}
	if ours := wordsElsewhere[args[0]]; ours != "" {
		e.Problem.Hint = "here that is " + ours
	} else if len(near) > 0 {
		e.Problem.Hint = fmt.Sprintf("did you mean %s %s?", cmd.CommandPath(), near[0])
	}
	return e
}

// destroying are commands that nobody is sent to who may have meant another one.
var destroying = []string{"delete", "remove", "stop", "preempt", "drain", "reject"}

// UnknownFlag refuses a flag that a command does not have, with a suggestion. It
// is the command that is wrong where there is no such command.
func UnknownFlag(cmd *cobra.Command, err error) error {
	if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 {
		if wrong := NoArgs(cmd, words); wrong != nil {
			return wrong
		}
	}
	e := UsageError(err.Error(), fmt.Sprintf("%s --help lists the flags", cmd.CommandPath()))
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return e
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := nearest.Words(unknown.GetSpecifiedName(), names); len(near) > 0 {
		e.Problem.Hint = "did you mean --" + strings.Join(near, " or --") + "?"
	}
	return e
}

// wordsElsewhere are commands of other tools, and what does the same here.
var wordsElsewhere = map[string]string{
	"interactive": "muster run -it --kind workspace bash", "clone": "muster run --like WORKLOAD", "kill": "muster stop WORKLOAD",
	"login": "the environment: MUSTER_SERVER=http://HOST:PORT and MUSTER_TOKEN", "init": "nothing: a server on this machine begins with the first command",
}

// OneName asks for a single name of such a thing.
func OneName(thing string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return UsageError(fmt.Sprintf("%s takes one %s, not %d", cmd.CommandPath(), thing, len(args)), cmd.UseLine())
		}
		return nil
	}
}

// AtMostOne refuses a second name.
func AtMostOne(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return UsageError(fmt.Sprintf("%s takes one workload, not %d", cmd.CommandPath(), len(args)), cmd.UseLine())
	}
	return nil
}

// FirstName is the first of the words; "" where there is none.
func FirstName(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// DropNoun lets people say `describe run NAME` and `stop job NAME`.
func DropNoun(args []string) []string {
	if len(args) > 1 && KindsOfThings[strings.ToLower(args[0])] == "workloads" {
		return args[1:]
	}
	return args
}

// OneOf refuses a value of a flag that is not among those allowed.
func OneOf(flag, value string, allowed ...string) error {
	for _, a := range allowed {
		if a == value {
			return nil
		}
	}
	hint := "allowed:"
	for _, a := range allowed {
		hint += " " + a
	}
	return UsageError(fmt.Sprintf("--%s: %q is not known", flag, value), hint)
}

// KindsOfThings are the first words of `muster get`; everything else is a name.
var KindsOfThings = map[string]string{
	"workload": "workloads", "workloads": "workloads", "run": "workloads", "runs": "workloads", "job": "workloads", "jobs": "workloads",
	"wl": "workloads", "node": "nodes", "nodes": "nodes", "project": "projects", "projects": "projects", "queue": "projects", "queues": "projects",
	"department": "departments", "departments": "departments", "pool": "pools", "pools": "pools", "license": "licenses", "licenses": "licenses",
}
