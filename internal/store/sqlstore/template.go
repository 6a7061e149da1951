package sqlstore

import (
	"context"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/store"
)

func (r *rows) templatesOf(b *store.Batch) (err error) {
	if err := store.CheckTemplates(b); err != nil {
		return err
	}
	r.templates = make([]string, len(b.Templates))
	for i, t := range b.Templates {
		t.CreatedAt, t.Versions = kept(t.CreatedAt), slices.Clone(t.Versions)
		for k := range t.Versions {
			t.Versions[k].At = kept(t.Versions[k].At)
		}
		if r.templates[i], err = encodeNamed("template", i, t.Name, t); err != nil {
			return err
		}
	}
	return nil
}

func (c *commit) templates(b *store.Batch) error {
	for _, id := range b.DropTemplates {
		if err := c.row(c.w.dropTemplate, clean(id.Project), clean(id.Kind), clean(id.Name)); err != nil {
			return err
		}
	}
	for i := range b.Templates {
		t := &b.Templates[i]
		if err := c.row(c.w.putTemplate, clean(t.Project), clean(t.Kind), clean(t.Name), c.rows.templates[i]); err != nil {
			return err
		}
	}
	return nil
}

// Templates implements store.Store.
func (s *Store) Templates(ctx context.Context) ([]core.Template, error) {
	return namedRecords[core.Template](ctx, s, s.r.templates, "template")
}
