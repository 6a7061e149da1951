package commands

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/convert/source"
)

var update = flag.Bool("update", false, "write docs/compat.md")

const page = "../../../docs/compat.md"

func TestPageIsCurrent(t *testing.T) {
	want := markdown(t)
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/compat.md is not what the tables say; go test ./internal/compat/commands -update writes it")
	}
}

const head = `# Other tools' command lines

<!-- Made from the tables in internal/compat: go test ./internal/compat/commands -update -->

Called by the name of another tool, muster behaves as that tool: scripts, habits
and printed instructions go on working, and what they submit are workloads like
any other.

    muster compat install            # links in ~/.local/bin, or in a directory that is named
    muster compat install bin --only mcli,slurm
    muster compat list
    mcli get runs
    source <(mcli completion bash)  # bash, zsh and fish, for each of them

Every command and every flag of these tools is accepted. Each is done, or
answered on standard error with the sentence that stands below; what is answered
so is left out, and the command goes on unless it says otherwise. Servers are
found (and started) as for muster itself; MUSTER_SERVER, MUSTER_DATA_DIR and
MUSTER_PROJECT have the same meaning. Exit codes are those of the tools: 0, 1 for
any error, and the code of what was run where a command runs something; sky ends
with 100 where a job has failed, 101 where it has not ended, 102 where there is none
and 103 where it was cancelled.

What is one's own is told by the name that the server knows. Over the network it
knows a token, which several may have: there --me is refused, --all and filters end
nothing unless a user is named, and lists of mcli show everybody's.

| Their word | Here |
|---|---|
| run, job | workload |
| cluster (SkyPilot) | the name under which jobs are submitted; machines are the server's, and a cluster that runs no job holds nothing |
| managed job (SkyPilot) | workload; its id is its number |
| fleet, instance (dstack) | nodes that the server has |
| node of a run (mcli), node of a job (Slurm), pod (Run:ai) | task |
| resumption | attempt |
| deployment | workload of the kind inference |
| id of a job (Slurm) | the workload's number, in the order of submission; a task of an array has one of its own, the last the array's |
| account (Slurm), queue (jobq) | project |
| partition | pool |
| cluster | cluster |

What the server says and advises is put into the tool's words: its commands and
flags, and its word for where a workload is. A command of muster's is named only
where the tool has none that does the same.

A run that was submitted with an mcli file keeps it as it was written, with what
flags changed; that is what mcli describe run shows as submitted.

A run of mcli that failed shows its exit code as the reason, Failed (17), and Error
where there is none: that platform's documents have both.

A job that sky exec submits has the GPUs, image and directory that its cluster was
launched with, where it does not say otherwise, and leaves setup out, but in an image,
which keeps nothing of it. dstack apply replaces a run of that name; where nobody is
there to answer, a line of standard input is the answer, or --yes. Variables without a
value in a file of either are those of who submits it, where they are set.

jobq's commands are below muster: ` + "`muster jobq submit|list|status|logs|stop`" + `. Its
submit needs Python with the package of the SDK.

Files are read in any format that ` + "`muster import`" + ` knows; see import.md for what
becomes of each field. examples/as-documented holds the platforms' own lifecycle
pages as scripts, which are run with every change.
`

// markdown is the page.
func markdown(t *testing.T) string {
	var b strings.Builder
	b.WriteString(head)
	values := samples(t)
	all := All()
	for _, name := range sortedNames(all) {
		if name == "muster compat" {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n", name)
		var tables []string
		of := map[string][]string{}
		var voids [][2]string
		visit(name, all[name], nil, func(path string, c *compat.Command, _ []compat.Flag) {
			switch {
			case c.Void != "":
				voids = append(voids, [2]string{path, c.Void})
			case c.Run != nil:
				table := flagTable(name, c, values)
				if of[table] == nil {
					tables = append(tables, table)
				}
				of[table] = append(of[table], usage(path, c))
			}
		})
		for _, table := range tables {
			b.WriteString("\n")
			for _, line := range of[table] {
				fmt.Fprintf(&b, "- `%s`\n", line)
			}
			if table != "" {
				b.WriteString("\n| Flag | |\n|---|---|\n" + table)
			}
		}
		if len(all[name].Global) > 0 {
			b.WriteString("\nOf every command:\n\n| Flag | |\n|---|---|\n" + flagTable(name, &compat.Command{Flags: all[name].Global}, values))
		}
		if len(voids) > 0 {
			b.WriteString("\n| Has no meaning here | |\n|---|---|\n")
			for _, v := range voids {
				fmt.Fprintf(&b, "| `%s` | %s |\n", v[0], cell(v[1]))
			}
		}
	}
	return b.String()
}

func usage(path string, c *compat.Command) string {
	_, rest, _ := strings.Cut(c.Use, " ")
	line := path + " " + rest
	if c.Also != "" {
		line += "  (" + strings.Join(strings.Fields(c.Also), ", ") + ")"
	}
	return strings.TrimSpace(line)
}

func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }

func flagTable(tool string, c *compat.Command, values map[string]string) string {
	var b strings.Builder
	flags := slices.Clone(c.Flags)
	slices.SortStableFunc(flags, func(a, b compat.Flag) int { return strings.Compare(a.Name(), b.Name()) })
	for _, f := range flags {
		var names []string
		for n := range strings.FieldsSeq(f.Names) {
			if len(n) == 1 {
				names = append(names, "-"+n)
			} else {
				names = append(names, "--"+n)
			}
		}
		arg := f.Arg
		if arg != "" {
			arg = " " + arg
		}
		fmt.Fprintf(&b, "| `%s%s` | %s |\n", strings.Join(names, " "), cell(arg), cell(what(tool, f, values)))
	}
	return b.String()
}

// what becomes of a flag, in a few words.
func what(tool string, f compat.Flag, values map[string]string) string {
	switch {
	case f.Void != "" && f.Refused:
		return "*refused:* " + f.Void
	case f.Void != "":
		return "*no meaning:* " + f.Void
	case !f.Pass:
		return f.Does
	}
	if tool != "runai" {
		tool = "sbatch"
	}
	sample := values[tool+":"+f.Name()]
	if sample == "" && f.Arg != "" && f.Bare == "" {
		sample = "1"
	}
	note, err := fateOf(tool, f, sample)
	if err != nil {
		return "?"
	}
	to := ""
	if note.To != "" {
		to = "`" + strings.SplitN(note.To, ".A", 2)[0] + "`"
	}
	switch note.Fate {
	case source.Kept, source.Translated:
		if note.Reason != "" {
			to = strings.TrimPrefix(to+", "+note.Reason, ", ")
		}
		return to
	case source.Approximated:
		return strings.TrimSpace(to + ", nearly: " + note.Reason)
	case source.Refused:
		return "*refused:* " + note.Reason
	}
	if f.Refused {
		return "*refused:* " + note.Reason
	}
	return "*no meaning:* " + note.Reason
}
