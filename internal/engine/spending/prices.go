package spending

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/org"
	"github.com/musterhq/muster/internal/engine/draft"
)

// Priced are the prices as they are kept, with the number of their version; 0: there
// are none yet.
type Priced struct {
	core.Prices
	Version int
}

// versionsKept is how many versions of the prices are kept, of which the last holds.
const versionsKept = 20

// Prices reads what GPUs cost.
func Prices() draft.Command[Priced] {
	return func(tx *draft.Tx) (Priced, error) { return priced(tx), nil }
}

func priced(tx *draft.Tx) Priced {
	var out Priced
	if p := draft.Prices(tx); p != nil {
		out.Prices = *p
	}
	if t := draft.PriceRecord(tx); t != nil {
		out.Version = t.Last().Number
	}
	return out
}

// SetPrices replaces what GPUs cost. It fails where others have changed it since the
// version that who asks has seen.
func SetPrices(version int, p core.Prices, user string) draft.Command[Priced] {
	return func(tx *draft.Tx) (Priced, error) {
		if now := priced(tx).Version; now != version {
			return Priced{}, &draft.Error{Code: draft.CodeConflict, Field: "version", Message: fmt.Sprintf("the prices have been changed meanwhile: they are at version %d, not %d", now, version), Hint: "read them again (muster price list), and repeat the change"}
		}
		if err := PutPrices(tx, p, user); err != nil {
			return Priced{}, err
		}
		return priced(tx), nil
	}
}

// PutPrices has the draft say what GPUs cost, in place of all that it said.
func PutPrices(tx *draft.Tx, p core.Prices, user string) error {
	var wrong *org.Error
	if err := org.CheckPrices(&p); errors.As(err, &wrong) {
		return &draft.Error{Code: draft.CodeInvalid, Field: wrong.Field, Message: wrong.Message, Hint: wrong.Hint}
	}
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	t := core.Template{Project: core.SystemScope, Kind: core.TemplatePrices, Name: "prices", User: user, CreatedAt: tx.Now}
	if was := draft.PriceRecord(tx); was != nil {
		t = *was
	}
	t.Revise(string(text), user, tx.Now, versionsKept)
	tx.Org.Prices = &t
	return nil
}
