package mcli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/core/amount"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

func getDeployments() *compat.Command {
	return &compat.Command{
		Use: "deployments [NAME|GLOB…]", Also: "deployment", Short: "List deployments: workloads of the kind inference", Most: compat.All, Names: true,
		Flags: append(slices.Clone(chooseFlags), compat.Flag{Names: "limit", Arg: "N", Does: "at most so many, 50 by default; none: all"}, outputFlag),
		Run: func(c *compat.Call) error {
			limit, err := limitOf(c)
			if err != nil {
				return err
			}
			ws, err := chosen(c, deploymentKinds, limit)
			if err != nil {
				return err
			}
			var names []string
			var rows [][]string
			for i := range ws {
				w := &ws[i]
				replicas, url := "-", "-"
				if r := w.Replicas; r != nil {
					replicas, url = fmt.Sprintf("%d/%d", r.Ready, r.Wanted), compat.Dash(r.URL)
				}
				names = append(names, w.Name)
				rows = append(rows, []string{name(w), w.User, deploymentStatus(w), replicas, url, clock(time.Time(w.CreatedAt))})
			}
			if ws == nil {
				ws = []api.Workload{}
			}
			return shown(c, names, api.WorkloadList{Items: ws}, func() error {
				if len(ws) == 0 {
					c.Say("No deployments found.")
					return nil
				}
				return c.Table([]string{"NAME", "USER", "STATUS", "REPLICAS", "ADDRESS", "CREATED TIME"}, rows)
			})
		},
	}
}

func deploymentStatus(w *api.Workload) string {
	if r := w.Replicas; r != nil && r.Ready > 0 && w.Phase == string(lifecycle.Running) {
		return "Ready"
	}
	return status(w)
}

func getClusters() *compat.Command {
	return &compat.Command{
		Use: "clusters", Also: "cluster c", Short: "List clusters", Most: compat.All, Flags: []compat.Flag{outputFlag},
		Run: func(c *compat.Call) error {
			p, err := compat.Places(c.Context, c.Tool)
			if err != nil {
				return err
			}
			var names []string
			var rows [][]string
			for _, cl := range p.Clusters {
				names = append(names, cl.Name)
				var what []string
				for _, in := range instances(p, cl.Name) {
					what = append(what, fmt.Sprintf("%s (%s)", in.name(), amount.Thousandths(in.total)))
				}
				rows = append(rows, []string{cl.Name, cl.Kind, compat.Dash(strings.Join(what, ", ")), strconv.FormatBool(cl.Nodes.Total > 1)})
			}
			return shown(c, names, api.ClusterList{Items: p.Clusters}, func() error {
				return c.Table([]string{"NAME", "PROVIDER", "GPU TYPES", "MULTINODE"}, rows)
			})
		},
	}
}

func getSecrets() *compat.Command {
	return &compat.Command{
		Use: "secrets", Also: "secret s", Short: "List secrets; values are never shown", Flags: []compat.Flag{outputFlag},
		Run: func(c *compat.Call) error {
			client, err := c.Connect(c.Context)
			if err != nil {
				return err
			}
			list, err := client.Secrets.List(c.Context)
			if err != nil {
				return err
			}
			var names []string
			var rows [][]string
			for _, s := range list.Items {
				names, rows = append(names, s.Name), append(rows, []string{s.Name, s.Type})
			}
			return shown(c, names, list, func() error { return c.Table([]string{"NAME", "TYPE"}, rows) })
		},
	}
}

func getUsers() *compat.Command {
	return &compat.Command{
		Use: "users", Also: "user", Short: "List who has used the server in the last 30 days", Flags: []compat.Flag{outputFlag},
		Run: func(c *compat.Call) error {
			conn, err := c.Connect(c.Context)
			if err != nil {
				return err
			}
			list, err := conn.Usage(c.Context, client.UsageOptions{By: []string{"user"}})
			if err != nil {
				return err
			}
			names := []string{}
			for _, u := range list.Items {
				names = append(names, u.User)
			}
			if me := c.Me(); me != "" && !slices.Contains(names, me) {
				names = append(names, me)
			}
			slices.Sort(names)
			var rows [][]string
			for _, n := range names {
				rows = append(rows, []string{n})
			}
			body, _ := json.Marshal(map[string][]string{"users": names}) // texts always marshal
			return shown(c, names, json.RawMessage(body), func() error { return c.Table([]string{"NAME"}, rows) })
		},
	}
}
