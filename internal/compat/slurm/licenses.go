package slurm

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
)

// showLicenses is scontrol show licenses.
func showLicenses(c *compat.Call, name string) error {
	conn, err := c.Connect(c.Context)
	if err != nil {
		return err
	}
	list, err := conn.Licenses(c.Context)
	if err != nil {
		return err
	}
	if name != "" {
		list.Items = slices.DeleteFunc(list.Items, func(l api.License) bool { return l.Name != name })
		if len(list.Items) == 0 {
			return cli.Wrong("license "+name+" does not exist", "scontrol show licenses shows all")
		}
	}
	if done, err := structured(c, list); done {
		return err
	}
	if len(list.Items) == 0 {
		c.Say("No licenses configured in Slurm.")
	}
	for _, l := range list.Items {
		if err := record(c, [][]string{
			{"LicenseName=" + l.Name},
			{fmt.Sprintf("Total=%d", l.Total), fmt.Sprintf("Used=%d", l.Used), fmt.Sprintf("Free=%d", max(l.Total-l.Used, 0)), "Reserved=0", "Remote=no"},
		}); err != nil {
			return err
		}
	}
	return nil
}

// licenseList are licenses as Slurm writes them.
func licenseList(all map[string]int) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, fmt.Sprintf("%s:%d", name, all[name]))
	}
	return strings.Join(out, ",")
}

// asksFor reports whether a job asks for any of some licenses; none are named:
// no matter.
func asksFor(w *api.Workload, names []string) bool {
	return len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return cli.Document(w).Licenses[name] > 0 })
}
