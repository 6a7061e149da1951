package org

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
)

// budgetsMost bounds how many budgets a project or department has.
const budgetsMost = 20

// yearsMost bounds how long a budget for once is, so that sums of it stay exact.
const yearsMost = 10 * 366 * 24 * time.Hour

// noticeMost bounds how long before the end of a budget it is told.
const noticeMost = 7 * 24 * time.Hour

// budgets says why the budgets of a record cannot be as they are.
func budgets(all []core.Budget) error {
	if len(all) > budgetsMost {
		return wrong("budgets", "take some away", "there are %d, more than %d", len(all), budgetsMost)
	}
	for i := range all {
		b := &all[i]
		at := func(field string) string { return fmt.Sprintf("budgets[%d].%s", i, field) }
		if err := amount(at("gpuHours"), &b.GPUSeconds); err != nil {
			return err
		}
		if err := amount(at("money"), &b.Money); err != nil {
			return err
		}
		switch {
		case (b.GPUSeconds > 0) == (b.Money > 0):
			return wrong(at("gpuHours"), "write either gpuHours or money, more than 0", "a budget is of GPU-hours or of money, and of one of them")
		case b.GPUSeconds > 1e15 || b.Money > 1e15:
			return wrong(at("gpuHours"), "write a smaller amount", "is larger than any budget")
		case !slices.Contains(core.BudgetPeriods(), b.Period):
			return wrong(at("period"), "one of "+words(core.BudgetPeriods()), "%q is not a period", b.Period)
		case !slices.Contains(core.BudgetEnds(), b.AtEnd):
			return wrong(at("atEnd"), "one of "+words(core.BudgetEnds()), "%q is nothing that could happen at its end", b.AtEnd)
		case b.Period != core.BudgetOnce && !(b.From.IsZero() && b.Until.IsZero()):
			return wrong(at("from"), "leave from and until out, or write period: once", "a budget in every %s has no begin and no end", b.Period)
		case b.Period == core.BudgetOnce && (b.From.IsZero() || !b.From.Before(b.Until)):
			return wrong(at("until"), "write when it begins in from, and in until when it ends, after that", "a budget for once is from a time until a later one")
		case b.Period == core.BudgetOnce && b.Until.Sub(b.From) > yearsMost:
			return wrong(at("until"), "write an earlier time", "is more than ten years after from")
		}
		if b.Notice != 0 && b.AtEnd != core.BudgetStop {
			return wrong(at("notice"), "leave it out, or write atEnd: stop", "is for a budget that has what runs leave, and this one is to %s", b.AtEnd)
		}
		if b.Notice < 0 || b.Notice > noticeMost {
			return wrong(at("notice"), "write a time like 10m, at most 7d", "%v is no such time", b.Notice)
		}
		for _, share := range b.WarnAt {
			if !(share > 0 && share < 1) {
				return wrong(at("warnAt"), "write shares like 0.8, or leave it out for 0.8", "%v is not a share over 0 and below 1", share)
			}
		}
		for j := range i {
			if all[j].Same(b) {
				return wrong(at("period"), "write one of them", "budgets[%d] is about the same", j)
			}
		}
	}
	return nil
}

func words[T ~string](all []T) string {
	out := make([]string, len(all))
	for i, w := range all {
		out[i] = string(w)
	}
	return strings.Join(out, ", ")
}

// pricesMost bounds how many prices there are.
const pricesMost = 1000

// CheckPrices says why prices cannot be as they are.
func CheckPrices(p *core.Prices) error {
	if n := len(p.Currency); len(p.Items) > 0 && (n == 0 || n > 12 || strings.ContainsFunc(p.Currency, func(r rune) bool { return r <= ' ' || r == 0x7f })) {
		return wrong("currency", "write a short name without spaces, like EUR", "%q is not a name of a currency", p.Currency)
	}
	if len(p.Items) > pricesMost {
		return wrong("items", "take some away", "there are %d prices, more than %d", len(p.Items), pricesMost)
	}
	for i, x := range p.Items {
		at := func(field string) string { return fmt.Sprintf("items[%d].%s", i, field) }
		if err := amount(at("perGpuHour"), &x.PerGPUHour); err != nil {
			return err
		}
		if x.PerGPUHour > 1e9 {
			return wrong(at("perGpuHour"), "write a smaller amount", "%v is larger than any price", x.PerGPUHour)
		}
		if x.Pool != "" && !Named(x.Pool) {
			return wrong(at("pool"), "muster pool list shows the pools; leave it out for any", "%q is not the name of a pool", x.Pool)
		}
		if len(x.GPUType) > 100 {
			return wrong(at("gpuType"), "write a type as documents ask for one, like H100", "is longer than 100 characters")
		}
		for j := range i {
			if y := p.Items[j]; y.Pool == x.Pool && y.GPUType == x.GPUType && y.From.Equal(x.From) {
				return wrong(at("from"), "write one of them", "items[%d] is for the same GPUs from the same time", j)
			}
		}
	}
	return nil
}
