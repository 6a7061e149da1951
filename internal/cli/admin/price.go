package admin

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
)

// priceFlags say of which GPUs a price is, and from when on.
type priceFlags struct{ pool, gpuType, from, currency string }

func (p *priceFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&p.pool, "pool", "", "of GPUs in this pool; without it of any")
	f.StringVar(&p.gpuType, "gpu-type", "", "of GPUs of this type, as documents ask for one; without it of any")
	f.StringVar(&p.from, "from", "", "from then on: an instant; without it ever since")
}

// price is what the flags say.
func (p *priceFlags) price(s *session.Session) (api.Price, error) {
	out := api.Price{Pool: p.pool, GPUType: p.gpuType}
	if p.from == "" {
		return out, nil
	}
	at, err := instantOf(s, "from", p.from)
	if err == nil {
		t := api.Time(at)
		out.From = &t
	}
	return out, err
}

// instantOf reads an instant.
func instantOf(s *session.Session, flag, text string) (time.Time, error) {
	if text == "now" {
		return s.Clock().UTC().Truncate(time.Second), nil
	}
	at, err := session.ParseWhen(flag, text, s.Clock())
	return at.UTC(), err
}

func samePrice(x, y api.Price) bool {
	return x.Pool == y.Pool && x.GPUType == y.GPUType && session.At(x.From).Equal(session.At(y.From))
}

// NewPrice makes the command price.
func NewPrice(s *session.Session) *cobra.Command {
	cmd := session.Group("price", "What GPUs cost: list, set, delete", "prices")
	var t session.TableFlags
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls", "get"}, Short: "List what GPUs cost", Example: "  muster price list", Args: session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			p, err := c.Budgets.Prices(cmd.Context())
			if err != nil {
				return err
			}
			return session.Print(s, t, session.Table[api.Price]{Items: p.Items, Body: p, Name: func(x api.Price) string { return x.Pool + "/" + x.GPUType }, Columns: []session.Column[api.Price]{
				{Title: "POOL", Cell: func(x api.Price) string { return anyOf(x.Pool) }},
				{Title: "GPU-TYPE", Cell: func(x api.Price) string { return anyOf(x.GPUType) }},
				{Title: "PER-GPU-HOUR", Cell: func(x api.Price) string { return printers.Number(x.PerGPUHour) + " " + p.Currency }},
				{Title: "FROM", Cell: func(x api.Price) string { return sinceOf(x.From) }},
			}})
		},
	}
	t.Register(list)
	var set, drop priceFlags
	put := &cobra.Command{
		Use: "set AMOUNT [flags]", Aliases: []string{"create", "update"}, Short: "Say what an hour of a GPU costs",
		Long: `Says what an hour of a GPU costs, of a pool, of a type, of both, or of any. Of
several that are about a GPU the one counts that says most of it, a pool more
than a type, and of these the last that has begun. With --from a price begins at
a time, and what was used before it costs what it did; without it what was used
in the present periods is counted anew.`,
		Example: `  muster price set 1.2 --currency EUR
  muster price set 4 --gpu-type H100
  muster price set 4.5 --gpu-type H100 --from 2027-01-01T00:00:00Z`,
		Args: session.OneName("amount"),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.ParseFloat(args[0], 64)
			if err != nil || !(n >= 0 && n <= 1e9) {
				return session.UsageError(fmt.Sprintf("%q is not an amount of money", args[0]), "write one like 2.5")
			}
			x, err := set.price(s)
			if err != nil {
				return err
			}
			x.PerGPUHour = n
			return changePrices(cmd.Context(), s, set.currency, func(all []api.Price) ([]api.Price, error) {
				all = slices.DeleteFunc(all, func(y api.Price) bool { return samePrice(x, y) })
				return append(all, x), nil
			})
		},
	}
	set.register(put)
	put.Flags().StringVar(&set.currency, "currency", "", "how all amounts of money are named, like EUR")
	rm := &cobra.Command{
		Use: "delete [flags]", Aliases: []string{"rm"}, Short: "Forget a price", Example: "  muster price delete --gpu-type H100 --from 2027-01-01T00:00:00Z", Args: session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			x, err := drop.price(s)
			if err != nil {
				return err
			}
			return changePrices(cmd.Context(), s, "", func(all []api.Price) ([]api.Price, error) {
				left := slices.DeleteFunc(slices.Clone(all), func(y api.Price) bool { return samePrice(x, y) })
				if len(left) == len(all) {
					return nil, session.NotFoundError("there is no such price", "muster price list lists all; --pool, --gpu-type and --from say which")
				}
				return left, nil
			})
		},
	}
	drop.register(rm)
	export := &cobra.Command{
		Use: "export", Short: "Write all prices as the record that muster apply -f takes", Example: "  muster price export > prices.yaml", Args: session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			p, err := c.Budgets.Prices(cmd.Context())
			if err != nil {
				return err
			}
			return s.File(struct {
				Kind string `json:"kind"`
				api.PricesSpec
			}{"Prices", p.PricesSpec})
		},
	}
	cmd.AddCommand(list, put, export, rm)
	return cmd
}

func anyOf(name string) string {
	if name == "" {
		return "any"
	}
	return name
}

func sinceOf(t *api.Time) string {
	if t == nil {
		return "ever"
	}
	return session.At(t).UTC().Format(time.RFC3339)
}

// changePrices reads prices, changes them and writes them back.
func changePrices(ctx context.Context, s *session.Session, currency string, change func([]api.Price) ([]api.Price, error)) error {
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	p, err := c.Budgets.Prices(ctx)
	if err != nil {
		return err
	}
	if currency != "" {
		p.Currency = currency
	}
	if p.Currency == "" {
		return session.UsageError("no currency is named yet", "name one: --currency EUR")
	}
	if p.Items, err = change(p.Items); err != nil {
		return err
	}
	if p, err = c.Budgets.SetPrices(ctx, *p); err != nil {
		return err
	}
	if shown, err := s.Brief(p, "prices"); shown {
		return err
	}
	s.Say("%s, in %s", session.Plural(len(p.Items), "price"), p.Currency)
	return nil
}
