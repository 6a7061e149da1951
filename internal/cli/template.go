package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/core/spec"
)

// newTemplates are the commands of templates, or of environments.
func newTemplates(s *session, kind string) *cobra.Command {
	short := "Parts of documents that workloads are made of"
	long := `A template is a part of a document that is kept in a project: muster run --template
NAME makes a workload of it, with what a file and flags say over it. Each change is
another version, and NAME@N an earlier one. One of a department is there for all
projects below it. Who made it may change it, and its editors.`
	if kind == client.KindEnvironment {
		short = "Images with variables, setup and mounts that workloads run in"
		long = `An environment is where a program finds itself: image, variables, setup and mounts,
kept in a project. muster run --environment NAME runs something in it, and a template
may build upon one. Each change is another version, and NAME@N an earlier one. One of
a department is there for all projects below it. Who made it may change it, and its
editors.`
	}
	cmd := noun(kind, short, kind+"s")
	cmd.Long = long
	cmd.Example = fmt.Sprintf("  muster %s list\n  muster %s create torch --image pytorch/pytorch:2.5.1 --env HF_HOME=/cache", kind, kind)
	cmd.AddCommand(newTemplateList(s, kind), newTemplateDescribe(s, kind), newTemplateEdit(s, kind, true), newTemplateEdit(s, kind, false), newTemplateDelete(s, kind))
	return cmd
}

func newTemplateList(s *session, kind string) *cobra.Command {
	var table tableFlags
	var sc scope
	var all bool
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "Those that a project can use", Args: noArgs,
		Example: fmt.Sprintf("  muster %s list -p vision", kind),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.connect(cmd.Context())
			if err != nil {
				return err
			}
			project := templateProject(sc.project)
			if all {
				project = ""
			}
			list, err := c.Templates(cmd.Context(), project, kind)
			if err != nil {
				return err
			}
			return s.printTemplates(table, list)
		},
	}
	sc.register(s, cmd)
	table.register(cmd)
	cmd.Flags().BoolVarP(&all, "all", "A", false, "those of every project")
	return cmd
}

func templateProject(project string) string {
	if project == "" {
		return defaultProject
	}
	return project
}

func (s *session) printTemplates(f tableFlags, list *api.TemplateList) error {
	m := s.moments(f)
	return print(s, f, table[api.Template]{
		items: list.Items, name: func(t api.Template) string { return t.Name }, body: list,
		columns: []column[api.Template]{
			{title: "NAME", cell: func(t api.Template) string { return t.Name }},
			{title: "PROJECT", cell: func(t api.Template) string { return t.Project }},
			{title: "VERSION", cell: func(t api.Template) string { return strconv.Itoa(t.Version) }},
			{title: "CHANGED", cell: func(t api.Template) string { return m.ago(timeOf(t.UpdatedAt)) }},
			{title: "USER", cell: func(t api.Template) string { return t.User }},
			{title: "ENVIRONMENT", wide: true, cell: func(t api.Template) string { return orDash(t.Environment) }},
			{title: "EDITORS", wide: true, cell: func(t api.Template) string { return orDash(strings.Join(t.Editors, ",")) }},
			{title: "DESCRIPTION", cell: func(t api.Template) string { return orDash(t.Description) }},
		},
	})
}

func newTemplateDescribe(s *session, kind string) *cobra.Command {
	var sc scope
	cmd := &cobra.Command{
		Use: "describe NAME[@VERSION]", Aliases: []string{"show"}, Short: "One of them, with its document",
		Example: fmt.Sprintf("  muster %s describe torch\n  muster %s describe torch@2 -o yaml", kind, kind),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(fmt.Sprintf("%s takes one name, not %d", cmd.CommandPath(), len(args)), cmd.UseLine())
			}
			c, err := s.connect(cmd.Context())
			if err != nil {
				return err
			}
			t, err := s.template(cmd.Context(), c, sc.project, kind, args[0])
			if err != nil {
				return err
			}
			if shown, err := s.brief(t, t.Name); shown {
				return err
			}
			return s.describeTemplate(t)
		},
	}
	cmd.ValidArgsFunction = s.completeTemplates(kind)
	sc.register(s, cmd)
	return cmd
}

