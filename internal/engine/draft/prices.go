package draft

import (
	"encoding/json"

	"github.com/musterhq/muster/internal/core"
)

// PriceRecord is the record that says what GPUs cost, as the draft has it; nil: there
// is none.
func PriceRecord(tx *Tx) *core.Template {
	if tx.Org.Prices != nil {
		return tx.Org.Prices
	}
	return tx.State.priced
}

// Prices are what GPUs cost, as the draft has it; nil: nothing.
func Prices(tx *Tx) *core.Prices { return ReadPrices(PriceRecord(tx)) }

// ReadPrices reads what a record says; nil: there is none, or a newer server has
// written it in another form.
func ReadPrices(t *core.Template) *core.Prices {
	if t == nil || len(t.Versions) == 0 {
		return nil
	}
	var p core.Prices
	if json.Unmarshal([]byte(t.Last().Document), &p) != nil {
		return nil
	}
	return &p
}
