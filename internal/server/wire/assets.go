package wire

import (
	"encoding/json"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec/schema"
)

// Template is the API's form of a version of a template or another asset.
func Template(t *core.Template, v core.TemplateVersion) (api.Template, error) {
	out := api.Template{
		NewTemplate: api.NewTemplate{Name: t.Name, Description: t.Description, Environment: t.Environment, Editors: t.Editors},
		Kind:        string(t.Kind), Project: string(t.Project), User: t.User, Version: v.Number, Versions: []api.TemplateVersion{},
		CreatedAt: api.Time(t.CreatedAt), UpdatedAt: api.Time(t.Last().At),
	}
	for _, p := range t.SharedWith {
		out.SharedWith = append(out.SharedWith, string(p))
	}
	for _, x := range t.Versions {
		out.Versions = append(out.Versions, api.TemplateVersion{Version: x.Number, User: x.User, At: api.Time(x.At)})
	}
	return out, json.Unmarshal([]byte(v.Document), &out.Document)
}

// DocumentField is the API's form of what is said of a field of documents.
func DocumentField(t schema.Topic) api.Field {
	out := api.Field{
		Path: t.Path, Name: t.Name, Type: t.Type, Doc: t.Doc, Default: t.Default, Enum: t.Enum, Min: t.Min, Max: t.Max,
		Example: t.Example, Only: t.Only, Required: t.Required, Short: t.Short, Part: t.Part,
	}
	for _, c := range t.Children {
		out.Fields = append(out.Fields, DocumentField(c))
	}
	return out
}
