package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/systemd"
)

const (
	systemUnits = "/etc/systemd/system"
	systemData  = "/var/lib/muster"
	systemUser  = "muster"
	socketMost  = 107 // longest path of a unix socket, unix(7)
)

// installation is what muster server install is asked for.
type installation struct {
	system, print, noStart bool
	as, group              string
	chosen                 bool // --tasks-as was given
	server                 serverFlags
}

func newInstall(s *session.Session, hooks Hooks) *cobra.Command {
	in := installation{}
	own := pflag.NewFlagSet("server", pflag.ContinueOnError)
	in.server.register(own)
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Have systemd run the server",
		Long: `Writes a service and a socket for systemd, and starts them: the server then runs from
boot (of your user: from login, or from boot with loginctl enable-linger), is started
again when it fails, and no command is refused while it is replaced. All flags of
muster server are taken and written into the unit; give them all again to change them.

With --system it is a server of the machine, with its data in /var/lib/muster. All users
of the machine find it by themselves, see and change what is their own, and their tasks
run as they do (--tasks-as submitter): for that it is root, with no more of root's
rights than it takes. --group leaves it to the members of one group. With --as USER, or
without work on the machine itself (--backend kube, as the user muster, which is made
where it is missing), tasks run as the server, and who is in --group may do everything.`,
		Example: `  muster server install
  muster server install --listen 127.0.0.1:8080 --image-cache 200Gi
  sudo muster server install --system
  sudo muster server install --system --group gpu-users --fake-gpus 8
  muster server install --system --backend kube --kubeconfig /etc/muster/kubeconfig --print`,
		Args: session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if hooks.RunServer == nil {
				return session.UsageError("this program is a client and cannot be a server", session.ClientOnly)
			}
			if err := in.server.anywhere(own, s.Env); err != nil {
				return err
			}
			in.chosen = own.Changed("tasks-as")
			return install(cmd.Context(), s, &in, changed(own))
		},
	}
	f := cmd.Flags()
	f.AddFlagSet(own)
	f.BoolVar(&in.system, "system", false, "a server of the whole machine, not of this user; needs root")
	f.StringVar(&in.as, "as", "", "user that a server of the machine runs as; by default root where tasks run as who submits them, else "+systemUser)
	f.StringVar(&in.group, "group", "", "group whose members reach a server of the machine")
	f.BoolVar(&in.print, "print", false, "print the units, and change nothing")
	f.BoolVar(&in.noStart, "no-start", false, "write and enable the units, and do not start them")
	return cmd
}

func newUninstall(s *session.Session) *cobra.Command {
	system := false
	cmd := &cobra.Command{
		Use: "uninstall", Short: "Have systemd run the server no more; data stays, and what runs goes on",
		Example: "  muster server uninstall", Args: session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return uninstall(cmd.Context(), s, system) },
	}
	cmd.Flags().BoolVar(&system, "system", false, "the server of the machine")
	return cmd
}

// changed writes the flags that were given as arguments again.
func changed(f *pflag.FlagSet) []string {
	var args []string
	f.VisitAll(func(flag *pflag.Flag) {
		switch v := flag.Value.(type) {
		case pflag.SliceValue:
			if flag.Changed {
				for _, one := range v.GetSlice() {
					args = append(args, "--"+flag.Name+"="+one)
				}
			}
		default:
			if flag.Changed {
				args = append(args, "--"+flag.Name+"="+flag.Value.String())
			}
		}
	})
	return args
}

func install(ctx context.Context, s *session.Session, in *installation, args []string) error {
	if err := in.server.read(); err != nil {
		return err
	}
	if err := checkServer(&in.server.o); err != nil {
		return err
	}
	args, err := in.decide(args)
	if err != nil {
		return err
	}
	u, dir, err := in.unit(s, args)
	if err != nil {
		return err
	}
	if in.print {
		_, err := fmt.Fprintf(s.IO.Out, "# %s\n%s\n# %s\n%s", filepath.Join(dir, systemd.SocketName), u.SocketUnit(), filepath.Join(dir, systemd.ServiceName), u.Service())
		return err
	}
	m, err := managerOf(in.system)
	if err != nil {
		return err
	}
	if err := in.account(ctx, s, u); err != nil {
		return err
	}
	if err := os.MkdirAll(u.DataDir, 0o700); err != nil {
		return notInstalled(err, "name another directory with --data-dir")
	}
	if in.system {
		if err := giveTo(u.DataDir, u.User); err != nil {
			return notInstalled(err, "make it belong to "+u.User+" by hand, or name another directory with --data-dir")
		}
	}
	if err := writeUnits(dir, map[string]string{systemd.SocketName: u.SocketUnit(), systemd.ServiceName: u.Service()}); err != nil {
		return err
	}
	if err := m.reload(ctx); err != nil {
		return err
	}
	if in.noStart {
		if err := m.call(ctx, "enable", systemd.SocketName, systemd.ServiceName); err != nil {
			return err
		}
		s.Say("muster: systemd runs the server from the next start of the %s on", map[bool]string{true: "machine", false: "session"}[in.system])
		return nil
	}
	// One that runs already, which a command has started or an earlier unit: its work
	// goes on, and the next server takes it over.
	if err := m.call(ctx, "stop", systemd.ServiceName); err != nil {
		return err
	}
	if err := stopOther(ctx, s, u.DataDir); err != nil {
		return err
	}
	// Where systemd listens already, to be asked for is to be started: while systemd
	// takes that one to run it does not listen anew.
	if err := m.call(ctx, "stop", systemd.ServiceName); err != nil {
		return err
	}
	if err := m.call(ctx, "enable", systemd.SocketName, systemd.ServiceName); err != nil {
		return err
	}
	if err := m.call(ctx, "restart", systemd.SocketName); err != nil {
		return err
	}
	if err := m.call(ctx, "start", systemd.ServiceName); err != nil {
		return err
	}
	s.Say("muster: systemd runs the server (data in %s); %s says how it is", u.DataDir, m.words("status", "muster"))
	if !in.system && !m.lingers(ctx) {
		s.Say("muster: it runs while you are logged in; loginctl enable-linger keeps it from boot on")
	}
	return nil
}

