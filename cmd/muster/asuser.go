package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/account"
	"github.com/musterhq/muster/internal/backend/local"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core/osuser"
	"github.com/musterhq/muster/internal/engine/access"
)

// asSubmitter is how tasks run as who submits them; nil: they do not. A server that
// cannot become others does not start.
func asSubmitter(o cli.ServerOptions) (*local.AsSubmitter, error) {
	if !o.AsSubmitter {
		return nil, nil
	}
	const how = "run it as root (muster server install --system does), or leave out --tasks-as submitter; muster doctor says what is missing"
	if uid := os.Geteuid(); uid != 0 {
		return nil, precondition(fmt.Sprintf("--tasks-as submitter: this server runs as user %d, and cannot run tasks as others", uid), how)
	}
	if missing := osuser.Missing(capabilities()); len(missing) > 0 {
		var words []string
		for _, c := range missing {
			words = append(words, c.Name+" ("+c.For+")")
		}
		return nil, precondition("--tasks-as submitter: this server is root without "+strings.Join(words, ", "), how)
	}
	book := &account.Book{}
	if _, err := book.ByName(o.RootTasksAs); errors.Is(err, osuser.ErrNone) {
		return nil, precondition(fmt.Sprintf("--root-tasks-as %q: %v", o.RootTasksAs, err), "make it (useradd --system "+o.RootTasksAs+"), or name another")
	} else if err != nil {
		return nil, err
	}
	return &local.AsSubmitter{Rule: osuser.Rule{Root: o.RootTasksAs, SetUID: o.SetUIDPrograms}, Accounts: book}, nil
}

// capabilities are those that this process has, as a mask.
func capabilities() uint64 {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "CapEff:"); ok {
			mask, _ := strconv.ParseUint(strings.TrimSpace(rest), 16, 64)
			return mask
		}
	}
	return 0
}

// openToMachine lets all users of the machine have what is their own, unless an
// administrator has decided already.
func openToMachine(as *local.AsSubmitter, ctl *control.Control, log *slog.Logger) func(context.Context) {
	return func(ctx context.Context) {
		if as == nil {
			return
		}
		did, err := control.Do(ctx, ctl, access.OpenToMachine("system"))
		switch {
		case err != nil && ctx.Err() == nil:
			log.Error("access control could not be turned on: only the owner of the server may do anything", "err", err)
		case did:
			log.Info("access control is on, as tasks run as who submits them", "everybody", "has role machine-user, by the rule of group @machine")
		}
	}
}

// accountsOf are the accounts of the machine, where tasks run as who submits them.
func accountsOf(as *local.AsSubmitter) osuser.Accounts {
	if as == nil {
		return nil
	}
	return as.Accounts
}

// machineSocket is the socket at which all users of the machine find this server, where
// tasks run as who submits them and systemd has not opened it.
func machineSocket(o cli.ServerOptions, handed bool) (net.Listener, error) {
	if !o.AsSubmitter || handed {
		return nil, nil
	}
	path := o.Socket
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("--socket: %w", err)
	}
	if c, err := net.Dial("unix", path); err == nil {
		_ = c.Close()
		return nil, precondition("another server listens on "+path, "stop it, or name another path with --socket")
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--socket: an old socket cannot be removed: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("--socket: %w", err)
	}
	if err := os.Chmod(path, 0o666); err != nil { //nolint:gosec // who comes is who the kernel says
		_ = l.Close()
		return nil, fmt.Errorf("--socket: %w", err)
	}
	return l, nil
}
