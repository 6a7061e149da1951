//go:build linux

package local

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/protocol"
	"github.com/musterhq/muster/internal/core/osuser"
)

// AsSubmitter has tasks run as who submitted them.
type AsSubmitter struct {
	Rule     osuser.Rule
	Accounts osuser.Accounts
}

// job is an assignment as the supervisor gets it; nothing is given to it that was not
// made here. Where tasks run as who submitted them this is where that is decided, and
// a task for which it cannot be is handed over with why: it is refused, once.
func (p *Backend) job(a backend.Assignment, c *protocol.Container) (protocol.Job, error) {
	j := protocol.Job{Assignment: a, Container: c}
	base := baseEnv
	if p.opts.As == nil && a.As != nil {
		// Here it would be the server's user, root perhaps, which nobody has looked at.
		j.Refused = "it was submitted when tasks of this server ran as who submitted them, and they do not any more; submit it again"
		return j, nil
	}
	if as := p.opts.As; as != nil {
		who, err := osuser.Decide(as.Rule, a.As, osuser.Wish{UID: a.UID, GID: a.GID}, as.Accounts)
		var no *osuser.Refusal
		switch {
		case errors.As(err, &no):
			j.Refused = no.Error()
			return j, nil
		case err != nil:
			return j, err
		}
		j.As, j.UID, j.GID = &who, &who.UID, &who.GID
		base = func(own []string) []string { return accountEnv(own, who) }
		if c == nil && j.Workdir == "" {
			j.Workdir = who.Home // as where one finds oneself after logging in
			if !isDir(who.Home) {
				j.Workdir = "/"
			}
		}
	}
	if c == nil {
		b := base(os.Environ())
		j.Env = append(b[:len(b):len(b)], a.Env...)
	}
	return j, nil
}

// jobs are those of processes, all that could be made, and why the others could not.
func (p *Backend) jobs(tasks []backend.Assignment) (all []protocol.Job, err error) {
	for _, a := range tasks {
		j, e := p.job(a, nil)
		if e != nil {
			err = errors.Join(err, e)
			continue
		}
		all = append(all, j)
	}
	return all, err
}

// ofServer are the variables of the machine that are right for the server's user alone.
var ofServer = []string{"HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "LD_LIBRARY_PATH", "GOFLAGS", "GOPROXY", "GOCACHE", "GOMODCACHE", "GOPATH"}

// accountEnv is what the machine gives to a task of an account, as a login would.
func accountEnv(own []string, a osuser.Account) []string {
	env := slices.DeleteFunc(baseEnv(own), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return slices.Contains(ofServer, name)
	})
	shell := a.Shell
	if shell == "" {
		shell = "/bin/sh"
	}
	return append(env, "HOME="+a.Home, "USER="+a.Name, "LOGNAME="+a.Name, "SHELL="+shell)
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}
