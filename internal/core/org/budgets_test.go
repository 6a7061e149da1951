package org_test

import (
	"errors"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/org"
)

func TestBudgetsAndPricesNameTheField(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	good := core.Budget{GPUSeconds: 1, Period: core.BudgetDay, AtEnd: core.BudgetHold}
	with := func(change func(*core.Budget)) []core.Budget {
		b := good
		change(&b)
		return []core.Budget{b}
	}
	for field, all := range map[string][]core.Budget{
		"":                    {good, {Money: 3, Period: core.BudgetDay, AtEnd: core.BudgetWarn}, {GPUSeconds: 2, Period: core.BudgetDay, AtEnd: core.BudgetStop, EachUser: true}},
		"budgets[0].gpuHours": with(func(b *core.Budget) { b.Money = 1 }),
		"budgets[0].money":    with(func(b *core.Budget) { b.Money, b.GPUSeconds = -1, 0 }),
		"budgets[0].period":   with(func(b *core.Budget) { b.Period = "year" }),
		"budgets[0].atEnd":    with(func(b *core.Budget) { b.AtEnd = "" }),
		"budgets[0].from":     with(func(b *core.Budget) { b.Until = now }),
		"budgets[0].until":    with(func(b *core.Budget) { b.Period, b.From, b.Until = core.BudgetOnce, now, now }),
		"budgets[0].warnAt":   with(func(b *core.Budget) { b.WarnAt = []float64{1} }),
		"budgets[1].period":   {good, good},
		"budgets":             make([]core.Budget, 21),
	} {
		p := core.NewProject("free", now)
		p.Budgets = all
		err := treeOf(fleet()).Check(&p, nil)
		var wrong *org.Error
		if errors.As(err, &wrong); field == "" && err != nil || field != "" && (wrong == nil || wrong.Field != field || wrong.Hint == "") {
			t.Errorf("%s: %+v", field, err)
		}
	}
	for field, p := range map[string]core.Prices{
		"":                    {},
		"currency":            {Items: []core.Price{{PerGPUHour: 1}}},
		"items[0].perGpuHour": {Currency: "EUR", Items: []core.Price{{PerGPUHour: -1}}},
		"items[0].pool":       {Currency: "EUR", Items: []core.Price{{Pool: "No"}}},
		"items[1].from":       {Currency: "EUR", Items: []core.Price{{PerGPUHour: 1}, {PerGPUHour: 2}}},
	} {
		err := org.CheckPrices(&p)
		var wrong *org.Error
		if errors.As(err, &wrong); field == "" && err != nil || field != "" && (wrong == nil || wrong.Field != field || wrong.Hint == "") {
			t.Errorf("%s: %+v", field, err)
		}
	}
}
