package mcli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/core/amount"
)

// sort is nodes of one cluster with the same GPUs.
type sort struct {
	product     string
	gpus        int // of each node
	nodes       []api.Node
	total, used int64 // thousandths of devices
}

// name is what the platform calls it: 8xA100, or cpu.
func (s *sort) name() string {
	if s.gpus == 0 {
		return "cpu"
	}
	return fmt.Sprintf("%dx%s", s.gpus, s.product)
}

// free is what of it could be had now.
func (s *sort) free() int64 { return max(s.total-s.used, 0) }

// instances are the sorts of nodes of a cluster.
func instances(p *compat.Place, cluster string) []*sort {
	var all []*sort
	for _, n := range p.All.Nodes {
		if n.Backend != cluster {
			continue
		}
		product := ""
		if len(n.Devices) > 0 {
			product = n.Devices[0].Product
		}
		i := slices.IndexFunc(all, func(s *sort) bool { return s.product == product && s.gpus == len(n.Devices) })
		if i < 0 {
			all = append(all, &sort{product: product, gpus: len(n.Devices)})
			i = len(all) - 1
		}
		s := all[i]
		s.nodes = append(s.nodes, n)
		s.total, s.used = s.total+n.GPU.Total, s.used+n.GPU.Used
	}
	slices.SortStableFunc(all, func(a, b *sort) int { return cmp.Compare(b.gpus, a.gpus) })
	return all
}

func util() *compat.Command {
	return &compat.Command{
		Use: "util [CLUSTER…]", Also: "utilization u", Short: "What clusters hold, who runs and who waits", Most: compat.All,
		Flags: []compat.Flag{{Names: "hide-users", Does: "without who"}, {Names: "cluster c platform", Arg: "NAMES", Many: true, Does: "only these clusters"}},
		Run: func(c *compat.Call) error {
			p, err := compat.Places(c.Context, c.Tool)
			if err != nil {
				return err
			}
			only := append(slices.Clone(c.Args), c.List("cluster")...)
			for _, n := range only {
				if !slices.ContainsFunc(p.Clusters, func(cl api.ClusterInfo) bool { return cl.Name == n }) {
					return cli.Missing(fmt.Sprintf("there is no cluster %q", n), "mcli get clusters lists them")
				}
			}
			wanted := func(name string) bool { return len(only) == 0 || slices.Contains(only, name) }
			var rows [][]string
			for _, cl := range p.Clusters {
				for _, s := range instances(p, cl.Name) {
					if wanted(cl.Name) {
						rows = append(rows, []string{cl.Name, s.name(), amount.Thousandths(s.free()), amount.Thousandths(s.used), amount.Thousandths(s.total)})
					}
				}
			}
			if err := section(c, "GPU Instances", []string{"NAME", "GPU_INSTANCE_TYPE", "GPUS_AVAILABLE", "GPUS_USED", "GPUS_TOTAL"}, rows); err != nil {
				return err
			}
			return runsOf(c, p, wanted)
		},
	}
}

// runsOf lists what holds devices and what waits for them.
func runsOf(c *compat.Call, p *compat.Place, wanted func(string) bool) error {
	o := client.ListOptions{Live: true}
	ws, err := c.Pages(c.Context, o, 0, func(w *api.Workload) bool {
		cl := p.Cluster(w)
		return cl == "" || wanted(cl)
	})
	if err != nil {
		return err
	}
	var active, queued [][]string
	for i := range ws {
		w := &ws[i]
		row := []string{compat.Dash(p.Cluster(w)), w.Name}
		if !c.Bool("hide-users") {
			row = append(row, w.User)
		}
		row = append(row, cli.Age(c.Now().Sub(time.Time(w.CreatedAt))), amount.GPUs(w.GPUs), priorityWord(w.Priority))
		switch {
		case cli.Live(w):
			active = append(active, row)
		default:
			position := "-"
			if w.Pending != nil && w.Pending.Position > 0 {
				position = strconv.Itoa(w.Pending.Position)
			}
			queued = append(queued, append(row, position))
		}
	}
	titles := []string{"NAME", "RUN_NAME"}
	if !c.Bool("hide-users") {
		titles = append(titles, "USER")
	}
	titles = append(titles, "AGE", "GPUS", "PRIORITY")
	if err := section(c, "Active Runs by Cluster", titles, active); err != nil {
		return err
	}
	slices.SortStableFunc(queued, func(a, b []string) int { return cmp.Compare(place(a), place(b)) })
	return section(c, "Queued Runs by Cluster", append(titles, "POS"), queued)
}

// place orders what waits; who has no place comes last.
func place(row []string) int {
	if n, err := strconv.Atoi(row[len(row)-1]); err == nil {
		return n
	}
	return 1 << 30
}

func section(c *compat.Call, heading string, titles []string, rows [][]string) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintf(c.Out(), "%s\n  none\n\n", heading)
		return err
	}
	if _, err := fmt.Fprintln(c.Out(), heading); err != nil {
		return err
	}
	if err := c.Table(titles, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(c.Out())
	return err
}
