package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
)

func newQuota(s *session) *cobra.Command {
	var t tableFlags
	var project, pool, resource string
	cmd := &cobra.Command{
		Use: "quota", Aliases: []string{"quotas"}, Short: "What projects are guaranteed, use, borrow and wait for, by pool",
		Long: `Shows for every project and department, and for every pool that it has a quota in,
uses or waits for: what it is guaranteed, what it uses, what is reserved for
workloads that have no place yet, what of both is over its quota and can be taken
back, what both can never exceed, how many workloads wait, and what is used and
reserved in proportion to what is guaranteed. ∞ is no bound. With -o
wide KEPT is what of its quota it neither uses nor lends, LENDABLE what it does not
use and others may.`,
		Example: "  muster quota\n  muster quota --pool h100 --resource memory\n  muster quota -p vision -o json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains([]string{"gpu", "cpu", "memory"}, resource) {
				return usage(fmt.Sprintf("--resource: %q is not a resource", resource), "one of gpu, cpu, memory")
			}
			return s.quota(cmd.Context(), t, project, pool, resource)
		},
	}
	t.register(cmd)
	f := cmd.Flags()
	f.StringVarP(&project, "project", "p", "", "only this project or department")
	f.StringVar(&pool, "pool", "", "only this pool")
	f.StringVar(&resource, "resource", "gpu", "gpu, cpu or memory")
	_ = cmd.RegisterFlagCompletionFunc("project", s.completeProjects)
	_ = cmd.RegisterFlagCompletionFunc("pool", s.completePools)
	_ = cmd.RegisterFlagCompletionFunc("resource", cobra.FixedCompletions([]string{"gpu", "cpu", "memory"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (s *session) quota(ctx context.Context, t tableFlags, project, pool, resource string) error {
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	list, err := c.Quota(ctx, project, pool)
	if err != nil {
		return err
	}
	of := func(st api.Standing) api.Use {
		switch resource {
		case "cpu":
			return st.CPU
		case "memory":
			return st.Memory
		default:
			return st.GPU
		}
	}
	amount := func(n *float64) string {
		if n != nil && resource == "memory" {
			return size(int64(*n))
		}
		if n == nil {
			return "∞"
		}
		return strconv.FormatFloat(float64(int64(*n*1000))/1000, 'f', -1, 64)
	}
	return print(s, t, table[api.Standing]{items: list.Items, body: list, name: func(st api.Standing) string { return st.Project + "/" + st.Pool }, columns: []column[api.Standing]{
		{title: "PROJECT", cell: func(st api.Standing) string {
			if st.Department {
				return st.Project + "/"
			}
			return st.Project
		}},
		{title: "POOL", cell: func(st api.Standing) string { return st.Pool }},
		{title: "GUARANTEED", cell: func(st api.Standing) string { return amount(of(st).Guaranteed) }},
		{title: "USED", cell: func(st api.Standing) string { u := of(st).Used; return amount(&u) }},
		{title: "RESERVED", cell: func(st api.Standing) string { u := of(st).Reserved; return amount(&u) }},
		{title: "OVER", cell: func(st api.Standing) string { u := of(st).Over; return amount(&u) }, tone: func(st api.Standing) tone {
			if of(st).Over > 0 {
				return toneWait
			}
			return tonePlain
		}},
		{title: "KEPT", wide: true, cell: func(st api.Standing) string { u := of(st).Kept; return amount(&u) }},
		{title: "LENDABLE", wide: true, cell: func(st api.Standing) string { u := of(st).Lendable; return amount(&u) }},
		{title: "LIMIT", cell: func(st api.Standing) string { return amount(of(st).Limit) }},
		{title: "QUEUED", cell: func(st api.Standing) string { return strconv.Itoa(st.Queued) }},
		{title: "SHARE", cell: func(st api.Standing) string {
			if of(st).Share == nil {
				return "-"
			}
			return strconv.FormatFloat(*of(st).Share, 'f', 1, 64)
		}},
		{title: "FAIR", wide: true, cell: func(st api.Standing) string { u := of(st).FairShare; return amount(&u) }},
		{title: "WEIGHT", wide: true, cell: func(st api.Standing) string { return strconv.FormatFloat(of(st).Weight, 'f', -1, 64) }},
		{title: "FIXED", wide: true, cell: func(st api.Standing) string { u := of(st).Fixed; return amount(&u) }},
	}})
}
