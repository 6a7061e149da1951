package terms

import "github.com/musterhq/muster/internal/compat"

// Object is a JSON object of Slurm's.
type Object = map[string]any

// Answered is what Slurm's tools put beside the list that was asked for. The
// plugin says whose form it has: that of Slurm 22.05.
func Answered(c *compat.Call, plugin, list string, items []Object) Object {
	if items == nil {
		items = []Object{}
	}
	return Object{
		"meta": Object{
			"plugin": Object{"type": "openapi/" + plugin, "name": "Muster " + c.Version().Version},
			"Slurm":  Object{"version": Object{"major": 22, "minor": 5, "micro": 8}, "release": "22.05.8"},
		},
		"errors": []any{}, list: items,
	}
}
