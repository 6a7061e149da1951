package slurm

import (
	"fmt"
	"slices"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/compat/slurm/terms"
)

// showLicenses is scontrol show licenses.
func showLicenses(c *compat.Call, name string) error {
	conn, err := c.Connect(c.Context)
	if err != nil {
		return err
	}
	list, err := conn.Licenses.List(c.Context)
	if err != nil {
		return err
	}
	if name != "" {
		list.Items = slices.DeleteFunc(list.Items, func(l api.License) bool { return l.Name != name })
		if len(list.Items) == 0 {
			return cli.Wrong("license "+name+" does not exist", "scontrol show licenses shows all")
		}
	}
	if done, err := terms.Structured(c, list); done {
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
