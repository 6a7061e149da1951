package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
)

func newNodeDrain(s *session) *cobra.Command {
	var o api.NodeOptions
	var t tableFlags
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
		Args:    one("node"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.drain(cmd.Context(), args[0], o, t, dry)
		},
		ValidArgsFunction: s.completeNodes,
	}
	t.register(cmd)
	f := cmd.Flags()
	f.BoolVar(&dry, "dry-run", false, "say what would become of what runs there, and change nothing")
	f.BoolVar(&o.Force, "force", false, "also what is not preemptible")
	f.StringVarP(&o.Note, "note", "m", "", "why")
	return cmd
}

func (s *session) drain(ctx context.Context, name string, o api.NodeOptions, t tableFlags, dry bool) error {
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	d, err := c.DrainNode(ctx, name, o, dry)
	if err != nil {
		return err
	}
	m := s.moments(t)
	if len(d.Items) > 0 || s.machine() {
		err = print(s, t, table[api.DrainStep]{items: d.Items, body: d, name: func(d api.DrainStep) string { return d.Workload }, columns: []column[api.DrainStep]{
			{title: "WORKLOAD", cell: func(d api.DrainStep) string { return d.Workload }},
			{title: "PROJECT", cell: func(d api.DrainStep) string { return d.Project }},
			{title: "USER", cell: func(d api.DrainStep) string { return d.User }},
			{title: "TASKS", cell: func(d api.DrainStep) string { return strconv.Itoa(d.Tasks) }},
			{title: "GPUS", cell: func(d api.DrainStep) string { return thousandths(d.GPU) }},
			{title: "ACTION", cell: func(d api.DrainStep) string { return d.Action }},
			{title: "WITHIN", cell: func(d api.DrainStep) string { return orDash(d.Grace) }},
			{title: "ENDS", cell: func(d api.DrainStep) string {
				if d.EndsBy == nil {
					return "-"
				}
				return "by " + m.clockTime(at(d.EndsBy))
			}},
		}})
	}
	if err != nil || s.machine() || s.format() == "name" {
		return err
	}
	s.say("%s", drainLine(d, dry))
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
