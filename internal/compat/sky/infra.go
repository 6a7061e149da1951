package sky

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
)

// gpuFlags are those of commands that list GPUs.
var gpuFlags = []compat.Flag{
	{Names: "all a", Void: "all of them are listed."}, {Names: "infra", Arg: "PLACE", Void: noCloud}, {Names: "cloud", Arg: "NAME", Void: noCloud}, {Names: "region", Arg: "NAME", Void: noCloud}, {Names: "all-regions", Void: noCloud},
}

// check says where jobs can run.
func check(c *compat.Call) error {
	p, err := compat.Places(c.Context, c.Tool)
	if err != nil {
		return err
	}
	ready := 0
	for _, n := range p.All.Nodes {
		if n.Ready && !n.Cordoned {
			ready++
		}
	}
	if _, err := fmt.Fprintf(c.Out(), "Checking credentials to enable infra for SkyPilot.\n  Muster: %s\n", map[bool]string{true: "enabled [compute]", false: "disabled"}[ready > 0]); err != nil {
		return err
	}
	for _, cluster := range p.Clusters {
		if _, err := fmt.Fprintf(c.Out(), "    Allowed contexts: %s\n", cluster.Name); err != nil {
			return err
		}
	}
	if ready == 0 {
		c.Say("no node takes tasks: muster node list says why")
		return cli.Exit(1)
	}
	_, err = fmt.Fprintf(c.Out(), "\n🎉 Enabled infra 🎉\n  ✓ Muster [compute]: %d of %d nodes\n", ready, len(p.All.Nodes))
	return err
}

// gpus lists the GPUs that there are.
func gpus(c *compat.Call) error {
	p, err := compat.Places(c.Context, c.Tool)
	if err != nil {
		return err
	}
	type sort struct{ most, all, free int }
	found := map[string]*sort{}
	for _, n := range p.All.Nodes {
		count := map[string]int{}
		for _, d := range n.Devices {
			if found[d.Product] == nil {
				found[d.Product] = &sort{}
			}
			count[d.Product]++
			found[d.Product].all++
			if d.Used == 0 && d.Healthy {
				found[d.Product].free++
			}
		}
		for product, k := range count {
			found[product].most = max(found[product].most, k)
		}
	}
	wanted := strings.ToLower(c.First())
	var rows [][]string
	for _, product := range slices.Sorted(maps.Keys(found)) {
		if f := found[product]; strings.Contains(strings.ToLower(product), wanted) {
			var sizes []string
			for k := 1; k <= f.most; k *= 2 {
				sizes = append(sizes, strconv.Itoa(k))
			}
			rows = append(rows, []string{product, strings.Join(sizes, ", "), fmt.Sprintf("%d of %d free", f.free, f.all)})
		}
	}
	if len(rows) == 0 && wanted != "" {
		return cli.Missing(fmt.Sprintf("Resources %q not found", c.First()), "sky show-gpus lists those that there are")
	}
	return c.Table([]string{"GPU", "REQUESTABLE_QTY_PER_NODE", "UTILIZATION"}, rows)
}
