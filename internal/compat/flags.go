package compat

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// value is what a command line says with one flag, under any of its names.
type value struct {
	flag  Flag
	given bool
	texts []string
	pass  *[]string // where it is kept as written; nil: nowhere
}

// Set implements pflag.Value.
func (v *value) Set(text string) error {
	if v.flag.Arg == "" {
		b, err := strconv.ParseBool(text)
		if err != nil {
			return err
		}
		text = strconv.FormatBool(b)
	}
	v.given = true
	if v.pass != nil {
		word := "--" + v.flag.Name()
		if v.flag.Arg != "" && (v.flag.Bare == "" || text != v.flag.Bare) || v.flag.Arg == "" && text != "true" {
			word += "=" + text
		}
		*v.pass = append(*v.pass, word)
	}
	if !v.flag.Many {
		v.texts = v.texts[:0]
	}
	v.texts = append(v.texts, text)
	return nil
}

// String implements pflag.Value.
func (v *value) String() string {
	if len(v.texts) == 0 {
		return ""
	}
	return v.texts[len(v.texts)-1]
}

// Type implements pflag.Value; it is what --help calls the value.
func (v *value) Type() string {
	if v.flag.Arg == "" {
		return "bool"
	}
	return v.flag.Arg
}

// register gives a command its flags under all of their names, and returns
// what will be said with them by their first ones.
func register(cmd *cobra.Command, flags []Flag, loose bool) (map[string]*value, *[]string) {
	values, passed := map[string]*value{}, new([]string)
	var all []string
	for _, f := range flags {
		if values[f.Name()] != nil {
			continue // the command has its own of a global one
		}
		v := &value{flag: f}
		if f.Pass {
			v.pass = passed
		}
		values[f.Name()] = v
		var long, short []string
		for name := range strings.FieldsSeq(f.Names) {
			if len(name) == 1 {
				short = append(short, name)
			} else {
				long = append(long, name)
			}
		}
		for len(long) < len(short) { // pflag knows no short flag without a long one
			long = append(long, "short-"+short[len(long)])
		}
		for i, name := range long {
			p := &pflag.Flag{Name: name, Usage: f.Does, Value: v, Hidden: i > 0 || strings.HasPrefix(name, "short-") && len(f.Name()) == 1}
			if i < len(short) && cmd.Flags().ShorthandLookup(short[i]) == nil {
				p.Shorthand = short[i]
			}
			switch {
			case f.Arg == "":
				p.NoOptDefVal = "true"
			case f.Bare != "":
				p.NoOptDefVal = f.Bare
			}
			if f.Void != "" {
				p.Usage, p.Hidden = f.Void, true
			}
			if cmd.Flags().Lookup(name) == nil {
				cmd.Flags().AddFlag(p)
				all = append(all, name)
			}
		}
	}
	if cmd.Flags().Lookup("help") == nil { // before cobra's own, which insists on -h
		short := "h"
		if cmd.Flags().ShorthandLookup(short) != nil {
			short = ""
		}
		cmd.Flags().BoolP("help", short, false, "help for "+cmd.Name())
	}
	if loose {
		cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
			return pflag.NormalizedName(whole(name, append(all, "help")))
		})
	}
	return values, passed
}

// whole is the flag that a name means which may be cut short, or written with
// underscores.
func whole(name string, all []string) string {
	name = strings.ReplaceAll(name, "_", "-")
	found := ""
	for _, n := range all {
		if n == name {
			return name
		}
		if strings.HasPrefix(n, name) && !strings.HasPrefix(n, "short-") {
			if found != "" {
				return name // several: it is refused as unknown
			}
			found = n
		}
	}
	if found != "" && len(name) > 1 {
		return found
	}
	return name
}

// stopNote marks commands after some words of which all is another program's.
const stopNote = "stop"

// Own puts -- where the words of another program begin, in the command lines
// of commands that carry one out: exec NAME COMMAND -l is COMMAND's -l.
func Own(root *cobra.Command, args []string) []string {
	if len(args) > 0 && strings.HasPrefix(args[0], "__complete") {
		return args
	}
	cmd, rest, err := root.Find(args)
	if err != nil || cmd.Annotations[stopNote] == "" {
		return args
	}
	stop, _ := strconv.Atoi(cmd.Annotations[stopNote]) // written by build
	head := args[:len(args)-len(rest)]
	if len(head)+len(rest) != len(args) {
		return args
	}
	words := 0
	for i := 0; i < len(rest); i++ {
		switch w := rest[i]; {
		case w == "--":
			return args
		case len(w) > 1 && w[0] == '-':
			if valued(cmd, w) {
				i++
			}
		default:
			if words++; words == stop {
				out := append(append([]string{}, head...), rest[:i]...)
				return append(append(out, "--"), rest[i:]...)
			}
		}
	}
	return args
}

// valued reports whether the next word is the value of a flag.
func valued(cmd *cobra.Command, word string) bool {
	if strings.Contains(word, "=") {
		return false
	}
	var f *pflag.Flag
	if name, long := strings.CutPrefix(word, "--"); long {
		f = cmd.Flags().Lookup(name)
	} else {
		for i := 1; i < len(word); i++ {
			if f = cmd.Flags().ShorthandLookup(word[i : i+1]); f == nil || f.NoOptDefVal == "" {
				return f != nil && i == len(word)-1
			}
		}
	}
	return f != nil && f.NoOptDefVal == ""
}
