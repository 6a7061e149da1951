package admin

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/amount"
)

// NewPool makes the command pool.
func NewPool(s *session.Session) *cobra.Command {
	cmd := session.Group("pool", "Pools, which are sets of nodes: list, create, update, delete", "pools")
	var t session.TableFlags
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls", "get"}, Short: "List pools", Example: "  muster pool list",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			return GetPools(cmd.Context(), s, c, t, args)
		},
	}
	t.Register(list)
	create := poolVerb(s, "create", "Make a pool of the nodes that have a label", "muster pool create h100 --selector gpu=h100 --placement-gpu binpack --topology block,rack",
		func(ctx context.Context, c *client.Client, name string, patch map[string]any) (*api.Pool, error) {
			data, err := json.Marshal(patch)
			if err != nil {
				return nil, err
			}
			in := api.NewPool{Name: name}
			if err := json.Unmarshal(data, &in.PoolSpec); err != nil {
				return nil, err
			}
			return c.Pools.Create(ctx, in)
		})
	update := poolVerb(s, "update", "Change what flags name of a pool", "muster pool update h100 --placement-gpu spread --min-runtime 10m",
		func(ctx context.Context, c *client.Client, name string, patch map[string]any) (*api.Pool, error) {
			if len(patch) == 0 {
				return nil, session.UsageError("there is nothing to change", "muster pool update --help lists the flags")
			}
			return c.Pools.Change(ctx, name, patch)
		})
	update.ValidArgsFunction = func(a0 *cobra.Command, a1 []string, a2 string) ([]string, cobra.ShellCompDirective) {
		return CompletePools(s, a0, a1, a2)
	}
	var yes bool
	drop := &cobra.Command{
		Use: "delete POOL", Aliases: []string{"rm"}, Short: "Delete a pool that nothing needs any more; its nodes go to others", Example: "  muster pool delete h100 --yes",
		Args: session.OneName("pool"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.Drop(cmd.Context(), "pool", args[0], yes, func(ctx context.Context, c *client.Client) error { return c.Pools.Delete(ctx, args[0]) })
		},
		ValidArgsFunction: func(a0 *cobra.Command, a1 []string, a2 string) ([]string, cobra.ShellCompDirective) {
			return CompletePools(s, a0, a1, a2)
		},
	}
	drop.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.AddCommand(list, create, update, drop)
	return cmd
}

func poolVerb(s *session.Session, verb, short, example string, run func(context.Context, *client.Client, string, map[string]any) (*api.Pool, error)) *cobra.Command {
	var selector, gpu, cpu, minRuntime, note string
	var topology []string
	cmd := &cobra.Command{
		Use: verb + " POOL [flags]", Short: short, Example: "  " + example,
		Args: session.OneName("pool"),
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
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			p, err := run(cmd.Context(), c, args[0], patch)
			if err != nil {
				return err
			}
			s.Warn(p.Warnings)
			if shown, err := s.Brief(p, p.Name); shown {
				return err
			}
			s.Say("pool %s: %s", p.Name, session.Plural(p.Nodes, "node"))
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

// CompletePools offers the names of pools.
func CompletePools(s *session.Session, cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return s.Complete(cmd, typed, func(ctx context.Context, c *client.Client) (names []string) {
		list, err := c.Pools.List(ctx)
		if err != nil {
			return nil
		}
		for _, p := range list.Items {
			names = append(names, p.Name)
		}
		return names
	})
}

// GetPools prints the pools of these names; without names, all.
func GetPools(ctx context.Context, s *session.Session, c *client.Client, t session.TableFlags, names []string) error {
	list, err := c.Pools.List(ctx)
	if err != nil {
		return err
	}
	var body any = list
	if len(names) > 0 {
		list.Items = slices.DeleteFunc(list.Items, func(p api.Pool) bool { return !slices.Contains(names, p.Name) })
		if err := missing("pool", "muster pool list", names, list.Items, func(x api.Pool) string { return x.Name }); err != nil {
			return err
		}
		if len(names) == 1 {
			body = list.Items[0]
		}
	}
	return session.Print(s, t, session.Table[api.Pool]{Items: list.Items, Name: func(p api.Pool) string { return p.Name }, Body: body, Columns: []session.Column[api.Pool]{
		{Title: "NAME", Cell: func(p api.Pool) string { return p.Name }},
		{Title: "SELECTOR", Cell: func(p api.Pool) string { return printers.OrDash(p.Selector) }},
		{Title: "NODES", Cell: func(p api.Pool) string { return strconv.Itoa(p.Nodes) }},
		{Title: "GPU", Cell: func(p api.Pool) string { return used(p.GPU) }},
		{Title: "CPU", Cell: func(p api.Pool) string { return used(p.CPU) }},
		{Title: "PLACEMENT", Cell: placementText},
		{Title: "TOPOLOGY", Cell: func(p api.Pool) string { return printers.OrDash(strings.Join(p.Topology, ">")) }},
		{Title: "MIN RUNTIME", Cell: func(p api.Pool) string { return printers.OrDash(p.MinRuntime) }},
		{Title: "NOTE", Cell: func(p api.Pool) string { return printers.OrDash(p.Note) }},
	}})
}

// used is how much of an amount is held.
func used(a api.Amount) string {
	return amount.Thousandths(a.Used) + "/" + amount.Thousandths(a.Total)
}

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
func poolUse(s *session.Session, pools []api.Pool, t session.TableFlags) error {
	return session.Print(s, t, session.Table[api.Pool]{Items: pools, Columns: []session.Column[api.Pool]{
		{Title: "POOL", Cell: func(p api.Pool) string { return p.Name }},
		{Title: "FREE", Cell: func(p api.Pool) string { return amount.Thousandths(p.GPU.Total - p.GPU.Used) }, Tone: func(p api.Pool) session.Tone {
			switch {
			case p.GPU.Total == 0:
				return session.ToneDim
			case p.GPU.Used >= p.GPU.Total:
				return session.ToneBad
			default:
				return session.ToneGood
			}
		}},
		{Title: "USED", Cell: func(p api.Pool) string { return amount.Thousandths(p.GPU.Used) }},
		{Title: "TOTAL", Cell: func(p api.Pool) string { return amount.Thousandths(p.GPU.Total) }},
		{Title: "IDLE>30m", Cell: func(p api.Pool) string { return amount.Thousandths(p.IdleGPU) }},
		{Title: "DRAINED", Cell: func(p api.Pool) string { return amount.Thousandths(p.ShutGPU) }},
	}})
}
