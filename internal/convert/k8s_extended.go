package convert

import (
	"fmt"

	"github.com/musterhq/muster/internal/core/spec"
)

// extended reads what else nodes offer by name, of which limits and requests
// must say the same.
func (k *k8sReader) extended(requests, limits *object, r *spec.Resources) {
	for _, list := range []*object{limits, requests} {
		if list == nil {
			continue
		}
		for _, name := range list.t.Names {
			if spec.ExtendedName(name) != nil {
				continue
			}
			v := list.take(name)
			q := v.quantity()
			n, before := int(q.Units()), r.Extended[name]
			switch {
			case v == nil:
			case q%1000 != 0 || q.Units() > mostExtended:
				v.refuse(fmt.Sprintf("%s is not a whole number from 0 to %d", q, mostExtended), "write it in digits")
			case n == 0:
				v.kept("resources.extended")
			case before != 0 && before != n:
				v.refuse(fmt.Sprintf("is %d, and %d in limits", n, before), "write the same number in both")
			default:
				r.Extended = counting(r.Extended, name, n)
				v.kept("resources.extended." + name)
			}
		}
	}
}
