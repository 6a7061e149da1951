package enter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/inspect"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
)

type forwardOptions struct {
	scope session.Scope
	task  int
}

// NewPortForward makes the command port-forward.
func NewPortForward(s *session.Session) *cobra.Command {
	o := &forwardOptions{}
	cmd := &cobra.Command{
		Use:     "port-forward WORKLOAD [[LOCAL:]PORT…]",
		Aliases: []string{"forward"},
		Short:   "Reach ports of a task from this machine",
		Long: `Listens on 127.0.0.1 and carries every connection to a port of a task, until
Ctrl-C or the end of the workload. It prints where it listens, a line for each
port. Local port 0 is any that is free; without ports they are those of the
document, at any local ones.`,
		Example: `  muster port-forward notebook 8888
  muster port-forward notebook 9000:8888 6006
  muster port-forward chat 0:8000 -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 && session.KindsOfThings[strings.ToLower(args[0])] == "workloads" {
				args = args[1:]
			}
			if len(args) == 0 {
				return session.UsageError("muster port-forward needs the name of a workload", cmd.UseLine())
			}
			return portForward(cmd.Context(), s, o, args[0], args[1:])
		},
	}
	cmd.ValidArgsFunction = s.CompleteNames
	o.scope.Register(s, cmd)
	cmd.Flags().IntVar(&o.task, "task", -1, "index of the task; default: the first that runs")
	cmd.Flags().IntVar(&o.task, "rank", -1, "the same as --task")
	return cmd
}

// portPair is a local port and the one of the task that it stands for.
type portPair struct{ local, remote int }

func readPorts(texts []string) ([]portPair, error) {
	var out []portPair
	for _, text := range texts {
		local, remote, pair := strings.Cut(text, ":")
		if !pair {
			remote = local
		} else if local == "" {
			local = "0"
		}
		l, err1 := strconv.ParseUint(local, 10, 16)
		r, err2 := strconv.ParseUint(remote, 10, 16)
		if err1 != nil || err2 != nil || r == 0 {
			return nil, session.UsageError(fmt.Sprintf("%q is not a port", text), "PORT or LOCAL:PORT, like 8888 or 9000:8888; local port 0 is any that is free")
		}
		out = append(out, portPair{int(l), int(r)})
	}
	return out, nil
}

// ownPorts are the ports of the document, or those that its tasks were given.
func ownPorts(w *api.Workload, task int) []portPair {
	var out []portPair
	for _, t := range printers.LastAttempt(w).Tasks {
		if t.Index == task && t.Port > 0 {
			out = append(out, portPair{0, t.Port})
		}
	}
	if len(out) == 0 {
		for _, p := range printers.DocOf(w).Ports {
			out = append(out, portPair{0, p.Port})
		}
	}
	return out
}

// forwarding is one line of what port-forward prints.
type forwarding struct {
	Address string `json:"address"`
	Port    int    `json:"port"`
}

func portForward(ctx context.Context, s *session.Session, o *forwardOptions, name string, texts []string) error {
	ports, err := readPorts(texts)
	if err != nil {
		return err
	}
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	w, err := s.Resolve(ctx, c, o.scope, name)
	if err != nil {
		return err
	}
	task, err := runningTask(w, o.task)
	if err != nil {
		return err
	}
	if len(ports) == 0 {
		if ports = ownPorts(w, task); len(ports) == 0 {
			return session.UsageError(fmt.Sprintf("the document of %s names no ports", w.Name), "muster port-forward "+w.Name+" PORT")
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var listeners []net.Listener
	defer func() {
		for _, l := range listeners {
			_ = l.Close()
		}
	}()
	for _, p := range ports {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(p.local)))
		if err != nil {
			return &session.Failure{Code: session.ExitConflict, Problem: &api.Problem{
				Title: "Port in use", Code: "conflict", Detail: err.Error(), Hint: fmt.Sprintf("write 0:%d for any port that is free", p.remote),
			}}
		}
		listeners = append(listeners, l)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for i, l := range listeners {
		if err := printForwarding(s, forwarding{l.Addr().String(), ports[i].remote}); err != nil {
			return err
		}
		context.AfterFunc(ctx, func() { _ = l.Close() })
		wg.Go(func() { accept(ctx, s, c, w, o.task, ports[i].remote, l) })
	}
	w, err = inspect.UntilEnd(ctx, s, c, w)
	if err != nil {
		return err
	}
	s.Say("%s", printers.Result(w, s.Clock()))
	return session.ExitCode(printers.ExitOf(w, "workload"))
}

func printForwarding(s *session.Session, f forwarding) error {
	if s.Format() == "json" {
		s.Output = "jsonl"
	}
	if s.Machine() {
		return s.Document(f)
	}
	_, err := fmt.Fprintf(s.IO.Out, "%s -> %d\n", f.Address, f.Port)
	return err
}

// accept carries the connections of one listener until that is closed.
func accept(ctx context.Context, s *session.Session, c *client.Client, w *api.Workload, task, port int, l net.Listener) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			s.Say("port %d: %v", port, err)
			return
		}
		wg.Go(func() {
			if err := c.PortForward(ctx, w.Project, w.ID, task, port, conn); err != nil && ctx.Err() == nil {
				s.Say("port %d: %v", port, err)
			}
		})
	}
}
