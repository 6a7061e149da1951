package kubernetes

import (
	"fmt"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
)

// readExtended reads what else nodes offer by name, of which limits and requests
// must say the same.
func readExtended(requests, limits *source.Map, r *spec.Resources) {
	for _, list := range []*source.Map{limits, requests} {
		if list == nil {
			continue
		}
		for _, name := range list.Tree.Names {
			if spec.ExtendedName(name) != nil {
				continue
			}
			v := list.Consume(name)
			q := v.Quantity()
			n, before := int(q.Units()), r.Extended[name]
			switch {
			case v == nil:
			case q%1000 != 0 || q.Units() > source.MostExtended:
				v.Refuse(fmt.Sprintf("%s is not a whole number from 0 to %d", q, source.MostExtended), "write it in digits")
			case n == 0:
				v.Kept("resources.extended")
			case before != 0 && before != n:
				v.Refuse(fmt.Sprintf("is %d, and %d in limits", n, before), "write the same number in both")
			default:
				r.Extended = source.Set(r.Extended, name, n)
				v.Kept("resources.extended." + name)
			}
		}
	}
}
