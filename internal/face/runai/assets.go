package runai

import (
	"cmp"
	"fmt"

	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/face"
)

// What Run:ai keeps as assets and is no asset here.
const (
	noCompute = "what a workload needs is a part of its document, or of a template: runai template list."
	noSources = "volumes are a part of a document, or of a template or an environment: runai environment list."
)

// assets is a noun for templates or environments.
func assets(kind string) *face.Command {
	return &face.Command{Use: kind, Also: kind + "s", Short: "Stored parts of workloads: " + kind + "s", Flags: formatFlags, Run: listAssets(kind), Sub: []*face.Command{
		{Use: "list", Also: "ls", Short: "Those that the project can use", Flags: formatFlags, Run: listAssets(kind)},
		describeAsset("describe NAME", kind),
	}}
}

// noAsset is a noun for what is no asset here.
func noAsset(name, why string) *face.Command {
	return &face.Command{Use: name, Short: "Stored parts of workloads", Sub: []*face.Command{void("list", "", why, false), void("describe", "", why, false)}}
}

func listAssets(kind string) func(*face.Call) error {
	return func(c *face.Call) error {
		conn, err := c.Connect(c.Context)
		if err != nil {
			return err
		}
		list, err := conn.Templates(c.Context, cmp.Or(project(c), "default"), kind)
		if err != nil {
			return err
		}
		if done, err := as(c, list); done {
			return err
		}
		var rows [][]string
		for _, t := range list.Items {
			rows = append(rows, []string{t.Name, face.Dash(t.Description)})
		}
		return c.Table([]string{"NAME", "DESCRIPTION"}, rows)
	}
}

func describeAsset(use, kind string) *face.Command {
	return &face.Command{Use: use, Short: "One with what it says", Most: 1, Run: func(c *face.Call) error {
		if len(c.Args) == 0 {
			return cli.Wrong("no "+kind+" is named", "runai "+kind+" list shows them")
		}
		conn, err := c.Connect(c.Context)
		if err != nil {
			return err
		}
		t, err := conn.Template(c.Context, cmp.Or(project(c), "default"), kind, c.Args[0], 0)
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
)
