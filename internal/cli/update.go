package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core/spec"
)

func newUpdate(s *session) *cobra.Command {
	d := &documentFlags{}
	cmd := &cobra.Command{
		Use:   "update WORKLOAD [-f FILE] [flags]",
		Short: "Give a service another document; its replicas are replaced a few at a time",
		Long: `Replaces the document of an inference workload. It goes on to serve meanwhile:
replicas are replaced a few at a time, as its field update says.

Without -f the document is the present one, with what flags change.`,
		Example: `  muster update chat -f chat.yaml
  muster update chat --image ghcr.io/acme/chat:2
  muster update chat --set env.MODE=fast`,
		RunE: func(cmd *cobra.Command, args []string) error {
			names, err := someNames(cmd, args)
			if err != nil {
				return err
			}
			if err := atMostOne(cmd, names); err != nil {
				return err
			}
			return s.update(cmd.Context(), d, names[0])
		},
	}
	d.register(s, cmd)
	cmd.ValidArgsFunction = s.completeNames
	return cmd
}

func (s *session) update(ctx context.Context, d *documentFlags, name string) error {
	for _, flag := range []string{"name", "prefix", "kind"} {
		if d.cmd.Flags().Changed(flag) {
			return usage("--"+flag+" cannot be changed by an update", "submit a new workload with muster run")
		}
	}
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	w, err := s.resolve(ctx, c, scope{project: d.project}, name)
	if err != nil {
		return err
	}
	d.project = "" // it says where the workload is, and stays
	doc, src, err := s.nextDocument(d, w)
	if err != nil {
		return err
	}
	data, err := encode(doc)
	if err != nil {
		return err
	}
	done, err := c.Update(ctx, w.Project, w.ID, data)
	if err != nil {
		return src.problem(err)
	}
	if shown, err := s.brief(done, done.Name); shown {
		return err
	}
	line := "updating " + replicaLine(done)
	if done.Replicas != nil {
		line += fmt.Sprintf(", %d of edition %d", done.Replicas.Updated, done.Replicas.Edition)
	}
	s.say("%s", line)
	return nil
}

// nextDocument is the document of an update: the file's or the present one,
// with what flags change.
func (s *session) nextDocument(d *documentFlags, w *api.Workload) (*spec.Document, source, error) {
	local := s.server == "" || isLocal(s.server)
	if d.file != "" {
		return s.build(d, nil, local)
	}
	doc := new(spec.Document)
	if err := doc.UnmarshalJSON(w.Spec); err != nil {
		return nil, source{}, err
	}
	edits, err := d.edits(s, nil)
	if err != nil {
		return nil, source{}, err
	}
	if len(edits) == 0 {
		return nil, source{}, usage("there is nothing to change", "give the new document with -f FILE, or a change like --image or --set FIELD=value")
	}
	doc, err = edit(doc, edits)
	if err != nil {
		return nil, source{}, err
	}
	if errs := spec.Validate(spec.WithDefaults(doc)); len(errs) > 0 {
		return nil, source{}, source{}.refuse(errs)
	}
	return doc, source{}, nil
}
