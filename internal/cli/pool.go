package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
)

func newPool(s *session) *cobra.Command {
	cmd := noun("pool", "Pools, which are sets of nodes: list, create, update, delete", "pools")
	var t tableFlags
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls", "get"}, Short: "List pools", Example: "  muster pool list",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.connect(cmd.Context())
			if err != nil {
				return err
			}
			return s.getPools(cmd.Context(), c, t, args)
		},
	}
	t.register(list)
	create := s.poolVerb("create", "Make a pool of the nodes that have a label", "muster pool create h100 --selector gpu=h100 --placement-gpu binpack --topology block,rack",
		func(ctx context.Context, c *client.Client, name string, patch map[string]any) (*api.Pool, error) {
			data, err := json.Marshal(patch)
			if err != nil {
				return nil, err
			}
			in := api.NewPool{Name: name}
			if err := json.Unmarshal(data, &in.PoolSpec); err != nil {
				return nil, err
			}
			return c.CreatePool(ctx, in)
		})
	update := s.poolVerb("update", "Change what flags name of a pool", "muster pool update h100 --placement-gpu spread --min-runtime 10m",
		func(ctx context.Context, c *client.Client, name string, patch map[string]any) (*api.Pool, error) {
			if len(patch) == 0 {
				return nil, usage("there is nothing to change", "muster pool update --help lists the flags")
			}
			return c.ChangePool(ctx, name, patch)
		})
	update.ValidArgsFunction = s.completePools
	var yes bool
	drop := &cobra.Command{
		Use: "delete POOL", Aliases: []string{"rm"}, Short: "Delete a pool that nothing needs any more; its nodes go to others", Example: "  muster pool delete h100 --yes",
		Args: one("pool"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.drop(cmd.Context(), "pool", args[0], yes, func(ctx context.Context, c *client.Client) error { return c.DeletePool(ctx, args[0]) })
		},
		ValidArgsFunction: s.completePools,
	}
	drop.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.AddCommand(list, create, update, drop)
	return cmd
}

func (s *session) poolVerb(verb, short, example string, run func(context.Context, *client.Client, string, map[string]any) (*api.Pool, error)) *cobra.Command {
	var selector, gpu, cpu, minRuntime, note string
	var topology []string
	cmd := &cobra.Command{
		Use: verb + " POOL [flags]", Short: short, Example: "  " + example,
		Args: one("pool"),
		RunE: func(cmd *cobra.Command, args []string) error {
			patch := map[string]any{}
			for flag, v := range map[string]any{"selector": selector, "topology": topology, "min-runtime": minRuntime, "note": note} {
				if cmd.Flags().Changed(flag) {
					patch[strings.Replace(flag, "min-runtime", "minRuntime", 1)] = v
				}
			}
			if cmd.Flags().Changed("placement-gpu") {
				below(patch, "placement")["gpu"] = gpu
			}
			if cmd.Flags().Changed("placement-cpu") {
				below(patch, "placement")["cpu"] = cpu
			}
			c, err := s.connect(cmd.Context())
			if err != nil {
				return err
			}
			p, err := run(cmd.Context(), c, args[0], patch)
			if err != nil {
				return err
			}
			s.warn(p.Warnings)
			if shown, err := s.brief(p, p.Name); shown {
				return err
			}
			s.say("pool %s: %s", p.Name, plural(p.Nodes, "node"))
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&selector, "selector", "", "KEY=VALUE: the label of its nodes")
	f.StringVar(&gpu, "placement-gpu", "", "how work with GPUs is placed: fill (default), binpack or spread")
	f.StringVar(&cpu, "placement-cpu", "", "how work without GPUs is placed: fill (default), binpack or spread")
	f.StringSliceVar(&topology, "topology", nil, "labels of its nodes from the widest domain to the narrowest")
	f.StringVar(&minRuntime, "min-runtime", "", "for how long what has started in it is not displaced")
	f.StringVarP(&note, "note", "m", "", "what it is for")
	for _, flag := range []string{"placement-gpu", "placement-cpu"} {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions([]string{"fill", "binpack", "spread"}, cobra.ShellCompDirectiveNoFileComp))
	}
	return cmd
}

func (s *session) completePools(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return s.complete(cmd, typed, func(ctx context.Context, c *client.Client) (names []string) {
		list, err := c.Pools(ctx)
		if err != nil {
			return nil
		}
		for _, p := range list.Items {
			names = append(names, p.Name)
		}
		return names
	})
}

func (s *session) getPools(ctx context.Context, c *client.Client, t tableFlags, names []string) error {
	list, err := c.Pools(ctx)
	if err != nil {
		return err
	}
	var body any = list
	if len(names) > 0 {
		list.Items = slices.DeleteFunc(list.Items, func(p api.Pool) bool { return !slices.Contains(names, p.Name) })
		if len(list.Items) < len(names) {
			return missing(fmt.Sprintf("of %s only %d are pools", strings.Join(names, ", "), len(list.Items)), "muster pool list lists all")
		}
		if len(names) == 1 {
			body = list.Items[0]
		}
	}
	return print(s, t, table[api.Pool]{items: list.Items, name: func(p api.Pool) string { return p.Name }, body: body, columns: []column[api.Pool]{
		{title: "NAME", cell: func(p api.Pool) string { return p.Name }},
		{title: "SELECTOR", cell: func(p api.Pool) string { return orDash(p.Selector) }},
		{title: "NODES", cell: func(p api.Pool) string { return strconv.Itoa(p.Nodes) }},
		{title: "GPU", cell: func(p api.Pool) string { return used(p.GPU) }},
		{title: "CPU", cell: func(p api.Pool) string { return used(p.CPU) }},
		{title: "PLACEMENT", cell: placementText},
		{title: "TOPOLOGY", cell: func(p api.Pool) string { return orDash(strings.Join(p.Topology, ">")) }},
		{title: "MIN RUNTIME", cell: func(p api.Pool) string { return orDash(p.MinRuntime) }},
		{title: "NOTE", cell: func(p api.Pool) string { return orDash(p.Note) }},
	}})
}

// used is how much of an amount is held.
func used(a api.Amount) string { return thousandths(a.Used) + "/" + thousandths(a.Total) }

func placementText(p api.Pool) string {
	gpu, cpu := "fill", "fill"
	if p.Placement != nil && p.Placement.GPU != "" {
		gpu = p.Placement.GPU
	}
	if p.Placement != nil && p.Placement.CPU != "" {
		cpu = p.Placement.CPU
	}
	if gpu == cpu {
		return gpu
	}
	return "gpu " + gpu + ", cpu " + cpu
}

// poolUse is the first table of muster util.
func (s *session) poolUse(pools []api.Pool, t tableFlags) error {
	return print(s, t, table[api.Pool]{items: pools, columns: []column[api.Pool]{
		{title: "POOL", cell: func(p api.Pool) string { return p.Name }},
		{title: "FREE", cell: func(p api.Pool) string { return thousandths(p.GPU.Total - p.GPU.Used) }, tone: func(p api.Pool) tone {
			switch {
			case p.GPU.Total == 0:
				return toneDim
			case p.GPU.Used >= p.GPU.Total:
				return toneBad
			default:
				return toneGood
			}
		}},
		{title: "USED", cell: func(p api.Pool) string { return thousandths(p.GPU.Used) }},
		{title: "TOTAL", cell: func(p api.Pool) string { return thousandths(p.GPU.Total) }},
		{title: "IDLE>30m", cell: func(p api.Pool) string { return thousandths(p.IdleGPU) }},
		{title: "DRAINED", cell: func(p api.Pool) string { return thousandths(p.ShutGPU) }},
	}})
}
