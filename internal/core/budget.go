package core

import "time"

// Budget is how much a project or department may use in a time, counted from
// what its workloads are charged. Exactly one of GPUSeconds and Money is set.
type Budget struct {
	GPUSeconds float64      `json:"gpuSeconds,omitempty"` // device-seconds
	Money      float64      `json:"money,omitempty"`      // in the currency of the prices
	Period     BudgetPeriod `json:"period"`
	// From and Until are the time of a budget for once; otherwise zero.
	From  time.Time `json:"from,omitzero"`
	Until time.Time `json:"until,omitzero"`
	// EachUser says that every user has so much.
	EachUser bool `json:"eachUser,omitempty"`
	// WarnAt are the shares of it, over 0 and below 1, at which those are told who
	// use it; nil: at UsualWarning.
	WarnAt []float64 `json:"warnAt,omitempty"`
	AtEnd  BudgetEnd `json:"atEnd"` // what happens once it is used up
	// Notice is how long before what runs has to leave its users are told, where
	// AtEnd is BudgetStop; 0: UsualNotice.
	Notice time.Duration `json:"notice,omitempty"`
}

// UsualNotice is the notice of a budget that says nothing of it.
const UsualNotice = 10 * time.Minute

// NoticeOf is how long before its end what will have to leave is told; 0: never.
func (b *Budget) NoticeOf() time.Duration {
	switch {
	case b.AtEnd != BudgetStop:
		return 0
	case b.Notice == 0:
		return UsualNotice
	}
	return b.Notice
}

// UsualWarning is the share of a budget at which is warned where it says nothing.
const UsualWarning = 0.8

// Warnings are the shares at which is warned.
func (b *Budget) Warnings() []float64 {
	if b.WarnAt == nil {
		return []float64{UsualWarning}
	}
	return b.WarnAt
}

// Same reports whether two budgets are about the same: one takes the place of the
// other.
func (b *Budget) Same(c *Budget) bool {
	return b.Period == c.Period && b.EachUser == c.EachUser && (b.Money > 0) == (c.Money > 0) && b.From.Equal(c.From) && b.Until.Equal(c.Until)
}

// BudgetPeriod is in which times a budget is counted anew, in UTC.
type BudgetPeriod string

// The periods of budgets.
const (
	BudgetDay   BudgetPeriod = "day"
	BudgetWeek  BudgetPeriod = "week" // from Monday
	BudgetMonth BudgetPeriod = "month"
	BudgetOnce  BudgetPeriod = "once" // from From until Until
)

// BudgetPeriods returns every period.
func BudgetPeriods() []BudgetPeriod {
	return []BudgetPeriod{BudgetDay, BudgetWeek, BudgetMonth, BudgetOnce}
}

// BudgetEnd is what happens once a budget is used up.
type BudgetEnd string

// What may happen.
const (
	BudgetWarn BudgetEnd = "warn" // it is told, and nothing else
	BudgetHold BudgetEnd = "hold" // nothing new starts; what runs goes on
	BudgetStop BudgetEnd = "stop" // what runs leaves, too
)

// BudgetEnds returns every one, the mildest first.
func BudgetEnds() []BudgetEnd { return []BudgetEnd{BudgetWarn, BudgetHold, BudgetStop} }

// Prices are what GPUs cost on this server.
type Prices struct {
	Currency string  `json:"currency"` // how amounts of money are named
	Items    []Price `json:"items"`
}

// Price is what a GPU costs for an hour, from a time on until another price for the
// same GPUs begins.
type Price struct {
	Pool       string    `json:"pool,omitempty"`    // empty: of any
	GPUType    string    `json:"gpuType,omitempty"` // as documents ask for one; empty: any
	PerGPUHour float64   `json:"perGpuHour"`        // of a whole device
	From       time.Time `json:"from,omitzero"`     // zero: ever since
}

// TemplatePrices is the kind of the one record that says what GPUs cost: it is kept
// like a template of the system, and is no asset.
const TemplatePrices TemplateKind = "prices"
