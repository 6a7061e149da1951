package runai

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/core/spec"
)

// assets is a noun for a kind of assets.
func assets(kind string) *compat.Command {
	return &compat.Command{Use: kind, Also: kind + "s", Short: "Stored parts of workloads: " + spec.AssetWord(kind) + "s", Flags: formatFlags, Run: listAssets(kind), Sub: []*compat.Command{
		{Use: "list", Also: "ls", Short: "Those that the project can use", Flags: formatFlags, Run: listAssets(kind)},
		describeAsset("describe NAME", kind),
	}}
}

func listAssets(kind string) func(*compat.Call) error {
	return func(c *compat.Call) error {
		conn, err := c.Connect(c.Context)
		if err != nil {
			return err
		}
		list, err := conn.Templates.List(c.Context, cmp.Or(project(c), "default"), kind)
		if err != nil {
			return err
		}
		if done, err := as(c, list); done {
			return err
		}
		var rows [][]string
		for _, t := range list.Items {
			rows = append(rows, []string{t.Name, compat.Dash(t.Description)})
		}
		return c.Table([]string{"NAME", "DESCRIPTION"}, rows)
	}
}

func describeAsset(use, kind string) *compat.Command {
	return &compat.Command{Use: use, Short: "One with what it says", Most: 1, Run: func(c *compat.Call) error {
		if len(c.Args) == 0 {
			return cli.Wrong("no "+spec.AssetWord(kind)+" is named", "runai "+kind+" list shows them")
		}
		conn, err := c.Connect(c.Context)
		if err != nil {
			return err
		}
		t, err := conn.Templates.Get(c.Context, cmp.Or(project(c), "default"), kind, c.Args[0], 0)
		if err != nil {
			return err
		}
		data, err := cli.YAML(t)
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(c.Out(), string(data))
		return err
	}}
}

// kinds of what is kept.
const (
	templates    = client.KindTemplate
	environments = client.KindEnvironment
	computes     = client.KindCompute
	dataSources  = client.KindDataSource
)

// made lays a document over the assets that flags name, and puts data beside it.
func made(c *compat.Call, doc *spec.Document) (*spec.Document, error) {
	for _, text := range c.All("datasource") {
		name, path, _ := strings.Cut(text, ":")
		path, ro := strings.CutSuffix(path, ":ro")
		doc.Data = append(doc.Data, spec.DataUse{Name: name, Path: path, ReadOnly: ro})
	}
	return c.Made(c.Context, spec.Assets{Template: c.Text("template"), Environment: c.Text("environment-asset"), Compute: c.Text("compute")}, doc)
}

// ofAssets reports whether flags name assets that a workload is laid over.
func ofAssets(c *compat.Call) bool {
	return c.Text("template") != "" || c.Text("environment-asset") != "" || c.Text("compute") != ""
}
