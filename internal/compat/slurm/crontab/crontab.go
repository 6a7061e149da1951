// Package crontab is scrontab: a table of jobs that are submitted by the clock. Each of
// its entries is a schedule, which keeps the lines that it was made of.
package crontab

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/compat/slurm/terms"
	"github.com/musterhq/muster/internal/convert/slurm"
)

// Scrontab is scrontab.
func Scrontab() *compat.Command {
	return &compat.Command{
		Use: "scrontab [-l|-r|-e|FILE|-]", Words: &terms.Words, Short: "Jobs that are submitted by the clock", Most: 1, Loose: true,
		Long: `Installs a table of jobs that are submitted by the clock, from a file or, with -,
from standard input; -l prints it, -e edits it, -r removes it. A line has minute, hour,
day of the month, month and day of the week, or a word like @daily, and a command; lines
#SCRON before it are its options of sbatch, lines NAME=value are variables of all that
follow. Each entry is a schedule: muster schedule list shows them, with what has become
of their times. A run that is due while the one before has not ended is left out.`,
		Flags: []compat.Flag{
			{Names: "e", Does: "edit the table with $VISUAL or $EDITOR"},
			{Names: "l", Does: "print the table"},
			{Names: "r", Does: "remove the table; runs that there are go on"},
			{Names: "i", Does: "with -r, ask first"},
			{Names: "u", Arg: "USER", Void: "everybody has a table of their own; log in as that user.", Refused: true},
			{Names: "quiet Q q", Does: "say nothing of what is made"},
			{Names: "verbose v", Void: "there is nothing more to tell."},
			terms.Version,
		},
		Run: scrontab,
	}
}

func scrontab(c *compat.Call) error {
	if done, err := terms.Asked(c); done {
		return err
	}
	asked := 0
	for _, given := range []bool{c.Bool("e"), c.Bool("l"), c.Bool("r"), len(c.Args) > 0} {
		if given {
			asked++
		}
	}
	if asked != 1 {
		return cli.Wrong("it does not say what is to be done", "give one of a file, - for standard input, -l, -e and -r")
	}
	have, err := installed(c)
	if err != nil {
		return err
	}
	switch {
	case c.Bool("l"):
		if len(have) == 0 {
			return cli.Missing("no crontab for "+c.Me(), "scrontab FILE installs one")
		}
		_, err := fmt.Fprint(c.Out(), tableOf(have))
		return err
	case c.Bool("r"):
		return remove(c, have)
	case c.Bool("e"):
		text, err := edited(c, tableOf(have))
		if err != nil || text == tableOf(have) {
			return err
		}
		return install(c, "the table", text, have)
	}
	data, err := c.Read(c.Args[0])
	if err != nil {
		return err
	}
	return install(c, c.Args[0], string(data), have)
}

// begin begins the names of the schedules of a user's table.
func begin(user string) string {
	name := compat.Name(user)
	return "scron-" + strings.Trim(name[:min(len(name), 20)], "-") + "-"
}