// decide completes what was asked for: as whom a server of the machine runs, and its
// tasks.
func (in *installation) decide(args []string) ([]string, error) {
	o := &in.server.o
	if !in.system {
		if in.group != "" || in.as != "" {
			return nil, session.UsageError("--as and --group are about a server of the machine", "add --system")
		}
		if o.AsSubmitter {
			return nil, session.UsageError("--tasks-as submitter is about a server of the machine", "add --system")
		}
		return args, nil
	}
	if local := slices.Contains(o.Backends, "local") && len(o.Backends)+len(o.Clusters) == 1; local && in.as == "" && !in.chosen {
		o.AsSubmitter = true
		args = append(args, "--tasks-as=submitter")
	}
	switch {
	case o.AsSubmitter && in.as != "" && in.as != "root":
		return nil, session.UsageError(fmt.Sprintf("--as: a server that is %s cannot run tasks as others", in.as), "leave out --as, or --tasks-as submitter")
	case o.AsSubmitter:
		in.as = "root"
	case in.as == "":
		in.as = systemUser
	}
	return args, nil
}

// unit is what is written, and the directory of units.
func (in *installation) unit(s *session.Session, args []string) (systemd.Unit, string, error) {
	program, err := os.Executable()
	if err != nil {
		return systemd.Unit{}, "", notInstalled(err, "start it by its whole path")
	}
	u := systemd.Unit{
		Program: program, Args: args, Path: s.Env("PATH"), System: in.system,
		Local: slices.Contains(in.server.o.Backends, "local"), AsSubmitter: in.server.o.AsSubmitter,
	}
	if in.system {
		u.DataDir, u.User, u.Group, u.Socket = s.DataDir, in.as, in.group, systemd.SystemSocket
		if u.DataDir == "" {
			u.DataDir = systemData
		}
		return u, systemUnits, nil
	}
	if u.DataDir, err = s.Dir(); err != nil {
		return u, "", err
	}
	u.Socket = filepath.Join(u.DataDir, "muster.sock")
	if len(u.Socket) > socketMost {
		return u, "", session.UsageError(fmt.Sprintf("the path of the socket, %s, has %d bytes, and may have %d", u.Socket, len(u.Socket), socketMost), "name a shorter directory with --data-dir")
	}
	dir, err := userUnits(s)
	return u, dir, err
}

func userUnits(s *session.Session) (string, error) {
	base := s.Env("XDG_CONFIG_HOME")
	if base == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", notInstalled(err, "set HOME")
		}
		base = filepath.Join(home, ".config")
	}
	return filepath.Join(base, "systemd", "user"), nil
}

// account sees to the user of a server of the machine, who is made where it is ours.
func (in *installation) account(ctx context.Context, s *session.Session, u systemd.Unit) error {
	if !in.system {
		return nil
	}
	if in.group != "" {
		if _, err := user.LookupGroup(in.group); err != nil {
			return session.UsageError(fmt.Sprintf("--group: there is no group %q", in.group), "groupadd --system "+in.group+", then usermod -aG "+in.group+" USER for each")
		}
	}
	if _, err := user.Lookup(u.User); err == nil {
		return nil
	}
	if u.User != systemUser {
		return session.UsageError(fmt.Sprintf("--as: there is no user %q", u.User), "leave it out, and the user "+systemUser+" is made")
	}
	shell := "/usr/sbin/nologin"
	out, err := exec.CommandContext(ctx, "useradd", "--system", "--user-group", "--home-dir", u.DataDir, "--no-create-home", "--shell", shell, u.User).CombinedOutput()
	if err != nil {
		return notInstalled(fmt.Errorf("useradd %s: %w: %s", u.User, err, strings.TrimSpace(string(out))), "make the user by hand, or name one with --as")
	}
	s.Say("muster: made the user %s, which the server runs as", u.User)
	return nil
}

