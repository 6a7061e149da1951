package enter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/cli/sshserver"
	"github.com/musterhq/muster/internal/cli/terminal"
	"github.com/musterhq/muster/internal/core/spec"
)

// hostSuffix ends the names under which ssh knows workloads.
const hostSuffix = ".muster"

type sshConfigOptions struct {
	scope   session.Scope
	install bool
	yes     bool
}

// NewSSHConfig makes the command ssh-config.
func NewSSHConfig(s *session.Session) *cobra.Command {
	o := &sshConfigOptions{}
	cmd := &cobra.Command{
		Use:   "ssh-config [WORKLOAD…]",
		Short: "Reach tasks with ssh, scp, sftp, rsync and editors",
		Long: `Writes the entry by which ssh reaches every workload as WORKLOAD.muster, and its
task N as N.WORKLOAD.muster; with names also an entry for each, which editors list.
With --install the entry goes into a file of its own, which the user's ~/.ssh/config
then includes.

No image needs an SSH server: muster is the ProxyCommand, and speaks SSH itself.
Shells and commands begin as muster exec begins them, files go through the task's
shell, and forwarded ports are the task's own (ssh -L 8888:localhost:8888). Keys
are made for this user, and lie with the state of muster.`,
		Example: `  muster ssh-config --install
  ssh notebook.muster
  scp -r notebook.muster:results .
  rsync -a notebook.muster:results/ results/   where the image has rsync
  code --remote ssh-remote+notebook.muster /workspace`,
		RunE: func(cmd *cobra.Command, args []string) error { return sshConfig(cmd.Context(), s, o, args) },
	}
	cmd.ValidArgsFunction = s.CompleteNames
	o.scope.Register(s, cmd)
	cmd.Flags().BoolVar(&o.install, "install", false, "write it to a file that ~/.ssh/config includes")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask before ~/.ssh/config is changed")
	return cmd
}

// NewSSHProxy makes the command ssh-proxy.
func NewSSHProxy(s *session.Session) *cobra.Command {
	sc := session.Scope{}
	cmd := &cobra.Command{
		Use: "ssh-proxy HOST", Short: "Speak SSH for a task on standard input and output", Hidden: true,
		Example: "  ssh -o ProxyCommand='muster ssh-proxy %n' notebook.muster",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return session.UsageError("muster ssh-proxy takes the name of one host", cmd.UseLine())
			}
			return sshProxy(cmd.Context(), s, sc, args[0])
		},
	}
	sc.Register(s, cmd)
	return cmd
}

func sshConfig(ctx context.Context, s *session.Session, o *sshConfigOptions, names []string) error {
	dir, _, err := sshKeys(s)
	if err != nil {
		return err
	}
	command, err := proxyCommand(s, o.scope)
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("# Written by muster ssh-config.\n")
	if len(names) > 0 {
		c, err := s.Connect(ctx)
		if err != nil {
			return err
		}
		for _, name := range names {
			w, err := s.Resolve(ctx, c, o.scope, name)
			if err != nil {
				return err
			}
			b.WriteString(hostEntry(w.Name+hostSuffix, dir, command))
		}
	}
	b.WriteString(hostEntry("*"+hostSuffix, dir, command))
	if o.install {
		return installSSH(s, o, dir, b.String())
	}
	_, err = io.WriteString(s.IO.Out, b.String())
	return err
}

// hostEntry returns the entry for a host in the configuration of ssh.
func hostEntry(host, dir, command string) string {
	quote := func(name string) string { return `"` + strings.ReplaceAll(filepath.Join(dir, name), "%", "%%") + `"` }
	return fmt.Sprintf(`Host %s
  User muster
  ProxyCommand %s
  IdentityFile %s
  IdentitiesOnly yes
  HostKeyAlias %s
  UserKnownHostsFile %s
  GlobalKnownHostsFile none
  StrictHostKeyChecking yes
  ForwardAgent no
`, host, command, quote(userKeyFile), hostAlias, quote(knownFile))
}

