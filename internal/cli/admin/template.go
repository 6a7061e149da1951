package admin

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/document"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/spec"
)

// assetNoun is what the commands of a kind of asset say of themselves.
type assetNoun struct {
	short, about, example string
	also                  []string
}

var assetNouns = map[string]assetNoun{
	client.KindTemplate: {
		short: "Parts of documents that workloads are made of",
		about: `A template is a part of a document that is kept in a project: muster run --template
NAME makes a workload of it, with what a file and flags say over it.`,
		example: "hello --environment torch --gpus 1 -- python3 train.py",
	},
	client.KindEnvironment: {
		short: "Images with command, variables, setup and mounts that workloads run in",
		about: `An environment is where a program finds itself, and which it is: image, command,
variables, setup, ports and mounts. muster run --environment NAME runs something in
it, and a template may build upon one.`,
		example: "torch --image pytorch/pytorch:2.5.1 --env HF_HOME=/cache",
	},
	client.KindCompute: {
		short: "What each task needs, by name: GPUs, CPU, memory",
		about: `A compute resource is what each task of a workload needs: GPUs or a part of one,
CPU, memory, extended resources, and the taints of nodes that it tolerates. muster run
--compute NAME asks for it; what a document or a flag says of a field itself holds.`,
		example: "half --gpus 0.5 --cpu 4 --memory 16Gi",
		also:    []string{"compute-resource"},
	},
	client.KindDataSource: {
		short: "Data, and how a task comes to it: directories, claims, repositories, files",
		about: `A data source says where data is and where a task finds it: directories of nodes,
PersistentVolumeClaims, git repositories, files with their content, secrets. muster
run --data NAME puts it beside what a workload has itself.`,
		example: "imagenet -v /srv/imagenet:/data:ro\n  muster datasource create papers --claim papers:/papers\n  muster datasource create code --git acme/train,branch=main",
		also:    []string{"data-source"},
	},
	client.KindDataVolume: {
		short: "Volumes that a project shares with others, who may read them",
		about: `A data volume is one directory or claim of a project that is shared with other
projects and departments: there nobody may write to it. muster run --data NAME puts it
beside what a workload has itself.`,
		example: "corpus -v /srv/corpus:/corpus --share nlp --share speech",
		also:    []string{"data-volume"},
	},
}

// NewTemplates are the commands of a kind of assets.
func NewTemplates(s *session.Session, kind string) *cobra.Command {
	n := assetNouns[kind]
	cmd := session.Group(kind, n.short, append([]string{kind + "s"}, n.also...)...)
	cmd.Long = n.about + `

Each change is another version, and NAME@N an earlier one; a workload is made of a copy,
which no change reaches. One of a department is there for all projects below it, and
one that is made with --system for all. Who made it may change it, and its editors.`
	cmd.Example = fmt.Sprintf("  muster %s list\n  muster %s create %s", kind, kind, n.example)
	cmd.AddCommand(newTemplateList(s, kind), newTemplateDescribe(s, kind), newTemplateEdit(s, kind, true), newTemplateEdit(s, kind, false), newTemplateDelete(s, kind))
	return cmd
}

func newTemplateList(s *session.Session, kind string) *cobra.Command {
	var table session.TableFlags
	var sc session.Scope
	var all bool
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "Those that a project can use", Args: session.NoArgs,
		Example: fmt.Sprintf("  muster %s list -p vision", kind),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			project := document.TemplateProject(sc.Project)
			if all {
				project = ""
			}
			list, err := c.Templates.List(cmd.Context(), project, kind)
			if err != nil {
				return err
			}
			return printTemplates(s, table, list)
		},
	}
	sc.Register(s, cmd)
	table.Register(cmd)
	cmd.Flags().BoolVarP(&all, "all", "A", false, "those of every project")
	return cmd
}

