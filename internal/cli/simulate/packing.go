package simulate

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/simulate/packing"
)

type packingOptions struct {
	out          outFlag
	nodes, tasks string
	policies     []string
	seeds        string
}

func newSimulatePacking(s *session.Session) *cobra.Command {
	o := &packingOptions{}
	cmd := &cobra.Command{
		Use: "packing", Short: "How full a cluster gets before work no longer fits",
		Long: `Lets tasks of a list arrive in random order, and again at random after the first
pass, until 130 % of the GPUs have been asked for. Nothing leaves, and what does
not fit is dropped. Shown is how much of the GPUs is in use once 100 % and 130 %
have been asked for, and how much of them is free but of no use to the tasks of
the list.

The lists are CSV, plain or gzip:
  nodes  sn,cpu_milli,memory_mib,gpu,model
  tasks  name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec`,
		Example: `  muster simulate packing --nodes nodes.csv --tasks tasks.csv
  muster simulate packing --nodes nodes.csv --tasks tasks.csv --policy default,fgd,best-fit -o json`,
		Args: session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.out.resolve(s, "table", "json", "yaml", "jsonl"); err != nil {
				return err
			}
			return runPacking(s, cmd, o)
		},
	}
	o.out.register(cmd)
	f := cmd.Flags()
	f.StringVar(&o.nodes, "nodes", "", "list of nodes")
	f.StringVar(&o.tasks, "tasks", "", "list of tasks")
	f.StringSliceVar(&o.policies, "policy", []string{"default"}, "who places; several by comma: "+strings.Join(packingPolicies(), ", "))
	f.StringVar(&o.seeds, "seeds", "42-51", "which random orders, like 42-51 or 1,5,9")
	_ = cmd.MarkFlagFilename("nodes", "csv", "gz")
	_ = cmd.MarkFlagFilename("tasks", "csv", "gz")
	_ = cmd.RegisterFlagCompletionFunc("policy", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return packingPolicies(), cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

func allPackers() []packing.Policy {
	return append([]packing.Policy{packing.Core()}, packing.Policies()...)
}

func packingPolicies() []string {
	var names []string
	for _, p := range allPackers() {
		names = append(names, p.Name)
	}
	return names
}

func runPacking(s *session.Session, cmd *cobra.Command, o *packingOptions) error {
	if o.nodes == "" || o.tasks == "" {
		return session.UsageError("muster simulate packing needs a list of nodes and one of tasks", "add --nodes FILE --tasks FILE; --help shows their columns")
	}
	var policies []packing.Policy
	for _, name := range o.policies {
		p, err := packing.Named(allPackers(), name)
		if err != nil {
			return session.UsageError("--policy: "+err.Error(), "one of "+strings.Join(packingPolicies(), ", "))
		}
		policies = append(policies, p)
	}
	seeds, err := packing.ParseSeeds(o.seeds)
	if err != nil {
		return session.UsageError("--seeds: "+err.Error(), "like 42-51 or 1,5,9")
	}
	tr, err := packing.Open(o.nodes, o.tasks)
	if err != nil {
		return session.UsageError(err.Error(), "muster simulate packing --help shows the columns of the lists")
	}
	var results []packing.Result
	for _, p := range policies {
		r, err := packing.Fill(cmd.Context(), tr, p, seeds)
		if err != nil {
			return fmt.Errorf("simulate packing: %w", err)
		}
		results = append(results, r)
	}
	body := map[string]any{"results": results}
	return o.out.write(s, body, func(w io.Writer) error { return packing.WriteText(w, results) }, nil)
}