// proxyCommand is how ssh runs this program for a host, which ssh has run by a
// shell.
func proxyCommand(s *session.Session, sc session.Scope) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	words := []string{self, "ssh-proxy"}
	if s.Server != "" {
		words = append(words, "--server", s.Server)
	} else {
		dir, err := s.Dir()
		if err != nil {
			return "", err
		}
		words = append(words, "--data-dir", dir)
	}
	if sc.Project != "" {
		words = append(words, "--project", sc.Project)
	}
	return strings.ReplaceAll(spec.ShellWords(words...), "%", "%%") + " '%n'", nil
}

// installSSH writes the entries to a file that the user's configuration includes.
func installSSH(s *session.Session, o *sshConfigOptions, dir, text string) error {
	own := filepath.Join(dir, sshFile)
	if err := replaceFile(own, []byte(text), 0o600); err != nil {
		return err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return session.UsageError("no home directory: "+err.Error(), "include "+own+" in the configuration of ssh by hand")
	}
	path := filepath.Join(home, ".ssh", "config")
	line := `Include "` + own + `"`
	was, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for have := range strings.Lines(string(was)) {
		if strings.TrimSpace(have) == line {
			s.Say("%s is written; %s includes it", own, path)
			return nil
		}
	}
	if !o.yes {
		if !s.IO.InTerminal {
			return session.NeedsFlagError("changing "+path, "--yes")
		}
		if ok, err := s.Ask("About to put at the beginning of " + path + ":\n  " + line); !ok {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // a configuration that lies elsewhere stays there
	}
	if err := replaceFile(path, []byte(line+"\n\n"+string(was)), 0o600); err != nil {
		return err
	}
	s.Say("%s is written, and %s includes it; ssh WORKLOAD%s reaches a workload", own, path, hostSuffix)
	return nil
}

// readHost reads WORKLOAD.muster or N.WORKLOAD.muster.
func readHost(host string) (name string, task int, err error) {
	name = strings.TrimSuffix(host, hostSuffix)
	head, rest, more := strings.Cut(name, ".")
	if !more {
		return name, -1, nil
	}
	n, err := strconv.Atoi(head)
	if err != nil || n < 0 || rest == "" || strings.Contains(rest, ".") {
		return "", 0, session.UsageError(fmt.Sprintf("host %s is not understood", host), "write WORKLOAD"+hostSuffix+", or N.WORKLOAD"+hostSuffix+" for its task N")
	}
	return rest, n, nil
}

func sshProxy(ctx context.Context, s *session.Session, sc session.Scope, host string) error {
	name, task, err := readHost(host)
	if err != nil {
		return err
	}
	_, keys, err := sshKeys(s)
	if err != nil {
		return err
	}
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	w, err := s.Resolve(ctx, c, sc, name)
	if err != nil {
		return err
	}
	if task, err = runningTask(w, task); err != nil {
		return err
	}
	err = sshserver.Serve(ctx, sshserver.NewStdio(s.IO.In, terminal.Bare(s.IO.Out)), keys, &sshTask{c: c, w: w, task: task})
	if err != nil && ctx.Err() == nil {
		return &session.Failure{Code: session.ExitUnreachable, Problem: &api.Problem{Title: "Connection lost", Code: "unavailable", Detail: "ssh: " + err.Error(), Hint: "muster ssh-config writes the entry anew"}}
	}
	return nil
}

// sshTask is the task that a connection of ssh reaches.
type sshTask struct {
	c    *client.Client
	w    *api.Workload
	task int
}

// Run implements sshserver.Task.
func (t *sshTask) Run(ctx context.Context, c sshserver.Command) (int, error) {
	e := client.EnterOptions{Task: t.task, Command: c.Argv, Env: c.Env, TTY: c.TTY, Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr}
	if c.Resize != nil {
		sizes := make(chan api.TerminalSize)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			for {
				select {
				case size := <-c.Resize:
					select {
					case sizes <- api.TerminalSize{Columns: cmp.Or(size.Columns, 80), Rows: cmp.Or(size.Rows, 24)}:
					case <-ctx.Done():
						return
					}
				case <-ctx.Done():
					return
				}
			}
		}()
		e.Resize = sizes
	}
	return t.c.Exec(ctx, t.w.Project, t.w.ID, e)
}

// Dial implements sshserver.Task.
func (t *sshTask) Dial(ctx context.Context, port int, conn net.Conn) error {
	return t.c.PortForward(ctx, t.w.Project, t.w.ID, t.task, port, conn)
}
