package commands

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
)

// links is muster compat.
func links() *compat.Command {
	some := compat.Flag{Names: "only", Arg: "NAMES", Many: true, Does: "only these, with commas between: dstack, mcli, runai, sky, slurm, or single names"}
	return &compat.Command{Use: "compat", Short: "Other tools' command lines: install, list, remove", Sub: []*compat.Command{
		{
			Use: "install [DIR]", Short: "Make links by whose names this program is other tools", Most: 1,
			Long: `Makes links to this program in a directory, ~/.local/bin by default, one for each
tool: called by its name this program is that tool. What is there already and
is no link to this program stays as it is, unless --force is given.`,
			Flags: []compat.Flag{some, {Names: "force", Does: "replace what is there"}},
			Run:   install,
		},
		{Use: "list [DIR]", Short: "Which names there are, and what they mean in this shell", Most: 1, Run: list},
		{Use: "remove [DIR]", Short: "Remove such links", Most: 1, Flags: []compat.Flag{some}, Run: remove},
	}}
}

// slurmNames are the commands of Slurm, in order.
func slurmNames() []string {
	return slices.DeleteFunc(Names(), func(name string) bool { return slices.Contains([]string{"dstack", "mcli", "runai", "sky"}, name) })
}

// chosen are the names of --only.
func chosen(c *compat.Call) ([]string, error) {
	words := c.List("only")
	if len(words) == 0 {
		return Names(), nil
	}
	var out []string
	for _, w := range words {
		switch {
		case w == "slurm":
			out = append(out, slurmNames()...)
		case slices.Contains(Names(), w):
			out = append(out, w)
		default:
			return nil, cli.Wrong(fmt.Sprintf("--only: there is no tool %q", w), "slurm, or of "+strings.Join(Names(), ", "))
		}
	}
	return out, nil
}

// folder is where links are.
func folder(c *compat.Call) (string, error) {
	if c.First() != "" {
		return filepath.Abs(c.First())
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", cli.Wrong("there is no home directory: "+err.Error(), "name a directory: muster compat install DIR")
	}
	return filepath.Join(home, ".local", "bin"), nil
}

// self is this program's file.
func self() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(exe)
}

// ours reports whether a file is a link to this program; there is false where
// there is no such file.
func ours(path, program string) (mine, there bool) {
	if _, err := os.Lstat(path); err != nil {
		return false, !errors.Is(err, fs.ErrNotExist)
	}
	target, err := filepath.EvalSymlinks(path)
	return err == nil && target == program && path != program, true
}

func install(c *compat.Call) error {
	names, err := chosen(c)
	if err != nil {
		return err
	}
	dir, err := folder(c)
	if err != nil {
		return err
	}
	program, err := self()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return cli.Wrong(err.Error(), "name a directory that you may write to")
	}
	var taken []string
	for _, name := range names {
		path := filepath.Join(dir, name)
		if mine, there := ours(path, program); there && !mine && !c.Bool("force") {
			taken = append(taken, name)
			continue
		}
		// Made beside and moved over it, so that the name is never missing.
		next := path + ".muster"
		_ = os.Remove(next)
		if err := os.Symlink(program, next); err != nil {
			return cli.Wrong(err.Error(), "name a directory that you may write to")
		}
		if err := os.Rename(next, path); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(c.Out(), path); err != nil {
			return err
		}
	}
	if len(taken) > 0 {
		return cli.Conflict(fmt.Sprintf("%s: there already, and no link to this program: %s", dir, strings.Join(taken, ", ")), "--force replaces them, another directory keeps both")
	}
	if !slices.Contains(filepath.SplitList(c.Env("PATH")), dir) {
		c.Say("%s is not on your PATH yet: export PATH=%s:$PATH", dir, dir)
	}
	return nil
}

func list(c *compat.Call) error {
	program, err := self()
	if err != nil {
		return err
	}
	var rows [][]string
	for _, name := range Names() {
		path, state := "", "not installed"
		if c.First() != "" {
			path = filepath.Join(c.First(), name)
		} else if found, err := exec.LookPath(name); err == nil {
			path = found
		}
		if path != "" {
			switch mine, there := ours(path, program); {
			case mine:
				state = "this program"
			case there:
				state = "another program"
			default:
				path = ""
			}
		}
		rows = append(rows, []string{name, state, compat.Dash(path)})
	}
	return c.Table([]string{"NAME", "IS", "AT"}, rows)
}

func remove(c *compat.Call) error {
	names, err := chosen(c)
	if err != nil {
		return err
	}
	dir, err := folder(c)
	if err != nil {
		return err
	}
	program, err := self()
	if err != nil {
		return err
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		if mine, _ := ours(path, program); !mine {
			continue
		}
		if err := os.Remove(path); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(c.Out(), path); err != nil {
			return err
		}
	}
	return nil
}