// installed are the schedules of the table that there is, in its order.
func installed(c *compat.Call) ([]api.Schedule, error) {
	to, err := c.Connect(c.Context)
	if err != nil {
		return nil, err
	}
	list, err := to.Schedules.List(c.Context, "")
	if err != nil {
		return nil, err
	}
	all := slices.DeleteFunc(list.Items, func(r api.Schedule) bool { return !strings.HasPrefix(r.Name, begin(c.Me())) || r.Description == "" })
	slices.SortFunc(all, func(a, b api.Schedule) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

func tableOf(all []api.Schedule) string {
	var b strings.Builder
	for _, r := range all {
		b.WriteString(r.Description)
	}
	return b.String()
}

// install makes the table what a text says: entries that are as they were stay, with
// what they know of their runs. Nothing changes where the server refuses one of them.
func install(c *compat.Call, name, text string, have []api.Schedule) error {
	entries, err := read(text)
	var bad *mistake
	if errors.As(err, &bad) {
		return cli.Wrong(fmt.Sprintf("%s:%d: %s", name, bad.line, bad.problem), bad.hint)
	}
	if len(entries) == 0 {
		return cli.Wrong(name+" has no entry", "scrontab -r removes the table")
	}
	to, err := c.Connect(c.Context)
	if err != nil {
		return err
	}
	type made struct {
		project string
		api.NewSchedule
	}
	var all []made
	for i, e := range entries {
		project, n, err := schedule(c, name, e)
		if err != nil {
			return err
		}
		n.Name = fmt.Sprintf("%s%03d", begin(c.Me()), i+1)
		all = append(all, made{project, n})
	}
	same := func(r api.Schedule) bool {
		return slices.ContainsFunc(all, func(m made) bool { return m.Name == r.Name && m.project == r.Project && m.Description == r.Description })
	}
	for _, dry := range []bool{true, false} {
		for i, m := range all {
			if slices.ContainsFunc(have, func(r api.Schedule) bool { return r.Name == m.Name && same(r) }) {
				continue
			}
			r, err := to.Schedules.Replace(c.Context, m.project, m.NewSchedule, dry)
			if err != nil {
				return fmt.Errorf("%s:%d: %w", name, entries[i].line, err)
			}
			if !dry && !c.Bool("quiet") {
				c.Say("scrontab: %s: schedule %s of project %s", entries[i].cron, r.Name, r.Project)
			}
		}
	}
	for _, r := range have {
		if slices.ContainsFunc(all, func(m made) bool { return m.Name == r.Name && m.project == r.Project }) {
			continue
		}
		if err := to.Schedules.Delete(c.Context, r.Project, r.Name, false); err != nil {
			return err
		}
	}
	return nil
}

// schedule is what an entry says: as Slurm has it, a run that is due while the one
// before has not ended is left out.
func schedule(c *compat.Call, name string, e entry) (project string, n api.NewSchedule, err error) {
	script := "#!/bin/sh\n"
	for _, o := range e.options {
		script += "#SBATCH " + o + "\n"
	}
	for _, v := range e.env {
		key, value, _ := strings.Cut(v, "=")
		script += "export " + key + "='" + strings.ReplaceAll(value, "'", `'\''`) + "'\n"
	}
	program := filepath.Base(strings.Fields(e.command)[0])
	res, err := slurm.Import([]byte(script+e.command+"\n"), slurm.Submission{Name: program, Now: c.Now()})
	at := fmt.Sprintf("%s:%d", name, e.line)
	if err != nil {
		return "", n, compat.Refused(at, err)
	}
	if len(res.Documents) != 1 {
		return "", n, cli.Wrong(at+": it is several jobs", "an entry of a table is one job")
	}
	compat.Report(c, at, res)
	doc := res.Documents[0]
	if doc.Slurm != nil && doc.Slurm.Name == "" {
		doc.Slurm.Name = program
	}
	if doc.Workdir == "" && doc.Image == "" {
		if doc.Workdir, err = os.UserHomeDir(); err != nil {
			return "", n, err
		}
	}
	if doc.Slurm != nil && doc.Slurm.Output == "" && doc.Image == "" {
		doc.Slurm.Output = "slurm-%j.out"
	}
	project = cmp.Or(doc.Project, c.Setting("MUSTER_PROJECT"), "default")
	n.Description, n.Cron, n.TimeZone, n.Concurrency, n.StartingDeadline = e.text, e.cron, zone(c), "forbid", "1m"
	n.Document, err = c.Recurring(doc)
	return project, n, err
}

// zone is the time zone of this machine, by whose clocks cron runs; UTC where it does not
// say a name.
func zone(c *compat.Call) string {
	if name := strings.TrimPrefix(c.Env("TZ"), ":"); name != "" && !strings.HasPrefix(name, "/") {
		return name
	}
	link, err := os.Readlink("/etc/localtime")
	if _, name, is := strings.Cut(link, "/zoneinfo/"); err == nil && is {
		return name
	}
	return "UTC"
}

func remove(c *compat.Call, have []api.Schedule) error {
	if len(have) == 0 {
		return cli.Missing("no crontab for "+c.Me(), "scrontab FILE installs one")
	}
	if c.Bool("i") {
		if ok, err := c.Confirm("remove the table of "+c.Me(), "-r without -i", nil); !ok {
			return err
		}
	}
	to, err := c.Connect(c.Context)
	if err != nil {
		return err
	}
	for _, r := range have {
		if err := to.Schedules.Delete(c.Context, r.Project, r.Name, false); err != nil {
			return err
		}
	}
	return nil
}

// edited is a text as a person has changed it.
func edited(c *compat.Call, text string) (string, error) {
	dir, err := os.MkdirTemp("", "scrontab")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is of this call alone
	file := filepath.Join(dir, "crontab")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return "", err
	}
	words := strings.Fields(cmp.Or(c.Env("VISUAL"), c.Env("EDITOR"), "vi"))
	cmd := exec.CommandContext(c.Context, words[0], append(words[1:], file)...)
	c.Lend(cmd)
	if err := cmd.Run(); err != nil {
		return "", cli.Wrong(fmt.Sprintf("%s failed, and nothing was changed: %v", words[0], err), "set EDITOR to a program that is there")
	}
	data, err := os.ReadFile(file)
	return string(data), err
}
