package face

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
func register(cmd *cobra.Command, flags []Flag, loose bool) map[string]*value {
	values := map[string]*value{}
	var all []string
	for _, f := range flags {
		if values[f.Name()] != nil {
			continue // the command has its own of a global one
		}
		v := &value{flag: f}
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
			if i < len(short) {
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
	if loose {
		cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
			return pflag.NormalizedName(whole(name, append(all, "help")))
		})
	}
	return values
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