// writeUnits writes units in place of ours, and of nobody else's.
func writeUnits(dir string, units map[string]string) error {
	for name := range units {
		old, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil && !systemd.Ours(string(old)) {
			return notInstalled(fmt.Errorf("%s is there, and was not written by muster server install", filepath.Join(dir, name)), "move it away, or keep it and do not install")
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return notInstalled(err, "look at who may read it")
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return notInstalled(err, "run it as a user who may write there; --system needs root")
	}
	for name, text := range units {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path+".new", []byte(text), 0o644); err != nil { //nolint:gosec // units are read by everybody
			return notInstalled(err, "run it as a user who may write there; --system needs root")
		}
		if err := os.Rename(path+".new", path); err != nil {
			return notInstalled(err, "run it as a user who may write there; --system needs root")
		}
	}
	return nil
}

// stopOther ends a server of dir that systemd has not started.
func stopOther(ctx context.Context, s *session.Session, dir string) error {
	before := s.DataDir
	s.DataDir = dir
	defer func() { s.DataDir = before }()
	c, err := s.ConnectOnly(ctx)
	if err != nil {
		return nil //nolint:nilerr // none runs
	}
	if _, err := c.Server(ctx); err != nil {
		return nil //nolint:nilerr // nothing answers
	}
	return serverStop(ctx, s)
}

func uninstall(ctx context.Context, s *session.Session, system bool) error {
	dir := systemUnits
	if !system {
		var err error
		if dir, err = userUnits(s); err != nil {
			return err
		}
	}
	data := ""
	for _, name := range []string{systemd.ServiceName, systemd.SocketName} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			fix := "the server of the machine is uninstalled with --system"
			if system {
				fix = "one of a user is uninstalled by that user, without --system"
			}
			return session.NotFoundError(fmt.Sprintf("there is no %s", filepath.Join(dir, name)), fix)
		}
		if err != nil {
			return notInstalled(err, "run it as a user who may read it")
		}
		if !systemd.Ours(string(text)) {
			return notInstalled(fmt.Errorf("%s was not written by muster server install", filepath.Join(dir, name)), "remove it by hand")
		}
		if d := systemd.DataDirOf(string(text)); d != "" {
			data = d
		}
	}
	m, err := managerOf(system)
	if err != nil {
		return err
	}
	if err := m.call(ctx, "disable", "--now", systemd.SocketName, systemd.ServiceName); err != nil {
		return err
	}
	for _, name := range []string{systemd.ServiceName, systemd.SocketName} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			return notInstalled(err, "run it as a user who may write there; --system needs root")
		}
	}
	if err := m.reload(ctx); err != nil {
		return err
	}
	s.Say("muster: systemd runs the server no more; what it ran goes on, and its data stays in %s", data)
	return nil
}

func notInstalled(err error, hint string) error {
	return &session.Failure{Code: session.ExitConflict, Problem: &api.Problem{Title: "Not done", Code: "conflict", Detail: err.Error(), Hint: hint}}
}

// manager is systemd's, of the machine or of a user.
type manager struct {
	path string
	user bool
}

func managerOf(system bool) (manager, error) {
	const fix = "run muster server under the supervisor that there is; muster server install --print shows what it would have to do"
	path, err := exec.LookPath("systemctl")
	if err != nil {
		return manager{}, notInstalled(errors.New("this machine has no systemd: systemctl is not in PATH"), fix)
	}
	m := manager{path: path, user: !system}
	if system && os.Geteuid() != 0 {
		return m, notInstalled(errors.New("a server of the machine is installed by root"), "sudo muster server install --system")
	}
	if out, err := m.command(context.Background(), "show", "--property=Version").CombinedOutput(); err != nil {
		return m, notInstalled(fmt.Errorf("systemd does not answer: %s", strings.TrimSpace(string(out))), fix)
	}
	return m, nil
}

func (m manager) command(ctx context.Context, args ...string) *exec.Cmd {
	if m.user {
		args = append([]string{"--user"}, args...)
	}
	return exec.CommandContext(ctx, m.path, args...)
}

func (m manager) words(args ...string) string {
	if m.user {
		return "systemctl --user " + strings.Join(args, " ")
	}
	return "systemctl " + strings.Join(args, " ")
}

func (m manager) call(ctx context.Context, args ...string) error {
	out, err := m.command(ctx, args...).CombinedOutput()
	if err == nil {
		return nil
	}
	log := "journalctl -u muster"
	if m.user {
		log = "journalctl --user -u muster"
	}
	return notInstalled(fmt.Errorf("%s: %w: %s", m.words(args...), err, strings.TrimSpace(string(out))), m.words("status", "muster")+" and "+log+" say more")
}

func (m manager) reload(ctx context.Context) error { return m.call(ctx, "daemon-reload") }

// lingers reports whether a user's units run without the user.
func (m manager) lingers(ctx context.Context) bool {
	me, err := user.Current()
	if err != nil {
		return false
	}
	out, err := exec.CommandContext(ctx, "loginctl", "show-user", me.Username, "--property=Linger", "--value").Output()
	return err == nil && strings.TrimSpace(string(out)) == "yes"
}
