package storetest

import (
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/store"
)

func testTemplates(t *testing.T, w *world) {
	one := func(project core.ProjectID, kind core.TemplateKind, name string) core.Template {
		return core.Template{
			Project: project, Kind: kind, Name: name, Description: "Zürich ≠ \"x\"", User: "ana", Editors: []string{"bob", "*"}, CreatedAt: epoch,
			Versions: []core.TemplateVersion{{Number: 1, Document: `{"image":"a"}`, User: "ana", At: epoch.Add(time.Millisecond + 1)}},
		}
	}
	a, b, c := one("p", core.TemplateEnvironment, "x"), one("p", core.TemplateWork, "x"), one("q", core.TemplateWork, "x")
	everyones, shared := one(core.SystemScope, core.TemplateCompute, "x"), one("p", core.TemplateDataVolume, "x") // of every kind and scope
	shared.SharedWith = []core.ProjectID{"q", "r"}
	unnamed, empty := a, a
	unnamed.Name, empty.Versions = "", nil
	for _, bad := range []core.Template{unnamed, empty} {
		w.refused(nil, &store.Batch{Templates: []core.Template{bad}})
	}
	w.commit(&store.Batch{Templates: []core.Template{c, b, a, everyones, shared}})
	b.Versions = append(b.Versions, core.TemplateVersion{Number: 2, Document: `{}`, User: "bob", At: epoch})
	b.Environment, b.Editors = "x", nil
	w.commit(&store.Batch{Templates: []core.Template{b}, DropTemplates: []core.TemplateID{{Project: "p", Kind: core.TemplateWork, Name: "none"}}})
	w.reopen()
	found := func(want ...core.Template) {
		t.Helper()
		got, err := w.s.Templates(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "Templates", got, want)
	}
	found(everyones, shared, a, b, c)
	w.commit(&store.Batch{DropTemplates: []core.TemplateID{a.ID(), c.ID()}, Templates: []core.Template{c}}) // drops come first
	found(everyones, shared, b, c)
}
