package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/document"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/spec"
)

type templateOptions struct {
	document    document.DocumentFlags
	kind        string
	create      bool
	description string
	environment string
	compute     string
	shared      []string
	editors     []string
	sources     document.SourceFlags
	scope       document.Scope
	cmd         *cobra.Command
}

func newTemplateEdit(s *session.Session, kind string, create bool) *cobra.Command {
	o := &templateOptions{kind: kind, create: create}
	n := assetNouns[kind]
	use, short, example := "update", "Change one, as another version", fmt.Sprintf("  muster %s update %s\n  muster %s update torch --editor bob --editor ann", kind, n.example, kind)
	long := "Changes what flags say, or, with -f, the whole document. What says the same as before\nmakes no version."
	if create {
		use, short = "create", "Make one"
		example = fmt.Sprintf("  muster %s create %s\n  muster %s create small -f part.yaml --description 'for trying out'", kind, n.example, kind)
		long = "Makes one of a file, which holds a part of a workload document, and of flags, which\nare those of muster run."
	}
	cmd := &cobra.Command{
		Use: use + " NAME [-f FILE] [flags] [-- COMMAND ARGUMENTS…]", Short: short, Long: long, Example: example,
		RunE: func(cmd *cobra.Command, args []string) error {
			var argv []string
			if at := cmd.ArgsLenAtDash(); at >= 0 {
				args, argv = args[:at], args[at:]
			}
			if len(args) != 1 {
				return session.UsageError(fmt.Sprintf("%s takes one name, not %d", cmd.CommandPath(), len(args)), cmd.UseLine())
			}
			return editTemplate(cmd.Context(), s, o, args[0], argv)
		},
	}
	if !create {
		cmd.ValidArgsFunction = s.CompleteTemplates(kind)
	}
	o.cmd = cmd
	o.document.Register(s, cmd)
	f := cmd.Flags()
	f.StringVar(&o.description, "description", "", "what it is for")
	f.StringArrayVar(&o.editors, "editor", nil, "a user who may change it too, * for everyone; repeat for several")
	o.scope.RegisterSystem(cmd)
	switch kind {
	case client.KindTemplate:
		f.StringVar(&o.environment, "environment", "", "an environment that it builds upon")
		f.StringVar(&o.compute, "compute", "", "a compute resource that it builds upon")
		_ = cmd.RegisterFlagCompletionFunc("environment", s.CompleteTemplates(client.KindEnvironment))
		_ = cmd.RegisterFlagCompletionFunc("compute", s.CompleteTemplates(client.KindCompute))
	case client.KindDataSource, client.KindDataVolume:
		o.sources.Register(f, kind)
	}
	if kind == client.KindDataVolume {
		f.StringArrayVar(&o.shared, "share", nil, "a project or department that may use it too; repeat for several")
		_ = cmd.RegisterFlagCompletionFunc("share", s.CompleteProjects)
	}
	return cmd
}

func editTemplate(ctx context.Context, s *session.Session, o *templateOptions, name string, argv []string) error {
	d := &o.document
	if d.Cmd.Flags().Changed("name") {
		return session.UsageError("--name is each workload's own", "--prefix makes names")
	}
	project := o.scope.Of(d.Project)
	d.Project = "" // it says where the template is
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	next := api.NewTemplate{Name: name}
	doc, src, err := document.OneFromFile(s, d)
	if err != nil {
		return err
	}
	if !o.create {
		was, err := document.Template(ctx, s, c, project, o.kind, name)
		if err != nil {
			return err
		}
		project, next = was.Project, was.NewTemplate // where it really is
		if d.File == "" {
			if doc, err = document.PartOf(was); err != nil {
				return err
			}
		}
	}
	edits, err := d.Edits(s, nil)
	if err != nil {
		return err
	}
	sources, err := o.sources.Edits()
	if err != nil {
		return err
	}
	edits = append(edits, sources...)
	if o.compute != "" {
		edits = append(edits, document.Change{Path: "compute", Value: o.compute, Flag: "--compute"})
	}
	if len(argv) > 0 {
		edits = append(edits, document.Change{Path: "command", Value: argv, Flag: "--"})
	}
	if doc, err = document.Edit(doc, edits); err != nil {
		return err
	}
	if err := spec.CheckPart(doc, o.kind); err != nil {
		return src.Refuse(err)
	}
	if next.Document, err = fieldsOfPart(doc); err != nil {
		return err
	}
	o.say(&next)
	do, word := c.Templates.Replace, "changed"
	if o.create {
		do, word = c.Templates.Create, "made"
	}
	t, err := do(ctx, project, o.kind, next)
	if err != nil {
		return src.Problem(err)
	}
	if shown, err := s.Brief(t, t.Name); shown {
		return err
	}
	s.Say("%s %s %s: version %d, %s", word, spec.AssetWord(o.kind), t.Name, t.Version, session.ScopeText(t.Project))
	return nil
}

// say takes over what flags say beside the document.
func (o *templateOptions) say(t *api.NewTemplate) {
	f := o.cmd.Flags()
	if f.Changed("description") {
		t.Description = o.description
	}
	given := func(flag string, values []string, to *[]string) {
		if f.Changed(flag) {
			*to = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" })
		}
	}
	given("editor", o.editors, &t.Editors)
	given("share", o.shared, &t.SharedWith)
	if o.kind == client.KindTemplate && f.Changed("environment") {
		t.Environment = o.environment
	}
}

func fieldsOfPart(doc *spec.Document) (map[string]json.RawMessage, error) {
	data, err := document.Encode(doc)
	if err != nil {
		return nil, err
	}
	out := map[string]json.RawMessage{}
	return out, json.Unmarshal(data, &out)
}
