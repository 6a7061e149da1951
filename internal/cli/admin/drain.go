package admin

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/amount"
)

func newNodeDrain(s *session.Session) *cobra.Command {
	var o api.NodeOptions
	var t session.TableFlags
	var dry bool
	cmd := &cobra.Command{
		Use: "drain NODE [flags]", Short: "Keep new work from a node, and have what runs there move away",
		Long: `Keeps new work from a node and has what runs there start again elsewhere. Services
hand over replica by replica. What is not preemptible runs to its own end, unless
it is forced away.

--dry-run says what would become of each workload and changes nothing:
  move    it starts again on other nodes
  park    it is ended, and waits, since no other node could take it
  wait    it is not preemptible; it runs to its own end
  ending  it is on its way out already`,
		Example: "  muster node drain gpu-a03 --dry-run\n  muster node drain gpu-a03 --note 'fan to be changed'\n  muster node uncordon gpu-a03",
		Args:    session.OneName("node"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return drain(cmd.Context(), s, args[0], o, t, dry)
		},
		ValidArgsFunction: s.CompleteNodes,
	}
	t.Register(cmd)
	f := cmd.Flags()
	f.BoolVar(&dry, "dry-run", false, "say what would become of what runs there, and change nothing")
	f.BoolVar(&o.Force, "force", false, "also what is not preemptible")
	f.StringVarP(&o.Note, "note", "m", "", "why")
	return cmd
}

func drain(ctx context.Context, s *session.Session, name string, o api.NodeOptions, t session.TableFlags, dry bool) error {
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	d, err := c.Nodes.Drain(ctx, name, o, dry)
	if err != nil {
		return err
	}
	m := s.Moments(t)
	if len(d.Items) > 0 || s.Machine() {
		err = session.Print(s, t, session.Table[api.DrainStep]{Items: d.Items, Body: d, Name: func(d api.DrainStep) string { return d.Workload }, Columns: []session.Column[api.DrainStep]{
			{Title: "WORKLOAD", Cell: func(d api.DrainStep) string { return d.Workload }},
			{Title: "PROJECT", Cell: func(d api.DrainStep) string { return d.Project }},
			{Title: "USER", Cell: func(d api.DrainStep) string { return d.User }},
			{Title: "TASKS", Cell: func(d api.DrainStep) string { return strconv.Itoa(d.Tasks) }},
			{Title: "GPUS", Cell: func(d api.DrainStep) string { return amount.Thousandths(d.GPU) }},
			{Title: "ACTION", Cell: func(d api.DrainStep) string { return d.Action }},
			{Title: "WITHIN", Cell: func(d api.DrainStep) string { return printers.OrDash(d.Grace) }},
			{Title: "ENDS", Cell: func(d api.DrainStep) string {
				if d.EndsBy == nil {
					return "-"
				}
				return "by " + m.ClockTime(session.At(d.EndsBy))
			}},
		}})
	}
	if err != nil || s.Machine() || s.Format() == "name" {
		return err
	}
	s.Say("%s", drainLine(d, dry))
	return nil
}

// drainLine is what becomes of a node, with the numbers.
func drainLine(d *api.Drain, dry bool) string {
	counts := map[string]int{}
	for _, step := range d.Items {
		counts[step.Action]++
	}
	begin := "node " + d.Node.Name + " is drained: "
	if dry {
		begin = "draining node " + d.Node.Name + ": "
	}
	if len(d.Items) == 0 {
		return begin + "nothing runs there"
	}
	line := fmt.Sprintf("%s%d to move", begin, counts["move"])
	for _, part := range []struct{ action, text string }{
		{"park", "%d to wait since no other node could take them"}, {"wait", "%d to be waited for"}, {"ending", "%d on their way out"},
	} {
		if n := counts[part.action]; n > 0 {
			line += ", " + fmt.Sprintf(part.text, n)
		}
	}
	return line
}