// template is the one that NAME or NAME@VERSION means in a project.
func (s *session) template(ctx context.Context, c *client.Client, project, kind, ref string) (*api.Template, error) {
	name, digits, at := strings.Cut(ref, "@")
	version := 0
	if at {
		n, err := strconv.Atoi(digits)
		if err != nil || n < 1 {
			return nil, usage(fmt.Sprintf("%s: %q is not a version", ref, digits), "write NAME, or NAME@3 for version 3")
		}
		version = n
	}
	if name == "" {
		return nil, usage("the name of the "+kind+" is missing", "muster "+kind+" list shows what there is")
	}
	t, err := c.Template(ctx, templateProject(project), kind, name, version)
	if !isNotFound(err) {
		return t, err
	}
	if list, lerr := c.Templates(ctx, templateProject(project), kind); lerr == nil {
		var names []string
		for _, t := range list.Items {
			names = append(names, t.Name)
		}
		var p *api.Problem
		if near := nearest(name, names); len(near) > 0 && errors.As(err, &p) && !slices.Contains(names, name) {
			p.Hint = "did you mean " + near[0] + "?"
		}
	}
	return nil, err
}

// partOf is the document of a template.
func partOf(t *api.Template) (*spec.Document, error) {
	data, err := json.Marshal(t.Document)
	if err != nil {
		return nil, err
	}
	doc := new(spec.Document)
	return doc, doc.UnmarshalJSON(data)
}

func (s *session) describeTemplate(t *api.Template) error {
	doc, err := partOf(t)
	if err != nil {
		return err
	}
	m := s.moments(tableFlags{})
	g := grid{whole: true}
	line := func(title, text string) {
		if text != "" {
			g.rows = append(g.rows, []cell{{title, toneTitle}, {text, tonePlain}})
		}
	}
	line(strings.ToUpper(t.Kind[:1])+t.Kind[1:], t.Name)
	line("Project", t.Project)
	line("Description", t.Description)
	line("Environment", t.Environment)
	line("Made by", t.User+", "+m.ago(timeOf(t.CreatedAt))+" ago")
	line("Editors", strings.Join(t.Editors, ", "))
	var versions []string
	for _, v := range t.Versions {
		versions = append(versions, fmt.Sprintf("%d by %s %s ago", v.Version, v.User, m.ago(timeOf(v.At))))
	}
	line("Versions", strings.Join(versions, " · "))
	if err := s.grid(g); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.io.Out, "\nDocument of version %d\n%s", t.Version, spec.YAML(doc))
	return err
}

func newTemplateDelete(s *session, kind string) *cobra.Command {
	var sc scope
	var yes bool
	cmd := &cobra.Command{
		Use: "delete NAME", Aliases: []string{"rm"}, Short: "Forget one; workloads that were made of it stay",
		Example: fmt.Sprintf("  muster %s delete torch --yes", kind),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(fmt.Sprintf("%s takes one name, not %d", cmd.CommandPath(), len(args)), cmd.UseLine())
			}
			project := templateProject(sc.project)
			if !yes {
				if !s.io.InTerminal {
					return needsFlag("muster "+kind+" delete", "--yes")
				}
				if ok, err := s.ask(fmt.Sprintf("About to delete %s %s of project %s.", kind, args[0], project)); !ok {
					return err
				}
			}
			c, err := s.connect(cmd.Context())
			if err != nil {
				return err
			}
			if err := c.DeleteTemplate(cmd.Context(), project, kind, args[0]); err != nil {
				return err
			}
			s.say("deleted %s %s", kind, args[0])
			return nil
		},
	}
	cmd.ValidArgsFunction = s.completeTemplates(kind)
	sc.register(s, cmd)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

func (s *session) completeTemplates(kind string) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return s.complete(cmd, typed, func(ctx context.Context, c *client.Client) (names []string) {
			list, err := c.Templates(ctx, "", kind)
			if err != nil {
				return nil
			}
			for _, t := range list.Items {
				names = append(names, t.Name+"\t"+t.Description)
			}
			return names
		})
	}
}
