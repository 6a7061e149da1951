package admin

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
)

// NewQuota makes the command quota.
func NewQuota(s *session.Session) *cobra.Command {
	var t session.TableFlags
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
		Args:    session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains([]string{"gpu", "cpu", "memory"}, resource) {
				return session.UsageError(fmt.Sprintf("--resource: %q is not a resource", resource), "one of gpu, cpu, memory")
			}
			return quota(cmd.Context(), s, t, project, pool, resource)
		},
	}
	t.Register(cmd)
	f := cmd.Flags()
	f.StringVarP(&project, "project", "p", "", "only this project or department")
	f.StringVar(&pool, "pool", "", "only this pool")
	f.StringVar(&resource, "resource", "gpu", "gpu, cpu or memory")
	_ = cmd.RegisterFlagCompletionFunc("project", s.CompleteProjects)
	_ = cmd.RegisterFlagCompletionFunc("pool", func(a0 *cobra.Command, a1 []string, a2 string) ([]string, cobra.ShellCompDirective) {
		return CompletePools(s, a0, a1, a2)
	})
	_ = cmd.RegisterFlagCompletionFunc("resource", cobra.FixedCompletions([]string{"gpu", "cpu", "memory"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func quota(ctx context.Context, s *session.Session, t session.TableFlags, project, pool, resource string) error {
	c, err := s.Connect(ctx)
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
			return printers.Size(int64(*n))
		}
		if n == nil {
			return "∞"
		}
		return strconv.FormatFloat(float64(int64(*n*1000))/1000, 'f', -1, 64)
	}
	return session.Print(s, t, session.Table[api.Standing]{Items: list.Items, Body: list, Name: func(st api.Standing) string { return st.Project + "/" + st.Pool }, Columns: []session.Column[api.Standing]{
		{Title: "PROJECT", Cell: func(st api.Standing) string {
			if st.Department {
				return st.Project + "/"
			}
			return st.Project
		}},
		{Title: "POOL", Cell: func(st api.Standing) string { return st.Pool }},
		{Title: "GUARANTEED", Cell: func(st api.Standing) string { return amount(of(st).Guaranteed) }},
		{Title: "USED", Cell: func(st api.Standing) string { u := of(st).Used; return amount(&u) }},
		{Title: "RESERVED", Cell: func(st api.Standing) string { u := of(st).Reserved; return amount(&u) }},
		{Title: "OVER", Cell: func(st api.Standing) string { u := of(st).Over; return amount(&u) }, Tone: func(st api.Standing) session.Tone {
			if of(st).Over > 0 {
				return session.ToneWait
			}
			return session.TonePlain
		}},
		{Title: "KEPT", Wide: true, Cell: func(st api.Standing) string { u := of(st).Kept; return amount(&u) }},
		{Title: "LENDABLE", Wide: true, Cell: func(st api.Standing) string { u := of(st).Lendable; return amount(&u) }},
		{Title: "LIMIT", Cell: func(st api.Standing) string { return amount(of(st).Limit) }},
		{Title: "QUEUED", Cell: func(st api.Standing) string { return strconv.Itoa(st.Queued) }},
		{Title: "SHARE", Cell: func(st api.Standing) string {
			if of(st).Share == nil {
				return "-"
			}
			return strconv.FormatFloat(*of(st).Share, 'f', 1, 64)
		}},
		{Title: "FAIR", Wide: true, Cell: func(st api.Standing) string { u := of(st).FairShare; return amount(&u) }},
		{Title: "WEIGHT", Wide: true, Cell: func(st api.Standing) string { return strconv.FormatFloat(of(st).Weight, 'f', -1, 64) }},
		{Title: "FIXED", Wide: true, Cell: func(st api.Standing) string { u := of(st).Fixed; return amount(&u) }},
	}})
}