func printTemplates(s *session.Session, f session.TableFlags, list *api.TemplateList) error {
	m := s.Moments(f)
	return session.Print(s, f, session.Table[api.Template]{
		Items: list.Items, Name: func(t api.Template) string { return t.Name }, Body: list,
		Columns: []session.Column[api.Template]{
			{Title: "NAME", Cell: func(t api.Template) string { return t.Name }},
			{Title: "PROJECT", Cell: func(t api.Template) string { return session.ScopeName(t.Project) }},
			{Title: "VERSION", Cell: func(t api.Template) string { return strconv.Itoa(t.Version) }},
			{Title: "CHANGED", Cell: func(t api.Template) string { return m.Ago(session.TimeOf(t.UpdatedAt)) }},
			{Title: "USER", Cell: func(t api.Template) string { return t.User }},
			{Title: "ENVIRONMENT", Wide: true, Cell: func(t api.Template) string { return printers.OrDash(t.Environment) }},
			{Title: "SHARED-WITH", Wide: true, Cell: func(t api.Template) string { return printers.OrDash(strings.Join(t.SharedWith, ",")) }},
			{Title: "EDITORS", Wide: true, Cell: func(t api.Template) string { return printers.OrDash(strings.Join(t.Editors, ",")) }},
			{Title: "DESCRIPTION", Cell: func(t api.Template) string { return printers.OrDash(t.Description) }},
		},
	})
}

func newTemplateDescribe(s *session.Session, kind string) *cobra.Command {
	var sc document.Scope
	cmd := &cobra.Command{
		Use: "describe NAME[@VERSION]", Aliases: []string{"show"}, Short: "One of them, with its document",
		Example: fmt.Sprintf("  muster %s describe torch\n  muster %s describe torch@2 -o yaml", kind, kind),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return session.UsageError(fmt.Sprintf("%s takes one name, not %d", cmd.CommandPath(), len(args)), cmd.UseLine())
			}
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			t, err := document.Template(cmd.Context(), s, c, sc.Of(sc.Project), kind, args[0])
			if err != nil {
				return err
			}
			if shown, err := s.Brief(t, t.Name); shown {
				return err
			}
			return describeTemplate(s, t)
		},
	}
	cmd.ValidArgsFunction = s.CompleteTemplates(kind)
	sc.Register(s, cmd)
	return cmd
}

func describeTemplate(s *session.Session, t *api.Template) error {
	doc, err := document.PartOf(t)
	if err != nil {
		return err
	}
	m := s.Moments(session.TableFlags{})
	g := session.Grid{Whole: true}
	line := func(title, text string) {
		if text != "" {
			g.Line(title, text)
		}
	}
	word := spec.AssetWord(t.Kind)
	line(strings.ToUpper(word[:1])+word[1:], t.Name)
	line("Project", session.ScopeName(t.Project))
	line("Description", t.Description)
	line("Environment", t.Environment)
	line("Shared with", strings.Join(t.SharedWith, ", "))
	line("Made by", t.User+", "+m.Ago(session.TimeOf(t.CreatedAt))+" ago")
	line("Editors", strings.Join(t.Editors, ", "))
	var versions []string
	for _, v := range t.Versions {
		versions = append(versions, fmt.Sprintf("%d by %s %s ago", v.Version, v.User, m.Ago(session.TimeOf(v.At))))
	}
	line("Versions", strings.Join(versions, " · "))
	if err := s.Grid(g); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.IO.Out, "\nDocument of version %d\n%s", t.Version, spec.YAML(doc))
	return err
}

func newTemplateDelete(s *session.Session, kind string) *cobra.Command {
	var sc document.Scope
	var yes bool
	cmd := &cobra.Command{
		Use: "delete NAME", Aliases: []string{"rm"}, Short: "Forget one; workloads that were made of it stay",
		Example: fmt.Sprintf("  muster %s delete torch --yes", kind),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return session.UsageError(fmt.Sprintf("%s takes one name, not %d", cmd.CommandPath(), len(args)), cmd.UseLine())
			}
			project := sc.Of(sc.Project)
			if !yes {
				if !s.IO.InTerminal {
					return session.NeedsFlagError("muster "+kind+" delete", "--yes")
				}
				if ok, err := s.Ask(fmt.Sprintf("About to delete %s %s of %s.", spec.AssetWord(kind), args[0], session.ScopeText(project))); !ok {
					return err
				}
			}
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			if err := c.Templates.Delete(cmd.Context(), project, kind, args[0]); err != nil {
				return err
			}
			s.Say("deleted %s %s", spec.AssetWord(kind), args[0])
			return nil
		},
	}
	cmd.ValidArgsFunction = s.CompleteTemplates(kind)
	sc.Register(s, cmd)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}
