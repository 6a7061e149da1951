package wire

import (
	"cmp"
	"fmt"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine/spending"
)

// Budget is the API's form of a budget.
func Budget(b core.Budget) api.Budget {
	return api.Budget{
		GPUHours: b.GPUSeconds / 3600, Money: b.Money, Period: string(b.Period), From: At(b.From), Until: At(b.Until), EachUser: b.EachUser, WarnAt: b.WarnAt, AtEnd: string(b.AtEnd), Notice: noticeText(b.Notice),
	}
}

func noticeText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return lengthText(&d)
}

func budgetOf(i int, in api.Budget) (core.Budget, error) {
	notice, err := lengthOf(fmt.Sprintf("budgets[%d].notice", i), in.Notice, "")
	out := core.Budget{
		GPUSeconds: in.GPUHours * 3600, Money: in.Money, Period: core.BudgetPeriod(in.Period), From: momentOf(in.From), Until: momentOf(in.Until),
		EachUser: in.EachUser, WarnAt: in.WarnAt, AtEnd: cmp.Or(core.BudgetEnd(in.AtEnd), core.BudgetHold),
	}
	if notice != nil {
		out.Notice = *notice
	}
	return out, err
}

func momentOf(t *api.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return time.Time(*t)
}

// BudgetState is the API's form of how a budget stands.
func BudgetState(x spending.State) api.BudgetState {
	unit := 3600.0
	if x.Money > 0 {
		unit = 1
	} else {
		x.Currency = ""
	}
	out := api.BudgetState{
		Budget: Budget(x.Budget), Project: string(x.Scope), Department: x.Department, User: x.User, Begins: At(x.From), Ends: At(x.Until),
		Used: x.Used / unit, Amount: x.All / unit, Currency: x.Currency, State: "open", OverAt: At(x.OverAt),
	}
	if x.All > 0 {
		out.Share = x.Used / x.All
	}
	switch {
	case x.Over:
		out.State = "over"
	case x.Warned > 0:
		out.State = "warned"
	}
	return out
}

// Prices is the API's form of prices.
func Prices(p spending.Priced) api.Prices {
	return api.Prices{Version: p.Version, PricesSpec: PricesSpec(p.Prices)}
}

// PricesSpec is what was decided of prices.
func PricesSpec(p core.Prices) api.PricesSpec {
	out := api.PricesSpec{Currency: p.Currency, Items: []api.Price{}}
	for _, x := range p.Items {
		out.Items = append(out.Items, api.Price{Pool: x.Pool, GPUType: x.GPUType, PerGPUHour: x.PerGPUHour, From: At(x.From)})
	}
	return out
}

// PricesOf reads prices.
func PricesOf(in api.Prices) core.Prices {
	out := core.Prices{Currency: in.Currency}
	for _, x := range in.Items {
		out.Items = append(out.Items, core.Price{Pool: x.Pool, GPUType: x.GPUType, PerGPUHour: x.PerGPUHour, From: momentOf(x.From)})
	}
	return out
}
