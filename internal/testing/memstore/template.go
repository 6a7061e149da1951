package memstore

import (
	"cmp"
	"context"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/store"
)

func (s *Store) keepTemplates(b *store.Batch) {
	for _, id := range b.DropTemplates {
		delete(s.templates, id)
	}
	for _, t := range b.Templates {
		s.templates[t.ID()] = keptTemplate(t)
	}
}

// Templates implements store.Store.
func (s *Store) Templates(ctx context.Context) ([]core.Template, error) {
	return listed(ctx, s, "reading the templates", s.templates, func(a, b core.TemplateID) int {
		return cmp.Or(cmp.Compare(a.Project, b.Project), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	}, keptTemplate)
}

func keptTemplate(t core.Template) core.Template {
	t.CreatedAt, t.Editors, t.SharedWith, t.Versions = kept(t.CreatedAt), keptList(t.Editors), keptList(t.SharedWith), keptList(t.Versions)
	for i := range t.Versions {
		t.Versions[i].At = kept(t.Versions[i].At)
	}
	return t
}
