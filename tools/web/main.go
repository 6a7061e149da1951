// Command web builds the pages of Muster's UI: it bundles web/src with the
// libraries in web/vendor into web/dist, without node. Only whoever changes the
// pages needs it; what it makes is committed.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// commands by name; each is given the folder web and what follows the name.
var commands = []struct {
	name, usage string
	do          func(web string, args []string) error
}{
	{"build", "build [DIR]     bundle web/src into web/dist, or DIR", build},
	{"types", "types [FILE]    write web/src/api/types.ts, or FILE, from api/openapi.json", types},
	{"vendor", "vendor          fetch what web/vendor/VENDOR.json names", vendor},
	{"check", "check           check the types of web/src with TypeScript's own compiler, fetched once", check},
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "web:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	usage := "usage: go run ./tools/web COMMAND\n"
	for _, c := range commands {
		usage += "  " + c.usage + "\n"
	}
	if len(args) == 0 {
		return fmt.Errorf("no command is given\n%s", usage)
	}
	i := slices.IndexFunc(commands, func(c struct {
		name, usage string
		do          func(string, []string) error
	}) bool {
		return c.name == args[0]
	})
	if i < 0 {
		return fmt.Errorf("there is no command %q\n%s", args[0], usage)
	}
	web, err := folder()
	if err != nil {
		return err
	}
	return commands[i].do(web, args[1:])
}

// folder finds web from wherever in the repository this was started.
func folder() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "web", "vendor", "VENDOR.json")); err == nil {
			return filepath.Join(dir, "web"), nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("web/vendor/VENDOR.json is not below any folder above; run it inside the repository")
		}
		dir = up
	}
}

// target is where a command writes: its only argument, or what is usual.
func target(args []string, usual string) (string, error) {
	switch len(args) {
	case 0:
		return usual, nil
	case 1:
		return filepath.Abs(args[0])
	default:
		return "", fmt.Errorf("one place is expected, not %q", args)
	}
}
